"""Parts of the figures of the explanation tests, split by class if there are few classes; the figure of training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from ....reports.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PURPLE,
    SKY,
    TEXT,
    YELLOW,
    finish,
    log_scale,
    panel,
    panels,
    ticks,
    with_style,
)
from ..contract.registry import in_items
from ..contract.results import ExplainResults
from ..contract.summary import OVERALL

MAX_CLASSES = 6
"""The largest number of classes by which figures and tables on the page are split."""

_ROLES = {"base": BLACK, "uniform": GREY, "seed": SKY, "guided": PURPLE, "adversary": ORANGE, "regularizer": GREEN}
_ALIKE = {"seed": "other seeds", "adversary": "trained adversaries"}  # models that differ in a number alone
_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
_WIDE_RANGE = 5  # a loss that is so many times as large as another one would leave it no room
_FEW_EPOCHS = 20
_COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
_BINS = (0.25, 0.5, 0.75)
FEW = 10
"""With fewer values, points are drawn instead of a distribution."""

MOST_JSD = 0.72
"""The end of the axis of the JSD, which is log 2 nats at most."""

_LONGEST = 24
_APART_X, _APART_Y = 0.085, 0.1  # shares of the axes; dots that are closer share a label


def has_values(table: pd.DataFrame, column: str) -> bool:
    """Whether a table has a column with at least one number."""
    return column in table and bool(table[column].notna().any())


def by_class(texts: pd.DataFrame, classes: Sequence[str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the label, the color and the texts of each predicted class; of all classes together if there are many."""
    if len(classes) > MAX_CLASSES:
        yield f"all {len(classes)} classes", BLUE, texts
        return
    for c, name in enumerate(classes):
        of_class = texts[texts["predicted"] == c]
        if len(of_class):
            yield f"predicted: {clip_name(name)}", _COLORS[c], of_class


def mean_of(results: ExplainResults, measure: str, texts: pd.DataFrame) -> dict[str, float]:
    """Return ``mean``, ``low`` and ``high`` of a measure for the texts of a group of `by_class`."""
    one_class = len(results.classes) <= MAX_CLASSES  # otherwise, the group has the texts of all classes
    predicted = results.classes[int(texts["predicted"].iloc[0])] if one_class else OVERALL
    summary = results.summary
    rows = summary[(summary["measure"] == measure) & (summary["predicted"] == predicted)]
    return {name: float(rows[name].iloc[0]) for name in ("mean", "low", "high")}


def clip_name(name: str) -> str:
    """Shorten a name to `_LONGEST` characters, so that it fits into a figure."""
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def max_attention_figure(column: str, label: str) -> Callable[[ExplainResults, str], Figure | None]:
    """Return the function that draws a column against the weight of the most attended word, if it has values."""

    def draw(results: ExplainResults, title: str) -> Figure | None:
        if not has_values(results.texts, column):
            return None
        texts = results.texts.dropna(subset=[column, "max_attention"])
        return violins(list(by_class(texts, results.classes)), column, label, title)

    return draw


@with_style
def violins(groups: Sequence[tuple[str, str, pd.DataFrame]], column: str, label: str, title: str) -> Figure:
    """Draw a violin with its median for each range of weights and each group of texts, or few texts as points."""
    edges, names = filled_bins(np.concatenate([of_group["max_attention"].to_numpy() for *_, of_group in groups]))
    counts = np.zeros(len(names), dtype=int)
    rng = np.random.default_rng(0)
    figure, axes = panel(TEXT, 3.0, "y")
    width = 0.8 / len(groups)
    for index, (_, color, of_group) in enumerate(groups):
        bins = np.digitize(of_group["max_attention"], edges)
        from_center = (index - (len(groups) - 1) / 2) * width  # the groups of a range lie side by side
        for position in range(len(names)):
            values = of_group[column].to_numpy(dtype=np.float64)[bins == position]
            counts[position] += len(values)
            middle = position + from_center
            if len(values) >= FEW and values.std() > 1e-6:
                violin: Any = axes.violinplot(values, [middle], widths=0.9 * width, showextrema=False)
                violin["bodies"][0].set(facecolor=color, alpha=0.55, edgecolor=color)
            else:
                spread = middle + width * rng.uniform(-0.2, 0.2, len(values))
                axes.scatter(spread, values, s=9, color=color, alpha=0.7, linewidths=0)
            if len(values):
                ends = (middle - 0.3 * width, middle + 0.3 * width)
                axes.plot(ends, [np.median(values)] * 2, color=BLACK, linewidth=1.4, solid_capstyle="butt")
    for edge in range(1, len(names)):
        axes.axvline(edge - 0.5, color="#eeeeee", linewidth=0.6)
    axes.set_xticks(range(len(names)), [f"{name}\nn = {n:,}" for name, n in zip(names, counts, strict=True)])
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(in_items("attention to the most attended word"))
    axes.set_ylabel(label)
    finish(figure, axes, title, [Patch(color=color, alpha=0.55, label=name) for name, color, _ in groups])
    return figure


