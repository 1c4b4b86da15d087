"""How differently do any two heads attend? Their mean Jensen-Shannon divergence (Clark et al. 2019, §6).

All pairs of heads are compared in every cell of every map: for 144 heads that is 10,296 logarithms per cell. Two
decisions make this affordable. The entropy of each head alone is computed once per cell and not once per pair, so that
a pair costs one logarithm, that of the sum. And logarithms are taken in float32, which is several times faster than
float64; those of base 2 are the fastest. Numpy has the fastest ones for processors with AVX-512, and torch for others.

A sum of many products in float32 would be too imprecise. So products are added up in float32 only within *runs* of
about `_RUN` cells, and all cells are multiplied by `_FACTOR` before. The factor cancels out in the divergence, but with
it the products s log s of the larger cells, which dominate the rounding, are closer to 0.

The cells of an input are divided into runs of equal lengths that depend on its number of positions alone, so that no
run holds cells of two inputs, and the sum of each run is rounded to a multiple of 2⁻³²
(`attentionology.analyses.counting.exact_sums`), which moves a mean over rows by about 10⁻¹¹. All sums after that are
exact: they depend neither on the inputs that share a batch, nor on the number of threads, nor on the order in which
parts of a corpus are merged.

To compare all pairs with few calls, the cells are extended by a copy of the first half of heads. Then rows d to
d + heads are the heads shifted by d, and one addition compares every head with the heads that come some places after
it, in a circle. What is computed at a time is large enough that the calls cost little, and small enough for the cache
(`_BLOCK`, `_COMPARED`).

Threads of Python share out the blocks. If torch divided each operation among its threads instead, these would wait for
each other after each of thousands of short calls, which takes several times as long while other programs are running.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float32, Int
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.lib.introspect import opt_func_info
from numpy.lib.stride_tricks import sliding_window_view
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform
from torch import Tensor

from ...extractors import MapBatch
from ...extractors.threads import one_thread
from ...reports.columns import Schema, TableColumn
from ...reports.drawing import GREY, PAGE, REVERSED, TEXT, finish, layer_shades, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.format import head_name, rows_of
from ..contract import Request
from ..counting.counting import CountMaps
from ..counting.exact_sums import floating, to_fixed_point
from ..counting.metric import Metric
from ..shared.measures import address
from ..surface.batches import DISTANCE_SMOOTHING, check_rows, check_shape
from ..surface.options import ReadingOptions
from .rows import Array, ClusterQuestion, ClusterResults, Distances, PlanContext, layers_of, square_of

HEAD_DISTANCES = Schema(
    "head_distances",
    "The matrix of mean Jensen-Shannon divergences, one row per head.",
    (
        TableColumn("head", "text", "the attention head as `layer-head`, both from 1"),
        TableColumn("LAYER-HEAD", "nats", "its mean divergence from this head: a column for every head"),
    ),
)

HEAD_DISTANCES_SUM = Schema(
    "head_distances_sum",
    "The same matrix with sums over all rows of attention instead of means, as in the paper.",
    (
        TableColumn("head", "text", "the attention head as `layer-head`, both from 1"),
        TableColumn("LAYER-HEAD", "nats", "the summed divergence from this head"),
    ),
)

SMOOTHING = DISTANCE_SMOOTHING
"""The share of uniform attention that the published code mixes into each row: (1 − s) α + s / n."""

_BLOCK = 2**18  # the number of cells of all heads that are read at a time
_COMPARED = 2**18  # the number of sums of two heads that are in memory at a time
_RUN = 2**8  # the number of products that are added up in float32; with many more, rounding shows in the sums
_FACTOR = 4.0  # a power of two, so that multiplying by it is exact
_SMALLEST = 1e-37  # takes the place of 0, so that x log x is about 10⁻³⁵ instead of not a number

Array32 = npt.NDArray[np.float32]
Cells = Float32[np.ndarray, "heads_and_first_half runs run"]

_MAX_NAMED = 72  # heads; of more, those with the largest gains have names


def _torch_log2(values: Array32, out: Array32) -> None:
    """Write binary logarithms into ``out``, as `numpy.log2` does."""
    torch.log2(torch.from_numpy(values), out=torch.from_numpy(out))


def _is_written_for_processor() -> bool:
    """Return whether numpy has a logarithm that is written for this processor, which it has on Linux alone."""
    targets = opt_func_info("^log2$", "float32").get("log2", {}).get("ff", {})
    return sys.platform == "linux" and "baseline" not in targets.get("current", "baseline")


# With AVX-512, numpy's logarithm takes a fifth of the time of torch's. Elsewhere, it is the slower one.
_log2 = np.log2 if _is_written_for_processor() else _torch_log2


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


class AllDistances(ClusterQuestion):
    """How differently do any two heads attend?"""

    name = "distances"
    tables = (HEAD_DISTANCES, HEAD_DISTANCES_SUM)
    template = Path(__file__).with_name("distances.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Compare all heads, on the maps of the statistics."""
        setting, maker = plan_context.setting, plan_context.maker
        smoothing = SMOOTHING if plan_context.options[ReadingOptions].smoothing == "release" else 0.0
        counting = CountMaps(HeadDistances, (("smoothing", smoothing),))
        # Learned sinks take a share of every row, and distances are those of distributions over tokens.
        maker = replace(maker, normalize="row") if setting.encoder.has_sinks else maker
        return (Request(f"head-distances/{setting.maps.kind}", "clusters", setting.corpus, maker, counting),)

    def find(self, counts: Distances, lookups: Any, earlier: Mapping[str, Any]) -> HeadDistanceTables | None:
        """Return the distances."""
        for metric in counts.metrics_of(self.name, HeadDistances):
            return metric.compute()
        return None

    def frames(self, answer: HeadDistanceTables, results: ClusterResults) -> Mapping[str, pd.DataFrame]:
        """Return the means and the sums over rows."""
        by_name = {HEAD_DISTANCES.name: answer.per_row, HEAD_DISTANCES_SUM.name: answer.sums}
        return {name: table.reset_index(names="head") for name, table in by_name.items()}

    def draw(self, answer: HeadDistanceTables, results: ClusterResults, title: str) -> Mapping[str, Figure]:
        """Draw the matrix beside the tree of the heads."""
        return {"head_distances": distances_figure(answer.per_row, results.heads, title=title)}

    def values(self, answer: HeadDistanceTables, results: ClusterResults) -> Mapping[str, Any]:
        """Return the notes, the number of rows, and whether relations name heads."""
        heads = results.heads
        has_relations = "relation" in heads and bool(heads["relation"].notna().any())
        return {"notes": results.notes, "rows": answer.rows, "has_relations": has_relations}

    def explore(
        self, answer: HeadDistanceTables, counts: Distances, results: ClusterResults, kind: str
    ) -> Contribution:
        """Add the heads most like each."""
        nearest = {
            str(head): tuple(row.drop(head).sort_values(kind="stable").index[:5])
            for head, row in answer.per_row.iterrows()
        }
        return Contribution(nearest=nearest)


