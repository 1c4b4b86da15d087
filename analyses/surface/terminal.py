"""The table of where attention goes by layer for a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from ...reports.format import number, percent
from .section import BY_LAYER, SurfaceResults, label_rows, statistic_names


def surface_table(results: SurfaceResults) -> Table:
    """Return a rich table of the surface statistics, layer by layer, with the labels of heads below it."""
    layers, names = results.tables.layers, statistic_names(results.specials)
    columns = [name for name in BY_LAYER if layers[name].notna().any()]
    labeled = [
        f"{row['label']}: {' '.join(row['heads'][:8])}{' …' if len(row['heads']) > 8 else ''}"
        for row in label_rows(results.tables.heads, results.specials)
        if row["heads"] and row["label"] != "no label"
    ]
    notes = [*results.notes, *([] if results.gradients is None else ["The gradients are in the report."])]
    uniform = number(layers["uniform_entropy"].iloc[0], 2)
    if labeled:
        labeled.insert(0, "Heads with a label:")
    table = Table(
        title="Where attention goes by layer (mean over heads, %)",
        caption=escape(
            "\n".join([f"Entropy is in nats; that of attention to all tokens alike is {uniform}.", *labeled, *notes])
        ),
        title_justify="left",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for heading in ("layer", *(escape(names[name]) for name in columns), "entropy", "rel. entropy"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in layers.to_dict("records"):
        shares = [percent(row[name]) for name in columns]
        table.add_row(str(row["layer"]), *shares, number(row["entropy"], 2), percent(row["entropy_relative"]))
    return table
