"""Sets of names in a few bytes for each, and names that are made unique."""

from __future__ import annotations

import hashlib
from array import array

import numpy as np


class Names:
    """A set of names that keeps 8 bytes for each: a hash, which two of ten million share with odds of 3 in 10^6."""

    MOST_NEW = 2**14

    def __init__(self) -> None:
        self._new: set[int] = set()  # the hashes of the names that were added last
        self._old = np.empty(0, np.uint64)  # those of all other names, sorted

    def add(self, name: str) -> bool:
        """Add a name, and return whether it is new."""
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        key = int.from_bytes(digest, "little")
        index = int(np.searchsorted(self._old, np.uint64(key)))  # where the key is if it is there
        if key in self._new or (index < len(self._old) and int(self._old[index]) == key):
            return False
        self._new.add(key)
        if len(self._new) == self.MOST_NEW:  # in a Python set, each takes about 80 bytes
            self._old = np.union1d(self._old, np.fromiter(self._new, np.uint64, len(self._new)))
            self._new.clear()
        return True


class UniqueNames:
    """Makes ids unique by appending ``#2``, ``#3``, … to those that have occurred before."""

    def __init__(self) -> None:
        self.numbers = array("I")  # what was appended to each id, 0 for nothing
        self.renamed = 0  # the number of ids that were changed
        self._used = Names()
        self._requests: dict[str, int] = {}  # how often, of names that were requested more than once

    def __call__(self, name: str) -> str:
        """Return the id itself if it is new, otherwise the id with a number appended."""
        candidate, number = name, 0
        while not self._used.add(candidate):
            number = self._requests.get(name, 1) + 1
            self._requests[name] = number
            candidate = numbered_name(name, number)
        self.numbers.append(number)
        self.renamed += number > 0
        return candidate


def numbered_name(name: str, number: int) -> str:
    """Return the id with a number appended; 0 stands for none."""
    return f"{name}#{number}" if number else name
