"""Which source word a target word is aligned with: the argmax of a row of cross-attention, made exactly.

The candidates are all columns, source words and special tokens alike. A target word whose best column is a special
token has no link (Kobayashi et al. 2020, §5), and of equal columns the first is taken. As everywhere in the toolkit,
float32 decides where the two best columns differ by more than its rounding noise. Otherwise the sentence pair alone is
computed again in float64, so that no link depends on the batch, the padding or the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    decisions = Decisions.of_rows(batch)
    decisions.settle()
    return decisions.best


@dataclass(frozen=True, eq=False)
class Decisions:
    """The decisions of a batch as float32 makes them, and the inputs for which it cannot.

    Attributes:
        batch: the maps.
        best: the column with the largest value of each row, or the row with the largest value of each column; −1 beyond
            the end of an input. `decide` changes it.
        close: the inputs that are to be decided in float64.
        of_columns: whether each column has a decision, and not each row.
    """

    batch: MapBatch
    best: Int[Tensor, "batch layers heads positions"]
    close: frozenset[int]
    of_columns: bool = False

    @classmethod
    def of_rows(cls, batch: MapBatch) -> Decisions:
        """Choose a column for each row."""
        rows = torch.arange(batch.maps.shape[-2]) < batch.lengths[:, None]
        columns = torch.arange(batch.maps.shape[-1]) < columns_of(batch).lengths[:, None]
        return cls(batch, *_largest(batch.maps, rows, columns, batch.noise))

    @classmethod
    def of_words(cls, batch: MapBatch) -> Decisions:
        """Choose a row for each column that is a word."""
        rows = torch.arange(batch.maps.shape[-2]) < batch.lengths[:, None]
        return cls(batch, *_largest(batch.maps.transpose(-1, -2), columns_of(batch).words, rows, batch.noise), True)

    def decide(self, index: int) -> None:
        """Make the decisions of one input again, in float64."""
        exact = self.batch.exact([index])[0]
        exact = exact.transpose(-1, -2) if self.of_columns else exact
        best = self.best[index, ..., : exact.shape[-2]]
        best.copy_(exact.argmax(-1).cpu().masked_fill(best < 0, -1))

    def settle(self) -> None:
        """Make all decisions in float64 that float32 cannot make."""
        for index in sorted(self.close):
            self.decide(index)


def _largest(
    values: Float[Tensor, "batch layers heads n m"],
    asked: Bool[Tensor, "batch n"],
    candidates: Bool[Tensor, "batch m"],
    noise: float,
) -> tuple[Int[Tensor, "batch layers heads n"], frozenset[int]]:
    """Return the largest candidate for each of the positions, and the inputs in which two are too close."""
    values = values.masked_fill(~candidates.to(values.device)[:, None, None, None], -torch.inf)
    best = values.argmax(-1).cpu().masked_fill(~asked[:, None, None], -1)
    if values.shape[-1] < 2:
        return best, frozenset()
    first, second = values.topk(2).values.unbind(-1)
    close = (first - second <= noise * first.abs()).cpu() & asked[:, None, None]
    return best, frozenset(close.flatten(1).any(1).nonzero().flatten().tolist())


def aligned_rows(
    batch: MapBatch, best: Int[Tensor, "batch layers heads columns"] | None = None
) -> Int[Tensor, "batch layers heads words"]:
    """Return the row with the largest value of each word's column, for the words in order.

    In maps of sentence pairs, this is the target word that each source word is linked to, 0-based; −1 beyond the end of
    a sentence. Decisions are made as in `best_columns`.

    Args:
        batch: the maps.
        best: the decisions of `Decisions.of_words` for the batch, if they are known.

    Example:
        >>> import torch
        >>> from attentionology import MapBatch, Sentence
        >>> from attentionology.analyses.alignment.decisions import aligned_rows
        >>> maps = torch.tensor([[0.1, 0.9], [0.4, 0.6]]).view(1, 1, 1, 2, 2)
        >>> batch = MapBatch(maps, torch.tensor([2]), torch.tensor([[False] * 2]), (Sentence("1", ("Oh", "yes")),))
        >>> aligned_rows(batch).tolist()
        [[[[1, 0]]]]
    """
    if best is None:
        decisions = Decisions.of_words(batch)
        decisions.settle()
        best = decisions.best
    is_word = columns_of(batch).words
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
