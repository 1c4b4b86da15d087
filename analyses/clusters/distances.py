"""How differently heads attend: Jensen-Shannon divergence between all pairs of them (Clark et al. 2019, §6)."""

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
"""What the published code mixes into each row: (1 − s) α + s / n."""

_GROUP = 2**14  # cells per head that are compared at a time
_BLOCK = 2**13  # cells per head at a time in one thread: more leave the cache, fewer do not pay for the calls
_DOT = 2**8  # products that are added up in float32; more of them, and rounding shows in the sums
_SMALLEST = np.float32(1e-37)  # in place of 0: x ln x is 0 to any precision that counts

Array32 = npt.NDArray[np.float32]
Array64 = npt.NDArray[np.float64]


class HeadDistanceTables(NamedTuple):
    """Square tables whose rows and columns are called ``layer-head``, 1-based.

    Attributes:
        per_row: Jensen-Shannon divergence in nats, mean over rows; from 0 to ln 2.
        sums: the same summed over all rows of all inputs, as in the paper.
        rows: how many there are.
    """

    per_row: pd.DataFrame
    sums: pd.DataFrame
    rows: int


class HeadDistances(Metric):
    """Jensen-Shannon divergence between the attention of any two heads, over all rows of all inputs.

    JS(p, q) = H((p + q) / 2) − H(p) / 2 − H(q) / 2, with 0 ln 0 = 0. It is the divergence, not its square root. That
    takes one logarithm per cell and pair, in the upper triangle only. Logarithms are float32, sums float64.

    Args:
        n_layers, n_heads: shape of the maps.
        smoothing: mixed into rows first; the published code has `SMOOTHING`.
        threads: default as many as torch uses. The result does not depend on it.

    Raises:
        ValueError: smoothing outside 0 … 1.
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
        """Add a batch.

        Raises:
            ValueError: rows that do not sum to 1 (extract with ``normalize="row"``), or another shape.
        """
        check_shape(batch, self.n_layers, self.n_heads)
        found = np.zeros((self.sums.shape[0],) * 2)
        threads = self.threads or torch.get_num_threads()
        with ThreadPoolExecutor(threads) as pool:
            for cells in self._groups(batch):
                found += _divergences(cells, pool, threads)
        self.sums += torch.from_numpy(found).to(self.sums.device)
        self.rows += int(batch.lengths.sum())

    def compute(self) -> HeadDistanceTables:
        """The tables."""
        upper = self.sums.cpu().numpy()
        names = [f"{layer + 1}-{head + 1}" for layer in range(self.n_layers) for head in range(self.n_heads)]
        sums = pd.DataFrame(upper + upper.T, index=names, columns=names)
        rows = int(self.rows)
        return HeadDistanceTables(sums / max(rows, 1), sums, rows)

    def _groups(self, batch: MapBatch) -> Iterator[Array32]:
        """All cells of some inputs per head, shape (heads, cells)."""
        held: list[Array32] = []
        for _, maps in batch.unpadded():
            n = maps.shape[-1]
            rows = maps.reshape(-1, n, n)
            check_rows(float(np.abs(rows.sum(-1) - 1).max()))
            if self.smoothing:
                rows = np.float32(1 - self.smoothing) * rows + np.float32(self.smoothing / n)
            held.append(rows.reshape(len(rows), -1))
            if sum(one.shape[1] for one in held) >= _GROUP:
                yield np.concatenate(held, axis=1)
                held = []
        if held:
            yield np.concatenate(held, axis=1)


def _divergences(cells: Array32, pool: ThreadPoolExecutor, threads: int) -> Array64:
    """Sums of the divergence over all cells, upper triangle.

    With s = p + q, H(s / 2) = −½ Σ s ln s + ½ ln 2 Σ s.
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


def _add_pairs(cells: Array32, together: Array64, own: range) -> None:
    """Add Σ s ln s of each head in ``own`` with all heads after it, in place."""
    buffers = np.empty((2, len(cells) * _BLOCK), dtype=np.float32)
    for start in range(0, cells.shape[1], _BLOCK):
        block = np.ascontiguousarray(cells[:, start : start + _BLOCK])
        for head in own:
            later = block[head + 1 :]
            s, logarithms = buffers[:, : later.size].reshape(2, *later.shape)
            np.add(later, block[head], out=s)
            np.log(s, out=logarithms)
            together[head, head + 1 :] += _rowwise_dot(s, logarithms)


def _rowwise_dot(a: Array32, b: Array32) -> Array64:
    """Sum of products in each row."""
    parts = np.vecdot(a.reshape(len(a), -1, _DOT), b.reshape(len(b), -1, _DOT))
    total: Array64 = parts.sum(axis=-1, dtype=np.float64)
    return total
