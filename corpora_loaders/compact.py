"""Sets of ids in a few bytes for each, for corpora whose ids do not fit into memory as strings."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass

_FIRST_SLOTS = 1024
_BITS = 10  # a stretch of ids has 2 ** 10 of them
_FULLEST = 2 / 3  # of the slots; beyond this, searching for a free slot takes long


class IdCounts:
    """A mapping from ids to counts that keeps a 64-bit hash of each id instead of the id.

    The hashes are in a hash table with linear probing, which consists of two flat arrays. An id takes 18 to 36 bytes.
    Of ten million ids, two have the same hash with a probability of 3 in a million.

    Example:
        >>> from attentionology.corpora_loaders.compact import IdCounts
        >>> counts = IdCounts()
        >>> counts["a"] = 3
        >>> counts["a"], counts["b"], len(counts)
        (3, 0, 1)
    """

    def __init__(self) -> None:
        self._used = 0
        self._keys, self._counts = _free_slots(_FIRST_SLOTS)

    def __len__(self) -> int:
        return self._used

    def __getitem__(self, name: str) -> int:
        """The count of an id, 0 if it has none."""
        return self._counts[self._slot(_hash(name))]

    def __setitem__(self, name: str, count: int) -> None:
        """Set the count of an id, which must be at least 1."""
        key = _hash(name)
        slot = self._slot(key)
        if not self._keys[slot]:
            if self._used >= _FULLEST * len(self._keys):
                self._grow()
                slot = self._slot(key)
            self._used += 1
        self._keys[slot], self._counts[slot] = key, count

    def _slot(self, key: int) -> int:
        """The slot of a key, or the free slot where it would be put."""
        keys, mask = self._keys, len(self._keys) - 1
        slot = key & mask
        while keys[slot] not in (0, key):
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        keys, counts = self._keys, self._counts
        self._keys, self._counts = _free_slots(2 * len(keys))
        for key, count in zip(keys, counts, strict=True):
            if key:
                slot = self._slot(key)
                self._keys[slot], self._counts[slot] = key, count


class UniqueSuffixes:
    """Chooses the numbers that make ids unique, as `attentionology.corpora_loaders.corpus.UniqueNames` does.

    Attributes:
        renamed: the number of ids that need a number.

    Example:
        >>> from attentionology.corpora_loaders.compact import UniqueSuffixes
        >>> suffix = UniqueSuffixes()
        >>> [suffix(name) for name in ("a", "b", "a", "a")]  # a, b, a#2, a#3
        [0, 0, 2, 3]
    """

    def __init__(self) -> None:
        self.renamed = 0
        self._used = IdCounts()  # id → the number of times it was requested

    def __call__(self, name: str) -> int:
        """The number to append to an id; 0 if the id is new."""
        unused, number = name, 0
        while self._used[unused]:
            number = self._used[name] + 1
            self._used[name] = number
            unused = numbered_name(name, number)
        self._used[unused] = 1
        self.renamed += number > 0
        return number


@dataclass(frozen=True)
class Suffixes:
    """The numbers that were appended to the ids of a corpus. Stretches without such numbers take no space.

    Attributes:
        stretches: the numbers of each stretch of 1,024 ids in which there are some, by the number of the stretch.
    """

    stretches: Mapping[int, array[int]]

    def of(self, positions: range) -> list[int]:
        """The numbers of consecutive ids; empty if none was changed.

        Args:
            positions: the positions of the ids in the corpus, in order and without gaps.
        """
        if not any(
            number in self.stretches for number in range(positions.start >> _BITS, (positions.stop >> _BITS) + 1)
        ):
            return []
        return [self._suffix(position) for position in positions]

    def _suffix(self, position: int) -> int:
        stretch = self.stretches.get(position >> _BITS)
        return stretch[position & (1 << _BITS) - 1] if stretch else 0


class SuffixCollector:
    """Collects the numbers that are appended to the ids of a corpus, in its order.

    Example:
        >>> from attentionology.corpora_loaders.compact import SuffixCollector
        >>> collector = SuffixCollector()
        >>> for suffix in (0, 2, 0):
        ...     collector.add(suffix)
        >>> collector.collected().of(range(1, 3))
        [2, 0]
    """

    def __init__(self) -> None:
        self._stretches: dict[int, array[int]] = {}
        self._current = array("I")
        self._number = 0

    def add(self, suffix: int) -> None:
        """Add the number that is appended to the next id, 0 for none."""
        self._current.append(suffix)
        if len(self._current) == 1 << _BITS:
            self._finish()

    def collected(self) -> Suffixes:
        """All numbers so far."""
        self._finish()
        return Suffixes(self._stretches)

    def _finish(self) -> None:
        if any(self._current):
            self._stretches[self._number] = self._current
        self._current = array("I")
        self._number += 1


def numbered_name(name: str, number: int) -> str:
    """The id with a number appended; 0 stands for none."""
    return f"{name}#{number}" if number else name


def _hash(name: str) -> int:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1  # 0 marks a free slot


def _free_slots(number: int) -> tuple[array[int], array[int]]:
    """Arrays of zeros for hashes and counts."""
    return array("Q", bytes(8 * number)), array("I", bytes(array("I").itemsize * number))
