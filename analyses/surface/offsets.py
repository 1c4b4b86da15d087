"""How far do heads look? The attention of each head by offset: to the token itself, the next one, and so on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import Schema, TableColumn
from ...reports.drawing import TEXT, finish, number_ticks, panels, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Profile
from ...reports.shapes import heatmap
from ..shared.measures import names_of
from .rows import Statistics, SurfaceQuestion, SurfaceResults

OFFSETS = Schema(
    "offsets",
    "One row per head and offset, from −5 to +5 (`--reach`).",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("offset", "number, tokens", "the distance: +1 is the next token"),
        TableColumn(
            "attention attention_pooled",
            "share",
            "the share of attention at this distance, as a mean over inputs and as a mean over all rows",
        ),
        TableColumn("rows", "count", "rows that have a token at this distance"),
    ),
)


class Offsets(SurfaceQuestion):
    """How much attention goes to each offset?"""

    name = "offsets"
    tables = (OFFSETS,)
    template = Path(__file__).with_name("offsets.html.j2")

    def find(self, counts: Statistics, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the attention of all heads by offset."""
        return counts.tables.offsets

    def frames(self, answer: pd.DataFrame, results: SurfaceResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {OFFSETS.name: answer}

    def draw(self, answer: pd.DataFrame, results: SurfaceResults, title: str) -> Mapping[str, Figure]:
        """Draw attention by offset."""
        return {"surface_offsets": offsets_figure(answer, title=title)}

    def explore(self, answer: pd.DataFrame, counts: Statistics, results: SurfaceResults, kind: str) -> Contribution:
        """Add the profile of each head."""
        return Contribution(profiles=_profiles(answer))


@with_style
def offsets_figure(offsets: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw attention by offset, with a row per layer: the mean over heads, and the head with the most attention."""
    n_layers = int(offsets["layer"].max())
    figure, (grid,) = panels(TEXT, 1.6 + 0.15 * min(n_layers, 24), columns=2, sharey=True)
    by_head = offsets.pivot_table(index=["layer", "head"], columns="offset", values="attention") * 100
    tables = {"mean over heads": by_head.groupby("layer").mean(), "head with most": by_head.groupby("layer").max()}
    for axes, (name, table) in zip(grid, tables.items(), strict=True):
        cells = heatmap(axes, table, 0, float(np.nanmax(table.to_numpy())))
        n_offsets = table.shape[1]
        ticks = range(0, n_offsets, max(1, n_offsets // 11))
        # With a sign, except for 0.
        labels = [f"{int(table.columns[index]):+d}".replace("-", "−").replace("+0", "0") for index in ticks]
        axes.set_xticks(ticks, labels)
        number_ticks(axes.yaxis, n_layers)
        axes.set_title(name, loc="left")
        axes.set_xlabel("offset (+1: the next token)")
        figure.colorbar(cells, ax=axes, label="attention (%)", location="bottom", aspect=30)
    grid[0].set_ylabel("layer")
    finish(figure, grid[0], " · ".join(filter(None, [title, "attention by offset"])))
    return figure


def _profiles(offsets: pd.DataFrame) -> dict[str, Profile]:
    """Return the attention of each head by offset."""
    defined = offsets[offsets["attention"].notna()].sort_values("offset")
    return {
        str(name): Profile(tuple(rows["offset"].tolist()), tuple(rows["attention"].tolist()))
        for name, rows in defined.assign(name=names_of(defined)).groupby("name", sort=False)
    }
