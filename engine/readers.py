"""Who reads the inputs of a pass, and within which limits: the model or one of its copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..analyses.contract import Reader
from ..corpora_loaders import Sentence
from ..extractors import DEFAULT_BATCH_CELLS, BatchMaker, Encoder, shared_batches
from ..extractors.maps.batching import TooLong, usual_cells
from ..extractors.model.loaded_model import LoadedModel
from ..extractors.translation import GATHERED, PairReader, read_pairs


@dataclass(frozen=True)
class Limits:
    """Which inputs are read, and how many at once. The fields are arguments of `attentionology.extractors.extract`."""

    batch_cells: int = DEFAULT_BATCH_CELLS
    too_long: TooLong = "skip"
    max_length: int | None = None

    @classmethod
    def of(
        cls, model: LoadedModel, batch_cells: int | None, too_long: TooLong, max_length: int | None = None
    ) -> Limits:
        """Return the limits that options ask for. By default, the device decides how large batches are."""
        return cls(batch_cells or usual_cells(model.device), too_long, max_length)


class Readers:
    """The model and its copies with random weights, of which at most one is in memory besides the model.

    The random weights of the k-th copy have the seed ``seed + k``.
    """

    def __init__(self, model: LoadedModel, seed: int) -> None:
        self.model, self.seed = model, seed
        self._copy: tuple[int, LoadedModel] | None = None

    def of(self, copy: int | None) -> LoadedModel:
        """The model, or its copy of this number."""
        if copy is None:
            return self.model
        if self._copy is None or self._copy[0] != copy:
            self._copy = None  # frees the memory before the next copy is made
            self._copy = copy, self.model.random_init(self.seed + copy)
        return self._copy[1]


def batches_of(model: LoadedModel, inputs: Sequence[Any], *, hidden_states: bool, **options: Any) -> Iterator[Any]:
    """Yield what the makers need of each batch: of sentences, or of sentence pairs if the model reads these."""
    if isinstance(model, Encoder):
        return shared_batches(model, inputs, hidden_states=hidden_states, **options)
    if isinstance(model, PairReader):
        return read_pairs(model, inputs, gather=GATHERED, **options)
    raise TypeError(f"{model!r} reads neither sentences nor sentence pairs")


def reader_of(model: LoadedModel, limits: Limits) -> Reader:
    """A function with which follow-ups read a few more inputs."""

    def read(inputs: Sequence[Sentence], maker: BatchMaker[Any]) -> Iterator[Any]:
        for batch in batches_of(model, inputs, hidden_states=maker.reads_weights, **vars(limits)):
            yield maker.of(batch)

    return read
