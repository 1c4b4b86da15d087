"""The results of the analysis of norms, and the tables of them that people read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...reports.columns import Row, TableColumn
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..shared.previews import Previewed
from .block import PAIR_TYPES, BlockTables
from .columns import AMPLIFIED, DIMENSIONS, DISPERSION, MIXING, PAIRS, SHARES
from .paper import Published
from .weights_and_norms import WeightsAndNormsTables

_BY_CLASS = "attnresln-n"
_SHOWN_PAIRS = 5
_SHOWN_RELATIONS = 10
_SHOWN_DIMENSIONS = 3


@dataclass(frozen=True, repr=False)
class NormResults(Previewed):
    """The results of the analysis ``norms``. Layers and heads are 1-based.

    Attributes:
        shares: one row per ``layer``, ``head`` and ``class`` of tokens, with ``weight``, ``value_norm``, ``norm`` and
            ``norm_share``; see `attentionology.analyses.norms.shares.NormShares`.
        mixing: one row per ``variant``, ``layer`` and ``class``, with the ``mean``, ``min`` and ``max`` of the ratio;
            see `attentionology.analyses.norms.mixing.MixingRatios`.
        frequency: one row per ``measure``, with ``rho``; see
            `attentionology.analyses.norms.frequency.FrequencyCorrelation`.
        expansion: one row per ``layer`` with its ``expansion``.
        points: the tokens of a few sentences with their frequency ranks.
        spread: how weights and norms vary; None in runs that version 0.2 counted.
        change, amplified: the tables of `attentionology.analyses.norms.feed_forward.FeedForwardChange`, the pairs with
            their pieces; None if they were not asked for.
        block: what lies behind these changes.
        published: the papers' numbers of the same model, None if there are none.
        notes: sentences about how the numbers were computed.
    """

    shares: pd.DataFrame
    mixing: pd.DataFrame
    frequency: pd.DataFrame
    expansion: pd.DataFrame
    points: pd.DataFrame
    spread: WeightsAndNormsTables | None = None
    change: pd.DataFrame | None = None
    amplified: pd.DataFrame | None = None
    block: BlockTables | None = None
    published: Published | None = None
    notes: tuple[str, ...] = ()


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
    if results.spread is not None:
        dispersion, correlation = results.spread.dispersion, results.spread.correlation
        rows = rows_of(dispersion[(dispersion["layer"] == 0) & (dispersion["head"] == 0)])
        tables.append(ShownTable("norms_dispersion", "How much norms and weights vary", DISPERSION.columns, rows))
        rhos = correlation[correlation["head"] == 0]  # of all heads together
        title = "Spearman’s ρ of α and ‖f(x)‖"
        tables.append(_by_layer(rhos, "class", "rho", title, name="norms_correlation", digits=2))
    if results.change is not None:
        title = "Change of the maps, 1 − ρ"
        tables.append(_by_layer(results.change, "component", "change", title, name="norms_change"))
    if results.amplified is not None:
        pairs = rows_of(results.amplified[results.amplified["rank"] <= _SHOWN_PAIRS])
        tables.append(ShownTable("norms_amplified", "Pairs that are amplified most (%)", AMPLIFIED.columns, pairs))
    if results.block is not None:
        dimensions = results.block.dimensions
        largest = rows_of(dimensions[dimensions["rank"] <= _SHOWN_DIMENSIONS])
        title = "The largest dimensions before the layer norm"
        changes = results.block.left_out
        changes = changes.assign(left_out=[f"without {n}" if n else "with all" for n in changes["left_out"]])
        title_of_changes = "Change by the layer norm without the largest dimensions, 1 − ρ"
        tables += [
            _pairs(results.block.pairs),
            _relations(results.block.pairs),
            _overwriting(results.block.overwriting),
            ShownTable("norms_dimensions", title, DIMENSIONS.columns, largest),
            _by_layer(changes, "left_out", "change", title_of_changes, name="norms_left_out"),
        ]
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
    columns = [TableColumn("layer", "number from 1", "", "layer")]
    for name in ("[CLS]", "[SEP]"):
        if name in set(results.shares["class"]):
            columns.append(TableColumn(f"weight:{name}", "share", "", f"α {name}"))
            columns.append(TableColumn(f"norm_share:{name}", "share", "", f"‖αf‖ {name}"))
    columns += [TableColumn(name, "share", "", name) for name in ("attn-w", "attnresln-n", "atbffresln-n")]
    columns.append(TableColumn("expansion", "number", "", "expansion", digits=2))
    note = "α and ‖αf‖ are shares of attention weights and of norms (%). Mixing ratios are in %."
    if results.change is not None:
        for row in rows_of(results.change):
            rows[row["layer"]][row["component"]] = row["change"]
        columns += [TableColumn(component, "number", "", component) for component in ("FF", "FFB")]
        note += " FF and FFB are the change of the map by the feed-forward network and by the whole block, 1 − ρ."
    return ShownTable("norms_layers", "Weights and norms by layer", columns, list(rows.values()), notes=(note,))


def _mixing_rows(results: NormResults, mixing: pd.DataFrame) -> list[Row]:
    """Return the mixing ratios of all layers and tokens together, beside those of the paper."""
    published = {} if results.published is None else results.published.mixing
    ranges = {variant: f"[{low}, {high}]" for variant, (_mean, high, low) in published.items()}
    rows = rows_of(mixing[(mixing["layer"] == 0) & (mixing["class"] == "all")])
    return [{**row, "published_range": ranges.get(row["variant"], "")} for row in rows]


def _mixing_by_layer(mixing: pd.DataFrame, expansion: pd.DataFrame) -> ShownTable:
    """Return the mixing ratios of one variant by layer and class, and the expansion rate of each layer."""
    rows: dict[int, dict[str, Any]] = {row["layer"]: row for row in rows_of(expansion)}
    of_variant = mixing[(mixing["variant"] == _BY_CLASS) & (mixing["layer"] > 0)]
    columns = [TableColumn("layer", "number from 1", "", "layer")]
    for name, group in of_variant.groupby("class", sort=False):
        columns.append(TableColumn(f"mean:{name}", "share", "", str(name)))
        if "published" in group and bool(group["published"].notna().any()):
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


def _by_layer(table: pd.DataFrame, column: str, value: str, title: str, *, name: str, digits: int = 3) -> ShownTable:
    """Return a table with layers as rows, in which layer 0 is called all, and the values of a column as columns."""
    names = list(dict.fromkeys(table[column]))
    wide = table.pivot_table(index="layer", columns=column, values=value, dropna=False)[names]
    wide.columns = [f"{value}:{position}" for position in range(len(names))]

    def layer_cell(row: Row) -> str:
        return f"{row['layer']:.0f}" if row["layer"] else "all"

    columns = [TableColumn("layer", "number from 1", "", "layer", cell=layer_cell)]
    for key, heading in zip(wide.columns, names, strict=True):
        columns.append(TableColumn(key, "number", "", str(heading), digits=digits))
    return ShownTable(name, title, columns, rows_of(wide.reset_index()))


def _pairs(pairs: pd.DataFrame) -> ShownTable:
    """Return the shares of the types of pairs among those that are amplified most, layer by layer, and among all."""
    sums = pairs.groupby(["layer", "type"], sort=False)[["share", "share_of_all"]].sum(min_count=1).reset_index()
    mean_shares_of_all = sums.groupby("type")["share_of_all"].mean()
    rows = []
    for name in PAIR_TYPES:
        sums_of_type = sums[sums["type"] == name]
        if len(sums_of_type):
            shares = {f"share:{row['layer']}": row["share"] for row in rows_of(sums_of_type)}
            rows.append({"type": name, "share_of_all": float(mean_shares_of_all[name]), **shares})
    columns = [
        TableColumn("type", "text", "", "type of pair"),
        TableColumn("share_of_all", "share", "", "of all pairs"),
        *(TableColumn(f"share:{layer}", "share", "", f"layer {layer}") for layer in dict.fromkeys(sums["layer"])),
    ]
    return ShownTable("norms_pairs", "Types of the pairs that are amplified most (%)", columns, rows)


def _relations(pairs: pd.DataFrame) -> ShownTable:
    """Return the relations that are most frequent among the amplified pairs of all layers."""
    sums = pairs.groupby(["type", "relation"], as_index=False)[["amplified", "pairs"]].sum()
    sums["share"] = sums["amplified"] / sums["amplified"].sum()
    sums["share_of_all"] = sums["pairs"] / sums["pairs"].sum()
    related = sums[(sums["relation"] != "") & (sums["amplified"] > 0)]
    rows = rows_of(related.sort_values(["amplified", "relation"], ascending=[False, True]).head(_SHOWN_RELATIONS))
    columns = [column for column in PAIRS.columns if column.names not in ("layer", "type")]
    return ShownTable("norms_relations", "Relations of pairs that are amplified most, all layers (%)", columns, rows)


def _overwriting(overwriting: pd.DataFrame) -> ShownTable:
    """Return the medians and quartiles of the norms and of the angle, layer by layer."""
    rows: dict[int, dict[str, Any]] = {}
    for row in rows_of(overwriting):
        cells = {f"{column}:{row['quantity']}": row[column] for column in ("median", "low", "high")}
        rows.setdefault(row["layer"], {"layer": row["layer"], "tokens": row["tokens"]}).update(cells)
    columns = [
        TableColumn("layer", "number from 1", "", "layer"),
        _median_column("FF", "‖FF‖", 2),
        _median_column("residual", "‖residual‖", 2),
        _median_column("angle", "angle (°)", 0),
        TableColumn("tokens", "count", "", "tokens"),
    ]
    title = "What the network adds, and to what: medians and quartiles"
    return ShownTable("norms_overwriting", title, columns, list(rows.values()))


def _median_column(quantity: str, heading: str, digits: int) -> TableColumn:
    """Return the column of the medians of a quantity in `_overwriting`, with the quartiles beside them."""

    def quartiles(row: Row) -> str:
        return f"[{row[f'low:{quantity}']:.{digits}f}, {row[f'high:{quantity}']:.{digits}f}]"

    return TableColumn(f"median:{quantity}", "number", "", heading, digits=digits, beside=quartiles)
