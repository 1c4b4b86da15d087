"""The results of the analysis of norms, and the tables of them that people read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...reports.columns import Row, TableColumn
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..shared.previews import Previewed
from .columns import AMPLIFIED, MIXING, SHARES
from .paper import Published

_SPECIAL = ("[CLS]", "[SEP]")
_BY_LAYER = ("attn-w", "attnresln-n", "atbffresln-n")
_BY_CLASS = "attnresln-n"
_SHOWN_PAIRS = 5


@dataclass(frozen=True, repr=False)
class NormResults(Previewed):
    """The results of the analysis ``norms``."""

    shares: pd.DataFrame  # the table of `attentionology.analyses.norms.shares.NormShares`
    mixing: pd.DataFrame  # the table of `attentionology.analyses.norms.mixing.MixingRatios`
    frequency: pd.DataFrame  # the table of `attentionology.analyses.norms.frequency.FrequencyCorrelation`
    expansion: pd.DataFrame
    # the tables of `attentionology.analyses.norms.feed_forward.FeedForwardChange`, the pairs with their pieces; None
    # if they were not asked for
    change: pd.DataFrame | None = None
    amplified: pd.DataFrame | None = None
    published: Published | None = None  # the papers' numbers of the same model, None if there are none
    notes: tuple[str, ...] = ()  # sentences about how the numbers were computed


def shown_tables(
    results: NormResults, mixing: pd.DataFrame, frequency: pd.DataFrame, expansion: pd.DataFrame
) -> list[ShownTable]:
    """Return the tables of the page."""
    tables = [
        ShownTable("norms_classes", "Where attention goes (%)", SHARES.columns, class_rows(results.shares)),
        layers_table(results),
        ShownTable("norms_mixing", "Mixing ratios over all layers (%)", MIXING.columns, _mixing_rows(results, mixing)),
        _mixing_by_layer(mixing, expansion),
        _frequency(frequency),
    ]
    if results.change is not None:
        tables.append(_change(results.change))
    if results.amplified is not None:
        pairs = rows_of(results.amplified[results.amplified["rank"] <= _SHOWN_PAIRS])
        tables.append(ShownTable("norms_amplified", "Pairs that are amplified most (%)", AMPLIFIED.columns, pairs))
    return tables


def class_rows(shares: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the means over layers and heads, one row per class."""
    means = shares.groupby("class", sort=False)[["weight", "value_norm", "norm", "norm_share"]].mean()
    return [{"class": name, **means.loc[name].to_dict()} for name in means.index]


def layers_table(results: NormResults) -> ShownTable:
    """Return the main numbers on norms, layer by layer."""
    rows: dict[int, dict[str, Any]] = {row["layer"]: row for row in rows_of(results.expansion)}
    shares = results.shares.groupby(["layer", "class"], as_index=False)[["weight", "norm_share"]].mean()
    for row in rows_of(shares):
        rows[row["layer"]] |= {f"{column}:{row['class']}": row[column] for column in ("weight", "norm_share")}
    for row in rows_of(results.mixing[results.mixing["class"] == "all"]):
        if row["layer"]:
            rows[row["layer"]][row["variant"]] = row["mean"]
    for row in rows_of(results.change) if results.change is not None else []:
        rows[row["layer"]][row["component"]] = row["change"]
    present = [name for name in _SPECIAL if name in set(results.shares["class"])]
    columns = [
        TableColumn("layer", "number from 1", "", "layer"),
        *(
            TableColumn(f"{column}:{name}", "share", "", f"{sign} {name}")
            for name in present
            for column, sign in (("weight", "α"), ("norm_share", "‖αf‖"))
        ),
        *(TableColumn(variant, "share", "", variant) for variant in _BY_LAYER),
        TableColumn("expansion", "number", "", "expansion", digits=2),
        *(TableColumn(component, "number", "", component) for component in ("FF", "FFB") if results.change is not None),
    ]
    notes = (
        "α and ‖αf‖ are shares of attention weights and of norms (%). Mixing ratios are in %. FF and FFB are the "
        "change of the map by the feed-forward network and by the whole block, 1 − ρ.",
    )
    return ShownTable("norms_layers", "Weights and norms by layer", columns, list(rows.values()), notes=notes)


def _mixing_rows(results: NormResults, mixing: pd.DataFrame) -> list[Row]:
    """Return the mixing ratios of all layers and tokens together, beside those of the paper."""
    ranges = {name: f"[{low}, {high}]" for name, (_, high, low) in getattr(results.published, "mixing", {}).items()}
    rows = rows_of(mixing[(mixing["layer"] == 0) & (mixing["class"] == "all")])
    return [{**row, "published_range": ranges.get(row["variant"], "")} for row in rows]


def _mixing_by_layer(mixing: pd.DataFrame, expansion: pd.DataFrame) -> ShownTable:
    """Return the mixing ratios of one variant by layer and class, and the expansion rate of each layer."""
    rows: dict[int, dict[str, Any]] = {row["layer"]: row for row in rows_of(expansion)}
    of_variant = mixing[(mixing["variant"] == _BY_CLASS) & (mixing["layer"] > 0)]
    columns = [TableColumn("layer", "number from 1", "", "layer")]
    for name, group in of_variant.groupby("class", sort=False):
        columns.append(TableColumn(f"mean:{name}", "share", "", str(name)))
        has_published = "published" in group and bool(group["published"].notna().any())
        if has_published:
            columns.append(TableColumn(f"published:{name}", "share", "", f"{name}, published"))
        for row in rows_of(group):
            rows[row["layer"]] |= {f"{column}:{name}": row.get(column) for column in ("mean", "published")}
    columns.append(TableColumn("expansion", "number", "", "expansion rate of f", digits=2))
    if "published" in expansion and bool(expansion["published"].notna().any()):
        columns.append(TableColumn("published", "number", "", "expansion rate, published", digits=2))
    title = f"Mixing ratios of {_BY_CLASS} by class of tokens (%)"
    return ShownTable("norms_mixing_layers", title, columns, list(rows.values()))


def _frequency(frequency: pd.DataFrame) -> ShownTable:
    """Return the ρ of all tokens and that of words for each measure."""
    rows: dict[str, dict[str, Any]] = {}
    for row in rows_of(frequency):
        values = {f"{column}_{row['tokens']}": row[column] for column in ("rho", "published") if column in row}
        rows.setdefault(row["measure"], {"measure": row["measure"]}).update(values)
    headings = {
        "rho_all": "ρ, all tokens",
        "rho_words": "ρ, words only",
        "published_all": "published, all",
        "published_words": "published, words",
    }
    columns = [
        TableColumn("measure", "text", "", "measure"),
        *(TableColumn(name, "number", "", heading, digits=2) for name, heading in headings.items()),
    ]
    return ShownTable("norms_frequency", "Spearman’s ρ with the rank by frequency", columns, list(rows.values()))


def _change(change: pd.DataFrame) -> ShownTable:
    """Return the changes with layers as rows and components as columns."""
    components = list(dict.fromkeys(change["component"]))
    table = change.pivot_table(index="layer", columns="component", values="change", dropna=False)[components]
    columns = [TableColumn("layer", "number from 1", "", "layer")]
    columns += [TableColumn(name, "number", "", name) for name in components]
    return ShownTable("norms_change", "Change of the maps, 1 − ρ", columns, rows_of(table.reset_index()))
