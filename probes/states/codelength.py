"""How many bits tell what a probe learns, given the states: the online code of Voita & Titov (2020, §2.2)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from scipy.special import log_softmax

from ...corpora_loaders import Sentence
from ...extractors import MapBatch, StateBatch
from .examples import Gold
from .probe import StateProbe
from .training import StateRecipe

FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1)
"""Where the sentences are cut, as in the published code."""


class CodedBlock(NamedTuple):
    """What one block of the sentences costs.

    Attributes:
        start, stop: the sentences of the block, in the shuffled order.
        words: the number of words that are coded: those that have a label or a head.
        bits: what they cost, by a probe that was trained on all sentences before the block.
        uniform: what they cost if all alternatives are equally likely. The first block costs this.

    Example:
        >>> from attentionology.probes import CodedBlock
        >>> block = CodedBlock(start=1, stop=3, words=20, bits=15.0, uniform=40.0)
        >>> block.bits / block.words
        0.75
    """

    start: int
    stop: int
    words: int
    bits: float
    uniform: float


@dataclass(frozen=True)
class Codelength:
    """The online code of what a probe learns of some sentences.

    Attributes:
        blocks: the blocks, in the order in which they are coded.
        floor: n·H, the bits that labels cost if their shares are known and nothing of the states is: no code that
            reads nothing from the states can be expected to be shorter. NaN for heads, which are no labels that words
            share.

    Example:
        >>> from attentionology.probes import CodedBlock, Codelength
        >>> code = Codelength((CodedBlock(0, 1, 10, 20.0, 20.0), CodedBlock(1, 2, 10, 5.0, 20.0)), floor=30.0)
        >>> code.bits, code.bits_per_word, code.compression
        (25.0, 1.25, 1.6)
    """

    blocks: tuple[CodedBlock, ...]
    floor: float

    @property
    def words(self) -> int:
        """The number of coded words."""
        return sum(block.words for block in self.blocks)

    @property
    def bits(self) -> float:
        """The length of the code."""
        return math.fsum(block.bits for block in self.blocks)

    @property
    def uniform(self) -> float:
        """The length of the code in which all alternatives are equally likely."""
        return math.fsum(block.uniform for block in self.blocks)

    @property
    def bits_per_word(self) -> float:
        """The mean cost of a coded word; NaN without any."""
        return self.bits / self.words if self.words else math.nan

    @property
    def compression(self) -> float:
        """How many times the code is shorter than the uniform one; below 1 if it is longer."""
        return self.uniform / self.bits if self.bits else math.nan


def codelength(
    probe: StateProbe,
    states: Sequence[StateBatch],
    dev: Sequence[StateBatch] | None = None,
    *,
    mix: bool = False,
    maps: Sequence[MapBatch] = (),
    dev_maps: Sequence[MapBatch] = (),
    gold: Callable[[Sentence], Gold] | None = None,
) -> Codelength:
    """Compute the online code of what a probe learns, in bits.

    The sentences are shuffled by the ``random_state`` of the probe and cut into blocks. The first block is coded as if
    all alternatives were equally likely, and each other one with the probabilities of a new probe that was trained on
    all blocks before it, with the sentences in their shuffled order. The classes are those of all sentences. A code may
    be longer than the uniform one if there are few words. Lengths that were published with the code of Voita & Titov
    look about 30 % shorter, because it adds natural logarithms to bits.

    Args:
        probe: what learns, with a softmax: a probe of labels, of relations or of heads. It is trained itself, and is
            left as it was trained for the last block.
        states, dev, mix, maps, dev_maps, gold: as in `StateProbe.fit`. The dev sentences end trainings and are not
            coded.

    Raises:
        TypeError: the probe has no softmax, such as those of distances and depths, which predict no probabilities.
        ValueError, TrainingError: for the same reasons as `StateProbe.fit`.

    Example:
        >>> from attentionology import load_encoder, load_treebank, store_states
        >>> from attentionology.probes import LabelProbe, StateRecipe, codelength
        >>> sentences = load_treebank("sample").sentences[:10]
        >>> states = store_states(load_encoder("demo"), sentences, "cache", layers=[2]).layer(2)
        >>> code = codelength(LabelProbe("upos", recipe=StateRecipe(epochs=5)), states)
        >>> code.words == sum(map(len, sentences)), code.blocks[0].bits == code.blocks[0].uniform
        (True, True)
    """
    read_gold = gold or probe.gold
    sentences = [sentence for batch in states for sentence in batch.sentences]
    known = [read_gold(sentence) for sentence in sentences]
    order, ends = shuffled_order(len(states), probe.random_state), ends_of_blocks(len(states))
    recipe, blocks = probe.recipe, list[CodedBlock]()
    for start, stop in zip((0, *ends), ends, strict=False):
        coded, before = order[start:stop], order[:start]
        if start:
            probe.recipe = in_order(probe)
            try:
                probe.fit(
                    [states[n] for n in before], dev, mix=mix, maps=[maps[n] for n in before] if maps else (),
                    dev_maps=dev_maps, gold=read_gold, prepared_from=known,
                )  # fmt: skip
            finally:
                probe.recipe = recipe
            predicted = probe.predict([states[n] for n in coded], [maps[n] for n in coded] if maps else ())
        else:
            probe.prepare(known)
            predicted = None
        blocks.append(code_block(probe, start, stop, [known[n] for n in coded], predicted))
    return Codelength(tuple(blocks), floor_of(probe, known))


def in_order(probe: StateProbe) -> StateRecipe:
    """Return the recipe of a probe without shuffling, because the sentences are in the order of the code.

    A code is as short as the loss is small, so that the loss decides which epoch is kept.
    """
    return replace(probe.recipe or probe.usual, shuffle=False, judge="loss")


def shuffled_order(sentences: int, seed: int) -> list[int]:
    """Return the numbers of sentences in the order in which they are coded."""
    order: list[int] = np.random.default_rng(seed).permutation(sentences).tolist()
    return order


def ends_of_blocks(sentences: int) -> tuple[int, ...]:
    """Return after how many sentences each block ends; there are fewer blocks if there are few sentences."""
    return tuple(sorted({max(1, int(fraction * sentences)) for fraction in FRACTIONS}))


def code_block(
    probe: StateProbe, start: int, stop: int, gold: Sequence[Gold], predicted: Sequence[ndarray] | None
) -> CodedBlock:
    """Return what a block costs, given what a probe predicts of its sentences; None for the first one."""
    words, bits, uniform = 0, list[float](), list[float]()
    for place, known in enumerate(gold):
        numbers = probe.numbers(known)
        with_one = np.flatnonzero(numbers >= 0)
        words += len(with_one)
        uniform.append(len(with_one) * math.log2(probe.alternatives(len(known))))
        if predicted is not None:
            nats = -log_softmax(predicted[place].astype(np.float64), axis=1)[with_one, numbers[with_one]]
            bits.append(float(nats.sum()) / math.log(2))
    return CodedBlock(start, stop, words, math.fsum(uniform if predicted is None else bits), math.fsum(uniform))


def floor_of(probe: StateProbe, gold: Sequence[Gold]) -> float:
    """Return n·H of labels, in bits; NaN for heads."""
    if probe.finds_heads:
        return math.nan
    counts = Counter(label for known in gold for label in known if label is not None)
    return math.fsum(-count * math.log2(count / counts.total()) for count in counts.values())
