"""The figures of a survey: accuracies, differences, losses of transferred heads, and training curves."""

from __future__ import annotations

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
    styled,
    ticks,
)
from ...reports.shapes import heatmap
from ..comparison.differences import Difference
from ..comparison.figures import difference_rows
from ..dependency.tables import TOTALS
from .contrasts import SurveyContrast
from .matrices import MEAN, Entry, MatrixMaker, pair_name, short_names
from .results import Survey
from .shown_tables import on, transfer_relation, transfer_relation_table, transfer_table

_MOST_CONTRASTS = 60
_MOST_MATRICES = 8
"""The number of models and kinds of maps whose losses are drawn. The others are in the tables only."""
_MOST_PANELS = 4
"""The number of treebanks whose training curves are drawn."""
_COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
_LOGARITHMIC = 100
"""The ratio of the largest step to the smallest one above which steps are drawn on a logarithmic axis."""
_DARK = 0.6
"""The share of the color map from which on the text of an entry is white."""


@styled
def accuracies_figure(maker: MatrixMaker, relation: str) -> Figure | None:
    """Draw the held-out accuracy of one relation for each model and map (rows) on each treebank (columns)."""
    # Returns the figure; None if no cell has the relation.
    survey, rows = maker.survey, maker.accuracies(relation)
    matrix: list[list[Entry]] = [[row[treebank] for treebank in survey.treebanks] for row in rows]
    values = np.array([[entry.value for entry in entries] for entries in matrix])
    if not np.isfinite(values).any():
        return None
    several = len(survey.maps) > 1
    labels = [f"{row['model']} ({row['map']})" if several else row["model"] for row in rows]
    columns = short_names(survey.treebanks)
    height = 1.3 + 0.24 * len(labels)
    figure, axes = panel(2.2 + 0.55 * len(survey.treebanks), height)
    image = heatmap(axes, 100 * values, 0, 100)
    for y, entries in enumerate(matrix):
        for x, entry in enumerate(entries):
            dark = entry.value > _DARK
            text = f"({entry.text})" if entry.weak else entry.text
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xticks(range(len(survey.treebanks)), [columns[name] for name in survey.treebanks], rotation=35, ha="right")
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, label="held-out accuracy (%)")
    few = any(entry.weak for entries in matrix for entry in entries)
    about = f"in parentheses: fewer than {survey.min_count} words" if few else ""
    axes.set_title("\n".join(filter(None, [relation, about])), loc="left")
    return figure


@styled
def differences_figure(survey: Survey) -> Figure | None:
    """Draw the differences of one relation with their intervals, one row for each contrast and treebank."""
    # If there are too many rows to read, only the means over treebanks are drawn.
    # Returns the figure; None if no contrast has the relation, or if there are too many even so.
    rows = [*_rows(survey, survey.contrasts), *_rows(survey, survey.means)]
    pairs = list(dict.fromkeys(pair for pair, _, _ in rows))
    rows.sort(key=lambda row: pairs.index(row[0]))
    if len(rows) > _MOST_CONTRASTS:
        rows = _rows(survey, survey.means)
    if not rows or len(rows) > _MOST_CONTRASTS:
        return None
    figure, axes = panel(TEXT, 1.15 + 0.2 * len(rows))
    difference_rows(axes, [row for _, _, row in rows], 100, names=[f"{pair}, {place}" for pair, place, _ in rows])
    axes.set_xlabel("difference of held-out accuracies (percentage points)")
    finish(figure, axes, survey.relation)
    return figure


def _rows(survey: Survey, contrasts: Sequence[SurveyContrast]) -> list[tuple[str, str, Difference]]:
    """Return the differences of the survey's relation that have intervals, with the names of the pair and treebank."""
    models, treebanks = short_names(survey.models), short_names(survey.treebanks)
    return [
        (pair_name(one.contrast, models), treebanks.get(one.treebank, MEAN), row)
        for one in contrasts
        for row in one.contrast.differences
        if row.group == survey.relation and row.low == row.low
    ]


