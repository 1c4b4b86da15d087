"""Inputs that are too long for maps, such as windows of documents: their words, their annotation and exact guesses.

Inputs are kept in the order of the hashes of their documents, and those of a document in its order, until they have
`TEXT_ROWS` rows. Parts of a corpus merge to what the whole keeps: fewer rows come before an input in a part than in the
whole, so what the whole keeps is kept in its part. If the whole leaves an input out, the inputs before it fill the
space. The merged parts have all of these inputs, so they leave it out as well.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from ...corpora_loaders import Sentence
from ...extractors import Window
from ..counting.resampling import sentence_keys
from .annotation import document_of
from .sampled_input import SampledInput, content_sizes

TEXT_ROWS = 3000
"""The number of rows that these inputs fill. As windows overlap by half, they have about 1,500 words."""

_NUMBERS = struct.Struct("<8q")
"""What is stored before the content of an input: key, document, the five numbers of its shape, bytes of annotation."""


def early_texts(
    kept: Sequence[SampledInput], sentences: Sequence[Sentence], sizes: Sequence[int], seed: int, most_rows: int
) -> dict[int, tuple[int, int]]:
    """Return the inputs of a batch that come early enough to be kept: their indices, with the places in the order.

    Args:
        kept: the inputs that are kept already.
        sentences: the inputs of the batch.
        sizes: the number of rows of each of them.
        seed: the seed of the hashes.
        most_rows: the largest number of rows of an input that is not too long for maps.
    """
    starts = [sentence.start if isinstance(sentence, Window) else 0 for sentence in sentences]
    # The last window of a long document may be short.
    long = [index for index, size in enumerate(sizes) if max(size, starts[index]) > most_rows]
    names = hashes([sentences[index].id for index in long], seed)
    owners = hashes([document_of(sentences[index]) or sentences[index].id for index in long], seed)
    places = {
        index: (owner, starts[index] if isinstance(sentences[index], Window) else name)
        for index, owner, name in zip(long, owners, names, strict=True)
    }
    # An input at the place of a kept one is a candidate, too: the content decides between them, so it goes first here.
    order = [*((each.document, each.key, b"-") for each in kept), *((*place, b"") for place in places.values())]
    rows = [*(each.shape[2] for each in kept), *(sizes[index] for index in places)]
    now = {order[index][:2] for index in first_texts(order, rows) if index >= len(kept)}
    return {index: place for index, place in places.items() if place in now}


def hashes(names: Sequence[str], seed: int) -> list[int]:
    """Return a hash of 63 bits of each name."""
    return cast(list[int], (sentence_keys(names, seed) >> np.uint64(1)).tolist())


def first_texts(order: Sequence[tuple[int, int, bytes]], rows: Sequence[int]) -> list[int]:
    """Return the indices of the inputs that are kept, in their order, given what they are sorted by and their rows."""
    chosen, filled = [], 0
    for index in sorted(range(len(order)), key=lambda index: order[index]):
        if filled >= TEXT_ROWS:
            break
        chosen.append(index)
        filled += rows[index]
    return chosen


def pack_texts(inputs: Iterable[SampledInput]) -> list[UInt8[Tensor, " bytes"]]:
    """Return inputs as they are stored, those that are kept of them."""
    all_inputs = list(inputs)
    order = [(each.document, each.key, each.content.cpu().numpy().tobytes()) for each in all_inputs]
    kept = [all_inputs[index] for index in first_texts(order, [each.shape[2] for each in all_inputs])]
    return [_pack_text(each) for each in kept]


def unpack_texts(stored: Iterable[UInt8[Tensor, " bytes"]]) -> Iterator[SampledInput]:
    """Yield the inputs of which a tensor has one or several, one after another."""
    for tensor in stored:
        start = 0
        while start < len(tensor):
            numbers = tensor[start : start + _NUMBERS.size].cpu().numpy().tobytes()
            key, document, layers, heads, rows, columns, guesses, annotation = _NUMBERS.unpack(numbers)
            shape = layers, heads, rows, columns, guesses
            begin = start + _NUMBERS.size
            start = begin + sum(content_sizes(shape)) + annotation
            yield SampledInput(key, document, shape, tensor[begin:start], annotation)


def _pack_text(text: SampledInput) -> UInt8[Tensor, " bytes"]:
    """Return an input with its numbers before it."""
    numbers = _NUMBERS.pack(text.key, text.document, *text.shape, text.annotation_bytes)
    return torch.cat([torch.frombuffer(bytearray(numbers), dtype=torch.uint8), text.content.cpu()])
