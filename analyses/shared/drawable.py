"""Batches from which a sample draws inputs: maps that have been made, and maps that are made when an input is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...corpora_loaders import Sentence
from ...extractors import MapBatch


class Drawable(ABC):
    """A batch of inputs, some of which may be drawn for a sample.

    An analysis whose batches are not maps, such as links of sentence pairs, makes maps of the few inputs that are
    drawn. They must not depend on the other inputs of the batch.
    """

    @property
    @abstractmethod
    def sentences(self) -> tuple[Sentence, ...]:
        """The inputs."""

    @abstractmethod
    def sizes(self) -> list[int]:
        """Return the number of rows or columns of each input, whichever is larger."""

    @abstractmethod
    def shape(self, kind: str | None) -> tuple[int, int]:
        """Return the numbers of layers and heads of the maps of a kind."""

    @abstractmethod
    def drawn(self, indices: Sequence[int], kind: str | None) -> Iterator[MapBatch]:
        """Yield batches that have the maps of some inputs, in their order."""


@dataclass(frozen=True, eq=False)
class DrawableMaps(Drawable):
    """A batch of maps of one kind, whose columns are its rows."""

    batch: MapBatch

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The inputs."""
        return self.batch.sentences

    def sizes(self) -> list[int]:
        """Return the number of rows of each input."""
        return [int(length) for length in self.batch.lengths]

    def shape(self, kind: str | None) -> tuple[int, int]:
        """Return the numbers of layers and heads."""
        layers, heads = self.batch.maps.shape[1:3]
        return layers, heads

    def drawn(self, indices: Sequence[int], kind: str | None) -> Iterator[MapBatch]:
        """Yield one batch with the maps of some inputs."""
        yield selected(self.batch, indices)


def drawable(batch: object) -> Drawable:
    """Return a batch as one from which inputs can be drawn."""
    if isinstance(batch, Drawable):
        return batch
    if isinstance(batch, MapBatch):
        return DrawableMaps(batch)
    raise TypeError(f"no inputs can be drawn from {type(batch).__name__}")


def selected(batch: MapBatch, rows: Sequence[int]) -> MapBatch:
    """Return a batch of some inputs of a batch."""
    return replace(
        batch,
        maps=batch.maps[list(rows)],
        lengths=batch.lengths[list(rows)],
        special=batch.special[list(rows)],
        sentences=tuple(batch.sentences[row] for row in rows),
        labels=tuple(batch.labels[row] for row in rows) if batch.labels else (),
        forms=tuple(batch.forms[row] for row in rows) if batch.forms else (),
        word_lengths=tuple(batch.word_lengths[row] for row in rows) if batch.word_lengths else (),
        recompute=lambda indices, first_layers=None: batch.exact([rows[index] for index in indices], first_layers),
    )
