"""The figures of a survey: accuracies of one relation as a matrix, and its differences with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from ...reports.drawing import BLUE, GREY, ORANGE, STYLE
from ..comparison.differences import Difference
from .contrasts import SurveyContrast
from .matrices import MEAN, Entry, MatrixMaker, pair_name, short_names
from .results import Survey

_MOST_CONTRASTS = 60
_DARK = 0.6
"""The accuracy from which on the text of an entry is black, on the light end of the color map."""


def accuracies_figure(maker: MatrixMaker, relation: str) -> Figure | None:
    """Draw the held-out accuracy of one relation for each model and map (rows) on each treebank (columns).

    Returns:
        the figure; None if no cell has the relation.
    """
    survey, rows = maker.survey, maker.accuracies(relation)
    matrix: list[list[Entry]] = [[row[treebank] for treebank in survey.treebanks] for row in rows]
    values = np.array([[entry.value for entry in entries] for entries in matrix])
    if not np.isfinite(values).any():
        return None
    several = len(survey.maps) > 1
    labels = [f"{row['model']} ({row['map']})" if several else row["model"] for row in rows]
    columns = short_names(survey.treebanks)
    with mpl.rc_context(STYLE):
        height = 1.3 + 0.24 * len(labels)
        figure = Figure(figsize=(2.2 + 0.55 * len(survey.treebanks), height), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(values * 100, vmin=0, vmax=100, cmap="cividis", aspect="auto")
        for y, entries in enumerate(matrix):
            for x, entry in enumerate(entries):
                dark = entry.value == entry.value and entry.value < _DARK
                text = f"({entry.text})" if entry.weak else entry.text
                axes.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
        axes.set_yticks(range(len(labels)), labels)
        axes.set_xticks(
            range(len(survey.treebanks)), [columns[name] for name in survey.treebanks], rotation=35, ha="right"
        )
        axes.tick_params(length=0)
        figure.colorbar(image, ax=axes, label="held-out accuracy (%)")
        few = any(entry.weak for entries in matrix for entry in entries)
        about = f"in parentheses: fewer than {survey.min_count} words" if few else ""
        axes.set_title("\n".join(filter(None, [relation, about])), loc="left")
    return figure


def differences_figure(survey: Survey) -> Figure | None:
    """Draw the differences of one relation with their intervals, one row for each contrast and treebank.

    If there are too many rows to read, only the means over treebanks are drawn.

    Returns:
        the figure; None if no contrast has the relation, or if there are too many even so.
    """
    rows = [*_rows(survey, survey.contrasts), *_rows(survey, survey.means)]
    pairs = list(dict.fromkeys(pair for pair, _, _ in rows))
    rows.sort(key=lambda row: pairs.index(row[0]))
    if len(rows) > _MOST_CONTRASTS:
        rows = _rows(survey, survey.means)
    if not rows or len(rows) > _MOST_CONTRASTS:
        return None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.6, 1.2 + 0.2 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color=GREY, lw=0.8, zorder=1)
        for y, (_, _, row) in enumerate(rows):
            color = ORANGE if row.significant else BLUE if row.tested else GREY
            axes.plot([100 * row.low, 100 * row.high], [y, y], color=color, lw=1.4, zorder=2)
            filling = color if row.significant else "white"
            axes.plot(100 * row.difference, y, "o", mec=color, mfc=filling, ms=4.5, zorder=3)
        axes.set_yticks(range(len(rows)), [f"{pair}, {place}" for pair, place, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="y", color="#eeeeee", zorder=0)
        axes.plot([], [], "o", color=ORANGE, ms=4.5, label="p (Holm) below 0.05")
        for color, label, tested in ((BLUE, "not significant", True), (GREY, "not tested", False)):
            if any(not row.significant and row.tested == tested for _, _, row in rows):
                axes.plot([], [], "o", mec=color, mfc="white", ms=4.5, label=label)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False)
        axes.set_xlabel("difference of held-out accuracies (percentage points)")
        axes.set_title(survey.relation, loc="left")
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
