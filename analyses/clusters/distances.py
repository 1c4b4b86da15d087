"""The metric of how differently heads attend: the Jensen-Shannon divergence between all pairs (Clark et al. 2019, §6).

All pairs of heads are compared in every cell of every map: for 144 heads that is 10,296 logarithms per cell. Two
decisions make this affordable. The entropy of each head alone is computed once per cell and not once per pair, so that
a pair costs one logarithm, that of the sum. And logarithms are taken in float32 by torch, which is several times faster
than float64 and a third faster than NumPy; those of base 2 are the fastest.

A sum of many products in float32 would be too imprecise. So products are added up in float32 only within *runs* of
about `_RUN` cells, and all cells are multiplied by `_FACTOR` before. The factor cancels out in the divergence, but with
it the products s log s of the larger cells, which dominate the rounding, are closer to 0.

The cells of an input are divided into runs of equal lengths that depend on its number of positions alone, so that no
run holds cells of two inputs, and the sum of each run is rounded to a multiple of 2⁻³²
(`attentionology.analyses.shared.exact_sums`), which moves a mean over rows by about 10⁻¹¹. All sums after that are
exact: they depend neither on the inputs that share a batch, nor on the number of threads, nor on the order in which
parts of a corpus are merged.

To compare all pairs with few calls, a block of cells is extended by a copy of its first half of heads. Then rows d to
d + heads are the heads shifted by d, and one addition compares every head with the d-th head after it, in a circle.
Blocks are large enough that the calls cost little, and small enough for the cache (`_BLOCK`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor
from torchmetrics import Metric

from attentionology.analyses.shared.exact_sums import fixed, floating
from attentionology.analyses.surface.distributions import DISTANCE_SMOOTHING, check_rows, check_shape
from attentionology.extractors import MapBatch
from attentionology.extractors.threads import one_thread

SMOOTHING = DISTANCE_SMOOTHING
"""The share of uniform attention that the published code mixes into each row: (1 − s) α + s / n."""

_GROUP = 2**14  # the number of cells per head that are copied together
_BLOCK = 2**18  # the number of cells of all heads together that are compared at a time
_RUN = 2**7  # the number of products that are added up in float32; with many more, rounding shows in the sums
_FACTOR = 4.0  # a power of two, so that multiplying by it is exact
_SMALLEST = np.float32(1e-37)  # takes the place of 0, so that x log x is about 10⁻³⁵ instead of not a number

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
        threads = self.threads or torch.get_num_threads()
        with one_thread(), ThreadPoolExecutor(threads) as pool:
            parts = [
                pool.submit(_added_up, cells, index)
                for cells in map(self._gathered, _groups(batch))
                for index in range(cells.blocks)
            ]
            total = functools.reduce(_Sums.plus, [part.result() for part in parts])
        self.doubled += torch.from_numpy(_doubled_divergences(total)).to(self.doubled.device)
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

    def _gathered(self, inputs: list[Array32]) -> _Cells:
        """Copy inputs of shape (layers, heads, n, n) beside each other, smoothed, multiplied, and without zeros."""
        n = inputs[0].shape[-1]
        runs = math.ceil(n * n / _RUN)
        run = math.ceil(n * n / runs)
        scaled = np.empty((len(self.doubled), len(inputs), runs * run), dtype=np.float32)
        scaled[..., n * n :] = 0
        for index, maps in enumerate(inputs):
            if self.smoothing:
                maps = np.float32(1 - self.smoothing) * maps + np.float32(self.smoothing / n)
            np.multiply(maps, np.float32(_FACTOR), out=scaled[:, index, : n * n].reshape(maps.shape))
        np.maximum(scaled, _SMALLEST, out=scaled)
        return _Cells(scaled.reshape(len(scaled), -1), run)


def _groups(batch: MapBatch) -> Iterator[list[Array32]]:
    """Yield the maps of several inputs of the same length at a time."""
    for n, inputs in groupby((maps for _, maps in batch.unpadded()), key=lambda maps: maps.shape[-1]):
        at_once = math.ceil(_GROUP / n**2)
        while group := list(islice(inputs, at_once)):
            yield group


@dataclass(frozen=True)
class _Cells:
    """The cells of some inputs.

    Attributes:
        scaled: the values times `_FACTOR`, shape (heads, cells).
        run: the number of cells of a run. The number of cells is a multiple of it.
    """

    scaled: Array32
    run: int

    @property
    def width(self) -> int:
        """The number of cells per head of a block, which is a multiple of that of a run."""
        return max(1, _BLOCK // (len(self.scaled) * self.run)) * self.run

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        cells: int = self.scaled.shape[1]
        return math.ceil(cells / self.width)


@dataclass(frozen=True)
class _Sums:
    """Sums over cells in fixed point, with f(x) = x ln x of values that were multiplied by `_FACTOR`, divided by it.

    Attributes:
        alone: Σ f(p) + ln 2 Σ p of each head.
        together: Σ f(p + q) of each head with the d-th after it, in row d − 1. The second half of the row is 0 if 2 d
            is the number of heads.
    """

    alone: Units
    together: Units

    def plus(self, other: _Sums) -> _Sums:
        """Return the sums over the cells of both."""
        return _Sums(self.alone + other.alone, self.together + other.together)


def _added_up(cells: _Cells, index: int) -> _Sums:
    """Return the sums over a block of cells.

    Raises:
        ExactSumError: a cell is not a number.
    """
    heads, run = len(cells.scaled), cells.run
    farthest = heads // 2
    block = cells.scaled[:, index * cells.width : (index + 1) * cells.width]
    block = np.concatenate([block, block[:farthest]])
    shape = heads, block.shape[1] // run, run
    sums, logarithms = torch.empty(2, heads, block.shape[1])
    sums_array, logarithms_array = sums.numpy(), logarithms.numpy()  # the same memory
    sums_by_run, logarithms_by_run = sums_array.reshape(shape), logarithms_array.reshape(shape)
    torch.log2(torch.from_numpy(block[:heads]), out=logarithms)
    entropies = np.vecdot(block[:heads].reshape(shape), logarithms_by_run)
    mass = block[:heads].astype(np.float64).reshape(shape).sum(-1) / _FACTOR
    alone = fixed(torch.from_numpy(_in_nats(entropies) + math.log(2) * mass)).sum(-1)
    products = np.zeros((farthest, heads, shape[1]), dtype=np.float32)
    for d in range(1, farthest + 1):
        if 2 * d < heads:
            np.add(block[:heads], block[d : d + heads], out=sums_array)
            torch.log2(sums, out=logarithms)
            np.vecdot(sums_by_run, logarithms_by_run, out=products[d - 1])
        else:  # halfway around the circle, each pair would come twice
            np.add(block[:d], block[d:heads], out=sums_array[:d])
            torch.log2(sums[:d], out=logarithms[:d])
            np.vecdot(sums_by_run[:d], logarithms_by_run[:d], out=products[d - 1, :d])
    return _Sums(alone.numpy(), fixed(torch.from_numpy(_in_nats(products))).sum(-1).numpy())


def _in_nats(products: Array32) -> npt.NDArray[np.float64]:
    """Return sums of x log₂ x, where x was multiplied by `_FACTOR`, in nats and divided by it."""
    return products.astype(np.float64) * (math.log(2) / _FACTOR)


def _doubled_divergences(sums: _Sums) -> Units:
    """Return twice the divergence of each pair in the upper triangle, in fixed point.

    With s = p + q, H(s / 2) = −½ Σ s ln s + ½ ln 2 Σ s. The logarithm of the factor, which multiplies Σ s, cancels out.
    """
    farthest, heads = sums.together.shape
    doubled = np.zeros((heads, heads), dtype=np.int64)
    first = np.broadcast_to(np.arange(heads), sums.together.shape)
    second = (first + np.arange(1, farthest + 1)[:, None]) % heads
    np.subtract.at(doubled, (np.minimum(first, second), np.maximum(first, second)), sums.together)
    return np.triu(doubled + np.add.outer(sums.alone, sums.alone), 1)
