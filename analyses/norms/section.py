"""The analysis of norms on disk and in the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from attentionology.analyses.contract import Titles
from attentionology.analyses.norms.figures import change_figure, mixing_figure, shares_figure
from attentionology.analyses.norms.paper import Published
from attentionology.analyses.shared.previews import Previewed
from attentionology.reports.json_text import records
from attentionology.reports.page import Section

_SHOWN_PAIRS = 5


@dataclass(frozen=True, repr=False)
class NormResults(Previewed):
    """All tables of the analysis.

    Attributes:
        shares: `attentionology.analyses.norms.shares.NormShares`.
        mixing: `attentionology.analyses.norms.mixing.MixingRatios`.
        frequency: `attentionology.analyses.norms.frequency.FrequencyCorrelation`.
        expansion: columns layer, expansion.
        change, amplified: `attentionology.analyses.norms.feed_forward.FeedForwardChange`, the pairs with their pieces;
            None if not asked for.
        published: the papers' numbers of the same model, if there are any.
        notes: how the numbers came about, a sentence each.
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
    """The tables, the figures and the section of the page."""
    titles = titles or Titles()
    title = titles.figure
    mixing, frequency, expansion = with_published(results)
    named = {
        "norms_shares": results.shares,
        "norms_mixing": mixing,
        "norms_frequency": frequency,
        "norms_expansion": expansion,
        "norms_change": results.change,
        "norms_amplified": results.amplified,
    }
    present = {name: table for name, table in named.items() if table is not None}
    drawn = {
        "norms_shares": shares_figure(results.shares, title=title),
        "norms_mixing": mixing_figure(results.mixing, title=title),
    }
    if results.change is not None:
        drawn["norms_change"] = change_figure(results.change, title=title)
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
        figures=drawn,
    )


def with_published(results: NormResults) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Mixing, frequency and expansion with a column ``published`` where the papers have numbers of this model."""
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
    """Mean over heads, per layer and class."""
    columns = ["weight", "value_norm", "norm", "norm_share", "sentences"]
    return shares.groupby(["layer", "class"], sort=False, as_index=False)[columns].mean()


def class_rows(shares: pd.DataFrame) -> list[dict[str, Any]]:
    """Means over layers and heads, one row per class."""
    means = shares.groupby("class", sort=False)[["weight", "value_norm", "norm", "norm_share"]].mean()
    return [{"class": name, **means.loc[name].to_dict()} for name in means.index]


def by_class(mixing: pd.DataFrame) -> dict[str, Any]:
    """Mean of attnresln-n by class and layer, rows ready for a table."""
    own = mixing[(mixing["variant"] == "attnresln-n") & (mixing["layer"] > 0)]
    has_published = "published" in own
    rows = []
    for name, group in own.groupby("class", sort=False):
        ordered = group.sort_values("layer")
        paper = ordered["published"].tolist() if has_published and ordered["published"].notna().any() else []
        rows.append({"class": name, "values": ordered["mean"].tolist(), "published": paper})
    return {"layers": sorted(own["layer"].unique().tolist()), "rows": rows}


def frequency_rows(frequency: pd.DataFrame) -> list[dict[str, Any]]:
    """One row per measure with the ρ of all tokens and of words."""
    rows = []
    for measure, group in frequency.groupby("measure", sort=False):
        own = group.set_index("tokens")
        row = {"measure": measure, "all": own.loc["all", "rho"], "words": own.loc["words", "rho"]}
        if "published" in own:
            row |= {"published_all": own.loc["all", "published"], "published_words": own.loc["words", "published"]}
        rows.append(row)
    return rows


def change_rows(change: pd.DataFrame | None) -> dict[str, Any] | None:
    """Layers down, components across."""
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
    """The first few pairs of each layer."""
    if amplified is None:
        return []
    return [
        {"layer": layer, "pairs": group.head(_SHOWN_PAIRS).to_dict("records")}
        for layer, group in amplified.groupby("layer")
    ]
