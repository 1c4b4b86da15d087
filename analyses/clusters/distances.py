"""The metric of how differently heads attend: the Jensen-Shannon divergence between all pairs (Clark et al. 2019, §6).

All pairs of heads are compared in every cell of every map: for 144 heads that is 10,296 logarithms per cell. Two
decisions make this affordable. The entropy of each head alone is computed once per cell and not once per pair, so that
a pair costs one logarithm, that of the sum. And logarithms are taken in float32 by torch, which is several times faster
than float64 and a third faster than NumPy. Their relative error of about 10⁻⁷ does not grow in the sums: products are
added up in float32 only within runs of `_RUN` cells.

The cells of an input are padded with zeros to whole runs, so that no run holds cells of two inputs, and the sum of each
run is rounded to a multiple of 2⁻³² (`attentionology.analyses.shared.exact_sums`), which moves a mean over rows by
about 10⁻¹¹. All sums after that are exact: they depend neither on the inputs that share a batch, nor on the number of
threads, nor on the order in which parts of a corpus are merged.

To compare all pairs with few calls, a block of cells is extended by a copy of its first half of heads. Then rows d to
d + heads are the heads shifted by d, and one addition compares every head with the d-th head after it, in a circle.
Blocks are small enough for the cache of a core (`_BLOCK`).
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
from jaxtyping import Int
from torch import Tensor
from torchmetrics import Metric

from attentionology.analyses.shared.exact_sums import SCALE, fixed, floating
from attentionology.analyses.surface.distributions import DISTANCE_SMOOTHING, check_rows, check_shape
from attentionology.extractors import MapBatch
from attentionology.extractors.threads import one_thread

SMOOTHING = DISTANCE_SMOOTHING
"""The share of uniform attention that the published code mixes into each row: (1 − s) α + s / n."""

_GROUP = 2**14  # the number of cells per head that are gathered before threads compare them
_BLOCK = 2**10  # the number of cells per head that are compared at a time: more would not fit into the cache
_RUN = 2**6  # the number of products that are added up in float32; with many more, rounding shows in the sums
_SMALLEST = np.float32(1e-37)  # takes the place of 0, so that x ln x is about 10⁻³⁵ instead of not a number

Array32 = npt.NDArray[np.float32]
Units = npt.NDArray[np.int64]


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
    takes one logarithm per cell and pair. Logarithms are float32, and sums are in fixed point, so that parts of a
    corpus add up to the same bits in any order.

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
    doubled: Int[Tensor, "all_heads all_heads"]
    rows: Int[Tensor, ""]

    def __init__(self, n_layers: int, n_heads: int, *, smoothing: float = 0.0, threads: int | None = None) -> None:
        super().__init__(compute_with_cache=False)
        if not 0 <= smoothing < 1:
            raise ValueError(f"smoothing must be from 0 to 1, not {smoothing}")
        self.n_layers, self.n_heads, self.smoothing, self.threads = n_layers, n_heads, smoothing, threads
        size = n_layers * n_heads
        # Twice the divergence of each pair in fixed point, in the upper triangle.
        self.add_state("doubled", torch.zeros(size, size, dtype=torch.int64), "sum", persistent=True)
        self.add_state("rows", torch.tensor(0), "sum", persistent=True)

    def update(self, batch: MapBatch) -> None:
        """Add a batch of maps.

        Raises:
            ValueError: rows do not sum to 1 (extract with ``normalize="row"``), or the maps have another shape.
        """
        check_shape(batch, self.n_layers, self.n_heads)
        inside = torch.arange(batch.maps.shape[-1]) < batch.lengths[:, None]
        deviations = (batch.maps.sum(-1) - 1).abs().amax((1, 2)).cpu()
        check_rows(float(deviations[inside].max()))
        doubled = np.zeros(self.doubled.shape, dtype=np.int64)
        threads = self.threads or torch.get_num_threads()
        with one_thread(), ThreadPoolExecutor(threads) as pool:
            for cells in self._groups(batch):
                starts = [range(first * _BLOCK, cells.shape[1], threads * _BLOCK) for first in range(threads)]
                for part in pool.map(_doubled_divergences, [cells] * threads, starts):
                    doubled += part
        self.doubled += torch.from_numpy(doubled).to(self.doubled.device)
        self.rows += int(batch.lengths.sum())

    def compute(self) -> HeadDistanceTables:
        """Return the tables.

        Raises:
            ExactSumError: the number of rows is so large that the sums may not be exact.
        """
        upper = floating(self.doubled.cpu()).numpy() / 2
        names = [f"{layer + 1}-{head + 1}" for layer in range(self.n_layers) for head in range(self.n_heads)]
        sums = pd.DataFrame(upper + upper.T, index=names, columns=names)
        rows = int(self.rows)
        return HeadDistanceTables(sums / max(rows, 1), sums, rows)

    def _groups(self, batch: MapBatch) -> Iterator[Array32]:
        """Yield the cells of several inputs at a time, shape (heads, cells), each input padded to whole runs."""
        waiting: list[Array32] = []
        for _, maps in batch.unpadded():
            waiting.append(maps)
            if sum(map(_width, waiting)) >= _GROUP:
                yield self._gathered(waiting)
                waiting = []
        if waiting:
            yield self._gathered(waiting)

    def _gathered(self, inputs: list[Array32]) -> Array32:
        """Copy inputs of shape (layers, heads, n, n) beside each other, smoothed and without zeros."""
        cells = np.full((len(self.doubled), sum(map(_width, inputs))), _SMALLEST, dtype=np.float32)
        start = 0
        for maps in inputs:
            n = maps.shape[-1]
            if self.smoothing:
                maps = np.float32(1 - self.smoothing) * maps + np.float32(self.smoothing / n)
            np.maximum(maps, _SMALLEST, out=cells[:, start : start + n * n].reshape(maps.shape))
            start += _width(maps)
        return cells


def _width(maps: Array32) -> int:
    """Return the number of cells of a map, rounded up to whole runs."""
    cells: int = maps.shape[-1] ** 2
    return math.ceil(cells / _RUN) * _RUN


def _doubled_divergences(cells: Array32, starts: range) -> Units:
    """Return twice the sums of the divergence over the blocks of cells that start at ``starts``, in the upper triangle.

    With s = p + q, H(s / 2) = −½ Σ s ln s + ½ ln 2 Σ s.

    Raises:
        ExactSumError: a cell is not a number.
    """
    heads = len(cells)
    farthest = heads // 2
    alone = np.zeros(heads, dtype=np.int64)  # Σ p ln p + ln 2 Σ p
    together = np.zeros((farthest, heads), dtype=np.int64)  # Σ s ln s of each head with the d-th after it, in row d − 1
    buffers = torch.empty(2, heads * _BLOCK)
    runs = np.zeros((farthest, heads, _BLOCK // _RUN), dtype=np.float32)
    for start in starts:
        block = cells[:, start : start + _BLOCK]
        block = np.concatenate([block, block[:farthest]])
        width = block.shape[1]
        sums, logarithms = (buffer[: heads * width].view(heads, width) for buffer in buffers)
        sums_array, logarithms_array = sums.numpy(), logarithms.numpy()  # the same memory
        torch.log(torch.from_numpy(block[:heads]), out=logarithms)
        mass = block[:heads].astype(np.float64).reshape(heads, -1, _RUN).sum(-1)
        entropies = _dots(block[:heads], logarithms_array)
        alone += fixed(torch.from_numpy(entropies + math.log(2) * mass)).sum(-1).numpy()
        for d in range(1, farthest + 1):
            pairs = heads // 2 if 2 * d == heads else heads  # halfway around the circle, each pair would come twice
            np.add(block[:pairs], block[d : d + pairs], out=sums_array[:pairs])
            torch.log(sums[:pairs], out=logarithms[:pairs])
            _dots(sums_array[:pairs], logarithms_array[:pairs], out=runs[d - 1, :pairs, : width // _RUN])
        # Multiples of 2⁻³² in float32 and their sums in float64 are exact here.
        units = np.rint(runs[..., : width // _RUN] * np.float32(SCALE)).sum(-1, dtype=np.float64)
        together += fixed(torch.from_numpy(units / SCALE)).numpy()
    doubled = np.zeros((heads, heads), dtype=np.int64)
    first = np.broadcast_to(np.arange(heads), together.shape)
    second = (first + np.arange(1, farthest + 1)[:, None]) % heads
    np.subtract.at(doubled, (np.minimum(first, second), np.maximum(first, second)), together)
    return np.triu(doubled + np.add.outer(alone, alone), 1)


def _dots(a: Array32, b: Array32, out: Array32 | None = None) -> Array32:
    """Return the sums of products over each run, shape (rows, runs), in float32."""
    result: Array32 = np.vecdot(a.reshape(len(a), -1, _RUN), b.reshape(len(b), -1, _RUN), out=out)
    return result
