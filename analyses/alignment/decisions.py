"""Which source word a target word is aligned with: the argmax of a row of cross-attention, made exactly.

The candidates are all columns, source words and special tokens alike. A target word whose best column is a special
token has no link (Kobayashi et al. 2020, §5), and of equal columns the first is taken. As everywhere in the toolkit,
float32 decides where the two best columns differ by more than its rounding noise. Otherwise the sentence pair alone is
computed again in float64, so that no link depends on the batch, the padding or the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentionology.extractors import Columns, MapBatch


def averaged_heads(batch: MapBatch) -> MapBatch:
    """Return the mean over the heads of each layer, which is the map of attention weights for all heads together.

    Example:
        >>> import torch
        >>> from attentionology import MapBatch, Sentence
        >>> from attentionology.analyses.alignment.decisions import averaged_heads
        >>> maps = torch.tensor([0.25, 0.75]).view(1, 1, 2, 1, 1)
        >>> batch = MapBatch(maps, torch.tensor([1]), torch.tensor([[False]]), (Sentence("1", ("Yes",)),))
        >>> averaged_heads(batch).maps.flatten().tolist()
        [0.5]
    """

    def recompute(indices: Sequence[int]) -> list[Float[Tensor, "layers 1 n m"]]:
        return [maps.mean(1, keepdim=True) for maps in batch.exact(indices)]

    maps = batch.maps.mean(2, keepdim=True)
    return replace(batch, maps=maps, recompute=None if batch.recompute is None else recompute)


def best_columns(batch: MapBatch) -> Int[Tensor, "batch layers heads n"]:
    """Return the column with the largest value of each row, 0-based; −1 in rows of padding.

    Example:
        >>> import torch
        >>> from attentionology import MapBatch, Sentence
        >>> from attentionology.analyses.alignment.decisions import best_columns
        >>> maps = torch.tensor([[0.1, 0.9], [0.5, 0.5]]).view(1, 1, 1, 2, 2)
        >>> batch = MapBatch(maps, torch.tensor([2]), torch.tensor([[False] * 2]), (Sentence("1", ("Oh", "yes")),))
        >>> best_columns(batch).tolist()
        [[[[1, 0]]]]
    """
    m = batch.maps.shape[-1]
    columns = columns_of(batch)
    rows = torch.arange(batch.maps.shape[-2]) < batch.lengths[:, None]
    outside = (torch.arange(m) >= columns.lengths[:, None]).to(batch.maps.device)
    values = batch.maps.masked_fill(outside[:, None, None, None], -1)
    best = values.argmax(-1).cpu()
    for index in _close(values, rows, batch.noise):
        exact = batch.exact([index])[0]
        best[index, ..., : exact.shape[-2]] = exact.argmax(-1).cpu()
    return best.masked_fill(~rows[:, None, None], -1)


def _close(values: Float[Tensor, "batch layers heads n m"], rows: Bool[Tensor, "batch n"], noise: float) -> list[int]:
    """Return the inputs of a batch with two largest values of a row that float32 cannot tell apart."""
    if values.shape[-1] < 2:
        return []
    first, second = values.topk(2).values.unbind(-1)
    close = (first - second <= noise * first.abs()).cpu() & rows[:, None, None]
    indices: list[int] = close.flatten(1).any(1).nonzero().flatten().tolist()
    return indices


def aligned_rows(batch: MapBatch) -> Int[Tensor, "batch layers heads m"]:
    """Return the row with the largest value of each word's column, for the words in order.

    In maps of sentence pairs, this is the target word that each source word is linked to, 0-based; −1 beyond the end of
    a sentence. Decisions are made as in `best_columns`.

    Example:
        >>> import torch
        >>> from attentionology import MapBatch, Sentence
        >>> from attentionology.analyses.alignment.decisions import aligned_rows
        >>> maps = torch.tensor([[0.1, 0.9], [0.4, 0.6]]).view(1, 1, 1, 2, 2)
        >>> batch = MapBatch(maps, torch.tensor([2]), torch.tensor([[False] * 2]), (Sentence("1", ("Oh", "yes")),))
        >>> aligned_rows(batch).tolist()
        [[[[1, 0]]]]
    """
    is_word = columns_of(batch).words
    outside = (torch.arange(batch.maps.shape[-2]) >= batch.lengths[:, None]).to(batch.maps.device)
    values = batch.maps.transpose(-1, -2).masked_fill(outside[:, None, None, None], -1)
    best = values.argmax(-1).cpu()
    for index in _close(values, is_word, batch.noise):
        exact = batch.exact([index])[0]
        best[index, ..., : exact.shape[-1]] = exact.argmax(-2).cpu()
    words = torch.full((*best.shape[:3], int(is_word.sum(1).max())), -1)
    for index, flags in enumerate(is_word):
        chosen = best[index][..., flags]
        words[index, ..., : chosen.shape[-1]] = chosen
    return words


def columns_of(batch: MapBatch) -> Columns:
    """Return what the columns of a batch stand for."""
    return batch.columns or Columns(batch.lengths, batch.special, batch.labels)


def column_words(batch: MapBatch) -> Int[Tensor, "batch m"]:
    """Return the word of each column, counted from 0 in its sentence; −1 at special tokens and padding."""
    is_word = columns_of(batch).words
    return (is_word.cumsum(1) - 1).masked_fill(~is_word, -1)


def aligned_words(
    batch: MapBatch, best: Int[Tensor, "batch layers heads n"] | None = None
) -> Int[Tensor, "batch layers heads n"]:
    """Return the source word that each target word is linked to, 0-based; −1 where there is no link.

    Args:
        batch: the maps.
        best: what `best_columns` returns for the batch, if it is known.
    """
    best = best_columns(batch) if best is None else best
    words = column_words(batch)[:, None, None].expand(*best.shape[:3], -1)
    return words.gather(-1, best.clamp(min=0)).masked_fill(best < 0, -1)
