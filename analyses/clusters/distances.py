"""The metric of how differently heads attend: the Jensen-Shannon divergence between all pairs (Clark et al. 2019, §6).

All pairs of heads are compared in every cell of every map: for 144 heads that is 10,296 logarithms per cell. Two
decisions make this affordable. The entropy of each head alone is computed once per cell
and not once per pair, so that a pair costs one logarithm, that of the sum. And logarithms are taken in float32, which
is several times faster than float64. Their relative error of about 10⁻⁷ does not grow in the sums: products are added
up in float32 only within short runs (`_DOT`), and these partial sums are added up in float64, because the divergence is
a small difference of large sums, in which rounding would otherwise show. Blocks of cells are small enough for the cache
of a core (`_BLOCK`). Each thread has heads of its own, and the order of additions for a pair is always the same, so
that the result does not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torchmetrics import Metric

from attentionology.analyses.surface.distributions import DISTANCE_SMOOTHING, check_rows, check_shape
from attentionology.extractors import MapBatch

SMOOTHING = DISTANCE_SMOOTHING
"""The share of uniform attention that the published code mixes into each row: (1 − s) α + s / n."""

_GROUP = 2**14  # the number of cells per head that are gathered before they are compared
_BLOCK = 2**13  # the number of cells per head that a thread compares at a time: more would not fit into the cache
_DOT = 2**8  # the number of products that are added up in float32; with more of them, rounding shows in the sums
_SMALLEST = np.float32(1e-37)  # takes the place of 0, so that x ln x is about 10⁻³⁵ instead of not a number

Array32 = npt.NDArray[np.float32]
Array64 = npt.NDArray[np.float64]


class HeadDistanceTables(NamedTuple):
    """Square tables whose rows and columns are named ``layer-head``, 1-based.

    Attributes:
        per_row: the Jensen-Shannon divergence in nats, from 0 to ln 2, as the mean over rows.
        sums: the sum of the divergence over all rows of all inputs, as in the paper.
        rows: the number of rows.
    """

    per_row: pd.DataFrame
    sums: pd.DataFrame
    rows: int


class HeadDistances(Metric):
    """The Jensen-Shannon divergence between the attention of any two heads, over all rows of all inputs.

    JS(p, q) = H((p + q) / 2) − H(p) / 2 − H(q) / 2, with 0 ln 0 = 0. This is the divergence, not its square root. It
    takes one logarithm per cell and pair, in the upper triangle only. Logarithms are float32, sums float64.

    Args:
        n_layers, n_heads: the shape of the maps.
        smoothing: the share of uniform attention that is mixed into rows first; the published code uses `SMOOTHING`.
        threads: the number of threads; None for as many as torch uses. It has no effect on the result.

    Raises:
        ValueError: the smoothing is not from 0 to below 1.

    Example:
        >>> from attentionology import HeadDistances, MapBatch, Sentence
        >>> to_first = torch.tensor([1.0, 0.0]).repeat(2, 1)  # both rows attend to the first of two words
        >>> maps = torch.stack([to_first, to_first.flip(1)])[None, None]  # two heads with nothing in common
        >>> special = torch.zeros(1, 2, dtype=torch.bool)
        >>> metric = HeadDistances(n_layers=1, n_heads=2)
        >>> metric.update(MapBatch(maps, torch.tensor([2]), special, (Sentence("s1", ("Birds", "sing")),)))
        >>> round(float(metric.compute().per_row.loc["1-1", "1-2"]), 4)  # ln 2
        0.6931
    """

    full_state_update = False
    sums: Float[Tensor, "all_heads all_heads"]
    rows: Int[Tensor, ""]

    def __init__(self, n_layers: int, n_heads: int, *, smoothing: float = 0.0, threads: int | None = None) -> None:
        super().__init__(compute_with_cache=False)
        if not 0 <= smoothing < 1:
            raise ValueError(f"smoothing must be from 0 to 1, not {smoothing}")
        self.n_layers, self.n_heads, self.smoothing, self.threads = n_layers, n_heads, smoothing, threads
        size = n_layers * n_heads
        self.add_state("sums", torch.zeros(size, size, dtype=torch.float64), "sum", persistent=True)
        self.add_state("rows", torch.tensor(0), "sum", persistent=True)

    def update(self, batch: MapBatch) -> None:
        """Add a batch of maps.

        Raises:
            ValueError: rows do not sum to 1 (extract with ``normalize="row"``), or the maps have another shape.
        """
        check_shape(batch, self.n_layers, self.n_heads)
        divergences = np.zeros((self.sums.shape[0],) * 2)
        threads = self.threads or torch.get_num_threads()
        with ThreadPoolExecutor(threads) as pool:
            for cells in self._groups(batch):
                divergences += _divergences(cells, pool, threads)
        self.sums += torch.from_numpy(divergences).to(self.sums.device)
        self.rows += int(batch.lengths.sum())

    def compute(self) -> HeadDistanceTables:
        """Return the tables."""
        upper = self.sums.cpu().numpy()
        names = [f"{layer + 1}-{head + 1}" for layer in range(self.n_layers) for head in range(self.n_heads)]
        sums = pd.DataFrame(upper + upper.T, index=names, columns=names)
        rows = int(self.rows)
        return HeadDistanceTables(sums / max(rows, 1), sums, rows)

    def _groups(self, batch: MapBatch) -> Iterator[Array32]:
        """Yield the cells of several inputs at a time, shape (heads, cells)."""
        gathered: list[Array32] = []
        for _, maps in batch.unpadded():
            n = maps.shape[-1]
            rows = maps.reshape(-1, n, n)
            check_rows(float(np.abs(rows.sum(-1) - 1).max()))
            if self.smoothing:
                rows = np.float32(1 - self.smoothing) * rows + np.float32(self.smoothing / n)
            gathered.append(rows.reshape(len(rows), -1))
            if sum(cells.shape[1] for cells in gathered) >= _GROUP:
                yield np.concatenate(gathered, axis=1)
                gathered = []
        if gathered:
            yield np.concatenate(gathered, axis=1)


def _divergences(cells: Array32, pool: ThreadPoolExecutor, threads: int) -> Array64:
    """Return the sums of the divergence over all cells, in the upper triangle.

    With s = p + q, H(s / 2) = −½ Σ s ln s + ½ ln 2 Σ s. The cells are padded to a multiple of `_DOT`.
    """
    cells = np.maximum(np.pad(cells, ((0, 0), (0, -cells.shape[1] % _DOT))), _SMALLEST)
    heads = len(cells)
    together = np.zeros((heads, heads))  # Σ s ln s
    list(pool.map(lambda first: _add_pairs(cells, together, range(first, heads - 1, threads)), range(threads)))
    alone = _rowwise_dot(cells, np.log(cells))  # Σ p ln p
    mass = cells.sum(1, dtype=np.float64)
    pairs = -together + math.log(2) * np.add.outer(mass, mass) + np.add.outer(alone, alone)
    upper: Array64 = np.triu(pairs / 2, 1)
    return upper


def _add_pairs(cells: Array32, together: Array64, heads: range) -> None:
    """Add Σ s ln s of each head in ``heads`` with all heads after it, in place."""
    buffers = np.empty((2, len(cells) * _BLOCK), dtype=np.float32)
    for start in range(0, cells.shape[1], _BLOCK):
        block = np.ascontiguousarray(cells[:, start : start + _BLOCK])
        for head in heads:
            later = block[head + 1 :]
            sums, logarithms = buffers[:, : later.size].reshape(2, *later.shape)
            np.add(later, block[head], out=sums)
            np.log(sums, out=logarithms)
            together[head, head + 1 :] += _rowwise_dot(sums, logarithms)


def _rowwise_dot(a: Array32, b: Array32) -> Array64:
    """Return the sum of products in each row: runs of `_DOT` in float32, the sums of these in float64."""
    parts = np.vecdot(a.reshape(len(a), -1, _DOT), b.reshape(len(b), -1, _DOT))
    total: Array64 = parts.sum(axis=-1, dtype=np.float64)
    return total
