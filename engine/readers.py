"""Who reads the inputs of a pass: the model or one of its copies, which read sentences or sentence pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..analyses.contract import Reader
from ..corpora_loaders import Sentence
from ..corpora_loaders.alignment import SentencePair
from ..extractors import BatchMaker, Encoder, shared_batches
from ..extractors.model.loaded_model import LoadedModel
from ..extractors.translation import GATHERED, PairReader, read_pairs
from .pass_counts import Limits


class Readers:
    """The model and its copies with random weights, of which at most one is in memory besides the model.

    Args:
        model: the model.
        seed: the seed of the run. The random weights of the k-th copy have the seed ``seed + k``.
    """

    def __init__(self, model: LoadedModel, seed: int) -> None:
        self.model, self.seed = model, seed
        self._copy: tuple[int, LoadedModel] | None = None

    def of(self, copy: int | None) -> LoadedModel:
        """The model, or its copy of this number."""
        if copy is None:
            return self.model
        if self._copy is None or self._copy[0] != copy:
            self._copy = None
            self._copy = copy, self.model.random_init(self.seed + copy)
        return self._copy[1]


def batches_of(model: LoadedModel, inputs: Sequence[Sentence], *, hidden_states: bool, **options: Any) -> Iterator[Any]:
    """Yield what the makers need of each batch: of sentences, or of sentence pairs if the model reads these."""
    if isinstance(model, Encoder):
        return shared_batches(model, inputs, hidden_states=hidden_states, **options)
    if isinstance(model, PairReader):
        return read_pairs(model, _pairs(inputs), gather=GATHERED, **options)
    raise TypeError(f"{model!r} reads neither sentences nor sentence pairs")


def _pairs(inputs: Iterable[Sentence]) -> Iterator[SentencePair]:
    """Yield the inputs, which must be sentence pairs."""
    for each in inputs:
        if not isinstance(each, SentencePair):
            raise TypeError(f"the model reads sentence pairs, not {each!r}")
        yield each


def reader_of(model: LoadedModel, limits: Limits) -> Reader:
    """A function with which follow-ups read a few more inputs."""

    def read(inputs: Sequence[Sentence], maker: BatchMaker[Any]) -> Iterator[Any]:
        for batch in batches_of(model, inputs, hidden_states=maker.reads_weights, **limits.arguments()):
            yield maker.of(batch)

    return read
