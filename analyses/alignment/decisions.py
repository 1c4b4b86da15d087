"""Which source word a target word is aligned with: the argmax of a row of cross-attention, made exactly.

The candidates are all columns, source words and special tokens alike. A target word whose best column is a special
token has no link (Kobayashi et al. 2020, §5), and of equal columns the first is taken. As everywhere in the toolkit,
float32 decides where the two best columns differ by more than its rounding noise. Otherwise the sentence pair is
computed again in float64, and columns that float64 cannot tell apart are equal. So no link depends on the batch, the
padding or the number of threads, and pairs may be computed again together: what padding changes in float64 is far below
`SAME`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ...extractors import Columns, MapBatch

SAME = 2**-24
"""The part of the noise of float32 up to which two float64 values are taken to be equal. The rounding of float64 is
2⁻²⁹ of that of float32, so that this is 32 times its noise. Values that differ, but by no more than a part of 10⁻¹²,
do not occur in practice."""


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

    def recompute(indices: Sequence[int], first_layers: int | None = None) -> list[Float[Tensor, "layers 1 n m"]]:
        return [maps.mean(1, keepdim=True) for maps in batch.exact(indices, first_layers)]

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
    return _settled(Decisions.of_rows(batch), batch).best


@dataclass(frozen=True, eq=False)
class Decisions:
    """The decisions about inputs as float32 makes them, and those that it cannot make.

    Attributes:
        best: the column with the largest value of each row, or the row with the largest value of each column; −1 beyond
            the end of an input. `decide` changes it.
        close: the decisions that are to be made in float64: the indices of input, layer, head and position.
        noise: the relative difference below which float32 cannot decide.
        of_columns: whether each column has a decision, and not each row.
    """

    best: Int[Tensor, "batch layers heads positions"]
    close: Int[Tensor, "close 4"]
    noise: float
    of_columns: bool = False

    @classmethod
    def of_rows(cls, batch: MapBatch) -> Decisions:
        """Choose a column for each row."""
        rows = torch.arange(batch.maps.shape[-2]) < batch.lengths[:, None]
        columns = torch.arange(batch.maps.shape[-1]) < columns_of(batch).lengths[:, None]
        return cls(*_largest(batch.maps, rows, columns, batch.noise), batch.noise)

    @classmethod
    def of_words(cls, batch: MapBatch) -> Decisions:
        """Choose a row for each column that is a word."""
        rows = torch.arange(batch.maps.shape[-2]) < batch.lengths[:, None]
        best, close = _largest(batch.maps.transpose(-1, -2), columns_of(batch).words, rows, batch.noise)
        return cls(best, close, batch.noise, of_columns=True)

    @classmethod
    def together(cls, parts: Sequence[Decisions]) -> Decisions:
        """Return the decisions about the inputs of several batches of the same maps."""
        close = renumbered([part.close for part in parts], [len(part.best) for part in parts])
        return cls(padded([part.best for part in parts]), close, parts[0].noise, parts[0].of_columns)

    def decide(self, index: int, exact: Float[Tensor, "layers heads n m"]) -> None:
        """Make the close decisions about one input again.

        Args:
            index: the input.
            exact: its maps in float64, without padding. Only layers and rows with close decisions are read.
        """
        _, layers, heads, positions = self.close[self.close[:, 0] == index].T
        values = (exact.transpose(-1, -2) if self.of_columns else exact)[layers, heads, positions]
        best = first_of_equals(values, SAME * self.noise).cpu()
        self.best[index, layers, heads, positions] = best.to(self.best.dtype)


def renumbered(close: Sequence[Int[Tensor, "_ 4"]], sizes: Sequence[int]) -> Int[Tensor, "close 4"]:
    """Put the close decisions about several batches one after the other, with the inputs numbered throughout.

    Args:
        close: the close decisions about each batch, see `Decisions`.
        sizes: the number of inputs of each batch.
    """
    starts = itertools.accumulate(sizes[:-1], initial=0)
    return torch.cat([part + torch.tensor([start, 0, 0, 0]) for start, part in zip(starts, close, strict=True)])


def padded(parts: Sequence[Int[Tensor, "*_"]]) -> Int[Tensor, "*_"]:
    """Put numbers about several batches one after the other, with −1 after those of inputs that are not the longest."""
    longest = max(part.shape[-1] for part in parts)
    return torch.cat([nn.functional.pad(part, (0, longest - part.shape[-1]), value=-1) for part in parts])


def first_of_equals(values: Float[Tensor, "*shape m"], tolerance: float) -> Int[Tensor, "*shape"]:
    """Return the index of the first of the largest values, which may differ by rounding.

    Args:
        values: the values.
        tolerance: the relative difference up to which two values are equal.

    Example:
        >>> import torch
        >>> from attentionology.analyses.alignment.decisions import first_of_equals
        >>> values = torch.tensor([[0.1, 0.3, 0.1 + 0.2], [0.1, 0.2, 0.3]], dtype=torch.float64)
        >>> values.argmax(-1).tolist(), first_of_equals(values, 1e-12).tolist()
        ([2, 2], [1, 2])
    """
    largest = values.amax(-1, keepdim=True)
    return (values >= largest - tolerance * largest.abs()).to(torch.uint8).argmax(-1)


def _settled(decisions: Decisions, batch: MapBatch) -> Decisions:
    """Make the decisions about a batch in float64 that float32 cannot make, input by input to hold few maps."""
    for index in sorted(set(decisions.close[:, 0].tolist())):
        decisions.decide(index, batch.exact([index])[0])
    return decisions


def _largest(
    values: Float[Tensor, "batch layers heads n m"],
    asked: Bool[Tensor, "batch n"],
    candidates: Bool[Tensor, "batch m"],
    noise: float,
) -> tuple[Int[Tensor, "batch layers heads n"], Int[Tensor, "close 4"]]:
    """Return the largest candidate for each of the positions, and the indices of those of which two are too close."""
    if not candidates.all():
        values = values.masked_fill(~candidates.to(values.device)[:, None, None, None], -torch.inf)
    largest, best = values.max(-1)
    near = values >= (largest - noise * largest.abs()).unsqueeze(-1)
    close = (near.sum(-1, dtype=torch.int32) > 1).cpu() & asked[:, None, None]
    best = best.to("cpu", torch.int32).masked_fill_(~asked[:, None, None], -1)
    return best, close.nonzero()


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
    best = _settled(Decisions.of_words(batch), batch).best if best is None else best
    return rows_of_words(best, columns_of(batch).words)


def rows_of_words(
    best: Int[Tensor, "batch layers heads columns"], is_word: Bool[Tensor, "batch columns"]
) -> Int[Tensor, "batch layers heads words"]:
    """Return the decisions about the columns that are words, in order; −1 beyond the end of a sentence.

    Args:
        best: a decision about each column.
        is_word: which columns are words.
    """
    words = best.new_full((*best.shape[:3], int(is_word.sum(1).max())), -1)
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
    return words_of_rows(best_columns(batch) if best is None else best, column_words(batch))


def words_of_rows(
    best: Int[Tensor, "batch layers heads n"], words: Int[Tensor, "batch columns"]
) -> Int[Tensor, "batch layers heads n"]:
    """Return the source word of the column that each row was given; −1 for special tokens and rows of padding.

    Args:
        best: a column for each row.
        words: the source word of each column, −1 at special tokens.
    """
    by_column = words[:, None, None].expand(*best.shape[:3], -1)
    return by_column.to(best.dtype).gather(-1, best.clamp(min=0).long()).masked_fill_(best < 0, -1)
