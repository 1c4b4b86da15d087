"""Baselines that need no training of a probe: fixed distances, and single attention heads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from ..corpora_loaders import OFFSETS, Sentence
from ..extractors import MapBatch
from .predictor import HeadPredictor
from .probed_sentence import ProbedSentence, annotate, gold_heads, probed_sentences, scored
from .training import TrainingError


class FixedOffset(HeadPredictor):
    """The head is always a fixed number of words to the right (+) or left (−) of the word.

    Near the ends of the sentence it is the first or the last word.

    Args:
        offset: the distance in words; 1 is the right-branching baseline of Clark et al. (2019). None: the best of
            `attentionology.corpora_loaders.OFFSETS` on the training sentences; of equally good ones the larger.

    Attributes:
        offset_: the distance that is used.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import FixedOffset, batch_from_array
        >>> sentence = Sentence("s1", ("the", "dog", "barks"), (2, 3, 0), ("det", "nsubj", "root"))
        >>> batch = batch_from_array(sentence, np.zeros((1, 1, 3, 3), dtype=np.float32))
        >>> FixedOffset().fit([batch]).offset_
        1
        >>> FixedOffset(-1).fit([batch]).predict([batch])[0].tolist()
        [1, 1, 2]
    """

    offset_: int

    def __init__(self, offset: int | None = None) -> None:
        self.offset = offset

    def fit(self, batches: Iterable[MapBatch]) -> FixedOffset:
        """Choose the offset if none was given."""
        if self.offset is not None:
            self.offset_ = self.offset
            return self
        counts = np.zeros(len(OFFSETS))
        for sentence in _sentences(batches):
            counts += _right_by_offset(sentence)[scored(sentence)].sum(0)
        self.offset_ = _best_offset(counts)
        return self

    def predict(self, batches: Iterable[MapBatch]) -> list[Int[ndarray, " _"]]:
        """Return the head of every word, sentence by sentence."""
        return [_by_offset(len(sentence), self.offset_) for sentence in _sentences(batches)]


class RelationOffset(HeadPredictor):
    """The best fixed offset of every relation on the training sentences. It reads the gold relation of each word.

    It is therefore not a parser but an upper bound for what positions can tell: a probe that beats it knows more than
    how far apart the two words of a relation usually are. Relations that do not occur in training get the best offset
    of all words.

    Attributes:
        offsets_: the offset of each relation; that of all others is under the empty string.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import RelationOffset, batch_from_array
        >>> sentence = Sentence("s1", ("the", "dog", "barks"), (2, 3, 0), ("det", "nsubj", "root"))
        >>> batch = batch_from_array(sentence, np.zeros((1, 1, 3, 3), dtype=np.float32))
        >>> RelationOffset().fit([batch]).offsets_["det"]
        1
    """

    offsets_: dict[str, int]

    def fit(self, batches: Iterable[MapBatch]) -> RelationOffset:
        """Choose the offset of every relation."""
        counts_of: defaultdict[str, ndarray] = defaultdict(lambda: np.zeros(len(OFFSETS)))
        for sentence in _sentences(batches):
            right = _right_by_offset(sentence)
            for word in np.flatnonzero(scored(sentence)):
                counts_of[sentence.relations[word]] += right[word]
                counts_of[""] += right[word]  # of all relations
        self.offsets_ = {relation: _best_offset(counts) for relation, counts in counts_of.items()} or {"": 1}
        return self

    def predict(self, batches: Iterable[MapBatch]) -> list[Int[ndarray, " _"]]:
        """Return the head of every word, sentence by sentence."""
        predicted = []
        for sentence in _sentences(batches):
            offsets = [self.offsets_.get(relation, self.offsets_[""]) for relation in sentence.relations]
            predicted.append(_by_offset(len(sentence), np.array(offsets, dtype=np.int64)))
        return predicted


class SingleHead(HeadPredictor):
    """The word that one attention head points to most, its head and direction chosen on the training sentences.

    Special tokens and the word itself are left out, and the root is never predicted, as in the analysis of single heads
    (Clark et al. 2019, §4.2). In a sentence of one word the word itself is predicted, which is wrong.

    Attributes:
        correct_: how often each head is right on the training sentences; shape (2, layers, heads), in the order of
            `attentionology.extractors.DIRECTIONS`.
        total_: the number of words that were counted.
        best_: direction, layer and head of the largest count, 0-based; of equal counts the last.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import SingleHead, batch_from_array
        >>> sentence = Sentence("s1", ("the", "dog", "barks"), (2, 3, 0), ("det", "nsubj", "root"))
        >>> attention = np.zeros((1, 2, 3, 3), dtype=np.float32)
        >>> attention[0, 1, [0, 1], [1, 2]] = 1  # the second head points from dependents to heads
        >>> batch = batch_from_array(sentence, attention)
        >>> SingleHead().fit([batch]).best_
        (0, 0, 1)
    """

    correct_: Int[ndarray, "2 layers heads"]
    total_: int
    best_: tuple[int, int, int]

    def fit(self, batches: Iterable[MapBatch]) -> SingleHead:
        """Count how often each head is right, and choose the best one.

        Raises:
            TrainingError: there is no sentence to choose by.
        """
        correct, total = count_heads(batches)
        if not correct.size:
            raise TrainingError("there is no sentence to learn from")
        self.correct_, self.total_ = correct, total
        # The last one of equal counts: the argmax is the first one, so the counts are reversed.
        last_best = correct.size - 1 - int(correct.ravel()[::-1].argmax())
        direction, layer, head = np.unravel_index(last_best, correct.shape)
        self.best_ = int(direction), int(layer), int(head)
        return self

    def attention(self, batches: Iterable[MapBatch]) -> Iterator[Float[ndarray, "words words"]]:
        """Yield the weights of the best head from each word to each word, sentence by sentence."""
        _, layer, head = self.best_
        for batch in batches:
            for example in probed_sentences([batch]):
                weights = example.maps[layer * batch.maps.shape[2] + head]
                yield weights[example.words, example.words].cpu().numpy()

    def predict(self, batches: Iterable[MapBatch]) -> list[Int[ndarray, " _"]]:
        """Return the head of every word, sentence by sentence."""
        direction, layer, head = self.best_
        predicted = []
        for batch in batches:
            index = layer * batch.maps.shape[2] + head  # among the heads of all layers
            best_head = slice(index, index + 1)
            predicted += [_most_attended(example, best_head)[direction, 0] for example in probed_sentences([batch])]
        return predicted


def count_heads(batches: Iterable[MapBatch]) -> tuple[Int[ndarray, "2 layers heads"], int]:
    """Count how often each head points to the syntactic head in both directions, and the number of words counted.

    Words count as in a probe's score. These are plain comparisons in float32; the dependency analysis decides near ties
    in float64.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import batch_from_array, count_heads
        >>> sentence = Sentence("s1", ("dogs", "bark"), (2, 0), ("nsubj", "root"))
        >>> correct, total = count_heads([batch_from_array(sentence, np.ones((1, 1, 2, 2), dtype=np.float32))])
        >>> correct.tolist(), total  # the other word is the head of one word in both directions
        ([[[1]], [[1]]], 2)
    """
    correct, total = np.zeros((2, 0, 0), dtype=np.int64), 0
    for batch in batches:
        if not correct.size:  # the first batch, which says how many layers and heads there are
            correct = np.zeros((2, *batch.maps.shape[1:3]), dtype=np.int64)
        for example in probed_sentences([batch]):
            is_scored = scored(example.sentence)
            gold = gold_heads(example.sentence)
            is_right = _most_attended(example, slice(None)) == gold  # (2, layers × heads, words)
            correct += is_right[..., is_scored].sum(-1).reshape(correct.shape)
            total += int(is_scored.sum())
    return correct, total


def _most_attended(example: ProbedSentence, heads: slice) -> Int[ndarray, "2 heads words"]:
    """Return the number of the word that each word attends to most, and of the word that attends most to it."""
    # The diagonal is overwritten, and other readers have the same maps.
    maps = example.maps[heads, example.words, example.words].numpy().copy()
    n = maps.shape[-1]
    maps[:, range(n), range(n)] = -np.inf
    return np.stack([maps.argmax(-1), maps.argmax(-2)]) + 1


def _sentences(batches: Iterable[MapBatch]) -> Iterable[Sentence]:
    """Yield the sentences of batches, each with a head and a relation for every word."""
    return (annotate(sentence) for batch in batches for sentence in batch.sentences)


def _by_offset(n_words: int, offsets: int | ndarray) -> Int[ndarray, "... words"]:
    """Return the word at a distance from each word; at the ends of the sentence, the first or the last word."""
    heads: Int[ndarray, "... words"] = np.clip(np.arange(1, n_words + 1) + offsets, 1, n_words)
    return heads


def _right_by_offset(sentence: Sentence) -> Bool[ndarray, "words offsets"]:
    """Return for each word which of `OFFSETS` lead to its head."""
    heads = _by_offset(len(sentence), np.array(OFFSETS)[:, None])  # (offsets, words)
    return np.asarray(heads == gold_heads(sentence)).T


def _best_offset(counts: Float[ndarray, " offsets"]) -> int:
    """Return the offset that is right most often; of equally good ones the larger."""
    _, offset = max(zip(counts.tolist(), OFFSETS, strict=True))
    return offset
