"""Who reads the inputs of a pass: the model or one of its copies, which read sentences or sentence pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attentionology.analyses.contract import Reader
from attentionology.corpora_loaders import Sentence
from attentionology.engine.pass_counts import Limits
from attentionology.extractors import BatchMaker, Encoder, shared_batches
from attentionology.extractors.translation import PairReader, read_pairs


class Readers:
    """The model and its copies with random weights, of which at most one is in memory besides the model.

    Args:
        encoder: the model.
        seed: the seed of the run. The random weights of the k-th copy have the seed ``seed + k``.
    """

    def __init__(self, encoder: Encoder, seed: int) -> None:
        self.encoder, self.seed = encoder, seed
        self._copy: tuple[int, Encoder] | None = None

    def of(self, copy: int | None) -> Encoder:
        """The model, or its copy of this number."""
        if copy is None:
            return self.encoder
        if self._copy is None or self._copy[0] != copy:
            self._copy = None
            self._copy = copy, self.encoder.random_init(self.seed + copy)
        return self._copy[1]


def batches_of(encoder: Encoder, inputs: Sequence[Sentence], *, hidden_states: bool, **options: Any) -> Iterator[Any]:
    """Yield what the makers need of each batch: of sentences, or of sentence pairs if the model reads these.

    Args:
        encoder: the model.
        inputs: the sentences or sentence pairs.
        hidden_states: whether a maker needs hidden states.
        options: see `attentionology.extractors.shared_batches` and `attentionology.extractors.translation.read_pairs`.
    """
    if isinstance(encoder, PairReader):
        return read_pairs(encoder, inputs, **options)
    return shared_batches(encoder, inputs, hidden_states=hidden_states, **options)


def reader_of(encoder: Encoder, limits: Limits) -> Reader:
    """A function with which follow-ups read a few more inputs."""

    def read(inputs: Sequence[Sentence], maker: BatchMaker[Any]) -> Iterator[Any]:
        for batch in batches_of(encoder, inputs, hidden_states=maker.reads_weights, **limits.arguments()):
            yield maker.of(batch)

    return read
