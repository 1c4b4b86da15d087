"""The results of the analysis of norms, and their section of the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.json_text import records
from ...reports.page import Section
from ..contract import Titles
from ..shared.previews import Previewed
from .figures import change_figure, mixing_figure, shares_figure
from .paper import Published

_SHOWN_PAIRS = 5


@dataclass(frozen=True, repr=False)
class NormResults(Previewed):
    """The results of the analysis ``norms``.

    Attributes:
        shares: the table of `attentionology.analyses.norms.shares.NormShares`.
        mixing: the table of `attentionology.analyses.norms.mixing.MixingRatios`.
        frequency: the table of `attentionology.analyses.norms.frequency.FrequencyCorrelation`.
        expansion: a table with the columns layer, expansion.
        change, amplified: the tables of `attentionology.analyses.norms.feed_forward.FeedForwardChange`, the pairs with
            their pieces; None if they were not asked for.
        published: the papers' numbers of the same model, None if there are none.
        notes: sentences about how the numbers were computed.
    """

    shares: pd.DataFrame
    mixing: pd.DataFrame
    frequency: pd.DataFrame
    expansion: pd.DataFrame
    change: pd.DataFrame | None = None
    amplified: pd.DataFrame | None = None
    published: Published | None = None
    notes: tuple[str, ...] = ()


def norms_section(results: NormResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    titles = titles or Titles()
    title = titles.figure
    mixing, frequency, expansion = with_published(results)
    tables = {
        "norms_shares": results.shares,
        "norms_mixing": mixing,
        "norms_frequency": frequency,
        "norms_expansion": expansion,
        "norms_change": results.change,
        "norms_amplified": results.amplified,
    }
    present = {name: table for name, table in tables.items() if table is not None}
    figures = {
        "norms_shares": shares_figure(results.shares, title=title),
        "norms_mixing": mixing_figure(results.mixing, title=title),
    }
    if results.change is not None:
        figures["norms_change"] = change_figure(results.change, title=title)
    return Section(
        title=f"What attention moves in {titles.model}: norms of vectors",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "classes": class_rows(results.shares),
            "mixing": mixing[(mixing["layer"] == 0) & (mixing["class"] == "all")].to_dict("records"),
            "mixing_classes": by_class(mixing),
            "frequency": frequency_rows(frequency),
            "expansion": expansion.to_dict("records"),
            "change": change_rows(results.change),
            "amplified": amplified_rows(results.amplified),
            "published": results.published,
            "notes": results.notes,
        },
        summary={name: records(table) for name, table in present.items() if name != "norms_shares"}
        | {"norms_shares": records(_over_heads(results.shares))},
        tables=present,
        figures=figures,
    )


def with_published(results: NormResults) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return mixing, frequency and expansion, with a column ``published`` if the papers have numbers of this model."""
    mixing, frequency, expansion = results.mixing, results.frequency, results.expansion
    published = results.published
    if published is None:
        return mixing, frequency, expansion
    means = {(variant, 0, "all"): mean / 100 for variant, (mean, _, _) in published.mixing.items()}
    means |= {
        ("attnresln-n", layer, name): value / 100
        for name, values in published.mixing_by_layer.items()
        for layer, value in enumerate(values, start=1)
    }
    keys = zip(mixing["variant"], mixing["layer"], mixing["class"], strict=True)
    mixing = mixing.assign(published=[means.get(key, float("nan")) for key in keys])
    rhos = {
        (measure, tokens): rho
        for measure, pair in published.frequency.items()
        for tokens, rho in zip(("all", "words"), pair, strict=True)
    }
    pairs = zip(frequency["measure"], frequency["tokens"], strict=True)
    frequency = frequency.assign(published=[rhos.get(pair, float("nan")) for pair in pairs])
    rates = dict(enumerate(published.expansion_by_layer, start=1))
    return mixing, frequency, expansion.assign(published=[rates.get(n, float("nan")) for n in expansion["layer"]])


def _over_heads(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the means over heads, per layer and class."""
    columns = ["weight", "value_norm", "norm", "norm_share", "sentences"]
    return shares.groupby(["layer", "class"], sort=False, as_index=False)[columns].mean()


def class_rows(shares: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the means over layers and heads, one row per class."""
    means = shares.groupby("class", sort=False)[["weight", "value_norm", "norm", "norm_share"]].mean()
    return [{"class": name, **means.loc[name].to_dict()} for name in means.index]


def by_class(mixing: pd.DataFrame) -> dict[str, Any]:
    """Return the means of attnresln-n by class and layer as rows of a table."""
    layer_norm = mixing[(mixing["variant"] == "attnresln-n") & (mixing["layer"] > 0)]
    has_published = "published" in layer_norm
    rows = []
    for name, group in layer_norm.groupby("class", sort=False):
        ordered = group.sort_values("layer")
        paper = ordered["published"].tolist() if has_published and ordered["published"].notna().any() else []
        rows.append({"class": name, "values": ordered["mean"].tolist(), "published": paper})
    return {"layers": sorted(layer_norm["layer"].unique().tolist()), "rows": rows}


def frequency_rows(frequency: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one row per measure with the ρ of all tokens and that of words."""
    rows = []
    for measure, group in frequency.groupby("measure", sort=False):
        by_tokens = group.set_index("tokens")
        row = {"measure": measure, "all": by_tokens.loc["all", "rho"], "words": by_tokens.loc["words", "rho"]}
        if "published" in by_tokens:
            row["published_all"] = by_tokens.loc["all", "published"]
            row["published_words"] = by_tokens.loc["words", "published"]
        rows.append(row)
    return rows


def change_rows(change: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return the changes with layers as rows and components as columns; None if there are none."""
    if change is None:
        return None
    components = list(dict.fromkeys(change["component"]))
    table = change.pivot_table(index="layer", columns="component", values="change", dropna=False)[components]
    return {
        "components": components,
        "rows": [
            {"layer": layer, "values": list(row)} for layer, row in zip(table.index, table.to_numpy(), strict=True)
        ],
        "sentences": int(change["sentences"].iloc[0]),
    }


def amplified_rows(amplified: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Return the first few amplified pairs of each layer."""
    if amplified is None:
        return []
    return [
        {"layer": layer, "pairs": group.head(_SHOWN_PAIRS).to_dict("records")}
        for layer, group in amplified.groupby("layer")
    ]