class HeadDistances(Metric):
    """The Jensen-Shannon divergence between the attention of any two heads, over all rows of all inputs.

    JS(p, q) = H((p + q) / 2) − H(p) / 2 − H(q) / 2, with 0 ln 0 = 0. This is the divergence, not its square root. It
    takes one logarithm per cell and pair. Logarithms are float32, and sums are in fixed point, so that parts of a
    corpus add up to the same bits in any order.

    Args:
        n_layers, n_heads: the shape of the maps.
        smoothing: the share of uniform attention that is mixed into rows first; the published code uses `SMOOTHING`.

    Raises:
        ValueError: the smoothing is not from 0 to below 1.

    Example:
        >>> from attentionology import Sentence
        >>> from attentionology.analyses import HeadDistances
        >>> from attentionology.extractors import MapBatch
        >>> to_first = torch.tensor([1.0, 0.0]).repeat(2, 1)  # both rows attend to the first of two words
        >>> maps = torch.stack([to_first, to_first.flip(1)])[None, None]  # two heads with nothing in common
        >>> special = torch.zeros(1, 2, dtype=torch.bool)
        >>> metric = HeadDistances(n_layers=1, n_heads=2)
        >>> metric.update(MapBatch(maps, torch.tensor([2]), special, (Sentence("s1", ("Birds", "sing")),)))
        >>> round(float(metric.compute().per_row.loc["1-1", "1-2"]), 4)  # ln 2
        0.6931
    """

    doubled: Int[Tensor, "all_heads all_heads"]
    rows: Int[Tensor, ""]

    def __init__(self, n_layers: int, n_heads: int, *, smoothing: float = 0.0) -> None:
        super().__init__()
        if not 0 <= smoothing < 1:
            raise ValueError(f"smoothing must be from 0 to 1, not {smoothing}")
        self.n_layers, self.n_heads, self.smoothing = n_layers, n_heads, smoothing
        size = n_layers * n_heads
        # Twice the divergence of each pair in fixed point, in the upper triangle.
        self.add_state("doubled", torch.zeros(size, size, dtype=torch.int64), "sum")
        self.add_state("rows", torch.tensor(0), "sum")

    def update(self, batch: MapBatch) -> None:
        """Add a batch of maps.

        Raises:
            ValueError: rows do not sum to 1 (extract with ``normalize="row"``), or the maps have another shape.
        """
        check_shape(batch, self.n_layers, self.n_heads)
        batch = replace(batch, maps=batch.maps.cpu())  # once, because each copy waits for the device
        inside = torch.arange(batch.maps.shape[-1]) < batch.lengths[:, None]
        deviations = (batch.maps.sum(-1) - 1).abs().amax((1, 2))  # (batch, n), the largest of all heads
        check_rows(float(deviations[inside].max()))
        n_heads = len(self.doubled)
        sums_of_block = functools.partial(_sums_of_block, n_heads=n_heads)
        n_threads = torch.get_num_threads()  # before it is set to one: each block is the work of one thread
        with one_thread(), ThreadPoolExecutor(n_threads) as pool:
            blocks = chain.from_iterable(map(self._blocks, _groups_of_equal_length(batch, n_heads)))
            sums = torch.stack(list(pool.map(sums_of_block, blocks))).sum(0)
        self.doubled += _doubled_divergences(sums).to(self.doubled.device)
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

    def _blocks(self, inputs: list[Array32]) -> Iterator[Cells]:
        """Yield the cells of inputs of the same length, of shape (layers, heads, n, n) each, for `_sums_of_block`."""
        n_heads, n = len(self.doubled), inputs[0].shape[-1]
        # The cells of a map are cut into runs of equal length, the last of which is filled with zeros.
        runs_per_map = math.ceil(n * n / _RUN)
        run_length = math.ceil(n * n / runs_per_map)
        cells = np.empty((n_heads + n_heads // 2, len(inputs), runs_per_map * run_length), dtype=np.float32)
        once = cells[:n_heads]  # each head once; the first half of the heads follows again
        once[..., n * n :] = 0
        for index, maps in enumerate(inputs):
            if self.smoothing:
                maps = (1 - self.smoothing) * maps + self.smoothing / n
            np.multiply(maps, _FACTOR, out=once[:, index, : n * n].reshape(maps.shape, copy=False))
        np.maximum(once, _SMALLEST, out=once)
        cells[n_heads:] = cells[: n_heads // 2]  # closes the circle of heads, so that shifted heads are slices
        n_runs = runs_per_map * len(inputs)
        n_blocks = max(1, round(n_heads * n_runs * run_length / _BLOCK))
        runs_per_block = math.ceil(n_runs / n_blocks)
        runs = cells.reshape(len(cells), n_runs, run_length)
        for start in range(0, n_runs, runs_per_block):
            yield runs[:, start : start + runs_per_block]


def _groups_of_equal_length(batch: MapBatch, n_heads: int) -> Iterator[list[Array32]]:
    """Yield the maps of several successive inputs of the same length, which have about `_BLOCK` cells together."""
    all_maps = (maps for _, maps in batch.unpadded())
    for n, maps_of_length in groupby(all_maps, key=lambda maps: maps.shape[-1]):
        n_inputs = max(1, round(_BLOCK / (n_heads * n**2)))
        while group := list(islice(maps_of_length, n_inputs)):
            yield group


def _sums_of_block(cells: Cells, n_heads: int) -> Int[Tensor, "shifts heads"]:
    """Return what each head alone, and each pair of heads by its shift, adds up to over a block, in fixed point."""
    # With f(x) = x · ln(F · x), where F is `_FACTOR` and the cells hold F · x: row 0 has Σ f(p) + ln 2 · Σ p of each
    # head p, and row d has Σ f(p + q), where q is the head d places after p in the circle. If q is opposite p, in a
    # circle of an even number of heads, each pair would come twice, and the second half of this last row stays 0.
    _, n_runs, run_length = cells.shape
    farthest = n_heads // 2
    shifted = np.moveaxis(sliding_window_view(cells, n_heads, axis=0), -1, 1)  # [d]: the heads d places on; no copies
    sums_of_runs = np.zeros((1 + farthest, n_heads, n_runs), dtype=np.float32)  # Σ F x · log₂(F x)
    n_shifts = max(1, min(farthest, _COMPARED // (n_heads * n_runs * run_length)))  # that are compared at a time
    # F x and log₂(F x) are overwritten each time.
    scratch = np.empty((2, n_shifts, n_heads, n_runs, run_length), dtype=np.float32)
    end = (n_heads - 1) // 2 + 1  # of the shifts that do not lead to the opposite head
    # The first `n_first` heads of the circle are compared with those `start` to `stop` − 1 places on.
    steps = [(n_heads, start, min(start + n_shifts, end)) for start in range(1, end, n_shifts)]
    if n_heads % 2 == 0:  # half of the heads, each with its opposite one
        steps.append((farthest, farthest, farthest + 1))
    for n_first, start, stop in steps:
        values, logarithms = scratch[:, : stop - start, :n_first]
        np.add(cells[:n_first], shifted[start:stop, :n_first], out=values)
        _log2(values, out=logarithms)
        np.vecdot(values, logarithms, out=sums_of_runs[start:stop, :n_first])
    # Each head alone.
    values, logarithms = cells[:n_heads], scratch[1, 0]
    _log2(values, out=logarithms)
    np.vecdot(values, logarithms, out=sums_of_runs[0])
    totals = sums_of_runs.astype(np.float64)
    totals[0] += values.sum(-1, dtype=np.float64)  # log₂ 2 · Σ F p
    return to_fixed_point(torch.from_numpy(totals * (math.log(2) / _FACTOR))).sum(-1)


def _doubled_divergences(sums: Int[Tensor, "shifts heads"]) -> Int[Tensor, "heads heads"]:
    """Return twice the divergence of each pair in the upper triangle, in fixed point."""
    # The rows of `sums` are those of `_sums_of_block`: first each head alone, then each with the head one place on, two
    # places on, and so on. With s = p + q, H(s / 2) = −½ Σ s ln s + ½ ln 2 Σ s. What the factor adds cancels out.
    alone, together = sums[0], sums[1:]
    farthest, n_heads = together.shape
    first = torch.arange(n_heads).expand(farthest, n_heads)
    second = (first + torch.arange(1, farthest + 1)[:, None]) % n_heads  # in a circle
    pairs = torch.zeros(n_heads, n_heads, dtype=torch.int64)
    pairs.index_put_((torch.minimum(first, second), torch.maximum(first, second)), together, accumulate=True)
    return (alone[:, None] + alone - pairs).triu(1)


def tree_of(square: Array) -> Array:
    """Return the tree of average linkage: the clusters that were merged and their distances, in the format of scipy.

    It is empty for a single head.
    """
    return linkage(squareform(square), method="average") if len(square) > 1 else np.empty((0, 4))


@with_style
def distances_figure(distances: pd.DataFrame, heads: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the distances of all heads as a matrix in the order of the tree, which stands in its left margin."""
    # Heads that attend alike are dark blocks. The names of heads have the colors of their layers.
    columns = [name for name in ("layer", "head", "relation", "relation_gain") if name in heads]
    layers, numbers = layers_of(distances)
    points = pd.DataFrame({"layer": layers, "head": numbers}).merge(heads[columns], on=["layer", "head"], how="left")
    merges = tree_of(square_of(distances))
    n_heads, n_layers = len(points), int(points["layer"].max())
    matrix_height = max(1.0, 0.1 * min(n_heads, _MAX_NAMED))  # in inches, 0.1 for each name
    figure = Figure(figsize=(TEXT, 1.3 + matrix_height), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=(1, 4), wspace=0)
    tree, axes = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    order = list(range(n_heads))
    if len(merges):
        one_color = {"color_threshold": 0, "above_threshold_color": GREY}
        order = dendrogram(merges, orientation="left", ax=tree, no_labels=True, **one_color)["leaves"]
    tree.set_ylim(10 * n_heads, 0)  # a dendrogram has 10 units for each head; the matrix has its first row on top
    tree.set_xlabel("distance (nats)")
    tree.spines["left"].set_visible(False)
    matrix = distances.to_numpy()[order][:, order]
    # The largest 3 % have one color, as a head that is like no other would leave all others alike.
    lightest = float(np.quantile(matrix, 0.97)) or 1.0  # 0 if all heads are alike
    # Thousands of cells are drawn as pixels, because each of them as a shape would make the page heavy.
    # They are not resampled, so that each has a color of the palette, which a dark page can replace.
    image = axes.imshow(matrix, cmap=REVERSED, vmin=0, vmax=lightest, aspect="auto", interpolation="none")
    rows = rows_of(points.iloc[order])
    # Every row has a name or, of each few neighbors, the one with the largest gain.
    step = -(-n_heads // _MAX_NAMED)
    gains = pd.Series([row.get("relation_gain") for row in rows], dtype=float).fillna(-1.0).to_numpy()
    named_rows = [start + int(gains[start : start + step].argmax()) for start in range(0, n_heads, step)]
    axes.yaxis.tick_right()
    axes.set_yticks(named_rows, [_name(rows[index]) for index in named_rows], fontsize=6.5)
    axes.set_xticks([])
    axes.tick_params(length=0, pad=2)
    shades = layer_shades(n_layers)
    for index, label in zip(named_rows, axes.get_yticklabels(), strict=True):
        row = rows[index]
        label.set_color(shades[row["layer"] - 1])
        label.set_url(PAGE + address(head=head_name(row["layer"], row["head"])))
    figure.colorbar(
        image, ax=[tree, axes], label="Jensen-Shannon divergence (nats)", location="bottom", aspect=50, extend="max"
    )
    legend = [
        Line2D([], [], ls="", marker="s", color=shades[layer - 1], label=f"layer {layer}")
        for layer in sorted({1, (n_layers + 1) // 2, n_layers})
    ]
    finish(figure, axes, title, legend)
    return figure


def _name(row: dict[str, Any]) -> str:
    name = head_name(row["layer"], row["head"])
    return f"{name} {row['relation']}" if isinstance(row.get("relation"), str) else name
