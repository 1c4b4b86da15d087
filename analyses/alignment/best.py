"""Which layer and which head aligns words best? Chosen on one half of the pairs and scored on the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import Schema, TableColumn, bounds
from ...reports.drawing import COLUMN, PAGE, REVERSED, TEXT, finish, panels, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of, shown_head
from ...reports.shapes import heads_map, mark_head
from ...reports.table import ShownTable
from ...storage.writing import amount, verb
from ..counting.held_out import NO_CLAIM, side_of_baseline
from ..counting.resampling import FEWEST_UNITS
from ..shared.measures import address, points, share
from .held_out import best_table
from .rows import ERROR, Aligned, AlignmentQuestion, AlignmentResults, measure_id, text_of
from .series import SINGLE, TOGETHER

BEST = Schema(
    "alignment_best",
    "One row per setting, measure and `heads`: the layer and head with the lowest error rate.",
    (
        TableColumn("setting", "text", "as in `alignment.csv`", "setting"),
        TableColumn("measure", "text", "as in `alignment.csv`", "measure"),
        TableColumn("heads", "text", "as in `alignment.csv`", "heads"),
        TableColumn("direction", "text", "as in `alignment.csv`", "links"),
        TableColumn(
            "layer head",
            "number from 1",
            "the best layer and head; head 0 stands for all heads together",
            "best",
            cell=lambda row: shown_head(row) if row["head"] else str(row["layer"]),
        ),
        TableColumn("error_rate low high", "share", "its alignment error rate", "error rate", beside=bounds()),
        TableColumn("heldout_error_rate", "share", "the error rate if it is chosen on the other half", "held-out"),
        TableColumn(
            "heldout_gain heldout_gain_low heldout_gain_high",
            "points",
            "the error rate of the best baseline, chosen on the other half, − `heldout_error_rate`; above 0, the "
            "model is better",
            "held-out gain",
            beside=bounds("heldout_gain"),
        ),
        TableColumn(
            "largest_layer largest_head", "number from 1", "the one with the largest mean norm; empty for weights"
        ),
        TableColumn("largest_error_rate", "share", "its error rate", "by largest norm"),
        TableColumn("mean_error_rate", "share", "the mean over all layers and heads", "mean of all", room="page"),
    ),
)

_WIDEST = 120
"""The columns of a terminal from which on held-out gains have intervals."""

_VERDICTS = {1: "better than", -1: "worse than", 0: "neither clearly better nor clearly worse than"}
"""How the best heads compare with the best baseline, by `side_of_baseline`."""


class Best(AlignmentQuestion):
    """Which layer and which head aligns words best?"""

    name = "best"
    tables = (BEST,)
    template = Path(__file__).with_name("best.html.j2")

    def find(self, counts: Aligned, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the best layer and head of each series; None without gold links."""
        return best_table(counts.scored, list(counts.baselines.values())) if counts.has_gold else None

    def frames(self, answer: pd.DataFrame, results: AlignmentResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {BEST.name: answer}

    def show(self, answer: pd.DataFrame, results: AlignmentResults) -> Sequence[ShownTable]:
        """Return the table. The direction of links is left out if there is only one."""
        columns = [column for column in BEST.columns if results.has_directions or column.heading != "links"]
        title = "Best layer, or layer and head (error rates in %)"
        return (ShownTable(BEST.name, title, columns, rows_of(answer), wide=_WIDEST),)

    def draw(self, answer: pd.DataFrame, results: AlignmentResults, title: str) -> Mapping[str, Figure]:
        """Draw every head."""
        return {"alignment_heads": heads_figure(results.cells, title=title)}

    def values(self, answer: pd.DataFrame, results: AlignmentResults) -> Mapping[str, Any]:
        """Return whether there are links of both directions."""
        return {"both": results.has_directions}

    def explore(self, answer: pd.DataFrame, counts: Aligned, results: AlignmentResults, kind: str) -> Contribution:
        """Say which head and which layer is the best, and whether they are better than the best baseline."""
        return Contribution(findings=(*_lowest(results), *_compare_with_baseline(results)))


@with_style
def heads_figure(cells: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the error rate of every head as heatmaps of layers and heads, one for each setting and measure.

    Few errors are dark, the head with the fewest is marked, and each cell leads to the sentence pairs of its head.
    """
    single = cells[cells["heads"] == SINGLE]
    groups = list(single.groupby(["setting", "measure"]))
    columns = min(2, max(1, len(groups)))
    lines = math.ceil(len(groups) / columns) or 1
    figure, grid = panels(TEXT if columns == 2 else COLUMN, 0.5 + 1.8 * lines, lines, columns, sharex=True, sharey=True)
    for axes, ((setting, measure), rows) in zip(grid.flat, groups, strict=False):
        table = rows.pivot_table("error_rate", "layer", "head")
        drawn = heads_map(axes, table, lambda layer, head: PAGE + address(head=head_name(layer, head)), colors=REVERSED)
        fewest = rows_of(rows.nsmallest(1, "error_rate"))[0]
        layer, head = int(fewest["layer"]), int(fewest["head"])
        mark_head(axes, layer, head)
        axes.set_title(f"{setting}, {measure}: {head_name(layer, head)}, {100 * fewest['error_rate']:.0f} %")
    for axes in grid.flat[len(groups) :]:
        axes.set_visible(False)
    figure.supxlabel("head", fontsize=7.5)
    figure.supylabel("layer", fontsize=7.5)
    finish(figure, grid[0, 0], title)
    if groups:  # all panels have the same colors
        figure.colorbar(drawn, ax=grid, label="alignment error rate (%)", shrink=0.9)
    return figure


def _lowest(results: AlignmentResults) -> Iterator[Finding]:
    """Say which head, and which layer, has the lowest error rate, and that of those chosen on other pairs."""
    baseline = _best_baseline(results)
    beside = f", beside {text_of(ERROR, baseline)} of {baseline['name']}, the best baseline" if baseline else ""
    for heads, table in ((SINGLE, results.single), (TOGETHER, results.together)):
        for row in rows_of(table.dropna(subset=["error_rate"]).nsmallest(1, "error_rate")):  # none if none is defined
            head = head_name(row["layer"], row["head"] or 1)
            rate = f"{text_of(ERROR, row)} is the lowest alignment error rate"
            series = f"by {row['measure']} ({row['setting']})"
            heldout_rate = _row_of_best(results, row)["heldout_error_rate"]
            held_out = "" if math.isnan(heldout_rate) else f"; held out, the best ones have {share(heldout_rate)}"
            if heads == SINGLE:
                text = f"{rate} of all heads, that of head {head} {series}{beside}{held_out}."
            else:
                compared = "all word vectors" if row["measure"] == "cosine" else "all heads of a layer together"
                text = f"{rate} of {compared}, in layer {row['layer']} {series}{beside}{held_out}."
            yield Finding(text, address(head=head, measure=measure_id(ERROR, row)))


def _best_baseline(results: AlignmentResults) -> dict[str, Any] | None:
    """Return the row of the baseline with the lowest error rate; None if there is none."""
    if "baselines" not in results.answers:
        return None
    return next(iter(rows_of(results.baselines.dropna(subset=["error_rate"]).nsmallest(1, "error_rate"))), None)


def _row_of_best(results: AlignmentResults, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of the table of best heads that is about the series of a row."""
    best = results.best
    for name in ("setting", "measure", "heads", "direction"):
        best = best[best[name] == row[name]]
    return rows_of(best)[0]


def _compare_with_baseline(results: AlignmentResults) -> Iterator[Finding]:
    """Say how many heads have an interval below the best baseline, and whether the best head is better held out."""
    baseline = _best_baseline(results)
    heads = results.single.dropna(subset=["low", "high"])
    if baseline is None or heads.empty:
        return
    head = rows_of(heads.nsmallest(1, "error_rate"))[0]
    rows = heads[(heads["setting"] == head["setting"]) & (heads["measure"] == head["measure"])]
    better = int((rows["high"] < baseline["error_rate"]).sum())
    text = f"{text_of(ERROR, baseline)} is the alignment error rate of the best baseline, {baseline['name']}."
    best = _row_of_best(results, head)
    if not results.units >= FEWEST_UNITS:
        text += f" Heads are not compared with it: {NO_CLAIM.format(units='pairs')}."
        yield Finding(text, address(head=head_name(head["layer"], head["head"]), measure=measure_id(ERROR, head)))
        return
    have = verb(better, "have", "has", of=len(rows))
    text = (
        f"{better} of {amount(len(rows), 'heads')} {have} an interval below the error rate of the best baseline, "
        f"{baseline['name']} ({text_of(ERROR, baseline)}), by {head['measure']} ({head['setting']})."
    )
    if not math.isnan(best["heldout_gain"]):
        gain = points(best["heldout_gain"], best["heldout_gain_low"], best["heldout_gain_high"])
        text += f" Held out, the best heads are {_VERDICTS[side_of_baseline(best)]} the best baseline ({gain})."
    yield Finding(text, address(head=head_name(head["layer"], head["head"]), measure=measure_id(ERROR, head)))
