"""Links of similar words in two rounds: the method Itermax (SimAlign; Jalili Sabet et al. 2020, §3).

Two words of which each is the most similar one of the other are linked first. In the second round, words can be given
more links: similarities of two words that both have a link are left out, and those of words of which one has a link are
discounted.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ...extractors import MapBatch
from .decisions import columns_of, rows_of

ROUNDS, DISCOUNT = 2, 0.9
"""The number of rounds, and the factor for the similarity of a word that has a link to one that has none."""

_LEFT_OUT = -1.0


def itermax(
    cosines: Float[Tensor, "batch layers heads n m"], cells: Bool[Tensor, "batch n m"], tolerance: float
) -> tuple[Bool[Tensor, "batch layers heads n m"], Bool[Tensor, "batch layers heads"]]:
    """Link the words of sentence pairs, and say where two similarities are too close to be compared."""
    # Similarities are (1 + cosine) / 2, so that a discount makes them smaller. Of equal similarities, the first is
    # taken.
    cells = cells[:, None, None].to(cosines.device)
    similarities = (1 + cosines) / 2
    links = torch.zeros_like(cosines, dtype=torch.bool)
    close = torch.zeros(cosines.shape[:3], dtype=torch.bool, device=cosines.device)
    for _ in range(ROUNDS):
        rows, columns = links.any(-1, keepdim=True), links.any(-2, keepdim=True)
        candidates = torch.where(rows ^ columns, DISCOUNT * similarities, similarities)
        candidates = candidates.masked_fill((rows & columns) | ~cells, _LEFT_OUT)
        of_rows, close_rows = _best(candidates, tolerance)
        of_columns, close_columns = _best(candidates.transpose(-1, -2), tolerance)
        links |= of_rows & of_columns.transpose(-1, -2)
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


def iterated_links(
    batch: MapBatch, tolerance: float
) -> tuple[Bool[Tensor, "batch layers heads n m"], Bool[Tensor, "batch layers"]]:
    """Link the words of a batch, given the cosines of all words; see `itermax` and `target_links`."""
    links, close = itermax(batch.maps, rows_of(batch)[:, :, None] & columns_of(batch).words[:, None], tolerance)
    return links.cpu(), close.cpu().any(-1)
