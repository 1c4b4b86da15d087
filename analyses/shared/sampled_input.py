"""One input of the stored sample: its words, its annotation, its maps in 8 bits, and guesses of analyses.

An input is stored as one run of bytes, so that a metric can hold it as a tensor, whatever its length: the quantized
maps, the guesses, the scales of the maps, and the annotation as JSON. The numbers that are needed to cut the run into
these parts, and the hashes by which inputs are drawn, are stored beside it. `Drawable` is a batch from which inputs are
drawn: maps that have been made, or maps that are made when an input is drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from ...corpora_loaders import Sentence
from ...extractors import MapBatch
from .annotation import Annotation

LEVELS = 255
"""The largest quantized value. A value of the map is byte / 255 × scale."""

NO_GUESS = 65535
"""Stands for the guess of a row for which there is none."""

Shape = tuple[int, int, int, int, int]
"""The numbers of layers, heads, rows, columns and guesses of an input."""


@dataclass(frozen=True, eq=False)
class SampledInput:
    """An input of the sample."""

    key: int  # the hash of its id, by which it is drawn
    document: int  # the hash of the id of its document, or of its own id if it has none; inverted if it has cases
    shape: Shape  # the numbers of layers, heads, rows, columns and guesses
    content: UInt8[Tensor, " bytes"]  # the quantized maps, guesses, scales and annotation, one after another
    annotation_bytes: int  # the number of bytes of the annotation

    @classmethod
    def of(
        cls,
        key: int,
        document: int,
        annotation: Annotation,
        maps: Float[Tensor, "layers heads rows columns"],
        guesses: Int[Tensor, "guesses layers heads rows"],
        *,
        unit: bool,
    ) -> SampledInput:
        """Quantize the maps of an input. Without columns, only the guesses are kept."""
        largest = maps.amax((-1, -2)).clamp(min=0).float().cpu() if maps.shape[-1] else torch.ones(maps.shape[:2])
        scales = torch.ones_like(largest) if unit else largest
        factors = torch.where(scales > 0, LEVELS / scales, 0).to(maps.device)
        quantized = (maps * factors[..., None, None]).round().clamp(0, LEVELS).to(torch.uint8).cpu()
        picked = torch.where(guesses < 0, NO_GUESS, guesses).numpy().astype("<u2")
        encoded = annotation.encode()
        content = b"".join(
            [
                quantized.contiguous().numpy().tobytes(),
                picked.tobytes(),
                scales.numpy().astype("<f4").tobytes(),
                encoded,
            ]
        )
        layers, heads, rows, columns = quantized.shape
        shape = layers, heads, rows, columns, len(guesses)
        return cls(key, document, shape, torch.frombuffer(bytearray(content), dtype=torch.uint8), len(encoded))

    def with_renamed_file(self, moved: Mapping[str, str]) -> SampledInput:
        """Return a copy whose annotation names the present path of its file."""
        annotation = self.annotation
        if annotation.file is None or annotation.file not in moved:
            return self
        encoded = replace(annotation, file=moved[annotation.file]).encode()
        kept = self.content[: sum(content_sizes(self.shape))].cpu()
        content = torch.cat([kept, torch.frombuffer(bytearray(encoded), dtype=torch.uint8)])
        return replace(self, content=content, annotation_bytes=len(encoded))

    @cached_property
    def _parts(self) -> tuple[bytes, bytes, bytes, bytes]:
        """The bytes of the maps, the guesses, the scales and the annotation."""
        content, start = self.content.cpu().numpy().tobytes(), 0
        parts = []
        for size in content_sizes(self.shape):
            parts.append(content[start : start + size])
            start += size
        return parts[0], parts[1], parts[2], content[start:]

    @property
    def annotation(self) -> Annotation:
        """The annotation."""
        return Annotation.decode(self._parts[3])  # after maps, guesses and scales

    @property
    def maps(self) -> bytes:
        """The quantized maps as unsigned bytes of shape (layers, heads, rows, columns)."""
        return self._parts[0]

    @property
    def scales(self) -> tuple[float, ...]:
        """For each head, the value for which the byte 255 stands."""
        return tuple(np.frombuffer(self._parts[2], dtype="<f4").tolist())

    @property
    def has_maps(self) -> bool:
        """Whether its maps are kept."""
        return self.shape[3] > 0

    def guesses(self, index: int, times: int = 1) -> bytes:
        """The guesses of one kind as unsigned 16-bit numbers of shape (layers, heads, rows), little-endian.

        Those of each head are repeated a number of ``times``.
        """
        size = len(self._parts[1]) // self.shape[4]
        guesses = self._parts[1][index * size : (index + 1) * size]
        row = 2 * self.shape[2]
        return b"".join(guesses[start : start + row] * times for start in range(0, size, row))


def content_sizes(shape: Shape) -> tuple[int, int, int]:
    """Return the numbers of bytes of the maps (1 each), the guesses (2 each) and the scales (4 each) of an input."""
    layers, heads, rows, columns, guesses = shape
    return layers * heads * rows * columns, 2 * guesses * layers * heads * rows, 4 * layers * heads


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
        """Return the numbers of layers and heads; there is only one kind."""
        layers, heads = self.batch.maps.shape[1:3]
        return layers, heads

    def drawn(self, indices: Sequence[int], kind: str | None) -> Iterator[MapBatch]:
        """Yield one batch with the maps of some inputs; there is only one kind."""
        yield select_inputs(self.batch, indices)


def as_drawable(batch: object) -> Drawable:
    """Return a batch as one from which inputs can be drawn."""
    if isinstance(batch, Drawable):
        return batch
    if isinstance(batch, MapBatch):
        return DrawableMaps(batch)
    raise TypeError(f"no inputs can be drawn from {type(batch).__name__}")


def select_inputs(batch: MapBatch, rows: Sequence[int]) -> MapBatch:
    """Return a batch of some inputs of a batch."""
    return replace(
        batch,
        # Those of one input are not copied, because the maps of a long one are large.
        maps=batch.maps[rows[0] : rows[0] + 1] if len(rows) == 1 else batch.maps[list(rows)],
        lengths=batch.lengths[list(rows)],
        special=batch.special[list(rows)],
        sentences=tuple(batch.sentences[row] for row in rows),
        labels=tuple(batch.labels[row] for row in rows) if batch.labels else (),
        forms=tuple(batch.forms[row] for row in rows) if batch.forms else (),
        word_lengths=tuple(batch.word_lengths[row] for row in rows) if batch.word_lengths else (),
        recompute=lambda indices, first_layers: batch.exact([rows[index] for index in indices], first_layers),
    )
