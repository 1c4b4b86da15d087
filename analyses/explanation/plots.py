"""Figures of tests of attention, of one row per text: distributions, by predicted class where there are few classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from attentionology.reports.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    STYLE,
    YELLOW,
    finish,
    name_rows,
)
from attentionology.reports.format import percent

MAX_CLASSES = 6
"""With more classes nothing is split by class."""

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
_BINS = (0.25, 0.5, 0.75)
_BIN_NAMES = ("0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1")
_FEW = 10
_MANY = 400  # as vectors they would make the page heavy
_LONGEST = 24
_TAUS = {
    "tau_gradient": "attention and gradient × input",
    "tau_loo": "attention and leave-one-out",
    "tau_gradient_loo": "gradient × input and leave-one-out",
}


def has_values(table: pd.DataFrame, column: str) -> bool:
    """Whether a column is there and has a number."""
    return column in table and bool(table[column].notna().any())


def by_class(texts: pd.DataFrame, classes: Sequence[str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Label, colour and texts of each predicted class that has any; of all together if there are many classes."""
    if len(classes) > MAX_CLASSES:
        yield f"all {len(classes)} classes", BLUE, texts
        return
    for c, name in enumerate(classes):
        own = texts[texts["predicted"] == c]
        if len(own):
            yield f"predicted: {clipped(name)}", _COLOURS[c], own


def clipped(name: str) -> str:
    """A name that fits into a figure."""
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def legend(figure: Figure, axes: Axes, title: str, handles: Sequence[Any] = ()) -> None:
    """Like `finish`, in as many lines as it takes; ``handles`` besides those of the axes."""
    every = [*handles, *axes.get_legend_handles_labels()[0]]
    if every:
        longest = max(len(str(handle.get_label())) for handle in every)
        columns = max(1, min(len(every), 96 // (longest + 6)))
        figure.legend(handles=every, loc="outside lower center", ncols=columns, frameon=False)
    figure.suptitle(title, fontsize=8, x=0.01, ha="left")


def tau_figure(texts: pd.DataFrame, classes: Sequence[str], *, title: str) -> Figure:
    """Histograms of τ, a row of panels per predicted class, over those of random scores."""
    columns = [name for name in _TAUS if has_values(texts, name)]
    groups = list(by_class(texts, classes))
    bins = np.linspace(-1, 1, 21)
    with mpl.rc_context(STYLE):
        size = (1.0 + 1.8 * len(columns), 0.9 + 1.25 * len(groups))
        figure = Figure(figsize=(max(size[0], 3.6), size[1]), layout="constrained")
        grid = figure.subplots(len(groups), len(columns), squeeze=False, sharex=True, sharey=True)
        for row, (name, colour, own) in zip(grid, groups, strict=True):
            for axes, column in zip(row, columns, strict=True):
                values = own[column].dropna().to_numpy()
                axes.grid(axis="y", color="#eeeeee", zorder=0)
                axes.set_axisbelow(True)
                axes.axvline(0, color=GREY, linewidth=0.6)
                if len(values):
                    _shares(axes, values, bins, color=colour)
                    axes.axvline(values.mean(), color=BLACK, linewidth=1, label="mean")
                    axes.text(0.02, 0.86, f"n = {len(values):,}", transform=axes.transAxes, color="#666666", fontsize=7)
                if column != "tau_gradient_loo" and has_values(own, "tau_random"):
                    random = own["tau_random"].dropna().to_numpy()
                    _shares(axes, random, bins, histtype="step", color=BLACK, linestyle=":", label="with random scores")
            row[0].set_title(name, loc="left")
            row[0].set_ylabel("texts (%)")
        for axes, column in zip(grid[-1], columns, strict=True):
            axes.set_xlabel(f"Kendall’s τ,\n{_TAUS[column]}")
            axes.set_xlim(-1, 1)
        legend(figure, grid[0][0], title)
    return figure


def _shares(axes: Axes, values: npt.NDArray[np.float64], bins: npt.NDArray[np.float64], **style: Any) -> None:
    """A histogram in percent of the values."""
    axes.hist(values, bins=bins.tolist(), weights=np.full(len(values), 100 / len(values)), **style)


def max_attention_figure(texts: pd.DataFrame, column: str, classes: Sequence[str], *, label: str, title: str) -> Figure:
    """A measure against the weight of the most attended word: violins with medians, points where texts are few."""
    groups = list(by_class(texts.dropna(subset=[column, "max_attention"]), classes))
    counts = np.zeros(len(_BIN_NAMES), dtype=int)
    rng = np.random.default_rng(0)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.3, 3.0), layout="constrained")
        axes = figure.subplots()
        axes.grid(axis="y", color="#eeeeee", zorder=0)
        axes.set_axisbelow(True)
        width = 0.8 / len(groups)
        for g, (_, colour, own) in enumerate(groups):
            bins = np.digitize(own["max_attention"], _BINS)
            for place in range(len(_BIN_NAMES)):
                values = own[column].to_numpy(dtype=np.float64)[bins == place]
                counts[place] += len(values)
                middle = place + (g - (len(groups) - 1) / 2) * width
                if len(values) >= _FEW and values.std() > 1e-6:
                    drawn: Any = axes.violinplot(values, [middle], widths=0.9 * width, showextrema=False)
                    drawn["bodies"][0].set(facecolor=colour, alpha=0.55, edgecolor=colour)
                else:
                    spread = middle + width * rng.uniform(-0.2, 0.2, len(values))
                    axes.scatter(spread, values, s=9, color=colour, alpha=0.7, linewidths=0)
                if len(values):
                    ends = (middle - 0.3 * width, middle + 0.3 * width)
                    axes.plot(ends, [np.median(values)] * 2, color=BLACK, linewidth=1.4, solid_capstyle="butt")
        for edge in range(1, len(_BIN_NAMES)):
            axes.axvline(edge - 0.5, color="#dddddd", linewidth=0.6)
        axes.set_xticks(range(len(_BIN_NAMES)), [f"{b}\nn = {n:,}" for b, n in zip(_BIN_NAMES, counts, strict=True)])
        axes.set_xlim(-0.5, len(_BIN_NAMES) - 0.5)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("attention to the most attended word")
        axes.set_ylabel(label)
        legend(figure, axes, title, [Patch(color=colour, alpha=0.55, label=name) for name, colour, _ in groups])
    return figure


