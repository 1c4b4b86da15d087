"""The table of weights and norms by layer for a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from ...reports.format import number, percent
from .section import NormResults


def norms_table(results: NormResults) -> Table:
    """Return a rich table of the main numbers on norms, layer by layer."""
    over_heads = results.shares.groupby(["layer", "class"])[["weight", "norm_share"]].mean()
    mixing = results.mixing[results.mixing["class"] == "all"].set_index(["layer", "variant"])["mean"]
    change = None if results.change is None else results.change.set_index(["layer", "component"])["change"]
    specials = [name for name in ("[CLS]", "[SEP]") if name in set(results.shares["class"])]
    variants = ["attn-w", "attnresln-n", "atbffresln-n"]
    table = Table(
        title="Weights and norms by layer",
        caption="α and ‖αf‖ are shares of attention weights and of norms (%). Mixing ratios are in %. FF and FFB are "
        "the change of the map by the feed-forward network and by the whole block, 1 − ρ.",
        title_justify="left",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    table.add_column("layer", justify="right")
    headings = [f"{measure} {escape(name)}" for name in specials for measure in ("α", "‖αf‖")]
    headings += [*variants, "expansion", *(["FF", "FFB"] if change is not None else [])]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in results.expansion.to_dict("records"):
        layer = row["layer"]
        cells = [
            percent(over_heads[column].loc[(layer, name)]) for name in specials for column in ("weight", "norm_share")
        ]
        cells += [percent(mixing.loc[(layer, variant)]) for variant in variants]
        cells.append(number(row["expansion"], 2))
        if change is not None:
            cells += [number(change.loc[(layer, component)]) for component in ("FF", "FFB")]
        table.add_row(str(layer), *cells)
    return table
