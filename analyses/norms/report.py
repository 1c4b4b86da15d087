"""The section of norms, and its part in the explorer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ...reports.page import Section
from ...reports.tables import records
from ..contract import Titles
from ..shared.explored import address, head_measures, share
from .columns import SHARES
from .figures import norm_figures
from .shown_tables import NormResults, class_rows, shown_tables


def norms_section(results: NormResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    titles = titles or Titles()
    mixing, frequency, expansion = with_published(results)
    tables = {
        "norms_shares": results.shares,
        "norms_mixing": mixing,
        "norms_frequency": frequency,
        "norms_frequency_points": results.points,
        "norms_expansion": expansion,
        "norms_change": results.change,
        "norms_amplified": results.amplified,
    }
    for further in (results.spread, results.block):
        if further is not None:
            tables |= {f"norms_{name}": table for name, table in further._asdict().items()}
    present = {name: table for name, table in tables.items() if table is not None}
    summary = {}
    for name, table in present.items():
        if name not in _TOO_LONG:
            # Of a table of heads, the rows that are about all heads together.
            summary[name] = records(table[table["head"] == 0] if "head" in table else table)
    columns = ["weight", "value_norm", "norm", "norm_share", "sentences"]
    over_heads = results.shares.groupby(["layer", "class"], sort=False, as_index=False)[columns].mean()
    summary["norms_shares"] = records(over_heads)
    return Section(
        title=f"What attention moves in {titles.model}: norms of vectors",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "mixed_tokens": int(mixing["tokens"].max()),
            "changed_sentences": None if results.change is None else int(results.change["sentences"].iloc[0]),
            "points": len(results.points),
            "published": results.published,
            "notes": results.notes,
        },
        shown=shown_tables(results, mixing, frequency, expansion),
        summary=summary,
        tables=present,
        figures=norm_figures(results, titles.figure),
    )


_TOO_LONG = ("norms_shares", "norms_grid", "norms_frequency_points")
"""The tables that are too long for the summary of the run."""


def with_published(results: NormResults) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return mixing, frequency and expansion, with a column ``published`` if the papers have numbers of this model."""
    mixing, frequency, expansion = results.mixing, results.frequency, results.expansion
    published = results.published
    if published is None:
        return mixing, frequency, expansion
    nan = float("nan")
    # By variant, layer and class. The papers give ratios in %.
    ratios = {(variant, 0, "all"): mean / 100 for variant, (mean, _, _) in published.mixing.items()}
    for name, ratios_by_layer in published.mixing_by_layer.items():
        ratios |= {("attnresln-n", layer, name): ratio / 100 for layer, ratio in enumerate(ratios_by_layer, start=1)}
    keys = zip(mixing["variant"], mixing["layer"], mixing["class"], strict=True)
    mixing = mixing.assign(published=[ratios.get(key, nan) for key in keys])
    # By measure and choice of tokens.
    rhos: dict[tuple[str, str], float] = {}
    for measure, (rho_of_all, rho_of_words) in published.frequency.items():
        rhos |= {(measure, "all"): rho_of_all, (measure, "words"): rho_of_words}
    choices = zip(frequency["measure"], frequency["tokens"], strict=True)
    frequency = frequency.assign(published=[rhos.get(choice, nan) for choice in choices])
    rates = dict(enumerate(published.expansion_by_layer, start=1))
    return mixing, frequency, expansion.assign(published=[rates.get(layer, nan) for layer in expansion["layer"]])


def explored_norms(results: NormResults) -> Contribution:
    """Return the shares of all heads by weight and by norm, and the class of tokens for which both differ most."""
    measures: list[Measure] = []
    for name, shares_of_class in results.shares.groupby("class", sort=False):
        measures += head_measures(SHARES, shares_of_class, partial(_id, name=str(name)), {"class": str(name)})
    facts = {}
    for _, shares_of_head in results.shares.groupby(["layer", "head"], sort=False):
        row = max(rows_of(shares_of_head), key=_difference)
        text = f"to {row['class']}: {share(row['weight'])} by weight, {share(row['norm_share'])} by norm"
        facts[head_name(row["layer"], row["head"])] = (Fact("weight and norm", text, _id("norm_share", row["class"])),)
    return Contribution(tuple(measures), _findings(results), facts=facts)


def _id(column: str, name: str) -> str:
    """Return the id of a measure of the explorer, which is about a class of tokens."""
    return f"norms/{column}/{name}"


def _difference(row: dict[str, Any]) -> float:
    """Return how far the shares of a class by weight and by norm differ."""
    return float(abs(row["weight"] - row["norm_share"]))


def _findings(results: NormResults) -> tuple[Finding, ...]:
    """Return the class of tokens for which weight and norm differ most."""
    rows = class_rows(results.shares)
    if not rows:
        return ()
    row = max(rows, key=_difference)
    less = "less" if row["norm_share"] < row["weight"] else "more"
    text = (
        f"Attention to {row['class']} moves {less} than its weights suggest: it has {share(row['weight'])} of the "
        f"weights and {share(row['norm_share'])} of what is moved by norm, on average over all heads."
    )
    return (Finding(text, address(measure=_id("norm_share", row["class"]))),)