def single_figure(texts: pd.DataFrame, measures: Mapping[str, str], *, title: str) -> Figure:
    """What the best word changes more than another one, against how much more attention it has."""
    panels = [name for name in measures if has_values(texts, f"single_{name}_difference")]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(0.6 + 2.0 * len(panels), 3.4), 2.9), layout="constrained")
        row = figure.subplots(1, len(panels), squeeze=False, sharex=True, sharey=True)[0]
        for axes, name in zip(row, panels, strict=True):
            x, y = texts[f"single_{name}_weight_difference"], texts[f"single_{name}_difference"]
            flipped = texts[f"single_{name}_top_flip"] > 0
            for chosen, colour, marker, label in (
                (~flipped, BLUE, "o", "decision stays without the best word"),
                (flipped, ORANGE, "^", "decision changes"),
            ):
                axes.scatter(
                    *(x[chosen], y[chosen]),
                    s=10,
                    marker=marker,
                    color=colour,
                    alpha=0.5,
                    linewidths=0,
                    label=label,
                    rasterized=len(texts) > _MANY,
                )
            axes.axhline(0, color=BLACK, linewidth=0.6)
            axes.axvline(0, color=BLACK, linewidth=0.6)
            axes.set_title(f"best by {measures[name]}", loc="left")
        row[0].set_ylabel("JSD of the output:\nbest word less another (nats)")
        row[len(row) // 2].set_xlabel("attention: best word less another")
        finish(figure, row[0], title)
    return figure


def removal_figure(texts: pd.DataFrame, orders: Mapping[str, str], *, title: str) -> Figure:
    """Share of words removed until the decision changes, by order; on own texts and on those that all orders share."""
    names = [name for name in orders if f"removal_{name}" in texts]
    shares = 100 * texts[[f"removal_{name}" for name in names]]
    common = shares.dropna()
    colours = dict(zip(orders, (BLUE, GREEN, ORANGE, GREY, SKY), strict=True))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.3, 0.9 + 0.34 * len(names)), layout="constrained")
        first, second = figure.subplots(1, 2, sharex=True)
        for axes, table in ((first, shares), (second, common)):
            for place, name in enumerate(names):
                _box(axes, table[f"removal_{name}"].dropna().to_numpy(), place, colours[name])
            axes.grid(axis="x", color="#eeeeee", zorder=0)
            axes.set_axisbelow(True)
            axes.set_xlim(0, 101)
        name_rows(first, [orders[name] for name in names], [_never(texts, name) for name in names])
        name_rows(second, [""] * len(names), [""] * len(names))
        first.set_title("texts that change", loc="left")
        second.set_title(f"texts that change in every order (n = {len(common):,})", loc="left")
        if not len(common):
            second.text(0.5, 0.5, "none", transform=second.transAxes, ha="center", color=GREY)
        figure.supxlabel("words removed until the decision changes (% of the text)", fontsize=8)
        finish(figure, first, title)
    return figure


def _box(axes: Axes, values: npt.NDArray[np.float64], place: int, colour: str) -> None:
    """A box plot from left to right, with whiskers of at most 1.5 boxes; points where texts are few."""
    if len(values) < _FEW:
        axes.scatter(values, [place] * len(values), s=12, color=colour, zorder=2)
        return
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    near = values[(values >= low - 1.5 * (high - low)) & (values <= high + 1.5 * (high - low))]
    axes.plot([near.min(), near.max()], [place, place], color=BLACK, linewidth=0.8, zorder=1)
    axes.barh(place, high - low, left=low, height=0.55, color=colour, edgecolor=BLACK, linewidth=0.6, zorder=2)
    axes.plot([middle, middle], [place - 0.27, place + 0.27], color=BLACK, linewidth=1.6, zorder=3)
    far = values[(values < near.min()) | (values > near.max())]
    axes.scatter(far, [place] * len(far), s=3, color=BLACK, alpha=0.4, linewidths=0, rasterized=len(far) > _MANY)


def _never(texts: pd.DataFrame, order: str) -> str:
    column = f"removal_{order}_never"
    return f"{percent(texts[column].mean())} % never" if has_values(texts, column) else ""
