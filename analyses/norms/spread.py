"""How do weights and norms vary, and how do they vary together? (Kobayashi et al. 2020, §4)

A head that wants to move nothing can put a large weight on a token whose ‖f(x)‖ is small. Over pairs of tokens, weight
and norm then go in opposite directions. Spearman's ρ over all pairs of a corpus would need all pairs in memory, so
pairs are counted on a fixed grid, with four steps per octave of α and 128 of ‖f(x)‖, and ρ is that of the grid: pairs
in one cell are tied. Counts on a grid add up exactly over the parts of a corpus. How far ρ moves by this is measured in
``docs/reference/definitions/norms.md``. Where nearly all pairs of a class lie in a few cells, ρ is left open.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor

from ...extractors import TOKEN_CLASSES, NormBatch
from ...reports.columns import Schema, TableColumn
from ...reports.drawing import CLASSES, TEXT, finish, log_scale, panels, with_style
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..contract import Request
from ..counting.counting import CountWith
from ..counting.exact_sums import ExactMetric, ExactSumError, add_values, floating
from ..shared.grid import OctaveGrid
from .rows import NormCounts, NormQuestion, NormResults, PlanContext, wide_by_layer

DISPERSION = Schema(
    "norms_dispersion",
    "One row per measure, layer and head: how much norms and weights vary.",
    (
        TableColumn(
            "measure",
            "text",
            "`input_norm` is ‖x‖, `value_norm` ‖f(x)‖ of tokens; `weight` is α, `norm` ‖αf(x)‖ of pairs of tokens",
            "measure",
            cell=lambda row: {"input_norm": "‖x‖", "value_norm": "‖f(x)‖", "weight": "α", "norm": "‖αf(x)‖"}[
                row["measure"]
            ],
        ),
        TableColumn("layer head", "number from 1", "the layer and the head; 0 stands for all of them together"),
        TableColumn("mean", "number", "the mean", "mean"),
        TableColumn("sd", "number", "the standard deviation", "SD"),
        TableColumn("cv", "number", "the coefficient of variation: the standard deviation over the mean", "CV"),
        TableColumn("min", "number", "the smallest value", "smallest"),
        TableColumn("max", "number", "the largest value", "largest"),
        TableColumn("count", "count", "values: tokens, or pairs of them with a weight above 0", "values"),
    ),
)

CORRELATION = Schema(
    "norms_correlation",
    "One row per layer, head and class of attended tokens: do weight and norm go together?",
    (
        TableColumn("layer head", "number from 1", "the layer and the head; 0 stands for all of them together"),
        TableColumn("class", "text", "the class of the attended tokens, or `all`"),
        TableColumn(
            "rho",
            "number, −1 to 1",
            "Spearman's ρ between α and ‖f(x)‖ of pairs of tokens, on a grid. Empty if the values hardly vary",
        ),
        TableColumn("pairs", "count", "pairs with a weight above 0"),
    ),
)

GRID = Schema(
    "norms_grid",
    "One row per layer, class of attended tokens and cell of the grid: what the scatter plots of α and ‖f(x)‖ show.",
    (
        TableColumn("layer", "number from 1", "the layer; 0 stands for all layers together"),
        TableColumn("class", "text", "the class of the attended tokens"),
        TableColumn(
            "weight", "number", "the lower edge of the cell: α; a cell is one octave wide, the first ends at 2⁻¹⁶"
        ),
        TableColumn(
            "value_norm", "number", "the lower edge of the cell: ‖f(x)‖; a cell is a quarter of an octave wide"
        ),
        TableColumn("pairs", "count", "pairs of tokens in the cell, of all heads together"),
    ),
)

ALL = "all"
DISPERSED = ("input_norm", "value_norm", "weight", "norm")
"""What the dispersion is measured of: ‖x‖ and ‖f(x)‖ of tokens, α and ‖αf(x)‖ of pairs of tokens."""

WEIGHTS = OctaveGrid(-16, 0, steps=4)
NORMS = OctaveGrid(-6, 7, steps=128)
_GRID = len(WEIGHTS) * len(NORMS)

_JOINED_WEIGHTS, _JOINED_NORMS = 4, 32
"""How many steps of α and of ‖f(x)‖ are one cell of the table that is drawn."""

_LARGEST_TIES = 1 / 9
"""The largest share of the variance of ranks that may lie within the cells of the grid. With more, ρ is not known."""

_LIMB = 64
"""Sums of squares are kept as multiples of this number and a rest. In one sum, either large values would reach the
limit of exact sums, or small ones would be rounded to nothing."""

_PANELS_PER_ROW = 4


class WeightsAndNormsTables(NamedTuple):
    """The results of `WeightsAndNorms`. Layers and heads are 1-based, and 0 stands for all of them together."""

    dispersion: pd.DataFrame  # columns measure, layer, head, mean, sd, cv, min, max, count
    correlation: pd.DataFrame  # columns layer, head, class, rho, pairs
    grid: pd.DataFrame  # columns layer, class, weight, value_norm (lower edges of a cell), pairs


class Spread(NormQuestion):
    """How do weights and norms vary, and do they vary together?"""

    name = "spread"
    tables = (DISPERSION, CORRELATION, GRID)
    long = (GRID.name,)
    template = Path(__file__).with_name("spread.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count weights and norms on a grid."""
        return (plan_context.request("spread", CountWith(WeightsAndNorms, plan_context.shape)),)

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> WeightsAndNormsTables | None:
        """Return the dispersion, the correlation and the grid."""
        for metric in counts.metrics_of(self.name, WeightsAndNorms):
            return metric.compute()
        return None

    def frames(self, answer: WeightsAndNormsTables, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return all tables."""
        return {DISPERSION.name: answer.dispersion, CORRELATION.name: answer.correlation, GRID.name: answer.grid}

    def show(self, answer: WeightsAndNormsTables, results: NormResults) -> Sequence[ShownTable]:
        """Return the dispersion, and the correlations by layer, of all heads together."""
        dispersion, correlation = answer.dispersion, answer.correlation
        rows = rows_of(dispersion[(dispersion["layer"] == 0) & (dispersion["head"] == 0)])
        rhos, title = correlation[correlation["head"] == 0], "Spearman’s ρ of α and ‖f(x)‖"
        return (
            ShownTable("norms_dispersion", "How much norms and weights vary", DISPERSION.columns, rows),
            wide_by_layer(rhos, "class", "rho", title, name="norms_correlation", digits=2),
        )

    def draw(self, answer: WeightsAndNormsTables, results: NormResults, title: str) -> Mapping[str, Figure]:
        """Draw weights against norms."""
        return {"norms_grid": grid_figure(answer, title=title)} if len(answer.grid) else {}


class WeightsAndNorms(ExactMetric):
    """The dispersion of ‖x‖, ‖f(x)‖, α and ‖αf(x)‖, and the correlation of α with ‖f(x)‖ by class of tokens."""

    # Pairs whose weight is 0 are left out: a causal model or a window does not let one token of them see the other.
    # The states have one cell per head; ‖x‖ is the same for all heads of a layer and stands at the first of them.

    whole: Int[Tensor, "measures 2 layers heads"]  # sums and sums of squares, in multiples of `_LIMB`
    rest: Int[Tensor, "measures 2 layers heads"]  # what is left of them, in fixed point
    lowest: Float[Tensor, "measures layers heads"]
    highest: Float[Tensor, "measures layers heads"]
    counts: Int[Tensor, "measures layers heads"]
    # The cells with pairs, sorted: the index of the cell in an array (layer, head, class, α, ‖f(x)‖), and its pairs.
    # Few of all cells have any, since the norms of a class of tokens differ little within a head.
    cells: list[Tensor]

    def __init__(self, n_layers: int, n_heads: int) -> None:
        super().__init__()
        shape = (len(DISPERSED), n_layers, n_heads)
        moments = torch.zeros(len(DISPERSED), 2, n_layers, n_heads, dtype=torch.int64)  # sums and sums of squares
        self.add_state("whole", moments, "sum")
        self.add_state("rest", moments.clone(), "sum")
        self.add_state("lowest", torch.full(shape, torch.inf, dtype=torch.float64), "min")
        self.add_state("highest", torch.full(shape, -torch.inf, dtype=torch.float64), "max")
        self.add_state("counts", torch.zeros(shape, dtype=torch.int64), "sum")
        self.add_state("cells", [], "cat")

    def most_bytes(self) -> float:
        """Return the bytes that the cells take if all of them have pairs, which is far from what happens."""
        return 16 * self.counts[0].numel() * len(TOKEN_CLASSES) * _GRID  # two int64 for each cell

    def update(self, batch: NormBatch) -> None:
        """Add a batch of norms, layer by layer, because one map in float64 is as large as two in float32."""
        mask, classes = batch.mask.cpu(), batch.classes.cpu().clamp(min=0)
        if not bool(batch.value_norms.cpu().movedim(-1, 1)[mask].isfinite().all()):
            raise ExactSumError("a norm is not finite")
        n_layers, n_heads = self.counts.shape[1:]
        for layer in range(n_layers):
            inputs = batch.input_norms[:, layer, None].cpu().double()  # (batch, 1, n), because all heads share them
            norms = batch.value_norms[:, layer].cpu().double()  # (batch, heads, n)
            is_token = mask[:, None].expand_as(norms)
            # A token has one norm, which is its own sum and its own extremes.
            self._add_values("input_norm", layer, inputs, inputs**2, inputs, inputs, is_token[:, :1].long())
            self._add_values("value_norm", layer, norms, norms**2, norms, norms, is_token.long())
            alpha = batch.alpha[:, layer].cpu()
            seen = (alpha > 0) & is_token[..., None] & is_token[:, :, None]
            weights = torch.where(seen, alpha, 0).double()
            # All pairs with one key have the same ‖f(x)‖, so sums over queries serve α and ‖αf(x)‖.
            sums, squares, counts = weights.sum(2), weights.square().sum(2), seen.sum(2)
            low = torch.where(seen, alpha, torch.inf).amin(2).double()
            high = weights.amax(2)
            self._add_values("weight", layer, sums, squares, low, high, counts)
            self._add_values("norm", layer, sums * norms, squares * norms**2, low * norms, high * norms, counts)
            # The class and the norm of a key, and the weight of a pair, decide on the cell within those of a head.
            cell_of_key = classes[:, None] * _GRID + NORMS.cells(batch.value_norms[:, layer].cpu())
            cells = WEIGHTS.cells(alpha) * len(NORMS) + cell_of_key.unsqueeze(2)  # (batch, heads, queries, keys)
            for head in range(n_heads):
                pairs = torch.bincount(cells[:, head][seen[:, head]])
                (filled_cells,) = pairs.nonzero(as_tuple=True)
                first_cell = (layer * n_heads + head) * len(TOKEN_CLASSES) * _GRID
                entries = torch.stack([first_cell + filled_cells, pairs[filled_cells]], dim=1)
                self.cells.append(entries.to(self.counts.device))
        self._compact()

    def _compact(self) -> Int[Tensor, "cells 2"]:
        """Add up the pairs of equal cells, and return the cells with their pairs."""
        entries = torch.cat(self.cells) if self.cells else self.counts.new_zeros(0, 2)
        cells, index_of_entry = torch.unique(entries[:, 0], return_inverse=True)
        pairs = torch.zeros_like(cells).index_add_(0, index_of_entry, entries[:, 1])
        self.cells = [torch.stack([cells, pairs], dim=1)]
        return self.cells[0]

    @property
    def metric_state(self) -> dict[str, Any]:
        """The states. They depend on the pairs that were counted, and not on their order."""
        self._compact()
        return super().metric_state

    def _add_values(
        self,
        name: str,
        layer: int,
        sums: Float[Tensor, "batch heads n"],
        squares: Float[Tensor, "batch heads n"],
        low: Float[Tensor, "batch heads n"],
        high: Float[Tensor, "batch heads n"],
        counts: Int[Tensor, "batch heads n"],
    ) -> None:
        """Add what is known of each token: its sum, its sum of squares, its extremes, and its number of values."""
        device = self.whole.device
        measure = DISPERSED.index(name)
        heads = slice(sums.shape[1])  # values that all heads share are stored as those of the first head
        cell = (measure, layer, heads)
        has_values = counts > 0
        moments = torch.stack([torch.where(has_values, moment, 0).sum(2) for moment in (sums, squares)], dim=1)
        whole = (moments / _LIMB).floor()
        self.whole[measure, :, layer, heads] += whole.long().sum(0).to(device)
        rest = self.rest[measure, :, layer, heads]
        self.rest[measure, :, layer, heads] = add_values(rest, moments - _LIMB * whole)
        lowest, highest = torch.where(has_values, low, torch.inf), torch.where(has_values, high, -torch.inf)
        self.lowest[cell] = torch.minimum(self.lowest[cell], lowest.amin((0, 2)).to(device))
        self.highest[cell] = torch.maximum(self.highest[cell], highest.amax((0, 2)).to(device))
        self.counts[cell] += counts.sum((0, 2)).to(device)

    def compute(self) -> WeightsAndNormsTables:
        """Return the tables: the dispersion, the correlations, and the pairs by cell of a coarser grid."""
        indices, pairs = self._compact().cpu().numpy().T
        n_layers, n_heads = self.counts.shape[1:]
        shape = (n_layers, n_heads, len(TOKEN_CLASSES), len(WEIGHTS), len(NORMS))
        cells = _Cells(*map(np.asarray, (*np.unravel_index(indices, shape), pairs)))
        return WeightsAndNormsTables(self._dispersion(), _correlations(cells, n_layers, n_heads), _grid(cells))

    def _dispersion(self) -> pd.DataFrame:
        """Return the table of how each measure varies in each layer and head, and in all of them together."""
        moments = _LIMB * self.whole.cpu().double().numpy() + floating(self.rest.cpu()).numpy()
        low, high, counts = (state.cpu().numpy() for state in (self.lowest, self.highest, self.counts))
        n_layers, n_heads = self.counts.shape[1:]
        cells = itertools.product(enumerate(DISPERSED), _one_or_all(n_layers), _one_or_all(n_heads))
        rows = []
        for (measure, name), (layer, layers), (head, heads) in cells:
            count = int(counts[measure, layers, heads].sum())
            if count:
                mean = float(moments[measure, 0, layers, heads].sum()) / count
                # The difference is rounded, so it can be below 0 where all values are equal.
                variance = max(0.0, float(moments[measure, 1, layers, heads].sum()) / count - mean**2)
                sd = variance**0.5
                row = {"measure": name, "layer": layer, "head": head, "mean": mean, "sd": sd}
                row["cv"] = sd / mean if mean else float("nan")
                row["min"] = float(low[measure, layers, heads].min())
                row["max"] = float(high[measure, layers, heads].max())
                rows.append({**row, "count": count})
        return pd.DataFrame(rows)


def _one_or_all(n: int) -> list[tuple[int, slice]]:
    """Return 0 with the slice of all layers or heads, and the number of each, from 1, with the slice of it alone."""
    return [(0, slice(None)), *((index + 1, slice(index, index + 1)) for index in range(n))]


class _Cells(NamedTuple):
    """The cells with pairs, by their 0-based indices."""

    layer: npt.NDArray[np.int64]
    head: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]  # the class of tokens
    weight: npt.NDArray[np.int64]
    norm: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.int64]

    def where(self, name: str, number: int) -> _Cells:
        """Return the cells of a layer, head or group, which is given by its number from 1, or all cells for 0."""
        if number == 0:
            return self
        is_chosen = getattr(self, name) == number - 1
        return _Cells(*(column[is_chosen] for column in self))


def _correlations(cells: _Cells, n_layers: int, n_heads: int) -> pd.DataFrame:
    """Return Spearman's ρ of α and ‖f(x)‖ for each layer, head and class."""
    rows = []
    for layer in range(n_layers + 1):  # 0 is all layers, heads or classes together
        cells_of_layer = cells.where("layer", layer)
        for head in range(n_heads + 1):
            cells_of_head = cells_of_layer.where("head", head)
            for group, name in enumerate((ALL, *TOKEN_CLASSES)):
                chosen = cells_of_head.where("group", group)
                if len(chosen.pairs):
                    rho = spearman_of_counts(chosen.weight, chosen.norm, chosen.pairs)
                    rows.append({"layer": layer, "head": head, "class": name, "rho": rho, "pairs": chosen.pairs.sum()})
    return pd.DataFrame(rows, columns=["layer", "head", "class", "rho", "pairs"])


def spearman_of_counts(x: npt.NDArray[np.int64], y: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> float:
    """Return Spearman's ρ of pairs of whole numbers, of which there are as many as ``counts`` says."""
    # It is NaN if the values of one side do not vary, or nearly all of them are equal.
    total = int(counts.sum())
    ranks, spreads = [], []
    for values in (x, y):
        sizes = np.bincount(values, weights=counts)
        # Ties of a share p of all pairs take p³ of the variance of ranks.
        if (sizes / total) @ (sizes / total) ** 2 > _LARGEST_TIES:
            return float("nan")
        # The mean rank of equal values minus that of all.
        mean_ranks = np.cumsum(sizes) - (sizes - 1) / 2 - (total + 1) / 2
        ranks.append(mean_ranks[values])
        spreads.append(sizes @ mean_ranks**2)
    return float((ranks[0] * ranks[1]) @ counts / np.sqrt(spreads[0] * spreads[1]))


def _grid(cells: _Cells) -> pd.DataFrame:
    """Return the pairs by layer and class on a coarser grid, all heads together."""
    # The first cell has all that is smaller than the grid, so steps are joined from the second cell on. A step belongs
    # to the last of the joined cells that do not start after it.
    weight_starts = np.array([0, *range(1, len(WEIGHTS), _JOINED_WEIGHTS)])
    norm_starts = np.array([0, *range(1, len(NORMS), _JOINED_NORMS)])
    weights = np.searchsorted(weight_starts, cells.weight, "right") - 1
    norms = np.searchsorted(norm_starts, cells.norm, "right") - 1
    table = pd.DataFrame({"class": cells.group, "weight": weights, "value_norm": norms, "pairs": cells.pairs})
    all_and_each_layer = pd.concat([table.assign(layer=0), table.assign(layer=cells.layer + 1)])
    grid = all_and_each_layer.groupby(["layer", "class", "weight", "value_norm"])["pairs"].sum().reset_index()
    return grid.assign(
        **{"class": [TOKEN_CLASSES[index] for index in grid["class"]]},
        weight=WEIGHTS.edges[weight_starts[grid["weight"]]],
        value_norm=NORMS.edges[norm_starts[grid["value_norm"]]],
    )


@with_style
def grid_figure(spread: WeightsAndNormsTables, *, title: str = "") -> Figure:
    """Draw α against ‖f(x)‖ by class, for all layers and each: the medians, and where four in five pairs are."""
    layers = spread.grid.groupby("layer", sort=False)
    correlations = spread.correlation[spread.correlation["head"] == 0].set_index(["layer", "class"])["rho"]
    n_columns = min(len(layers), _PANELS_PER_ROW)
    n_rows = -(-len(layers) // n_columns)
    figure, grid = panels(TEXT, 1.75 * n_rows + 0.5, n_rows, n_columns, sharex=True, sharey=True)
    for axes, (layer, cells_of_layer) in zip(grid.flat, layers, strict=False):
        for name, cells in cells_of_layer.groupby("class", sort=False):
            color, marker = CLASSES[str(name)]
            # The middles of an octave and of a quarter of one. The lowest cell, which begins at 0, is part of the next.
            weights = _above_zero(cells["weight"]) * 2**0.5 * 100
            norms = _above_zero(cells["value_norm"]) * 2**0.125
            (x_low, x, x_high), (y_low, y, y_high) = (
                _weighted_quantiles(values, cells["pairs"], (0.1, 0.5, 0.9)) for values in (weights, norms)
            )
            axes.plot([x_low, x_high], [y, y], color=color, lw=1.2, alpha=0.8)
            axes.plot([x, x], [y_low, y_high], color=color, lw=1.2, alpha=0.8)
            label = str(name) if axes is grid.flat[0] else None
            axes.plot([x], [y], marker, color=color, ms=4.5, mec="white", mew=0.6, label=label, zorder=4)
        rho = correlations.get((layer, "all"), float("nan"))
        scope = "layer " + str(layer) if layer else "all layers"
        axes.set_title(f"{scope}, ρ = {rho:.2f}")
        log_scale(axes, "x", "y")
    for axes in grid.flat[len(layers) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("attention weight α (%)")
    for axes in grid[:, 0]:
        axes.set_ylabel("norm of f(x)")
    finish(figure, grid[0, 0], title)
    return figure


def _above_zero(edges: pd.Series) -> pd.Series:
    """Return the lower edges of cells, 0 as the lowest one above it, for axes that have no 0."""
    return edges.clip(lower=edges[edges > 0].min())


def _weighted_quantiles(values: pd.Series, weights: pd.Series, shares: Sequence[float]) -> list[float]:
    """Return the values below which these shares of all weights lie."""
    order = np.argsort(values.to_numpy(), kind="stable")
    below = np.cumsum(weights.to_numpy()[order]) / weights.sum()
    return [float(values.to_numpy()[order][np.searchsorted(below, share)]) for share in shares]
