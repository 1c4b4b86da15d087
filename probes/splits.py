"""Which sentences probes are trained, stopped and tested on."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attentionology.probes.control_task import control_task
from attentionology.probes.examples import gold_heads

if TYPE_CHECKING:
    from attentionology.corpora_loaders import Sentence
    from attentionology.extractors import StoredMaps
    from attentionology.probes.probe import Probe

_HELD_OUT = 10  # one in so many documents or sentences


@dataclass(frozen=True)
class Split:
    """Maps to train on, to stop by (None: the recipe does not ask), and to test on.

    Attributes:
        tested: places of the tested sentences among all tested ones.
    """

    train: StoredMaps
    dev: StoredMaps | None
    test: StoredMaps
    tested: Sequence[int]

    @cached_property
    def learned_from(self) -> list[tuple[str, str] | None]:
        """Names the maps and the annotation that training depends on."""
        both = (self.train, self.dev)
        return [None if maps is None else (maps.folder.name, _annotation(maps.sentences)) for maps in both]


def make_splits(
    train: StoredMaps | None, dev: StoredMaps | None, test: StoredMaps, *, folds: int, hold_out: bool, seed: int
) -> Iterator[Split]:
    """One split, or, without training sentences, one for each fold of the test sentences.

    Args:
        train, dev, test: what there is.
        folds: how many.
        hold_out: take dev sentences from the training sentences if there are none.
        seed: of what is held out.
    """
    if train is not None:
        yield _with_dev(train, dev, test, range(len(test)), hold_out, seed)
        return
    fold = folds_of(test.sentences, folds)
    for k in range(folds):
        rest = [i for i, own in enumerate(fold) if own != k]
        tested = [i for i, own in enumerate(fold) if own == k]
        if rest and tested:
            yield _with_dev(test.subset(rest), dev, test.subset(tested), tested, hold_out, seed)


def _with_dev(
    train: StoredMaps, dev: StoredMaps | None, test: StoredMaps, tested: Sequence[int], hold_out: bool, seed: int
) -> Split:
    if dev is None and hold_out:
        unit = _units(train.sentences, 2 * _HELD_OUT)
        drawn = [_draw(name, seed) for name in unit]
        held = [i for i, number in enumerate(drawn) if number % _HELD_OUT == 0]
        if len(held) in (0, len(train)):  # then one document or sentence
            least = min(drawn)
            held = [i for i, number in enumerate(drawn) if number == least]
        kept = sorted(set(range(len(train))) - set(held))
        if kept:
            dev, train = train.subset(held), train.subset(kept)
    return Split(train, dev, test, tested)


def folds_of(sentences: Sequence[Sentence], folds: int) -> list[int]:
    """The fold of every sentence; documents stay whole, each goes to the fold with the fewest words so far."""
    unit = _units(sentences, folds)
    words: defaultdict[str, int] = defaultdict(int)
    for name, sentence in zip(unit, sentences, strict=True):
        words[name] += len(sentence)
    sizes = [0] * folds
    of: dict[str, int] = {}
    for name, size in words.items():
        of[name] = sizes.index(min(sizes))
        sizes[of[name]] += size
    return [of[name] for name in unit]


def _units(sentences: Sequence[Sentence], fewest: int) -> list[str]:
    """What must stay together: the sentences of a document, or, with fewer documents than that, nothing."""
    documents = {s.document for s in sentences}
    if None not in documents and len(documents) >= fewest:
        return [str(s.document) for s in sentences]
    return [s.id for s in sentences]


def _draw(name: str, seed: int) -> int:
    digest = hashlib.blake2b(name.encode(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little")


def controlled(split: Split, seed: int) -> Split:
    """The same maps with the heads of the control task."""

    def relabelled(maps: StoredMaps) -> StoredMaps:
        return maps.relabelled(control_task(maps.sentences, seed))

    dev = split.dev and relabelled(split.dev)
    return replace(split, train=relabelled(split.train), dev=dev, test=relabelled(split.test))


class RightWords:
    """Which words of all tested sentences got the right head, split by split.

    Attributes:
        words: one entry per word.
    """

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._starts = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])])
        self.words = np.zeros(self._starts[-1], dtype=bool)

    def add(self, split: Split, predicted: Iterable[np.ndarray]) -> None:
        """Compare with the heads of the tested sentences of a split."""
        for place, sentence, heads in zip(split.tested, split.test.sentences, predicted, strict=True):
            self.words[self._starts[place] : self._starts[place + 1]] = heads == gold_heads(sentence)


def training_key(probe: Probe, split: Split) -> str:
    """Names all that the weights of a trained probe depend on."""
    described = {
        "format": 1,
        "probe": probe.name,
        "recipe": asdict(probe.recipe),
        "seed": probe.random_state,
        "vectors": probe.vectors and probe.vectors.sha256,
        "maps": split.learned_from,
    }
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:24]


def _annotation(sentences: Iterable[Sentence]) -> str:
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(json.dumps([sentence.words, sentence.heads, sentence.relations]).encode())
    return digest.hexdigest()