def filled_bins(weights: npt.NDArray[np.float64]) -> tuple[list[float], list[str]]:
    """Return the edges between ranges of weights, and their names. Quarters with few weights are joined with others."""
    edges = list[float]()
    for edge in _BINS:
        if ((weights >= (edges[-1] if edges else 0)) & (weights < edge)).sum() >= FEW:
            edges.append(edge)
    if edges and (weights >= edges[-1]).sum() < FEW:
        edges.pop()
    ends = [0.0, *edges, 1.0]
    return edges, [f"{low:g}–{high:g}" for low, high in pairwise(ends)]


def draw_adversaries(axes: Axes, rows: pd.DataFrame, color: str, label: str, top: float) -> None:
    """Draw the curve of trained adversaries, with λ at its points, into axes that end at `MOST_JSD` and ``top``."""
    axes.plot(rows["jsd"], rows["tvd"], color=color, marker="o", markersize=4, label=label)
    for strengths, x, y in _lambda_labels(rows, MOST_JSD, top):
        side = "left" if x < 0.06 else "center"  # not across the axis
        axes.annotate(strengths, (x, y), (0, 7), textcoords="offset points", ha=side, fontsize=7, color="#666666")


def _lambda_labels(rows: pd.DataFrame, width: float, height: float) -> list[tuple[str, float, float]]:
    """Return a label with its x and y for each dot, or for several dots in a row that lie close together."""
    runs: list[list[Any]] = []  # of dots that are close to the first one of their run
    for dot in rows.rename(columns={"lambda": "strength"}).itertuples():
        first = runs[-1][0] if runs else None
        if first and abs(dot.jsd - first.jsd) < _APART_X * width and abs(dot.tvd - first.tvd) < _APART_Y * height:
            runs[-1].append(dot)
        else:
            runs.append([dot])
    labels = []
    for run in runs:
        first, last = run[0], run[-1]
        strengths = dict.fromkeys(f"{dot.strength:g}" for dot in (first, last))  # a single one if they are equal
        labels.append((" to ".join(strengths), (first.jsd + last.jsd) / 2, max(dot.tvd for dot in run)))
    return labels


@with_style
def training_figure(history: pd.DataFrame, roles: Mapping[str, str], *, title: str) -> Figure:
    """Draw loss and dev AUC by epoch, a line for each model; adversaries have another loss and thus another panel."""
    is_adversary = history["model"].map(dict(roles)) == "adversary"
    panels_by_label = {
        "loss per text": ("loss", history[~is_adversary]),
        "loss of adversaries": ("loss", history[is_adversary]),
        "dev AUC": ("dev_auc", history),
    }
    shown = {label: (column, rows) for label, (column, rows) in panels_by_label.items() if len(rows)}
    figure, (row,) = panels(TEXT, 3.2, columns=len(shown))
    handles: dict[str, Line2D] = {}
    looks = _looks(history, roles)
    for axes, (label, (column, all_rows)) in zip(row, shown.items(), strict=True):
        rows = all_rows[all_rows[column].notna()]
        last = int(rows["epoch"].max()) if len(rows) else 1
        for (model,), epochs in rows.groupby(["model"], sort=False):
            role, place = looks[str(model)]
            name = _ALIKE.get(role, clip_name(str(model)))
            (line,) = axes.plot(
                epochs["epoch"],
                epochs[column].astype(float),
                marker=MARKERS[place % len(MARKERS)] if last <= _FEW_EPOCHS else None,
                linestyle=_DASHES[place % len(_DASHES)],
                markersize=3,
                linewidth=0.9,
                color=_ROLES.get(role, BLACK),
                zorder=4 if role == "base" else 2,
                label=name,
            )
            handles.setdefault(name, line)
        values = rows[column].astype(float)
        if column == "loss" and (values > 0).all() and values.max() > _WIDE_RANGE * values.min():
            log_scale(axes, "y")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.set_xlabel("epoch")
        axes.set_ylabel(label)
        axes.set_xticks([tick + 1 for tick in ticks(last)])
        axes.set_xlim(0.5, last + 0.5)
        axes.grid(axis="y")
        if not len(rows):
            axes.text(0.5, 0.5, "no dev texts", transform=axes.transAxes, ha="center", color=GREY)
            axes.set_yticks([])
    finish(figure, row[0], title, list(handles.values()), labeled=False)
    return figure


def _looks(history: pd.DataFrame, roles: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Return the role of each model, and its place among the models of this role; 0 for all that look alike."""
    looks: dict[str, tuple[str, int]] = {}
    for model in map(str, dict.fromkeys(history["model"])):
        role = roles.get(model, "base")
        before = sum(other == role for other, _ in looks.values())
        looks[model] = role, 0 if role in _ALIKE else before
    return looks
