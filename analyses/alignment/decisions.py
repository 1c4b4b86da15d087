"""Which source word a target word is aligned with: the argmax of a row of cross-attention, made exactly.

The candidates are all columns, source words and special tokens alike. A target word whose best column is a special
token has no link (Kobayashi et al. 2020, §5), and of equal columns the first is taken. As everywhere in the toolkit,
float32 decides where the two best columns differ by more than its rounding noise. Otherwise the sentence pair is
computed again in float64, and columns that float64 cannot tell apart are equal. So no link depends on the batch, the
padding or the number of threads, and pairs may be computed again together: what padding changes in float64 is far below
`SAME`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...extractors import Columns, MapBatch

SAME = 2**-24
"""The part of the noise of float32 up to which two float64 values are taken to be equal. The rounding of float64 is
2⁻²⁹ of that of float32, so that this is 32 times its noise. Values that differ, but by no more than a part of 10⁻¹²,
do not occur in practice."""


def averaged_heads(batch: MapBatch) -> MapBatch:
    """Return the mean over the heads of each layer, which is the map of attention weights for all heads together."""

    def recompute(indices: Sequence[int], first_layers: int | None = None) -> list[Float[Tensor, "layers 1 n m"]]:
        return [maps.mean(1, keepdim=True) for maps in batch.exact(indices, first_layers)]

    maps = batch.maps.mean(2, keepdim=True)
    return replace(batch, maps=maps, recompute=None if batch.recompute is None else recompute)


def best_columns(
    batch: MapBatch, tolerance: float
) -> tuple[Int[Tensor, "batch layers heads n"], Bool[Tensor, "batch layers"]]:
    """Choose the column with the largest value of each row, the first of equal ones."""
    # Returns the columns, 0-based, with −1 in rows of padding; and in which layers of an input a row has several
    # columns that are equal to the largest one.
    is_column = torch.arange(batch.maps.shape[-1]) < columns_of(batch).lengths[:, None]  # not padding
    return _largest(batch.maps, rows_of(batch), is_column, tolerance)


def target_links(
    batch: MapBatch, tolerance: float
) -> tuple[Int[Tensor, "batch layers heads n"], Bool[Tensor, "batch layers"]]:
    """Choose a source word for each target word, see `best_columns`."""
    # Returns the source words, 0-based, with −1 where there is no link and beyond the end of a pair; and in which
    # layers of a pair a decision was made between values that were equal.
    best, close = best_columns(batch, tolerance)
    is_word = columns_of(batch).words
    word_of_column = (is_word.cumsum(1) - 1).masked_fill(~is_word, -1)  # −1 for special tokens
    of_all_heads = word_of_column[:, None, None].expand(*best.shape[:3], -1).to(best.dtype)
    return of_all_heads.gather(-1, best.clamp(min=0).long()).masked_fill_(best < 0, -1), close


def source_links(
    batch: MapBatch, tolerance: float
) -> tuple[Int[Tensor, "batch layers heads words"], Bool[Tensor, "batch layers"]]:
    """Choose a target word for each source word, see `target_links`."""
    is_word = columns_of(batch).words
    best, close = _largest(batch.maps.transpose(-1, -2), is_word, rows_of(batch), tolerance)
    links = best.new_full((*best.shape[:3], int(is_word.sum(1).max())), -1)
    for index, is_word_of_pair in enumerate(is_word):
        of_words = best[index][..., is_word_of_pair]
        links[index, ..., : of_words.shape[-1]] = of_words
    return links, close


def in_float64(batch: MapBatch, index: int) -> MapBatch:
    """Return the maps of one input in float64 as a batch, see `MapBatch.exact`."""
    [maps] = batch.exact([index])
    n, m = maps.shape[-2:]
    columns = columns_of(batch)
    return replace(
        batch,
        maps=maps[None],
        lengths=batch.lengths[[index]],
        special=batch.special[[index], :n],
        sentences=(batch.sentences[index],),
        labels=batch.labels[index : index + 1],
        recompute=None,
        columns=Columns(columns.lengths[[index]], columns.special[[index], :m], columns.labels[index : index + 1]),
    )


def rows_of(batch: MapBatch) -> Bool[Tensor, "batch n"]:
    """Return which rows are not padding."""
    return torch.arange(batch.maps.shape[-2]) < batch.lengths[:, None]


def columns_of(batch: MapBatch) -> Columns:
    """Return what the columns of a batch stand for: the same as its rows, unless it says otherwise."""
    return batch.columns or Columns(batch.lengths, batch.special, batch.labels)


def _largest(
    values: Float[Tensor, "batch layers heads n m"],
    is_asked: Bool[Tensor, "batch n"],
    is_candidate: Bool[Tensor, "batch m"],
    tolerance: float,
) -> tuple[Int[Tensor, "batch layers heads n"], Bool[Tensor, "batch layers"]]:
    """Return the first of the largest candidates of each row, −1 if not asked for, and where there are several."""
    if not is_candidate.all():
        values = values.masked_fill(~is_candidate.to(values.device)[:, None, None, None], -torch.inf)
    largest = values.amax(-1, keepdim=True)
    is_largest = values >= largest - tolerance * largest.abs()
    close = (is_largest.sum(-1, dtype=torch.int32) > 1).cpu() & is_asked[:, None, None]
    # The argmax of zeros and ones is the first one, whatever follows it.
    best = is_largest.to(torch.uint8).argmax(-1).to("cpu", torch.int32).masked_fill_(~is_asked[:, None, None], -1)
    return best, close.flatten(2).any(-1)