@styled
def transfer_figure(survey: Survey) -> Figure | None:
    """Draw the losses of heads: treebanks that chose them as rows, those that score them as columns."""
    # Returns the figure, with mean losses at the left and those of all words at the right; None if there are none.
    of_means, of_relation = transfer_table(survey).rows, transfer_relation_table(survey).rows
    keys = list(dict.fromkeys((row["model"], row["map"]) for row in of_means))[:_MOST_MATRICES]
    if not keys:
        return None
    names = list(short_names(survey.treebanks).values())
    size = 0.5 * len(names)
    figure, grid = panels(2 * (1.3 + size), 0.5 + len(keys) * (1.0 + 0.6 * size), len(keys), 2)
    # The rows of each panel: those of one model and kind of map in one of the tables.
    rows_of_panels = {
        (line, side): [row for row in rows if (row["model"], row["map"]) == key]
        for side, rows in enumerate((of_means, of_relation))
        for line, key in enumerate(keys)
    }
    matrices = {
        panel_key: np.array([[100 * row[on(treebank)].value for treebank in survey.treebanks] for row in rows])
        for panel_key, rows in rows_of_panels.items()
    }
    finite = np.concatenate([matrix[np.isfinite(matrix)] for matrix in matrices.values()])
    low, high = (float(finite.min()), max(0.0, float(finite.max()))) if finite.size else (-1.0, 0.0)
    image = None
    for (line, side), rows in rows_of_panels.items():
        axes, matrix = grid[line, side], matrices[line, side]
        if not rows:
            axes.set_visible(False)
            continue
        image = heatmap(axes, matrix, low, high)
        for y, x in zip(*np.nonzero(np.isfinite(matrix)), strict=True):
            dark = matrix[y, x] > low + _DARK * (high - low)
            text = rows[y][on(survey.treebanks[x])].text
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
        axes.set_yticks(range(len(rows)), [row["chosen_on"] for row in rows])
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
        axes.tick_params(length=0)
        model, kind = keys[line]
        name = f"{model} ({kind})" if len(survey.maps) > 1 else model
        axes.set_title(f"{name}: {'mean over relations' if side == 0 else transfer_relation(survey)}", loc="left")
        axes.set_ylabel("chosen on")
        axes.set_xlabel("scored on")
    if image is not None:
        figure.colorbar(image, ax=grid, label="loss (percentage points)")
    return figure


@styled
def training_figure(survey: Survey, model: str) -> Figure:
    """Draw held-out accuracies over the checkpoints of a model, by relation and by layer, for each treebank."""
    table = survey.training_table
    table = table[(table["model"] == model) & (table["map"] == next(iter(table["map"])))]
    treebanks = list(dict.fromkeys(table["treebank"]))[:_MOST_PANELS]
    figure, grid = panels(0.8 + 2.6 * len(treebanks), 5.0, 2, len(treebanks), sharex=True, sharey="row")
    colors = _curves_shown(survey, table[table["about"] == "relation"])
    layers = sorted({int(layer) for layer in table["layer"].dropna()})
    shades = layer_shades(len(layers))
    for column, treebank in enumerate(treebanks):
        rows = table[table["treebank"] == treebank]
        for relation, color in colors.items():
            _curve(grid[0, column], rows[rows["relation"] == relation], color, relation)
        for layer, color in zip(layers, shades, strict=True):
            _curve(grid[1, column], rows[rows["layer"] == layer], color, f"layer {layer}")
        grid[0, column].set_title(short_names(survey.treebanks)[treebank], loc="left")
        grid[1, column].set_xlabel("step")
        steps = rows["step"].astype(float)
        positive = steps[steps > 0]
        if len(positive) and positive.max() > _LOGARITHMIC * positive.min():
            # Step 0 has no place on a logarithmic axis, so the axis is linear up to the first step after it.
            linear = {"linthresh": float(positive.min())} if (steps == 0).any() else {}
            grid[0, column].set_xscale("symlog" if linear else "log", **linear)
        labeled = [sorted(set(steps))[position] for position in ticks(steps.nunique())]
        for axes in grid[:, column]:
            axes.set_xticks(labeled, [f"{step:,.10g}" for step in labeled], rotation=35, ha="right")
            axes.set_xticks([], minor=True)
    for axes, about in zip(grid[:, 0], ("relation", "layer, mean over relations"), strict=True):
        axes.set_ylabel(f"held-out accuracy (%)\nby {about}")
    for axes in grid[:, -1]:
        axes.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    kind = table["map"].iloc[0] if len(table) else ""
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
    axes.plot(steps, 100 * rows["heldout"], "o-", color=color, ms=3, lw=1.2, label=label, zorder=3)
