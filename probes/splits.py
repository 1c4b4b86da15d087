"""Which sentences probes are trained, stopped and tested on, and the control task (Hewitt & Liang 2019)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..corpora_loaders import Sentence
from .probed_sentence import annotate, gold_heads

if TYPE_CHECKING:
    from ..extractors import StoredMaps

_HELD_OUT = 10  # one document or sentence in ten


@dataclass(frozen=True)
class Split:
    """Stored maps to train on, to stop by, and to test on."""

    train: StoredMaps
    dev: StoredMaps | None  # None if the recipe does not need them, or if there are too few sentences
    test: StoredMaps
    tested: Sequence[int]  # the positions of the tested sentences among those of all splits


def make_splits(
    train: StoredMaps | None, dev: StoredMaps | None, test: StoredMaps, *, folds: int, hold_out: bool, seed: int
) -> Iterator[Split]:
    """Yield one split, or, without training sentences, one split for each fold of the test sentences."""
    if train is not None:
        yield _with_dev(train, dev, test, range(len(test)), hold_out, seed)
        return
    fold_of = folds_of(test.sentences, folds)
    for fold in range(folds):
        trained = [position for position, its_fold in enumerate(fold_of) if its_fold != fold]
        tested = [position for position, its_fold in enumerate(fold_of) if its_fold == fold]
        if trained and tested:
            yield _with_dev(test.subset(trained), dev, test.subset(tested), tested, hold_out, seed)


def _with_dev(
    train: StoredMaps, dev: StoredMaps | None, test: StoredMaps, tested: Sequence[int], hold_out: bool, seed: int
) -> Split:
    """Return a split with the positions of its tested sentences; dev sentences are held out of training if need be."""
    if dev is None and hold_out:
        # Of fewer than 20 documents, hashes would choose one or none, whose words may be far from a tenth of all.
        hashes = [stable_hash(name, seed) for name in _units(train.sentences, 2 * _HELD_OUT)]
        held_out = [position for position, hashed in enumerate(hashes) if hashed % _HELD_OUT == 0]
        if len(held_out) in (0, len(train)):  # then one document or sentence is held out
            least = min(hashes)
            held_out = [position for position, hashed in enumerate(hashes) if hashed == least]
        kept = sorted(set(range(len(train))) - set(held_out))
        if kept:
            dev, train = train.subset(held_out), train.subset(kept)
    return Split(train, dev, test, tested)


def folds_of(sentences: Sequence[Sentence], folds: int) -> list[int]:
    """Return the fold of every sentence. Documents stay whole if there are at least as many as folds."""
    unit_of_sentence = _units(sentences, folds)
    words_of_unit: defaultdict[str, int] = defaultdict(int)
    for unit, sentence in zip(unit_of_sentence, sentences, strict=True):
        words_of_unit[unit] += len(sentence)
    words_of_fold = [0] * folds
    fold_of_unit: dict[str, int] = {}
    for unit, n_words in words_of_unit.items():
        fold = words_of_fold.index(min(words_of_fold))  # the one with the fewest words so far
        fold_of_unit[unit] = fold
        words_of_fold[fold] += n_words
    return [fold_of_unit[unit] for unit in unit_of_sentence]


def _units(sentences: Sequence[Sentence], fewest: int) -> list[str]:
    """Return the name of each sentence's document or, if there are fewer documents than ``fewest``, its own id."""
    documents = {sentence.document for sentence in sentences}
    if None not in documents and len(documents) >= fewest:
        return [str(sentence.document) for sentence in sentences]
    return [sentence.id for sentence in sentences]


def stable_hash(name: str, seed: int) -> int:
    """Return a number that depends on a name and a seed alone, the same in every process."""
    digest = hashlib.blake2b(name.encode(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little")


def control_task(sentences: Iterable[Sentence], seed: int = 0) -> list[Sentence]:
    """Return the same sentences with heads that depend on nothing but the word.

    Every word type, upper and lower case alike as for word vectors, gets one of three behaviors at random: its head is
    itself, the first word, or the last word of the sentence (Hewitt & Liang 2019, §2.2). A probe that does well here
    has room to memorize; selectivity is its accuracy on the real task minus that on this one. Words keep their
    relations, so that both scores are about the same words, and words without a head have none here.

    Args:
        sentences: sentences with trees.
        seed: seed of the behaviors. A word behaves alike wherever it occurs, in training and test.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import control_task
        >>> words = ("the", "dog", "saw", "the", "cat")
        >>> sentence = Sentence("s1", words, (2, 3, 0, 5, 3), ("det", "nsubj", "root", "det", "obj"))
        >>> [controlled] = control_task([sentence], seed=1)
        >>> all(head in (number, 1, 5) for number, head in enumerate(controlled.heads, start=1))
        True
    """
    controlled = []
    for sentence in map(annotate, sentences):
        heads: list[int | None] = []
        for number, (word, head) in enumerate(zip(sentence.words, sentence.heads, strict=True), start=1):
            behaviors = (number, 1, len(sentence))  # the word itself, the first and the last one
            heads.append(None if head is None else behaviors[stable_hash(word.lower(), seed) % len(behaviors)])
        copy = replace(sentence, heads=())
        # `Sentence` refuses a word that is its own head, as many are here.
        object.__setattr__(copy, "heads", tuple(heads))
        controlled.append(copy)
    return controlled


def with_control_task(split: Split, seed: int) -> Split:
    """Return the same maps with the heads of the control task, see `attentionology.probes.control_task`."""

    def relabel(maps: StoredMaps) -> StoredMaps:
        return maps.relabeled(control_task(maps.sentences, seed))

    dev = split.dev and relabel(split.dev)
    return replace(split, train=relabel(split.train), dev=dev, test=relabel(split.test))


class CorrectWords:
    """Which words of all tested sentences got the right head, in their order; `add` fills them in split by split."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._starts = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])])
        self.words = np.zeros(self._starts[-1], dtype=bool)  # True for words with the right head

    def add(self, split: Split, predicted: Iterable[np.ndarray]) -> None:
        """Compare predicted heads with those of the tested sentences of a split."""
        for position, sentence, heads in zip(split.tested, split.test.sentences, predicted, strict=True):
            start, end = self._starts[position], self._starts[position + 1]
            self.words[start:end] = heads == gold_heads(sentence)
