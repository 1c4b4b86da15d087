"""Parts of the figures of the explanation tests, split by class if there are few classes; the figure of training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ....reports.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    TEXT,
    YELLOW,
    finish,
    panel,
    panels,
    styled,
    ticks,
)
from ..contract.registry import in_items
from ..contract.results import ExplainResults
from ..contract.summary import OVERALL

MAX_CLASSES = 6
"""The largest number of classes by which figures and tables on the page are split."""

_ROLES = {"base": BLACK, "uniform": GREY, "seed": SKY, "guided": PURPLE, "adversary": ORANGE, "regularizer": GREEN}
_FEW_EPOCHS = 20
_COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
_BINS = (0.25, 0.5, 0.75)
_BIN_NAMES = ("0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1")
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
            yield f"predicted: {clipped(name)}", _COLORS[c], of_class


def mean_of(results: ExplainResults, measure: str, texts: pd.DataFrame) -> dict[str, float]:
    """Return ``mean``, ``low`` and ``high`` of a measure for the texts of a group of `by_class`."""
    one_class = len(results.classes) <= MAX_CLASSES  # otherwise, the group has the texts of all classes
    predicted = results.classes[int(texts["predicted"].iloc[0])] if one_class else OVERALL
    summary = results.summary
    rows = summary[(summary["measure"] == measure) & (summary["predicted"] == predicted)]
    return {name: float(rows[name].iloc[0]) for name in ("mean", "low", "high")}


def clipped(name: str) -> str:
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


@styled
def violins(groups: Sequence[tuple[str, str, pd.DataFrame]], column: str, label: str, title: str) -> Figure:
    """Draw a violin with its median for each range of weights and each group of texts, or few texts as points."""
    counts = np.zeros(len(_BIN_NAMES), dtype=int)
    rng = np.random.default_rng(0)
    figure, axes = panel(TEXT, 3.0, "y")
    width = 0.8 / len(groups)
    for index, (_, color, of_group) in enumerate(groups):
        bins = np.digitize(of_group["max_attention"], _BINS)
        from_center = (index - (len(groups) - 1) / 2) * width  # the groups of a range lie side by side
        for position in range(len(_BIN_NAMES)):
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
    for edge in range(1, len(_BIN_NAMES)):
        axes.axvline(edge - 0.5, color="#eeeeee", linewidth=0.6)
    axes.set_xticks(range(len(_BIN_NAMES)), [f"{name}\nn = {n:,}" for name, n in zip(_BIN_NAMES, counts, strict=True)])
    axes.set_xlim(-0.5, len(_BIN_NAMES) - 0.5)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(in_items("attention to the most attended word"))
    axes.set_ylabel(label)
    finish(figure, axes, title, [Patch(color=color, alpha=0.55, label=name) for name, color, _ in groups])
    return figure


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


@styled
def training_figure(history: pd.DataFrame, roles: Mapping[str, str], *, title: str) -> Figure:
    """Draw loss and dev AUC by epoch, a line for each model; adversaries have another loss and thus another panel."""
    is_adversary = history["model"].map(dict(roles)) == "adversary"
    panels_by_label = {
        "loss per text": ("loss", history[~is_adversary]),
        "loss of adversaries": ("loss", history[is_adversary]),
        "dev AUC": ("dev_auc", history),
    }
    shown = {label: (column, rows) for label, (column, rows) in panels_by_label.items() if len(rows)}
    figure, (row,) = panels(TEXT, 2.6, columns=len(shown))
    handles: dict[str, Line2D] = {}
    for axes, (label, (column, all_rows)) in zip(row, shown.items(), strict=True):
        rows = all_rows[all_rows[column].notna()]
        last = int(rows["epoch"].max()) if len(rows) else 1
        for (model,), epochs in rows.groupby(["model"], sort=False):
            role = roles.get(str(model), "base")
            (line,) = axes.plot(
                epochs["epoch"],
                epochs[column].astype(float),
                marker="o" if last <= _FEW_EPOCHS else None,
                markersize=2.5,
                linewidth=0.9,
                color=_ROLES.get(role, BLACK),
                zorder=4 if role == "base" else 2,
                label=role,
            )
            handles.setdefault(role, line)
        axes.set_xlabel("epoch")
        axes.set_ylabel(label)
        axes.set_xticks([tick + 1 for tick in ticks(last)])
        axes.set_xlim(0.5, last + 0.5)
        axes.grid(axis="y")
        if not len(rows):
            axes.text(0.5, 0.5, "no dev texts", transform=axes.transAxes, ha="center", color=GREY)
            axes.set_yticks([])
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=len(handles), frameon=False)
    figure.suptitle(title, x=0.01, ha="left")
    return figure
