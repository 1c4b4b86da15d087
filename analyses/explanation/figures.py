"""The figure of training."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...reports.drawing import BLACK, GREEN, GREY, ORANGE, PURPLE, SKY, STYLE, ticks

_ROLES = {"base": BLACK, "uniform": GREY, "seed": SKY, "guided": PURPLE, "adversary": ORANGE, "regularizer": GREEN}
_FEW_EPOCHS = 20


def training_figure(history: pd.DataFrame, roles: Mapping[str, str], *, title: str) -> Figure:
    """Loss and dev AUC by epoch, a line for each model; the loss of adversaries is another and has its own panel."""
    role = history["model"].map(dict(roles)).fillna("base")
    adversary = role == "adversary"
    panels = [
        (~adversary, "loss", "loss per text"),
        (adversary, "loss", "loss of adversaries"),
        (role.notna(), "dev_auc", "dev AUC"),
    ]
    panels = [panel for panel in panels if panel[0].any()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.4 + 2.1 * len(panels), 2.6), layout="constrained")
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        handles: dict[str, Line2D] = {}
        for axes, (chosen, column, label) in zip(row, panels, strict=True):
            there = history[chosen & history[column].notna()]
            last = int(there["epoch"].max()) if len(there) else 1
            for (model,), epochs in there.groupby(["model"], sort=False):
                kind = roles.get(str(model), "base")
                (line,) = axes.plot(
                    *(epochs["epoch"], epochs[column].astype(float)),
                    marker="o" if last <= _FEW_EPOCHS else None,
                    markersize=2.5,
                    linewidth=0.9,
                    color=_ROLES.get(kind, BLACK),
                    zorder=4 if kind == "base" else 2,
                    label=kind,
                )
                handles.setdefault(kind, line)
            axes.set_xlabel("epoch")
            axes.set_ylabel(label)
            axes.set_xticks([tick + 1 for tick in ticks(last)])
            axes.set_xlim(0.5, last + 0.5)
            axes.grid(axis="y", color="#eeeeee", zorder=0)
            if not len(there):
                axes.text(0.5, 0.5, "no dev texts", transform=axes.transAxes, ha="center", color=GREY)
                axes.set_yticks([])
        named = list(handles.values())
        figure.legend(handles=named, loc="outside lower center", ncols=len(named), frameon=False)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure
