"""The figures of a survey: accuracies, differences, losses of transferred heads, and training curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...reports.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    TEXT,
    YELLOW,
    finish,
    layer_shades,
    panel,
    panels,
    series_label,
    styled,
    ticks,
    wrapped,
)
from ...reports.shapes import heatmap
from ...storage.writing import amount
from ..comparison.differences import Difference
from ..comparison.figures import difference_rows
from ..dependency.accuracy import TOTALS
from .contrasts import SurveyContrast
from .matrices import MEAN, Entry, MatrixMaker, pair_name, short_names
from .results import Survey
from .shown_tables import on, transfer_relation, transfer_relation_table, transfer_table

_MOST_CONTRASTS = 60
_MOST_ROWS = 8
_MOST_PANELS = 4
"""The number of treebanks whose training curves are drawn."""
_COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
_DARK = 0.6
"""The share of the color map from which on the text of an entry is white."""


@styled
def accuracies_figure(maker: MatrixMaker, relation: str) -> Figure | None:
    """Draw the held-out accuracy of one relation for each model and map (rows) on each treebank (columns), if any."""
    survey, rows = maker.survey, maker.accuracies(relation)
    matrix: list[list[Entry]] = [[row[treebank] for treebank in survey.treebanks] for row in rows]
    values = np.array([[entry.value for entry in entries] for entries in matrix])
    if not np.isfinite(values).any():
        return None
    figure, axes = panel(2.2 + 0.55 * len(survey.treebanks), 1.3 + 0.24 * len(rows))
    image = heatmap(axes, 100 * values, 0, 100)
    title = relation
    for y, entries in enumerate(matrix):
        for x, entry in enumerate(entries):
            if entry.weak:
                title = f"{relation}\nin parentheses: fewer than {amount(survey.min_count, 'words')}"
            text = f"({entry.text})" if entry.weak else entry.text
            _write(axes, x, y, text, is_dark=entry.value > _DARK)
    several = len(survey.maps) > 1
    labels = [f"{row['model']} ({row['map']})" if several else row["model"] for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    _name_columns(axes, survey)
    figure.colorbar(image, ax=axes, label="held-out accuracy (%)")
    axes.set_title(title, loc="left")
    return figure


def _write(axes: Axes, x: int, y: int, text: str, *, is_dark: bool) -> None:
    """Write the text of a cell in the middle of it, so that it stands out against its color."""
    axes.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if is_dark else "black")


def _name_columns(axes: Axes, survey: Survey) -> None:
    """Name the columns of a heatmap by the treebanks."""
    names = list(short_names(survey.treebanks).values())
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
    axes.tick_params(length=0)


@styled
def differences_figure(survey: Survey) -> Figure | None:
    """Draw the differences of the survey's relation with their intervals, a row for each contrast and treebank, if any.

    If these are too many to read, only the means over treebanks are drawn, and none if these are too many as well.
    """
    means = _differences(survey, survey.means)
    rows = [*_differences(survey, survey.contrasts), *means]
    pairs = list(dict.fromkeys(pair for pair, _, _ in rows))
    rows.sort(key=lambda row: pairs.index(row[0]))  # the mean of a pair comes after its treebanks
    title = survey.relation
    if len(rows) > _MOST_CONTRASTS:
        title += f"\n(means over treebanks; all {len(rows):,} differences are in the table)"
        rows = means
    if not rows or len(rows) > _MOST_CONTRASTS:
        return None
    figure, axes = panel(TEXT, 1.15 + 0.2 * len(rows))
    names = [f"{pair}, {treebank}" for pair, treebank, _ in rows]
    difference_rows(axes, [difference for _, _, difference in rows], 100, names=names)
    axes.set_xlabel("difference of held-out accuracies (percentage points)")
    finish(figure, axes, title)
    return figure


def _differences(survey: Survey, contrasts: Sequence[SurveyContrast]) -> list[tuple[str, str, Difference]]:
    """Return the differences of the survey's relation that have intervals, with the names of the pair and treebank."""
    models, treebanks = short_names(survey.models), short_names(survey.treebanks)
    return [
        (pair_name(one.contrast, models), treebanks.get(one.treebank, MEAN), row)
        for one in contrasts
        for row in one.contrast.differences
        if row.group == survey.relation and not math.isnan(row.low)
    ]


