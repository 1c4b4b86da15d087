"""The section of the surface analysis in the report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.format import ranges
from ...reports.json_text import records
from ...reports.page import Section
from ..contract import Titles
from .figures import surface_figures
from .shown_tables import SurfaceResults, shown_tables


def surface_section(results: SurfaceResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    heads, layers, offsets, counts = results.tables
    specials = results.specials
    tables = {"surface": heads, "surface_layers": layers, "offsets": offsets, "surface_counts": counts}
    gradients = None
    if results.gradients is not None:
        tables["gradients"] = results.gradients
        mean_loss, inputs = results.gradients["loss"].iloc[0], results.gradients["inputs"].max()
        gradients = {"loss": float(mean_loss), "inputs": int(inputs)}
    return Section(
        title="What attention heads do on the surface of the text",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "notes": results.notes,
            "sink": sinks(layers, specials),
            "gradients": gradients,
        },
        shown=shown_tables(results),
        summary={
            "surface": records(heads),
            "surface_layers": records(layers),
            **({} if results.gradients is None else {"gradients": records(results.gradients)}),
        },
        tables=tables,
        figures=surface_figures(results, (titles or Titles()).figure),
    )


def sinks(layers: pd.DataFrame, specials: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the special tokens that get the most attention in any layer, with these layers and the range of shares."""
    return [
        {
            "column": str(name),
            "name": specials.get(str(name), str(name)),
            "layers": ranges(group["layer"].tolist()),
            "low": group["sink_share"].min(),
            "high": group["sink_share"].max(),
        }
        for name, group in layers[layers["sink"] != ""].groupby("sink", sort=False)
    ]
