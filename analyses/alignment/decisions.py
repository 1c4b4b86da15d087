"""Which source word a target word is aligned with: the argmax of a row of cross-attention, made exactly.

The candidates are all columns, source words and special tokens alike. A target word whose best column is a special
token has no link (Kobayashi et al. 2020, §5), and of equal columns the first is taken. As everywhere in the toolkit,
float32 decides where the two best columns differ by more than its rounding noise. Otherwise the sentence pair is
computed again in float64, and columns that float64 cannot tell apart are equal. So no link depends on the batch, the
padding or the number of threads, and pairs may be computed again together: what padding changes in float64 is far below
`SAME`.

The links of both directions can be put together (Och & Ney 2003; Koehn et al. 2003; Koehn et al. 2005).
A model links each target word to one source word, and in the other direction each source word to one target word. The
links that both directions have are few and mostly right; those that either has are many and often wrong. The methods
between the two start with the intersection and grow into the union.

* **grow-diag**: a link of the union is added if it is beside a link that is in, also diagonally, and one of its two
  words has no link yet. The links that are in are visited by source word, then by target word, and those that have just
  been added are visited, too. This is repeated until nothing is added.
* **grow-diag-final**: then links of the forward direction, and after them those of the reverse direction, are added if
  one of their two words has no link yet, by source word, then by target word.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...extractors import Columns, MapBatch
from ...storage.nearest import UnknownNameError, describe_unknown

Booleans = npt.NDArray[np.bool_]

SAME = 2**-24
"""The part of the noise of float32 up to which two float64 values are taken to be equal. The rounding of float64 is
2⁻²⁹ of that of float32, so that this is 32 times its noise. Values that differ, but by no more than a part of 10⁻¹²,
do not occur in practice."""

ROUNDS, DISCOUNT = 2, 0.9
"""The number of rounds, and the factor for the similarity of a word that has a link to one that has none."""

_LEFT_OUT = -1.0  # stands for a cell that must not be chosen; similarities are not below 0

_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def best_columns(
    batch: MapBatch, tolerance: float
) -> tuple[Int[Tensor, "batch layers heads n"], Bool[Tensor, "batch layers"]]:
    """Choose the column with the largest value of each row, the first of equal ones."""
    # Returns the columns, 0-based, with −1 in rows of padding; and in which layers of an input a row has several
    # columns that are equal to the largest one.
    is_column = torch.arange(batch.maps.shape[-1]) < columns_of(batch).lengths[:, None]  # not padding
    return _find_largest(batch.maps, rows_of(batch), is_column, tolerance)


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
    best, close = _find_largest(batch.maps.transpose(-1, -2), is_word, rows_of(batch), tolerance)
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


def _find_largest(
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


def itermax(
    cosines: Float[Tensor, "batch layers heads n m"], cells: Bool[Tensor, "batch n m"], tolerance: float
) -> tuple[Bool[Tensor, "batch layers heads n m"], Bool[Tensor, "batch layers heads"]]:
    """Link words by the cells of a table of cosines, and say where two similarities are too close to be compared.

    Of equal similarities, the first is taken.
    """
    cells = cells[:, None, None].to(cosines.device)
    similarities = (1 + cosines) / 2  # not below 0, so that a discount makes them smaller
    links = torch.zeros_like(cosines, dtype=torch.bool)
    close = torch.zeros(cosines.shape[:3], dtype=torch.bool, device=cosines.device)
    for _ in range(ROUNDS):
        row_is_linked, column_is_linked = links.any(-1, keepdim=True), links.any(-2, keepdim=True)
        candidates = torch.where(row_is_linked ^ column_is_linked, DISCOUNT * similarities, similarities)
        candidates = candidates.masked_fill((row_is_linked & column_is_linked) | ~cells, _LEFT_OUT)
        best_of_rows, close_rows = _best(candidates, tolerance)
        best_of_columns, close_columns = _best(candidates.transpose(-1, -2), tolerance)
        links |= best_of_rows & best_of_columns.transpose(-1, -2)
        close |= close_rows | close_columns
    return links, close


def _best(
    candidates: Float[Tensor, "batch layers heads n m"], tolerance: float
) -> tuple[Bool[Tensor, "batch layers heads n m"], Bool[Tensor, "batch layers heads"]]:
    """Mark the first of the largest candidates of each row that has any, and return where there are several."""
    largest = candidates.amax(-1, keepdim=True)
    equal = (candidates >= largest - tolerance * largest) & (largest > _LEFT_OUT)
    first = equal & (equal.cumsum(-1) == 1)
    return first, (equal.sum(-1) > 1).any(-1)


def iterate_links(
    batch: MapBatch, tolerance: float
) -> tuple[Bool[Tensor, "batch layers heads n m"], Bool[Tensor, "batch layers"]]:
    """Link the words of a batch, given the cosines of all words; see `itermax` and `target_links`."""
    cells = rows_of(batch)[:, :, None] & columns_of(batch).words[:, None]  # target words × source words
    links, close = itermax(batch.maps, cells, tolerance)
    return links.cpu(), close.cpu().any(-1)


def symmetrize(forward: Booleans, reverse: Booleans, method: str) -> Booleans:
    """Put tables of links of both directions together by a method; shape (…, source words, target words)."""
    if method == "intersection":
        return forward & reverse
    if method == "union":
        return forward | reverse
    known = ("intersection", "union", "grow-diag", "grow-diag-final")
    if method not in known:
        raise UnknownNameError(describe_unknown("symmetrization", method, known))
    result = np.zeros_like(forward)
    for index in np.ndindex(forward.shape[:-2]):
        result[index] = _grow(forward[index], reverse[index], final=method == "grow-diag-final")
    return result


def _grow(forward: Booleans, reverse: Booleans, *, final: bool) -> Booleans:
    """Grow the intersection of the tables of one pair into the union by grow-diag or, if final, grow-diag-final."""
    links = forward & reverse
    union = list(map(tuple, np.argwhere(forward | reverse).tolist()))  # by source word, then by target word
    candidates = set(union)  # the same, to look up a link at once
    source_is_linked, target_is_linked = np.asarray(links.any(1)), np.asarray(links.any(0))

    def add(source: int, target: int) -> bool:
        """Add a link if one of its words has none, and return whether it was added."""
        if source_is_linked[source] and target_is_linked[target]:
            return False
        links[source, target] = source_is_linked[source] = target_is_linked[target] = True
        return True

    grows = True
    while grows:
        grows = False
        for source, target in union:
            if links[source, target]:
                for source_step, target_step in _NEIGHBORS:
                    neighbor = (source + source_step, target + target_step)
                    if neighbor in candidates and add(*neighbor):
                        grows = True
    if final:
        for direction in (forward, reverse):
            for source, target in np.argwhere(direction):
                add(source, target)
    return links