@styled
def transfer_figure(survey: Survey) -> Figure | None:
    """Draw the losses of heads, if any: treebanks that chose them as rows, those that score them as columns.

    Each model and kind of map has two panels: means over relations, and the losses of one relation.
    """
    tables = {
        "mean over relations": transfer_table(survey).rows,
        transfer_relation(survey): transfer_relation_table(survey).rows,
    }
    all_models_and_maps = list(dict.fromkeys((row["model"], row["map"]) for row in tables["mean over relations"]))
    models_and_maps = all_models_and_maps[:_MOST_ROWS]
    if not models_and_maps:
        return None
    size = 0.5 * len(survey.treebanks)
    figure, grid = panels(2 * (1.3 + size), 0.5 + len(models_and_maps) * (1.0 + 0.6 * size), len(models_and_maps), 2)
    drawn = []  # for each panel, its axes, its title, its rows of a table, and their losses: (chosen on, scored on)
    for (model, kind), line in zip(models_and_maps, grid, strict=True):
        name = f"{model} ({kind})" if len(survey.maps) > 1 else model
        for axes, (title, table) in zip(line, tables.items(), strict=True):
            rows = [row for row in table if (row["model"], row["map"]) == (model, kind)]
            losses = np.array([[100 * row[on(treebank)].value for treebank in survey.treebanks] for row in rows])
            drawn.append((axes, f"{name}: {title}", rows, losses))
    finite = np.concatenate([losses[np.isfinite(losses)] for *_, losses in drawn])
    low, high = (float(finite.min()), max(0.0, float(finite.max()))) if finite.size else (-1.0, 0.0)
    image = None
    for axes, title, rows, losses in drawn:
        if not rows:
            axes.set_visible(False)
            continue
        image = heatmap(axes, losses, low, high)
        for y, x in zip(*np.nonzero(np.isfinite(losses)), strict=True):
            text = rows[y][on(survey.treebanks[x])].text
            _write(axes, x, y, text, is_dark=losses[y, x] > low + _DARK * (high - low))
        axes.set_yticks(range(len(rows)), [row["chosen_on"] for row in rows])
        _name_columns(axes, survey)
        axes.set_title(wrapped(title, 0.8 + size), loc="left")  # up to the names of the next panel
        axes.set_ylabel("chosen on")
        axes.set_xlabel("scored on")
    if image is not None:
        figure.colorbar(image, ax=grid, label="loss (percentage points)")
    if len(all_models_and_maps) > _MOST_ROWS:
        title = f"The first {_MOST_ROWS} of {len(all_models_and_maps):,} models and kinds of maps; all are in the table"
        finish(figure, grid[0, 0], title)
    return figure


@styled
def training_figure(survey: Survey, model: str) -> Figure:
    """Draw held-out accuracies over the checkpoints of a model, by relation and by layer, for each treebank."""
    table = survey.training_table
    kind = table["map"].iloc[0]  # the curves of other kinds of maps are in the table only
    table = table[(table["model"] == model) & (table["map"] == kind)]
    treebanks = list(dict.fromkeys(table["treebank"]))[:_MOST_PANELS]
    figure, grid = panels(0.8 + 2.6 * len(treebanks), 5.0, 2, len(treebanks), sharex=True, sharey="row")
    color_of_relation = _curves_shown(survey, table[table["about"] == "relation"])
    layers = sorted({int(layer) for layer in table["layer"].dropna()})
    color_of_layer = dict(zip(layers, layer_shades(len(layers)), strict=True))
    for treebank, by_relation, by_layer in zip(treebanks, *grid, strict=True):
        rows = table[table["treebank"] == treebank]
        for relation, color in color_of_relation.items():
            _curve(by_relation, rows[rows["relation"] == relation], color, relation)
        for layer, color in color_of_layer.items():
            _curve(by_layer, rows[rows["layer"] == layer], color, f"layer {layer}")
        by_relation.set_title(short_names(survey.treebanks)[treebank], loc="left")
        by_layer.set_xlabel("step")
        steps = np.unique(rows["step"].astype(float))
        positive = steps[steps > 0]
        if len(positive) and positive.max() > 100 * positive.min():
            # A logarithmic axis cannot show step 0. If there is one, the axis is linear from 0 to the next step.
            linear = {"linthresh": float(positive.min())} if (steps == 0).any() else {}
            by_relation.set_xscale("symlog" if linear else "log", **linear)  # both panels share the axis
        labeled = [float(steps[position]) for position in ticks(len(steps))]
        for axes in (by_relation, by_layer):
            axes.set_xticks(labeled, [f"{step:,.10g}" for step in labeled], rotation=35, ha="right")
            axes.set_xticks([], minor=True)
    for axes, about in zip(grid[:, 0], ("relation", "layer, mean over relations"), strict=True):
        axes.set_ylabel(f"held-out accuracy (%)\nby {about}")
    for axes in grid[:, -1]:
        axes.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    name = f"{model} ({kind})" if len(survey.maps) > 1 else model
    figure.suptitle(name, fontsize=8, x=0.01, ha="left")
    return figure


def _curves_shown(survey: Survey, table: pd.DataFrame) -> dict[str, str]:
    """Return the relations whose curves are drawn, with their colors: the survey's, and the most frequent ones."""
    single = table[~table["relation"].isin([*TOTALS, survey.relation, "root"]) & (table["n"] >= survey.min_count)]
    words = single.groupby("relation", sort=False)["n"].max().sort_values(ascending=False, kind="stable")
    frequent = dict(zip(words.index[: len(_COLORS)], _COLORS, strict=False))
    return {survey.relation: BLACK, **frequent} if (table["relation"] == survey.relation).any() else frequent


def _curve(axes: Axes, rows: pd.DataFrame, color: Any, label: str) -> None:
    """Draw held-out accuracies over steps, with their intervals."""
    steps = rows["step"].to_numpy(dtype=float)
    axes.vlines(steps, 100 * rows["low"], 100 * rows["high"], color=color, lw=1, alpha=0.6, zorder=2)
    axes.plot(steps, 100 * rows["heldout"], "o-", color=color, ms=3, lw=1.2, label=series_label(label), zorder=3)
