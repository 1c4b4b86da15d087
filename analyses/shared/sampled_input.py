"""One input of the stored sample: its words, its annotation, its maps in 8 bits, and guesses of analyses.

An input is stored as one run of bytes, so that a metric can hold it as a tensor, whatever its length: the quantized
maps, the guesses, the scales of the maps, and the annotation as JSON. The numbers that are needed to cut the run into
these parts, and the hashes by which inputs are drawn, are stored beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapBatch, Window
from attentionology.reports.explorer.data import ShownMention

LEVELS = 255
"""The largest quantized value. A value of the map is byte / 255 × scale."""

NO_GUESS = 65535
"""Stands for the guess of a row for which there is none."""


@dataclass(frozen=True)
class Annotation:
    """What the corpus says about an input. Rows are those of its maps.

    Attributes:
        id: the id of the input.
        document: the id of its document; None if it is not known.
        file, line: the file, and the line where the input starts.
        rows: the words and special tokens.
        special: which rows are special tokens.
        heads: the row of each word's syntactic head, −1 for the root, None where there is none.
        relations: the relation of each word to its head.
        mentions: the mentions of entities.
    """

    id: str
    document: str | None
    file: str | None
    line: int | None
    rows: tuple[str, ...]
    special: tuple[bool, ...]
    heads: tuple[int | None, ...] = ()
    relations: tuple[str | None, ...] = ()
    mentions: tuple[ShownMention, ...] = ()

    @classmethod
    def of(cls, batch: MapBatch, index: int) -> Annotation:
        """Return the annotation of one input of a batch.

        Args:
            batch: maps, at word level if the corpus has trees or mentions.
            index: the index of the input in the batch.
        """
        sentence, length = batch.sentences[index], int(batch.lengths[index])
        special = batch.special[index, :length].tolist()
        row_of = [row for row in range(length) if not special[row]]
        words = iter(sentence.words)
        rows = batch.labels[index] if batch.labels else ["" if is_special else next(words) for is_special in special]
        annotation = cls(
            id=sentence.id,
            document=document_of(sentence),
            file=sentence.file,
            line=sentence.line,
            rows=tuple(rows),
            special=tuple(special),
        )
        if len(row_of) != len(sentence):  # the rows are pieces of words
            return annotation
        heads: list[int | None] = [None] * length
        relations: list[str | None] = [None] * length
        for row, head, relation in zip(row_of, sentence.heads, sentence.relations, strict=False):
            if head is not None:
                heads[row], relations[row] = row_of[head - 1] if head else -1, relation
        return replace(
            annotation, heads=tuple(heads), relations=tuple(relations), mentions=tuple(_mentions(sentence, row_of))
        )

    def encoded(self) -> bytes:
        """Return the annotation as JSON."""
        return json.dumps(asdict(self), separators=(",", ":")).encode("ascii")

    @classmethod
    def decoded(cls, content: bytes) -> Annotation:
        """Return the annotation that `encoded` has written."""
        plain: dict[str, Any] = json.loads(content)
        mentions = tuple(ShownMention(**mention) for mention in plain.pop("mentions"))
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
        }
        return cls(**fields, mentions=mentions)


def document_of(sentence: Sentence) -> str | None:
    """Return the id of the document of an input; None if it is not known."""
    return sentence.source.id if isinstance(sentence, Window) else sentence.document


def _mentions(sentence: Sentence, row_of: Sequence[int]) -> list[ShownMention]:
    """Return the mentions of a window whose words are all in it. The others of a document are left out."""
    if not isinstance(sentence, Window):
        return []
    document = sentence.source
    mentions = [document.mentions[index] for index in document.starting(sentence.start, sentence.stop)]
    return [
        ShownMention(
            start=row_of[mention.start - sentence.start],
            end=row_of[mention.stop - 1 - sentence.start],
            entity=mention.entity,
            type=mention.type,
            head=row_of[mention.head - sentence.start],
        )
        for mention in mentions
        if mention.head is not None and mention.stop <= sentence.stop
    ]


@dataclass(frozen=True, eq=False)
class SampledInput:
    """An input of the sample.

    Attributes:
        key: the hash of its id, by which it is drawn.
        document: the hash of the id of its document, or of its own id if it has none.
        shape: the numbers of layers, heads, rows and guesses.
        content: the quantized maps, guesses, scales and annotation, one after another.
        annotation_bytes: the number of bytes of the annotation.
    """

    key: int
    document: int
    shape: tuple[int, int, int, int]
    content: UInt8[Tensor, " bytes"]
    annotation_bytes: int

    @classmethod
    def of(
        cls,
        key: int,
        document: int,
        annotation: Annotation,
        maps: Float[Tensor, "layers heads rows rows"],
        guesses: Int[Tensor, "guesses layers heads rows"],
        *,
        unit: bool,
    ) -> SampledInput:
        """Quantize the maps of an input.

        Args:
            key, document: see the class.
            annotation: its annotation.
            maps: its maps without padding. They must not be negative.
            guesses: the guesses, −1 where there is none.
            unit: whether rows are distributions, so that the scale is 1. Otherwise it is the largest value of each map.
        """
        largest = maps.amax((-1, -2)).float().cpu()
        scales = torch.ones_like(largest) if unit else largest
        factors = torch.where(scales > 0, LEVELS / scales, 0).to(maps.device)
        quantized = (maps * factors[..., None, None]).round().clamp(0, LEVELS).to(torch.uint8).cpu()
        picked = torch.where(guesses < 0, NO_GUESS, guesses).numpy().astype("<u2")
        encoded = annotation.encoded()
        content = b"".join(
            [
                quantized.contiguous().numpy().tobytes(),
                picked.tobytes(),
                scales.numpy().astype("<f4").tobytes(),
                encoded,
            ]
        )
        shape = (*quantized.shape[:3], len(guesses))
        return cls(key, document, shape, torch.frombuffer(bytearray(content), dtype=torch.uint8), len(encoded))

    def with_renamed_file(self, moved: Mapping[str, str]) -> SampledInput:
        """Return a copy whose annotation names the present path of its file.

        Args:
            moved: the present paths of files, by their former paths.
        """
        annotation = self.annotation
        if annotation.file is None or annotation.file not in moved:
            return self
        encoded = replace(annotation, file=moved[annotation.file]).encoded()
        kept = self.content[: sum(content_sizes(self.shape))].cpu()
        content = torch.cat([kept, torch.frombuffer(bytearray(encoded), dtype=torch.uint8)])
        return replace(self, content=content, annotation_bytes=len(encoded))

    @cached_property
    def _parts(self) -> tuple[bytes, bytes, bytes, bytes]:
        content, start = self.content.cpu().numpy().tobytes(), 0
        parts = []
        for size in content_sizes(self.shape):
            parts.append(content[start : start + size])
            start += size
        return parts[0], parts[1], parts[2], content[start:]

    @property
    def annotation(self) -> Annotation:
        """The annotation."""
        return Annotation.decoded(self._parts[3])

    @property
    def maps(self) -> bytes:
        """The quantized maps as unsigned bytes of shape (layers, heads, rows, rows)."""
        return self._parts[0]

    @property
    def scales(self) -> tuple[float, ...]:
        """For each head, the value for which the byte 255 stands."""
        return tuple(np.frombuffer(self._parts[2], dtype="<f4").tolist())

    def guesses(self, index: int) -> bytes:
        """The guesses of one kind as unsigned 16-bit numbers of shape (layers, heads, rows), little-endian."""
        size = len(self._parts[1]) // self.shape[3]
        return self._parts[1][index * size : (index + 1) * size]


def content_sizes(shape: tuple[int, int, int, int]) -> tuple[int, int, int]:
    """Return the numbers of bytes of the maps, the guesses and the scales of an input."""
    layers, heads, rows, guesses = shape
    return layers * heads * rows * rows, 2 * guesses * layers * heads * rows, 4 * layers * heads
