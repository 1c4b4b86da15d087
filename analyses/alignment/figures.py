"""The figures of the alignment analysis: error rates by layer, and where rows rest."""

from __future__ import annotations

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from attentionology.analyses.alignment.tables import TOGETHER
from attentionology.reports.drawing import BLUE, ORANGE, STYLE, by_layer, finish

_LINES = {
    ("AWI", "weight"): (BLUE, "--", "o"),
    ("AWI", "norm"): (BLUE, "-", "o"),
    ("AWO", "weight"): (ORANGE, "--", "s"),
    ("AWO", "norm"): (ORANGE, "-", "s"),
}


def error_figure(cells: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the error rate of all heads together by layer, and the share of target words that rest on special tokens.

    Args:
        cells: the scores of layers and heads, see `attentionology.analyses.alignment.tables.AlignmentTables`.
        title: the title.
    """
    together = cells[cells["heads"] == TOGETHER]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.9, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        for (setting, measure), (color, line, marker) in _LINES.items():
            rows = together[(together["setting"] == setting) & (together["measure"] == measure)]
            style = {"color": color, "ls": line, "marker": marker, "ms": 4}
            left.plot(rows["layer"], 100 * rows["error_rate"], label=f"{setting}, {measure}", **style)
            if rows["low"].notna().all():
                left.vlines(rows["layer"], 100 * rows["low"], 100 * rows["high"], color=color, lw=0.8)
            right.plot(rows["layer"], 100 * rows["on_special"], **style)
        by_layer(left, together["layer"], "alignment error rate (%)")
        by_layer(right, together["layer"], "words on special tokens (%)")
        for axes in (left, right):
            axes.set_ylim(-2, 102)
        finish(figure, left, title)
    return figure
