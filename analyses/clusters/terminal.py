"""The table of how alike the heads of a layer are for a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from ...reports.format import number
from .section import ClusterResults


def clusters_table(results: ClusterResults, *, notes: bool = True) -> Table:
    """Return a rich table of how alike the heads of a layer are.

    Args:
        results: the results of the analysis.
        notes: whether to show the notes, which the surface analysis of the same run shows too.
    """
    geography = results.geography
    summary = (
        f"Stress of the map in two dimensions: {number(geography.stress, 2)}. Number of clusters: "
        f"{geography.embedding['cluster'].nunique()}, mean silhouette {number(geography.silhouette, 2)}."
    )
    table = Table(
        title=f"Which heads attend alike (Jensen-Shannon divergence, {results.distances.rows:,} rows)",
        caption=escape("\n".join([summary, *(results.notes if notes else ())])),
        title_justify="left",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
        min_width=96,
        show_header=not geography.neighbors.empty,
    )
    table.add_column("")
    for heading in ("observed", "layers shuffled", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in geography.neighbors.to_dict("records"):
        table.add_row(row["question"], number(row["found"]), number(row["shuffled"]), number(row["p"], 4))
    return table
