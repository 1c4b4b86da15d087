"""The results of the coreference analysis, and their section of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ...reports.format import rows_of
from ...reports.json_text import records
from ...reports.page import Section
from ..contract import Titles
from ..shared.controls import control_table
from ..shared.previews import results_html, results_line
from .baselines import BASELINES, column_name
from .choices import POLICIES, REASONS
from .contrasts_section import contrasts_figure, shown_contrasts
from .figures import best_figure, distance_figure, heads_figure
from .shown_examples import ShownExample
from .tables import CoreferenceTables

CANDIDATES = {
    "preceding": "head words of the preceding mentions",
    "mentions": "head words of all other mentions",
    "words": "all other words",
}


class CoreferenceResults(NamedTuple):
    """The results of the analysis ``coreference``.

    Attributes:
        tables: the tables of the model. ``best`` has the columns of the control if there is one.
        controls: the table of best heads of each randomly initialized copy.
        examples: decisions of the best head.
        account: the numbers of mentions that are scored and of those that are not by reason, see
            `attentionology.analyses.coreference.choices.account`.
        candidates: the policy that the report is about.
        singletons: ``"drop"`` or ``"keep"``.
        published: the paper's accuracies in percent by method and type, None if the model is not the paper's.
        map_facts: phrases that describe the maps.
        notes: sentences about how the numbers were computed.
        asked: whether the corpus asks questions of its own, which come with candidates.
        min_count: types with fewer mentions are grayed.
    """

    tables: CoreferenceTables
    controls: tuple[pd.DataFrame, ...] = ()
    examples: tuple[ShownExample, ...] = ()
    account: Mapping[str, int] = {}
    candidates: str = "preceding"
    singletons: str = "drop"
    published: Mapping[str, Mapping[str, int]] | None = None
    map_facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    asked: bool = False
    min_count: int = 50

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)


def coreference_section(results: CoreferenceResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    titles = titles or Titles()
    counted, title = results.tables, titles.figure
    examples = [asdict(example) for example in results.examples]
    tables = {
        "coreference": counted.cells,
        "coreference_best": _beside_paper(counted.best, results.published),
        "coreference_baselines": counted.baselines,
        "coreference_distances": counted.distances,
        "coreference_examples": _examples_table(examples),
        **control_table(results.controls, ("candidates", "type"), "coreference_control"),
    }
    if len(counted.groups):
        tables["coreference_groups"] = counted.groups
    if len(counted.contrasts):
        tables["coreference_contrasts"] = counted.contrasts
        tables["coreference_head_contrasts"] = counted.head_contrasts
        tables["coreference_largest_contrasts"] = counted.largest_contrasts
    best = best_of(counted.best, results.candidates)
    scored = int(best["total"].max())
    figures = {}
    if scored:
        figures = {
            "coreference_best": best_figure(best, results.published, title=title),
            "coreference_heads": heads_figure(counted.cells, best, results.candidates, title=title),
            "coreference_distances": distance_figure(counted.distances, best, results.candidates, title=title),
        }
    largest = shown_contrasts(counted, results.candidates)
    if largest:
        figures["coreference_contrasts"] = contrasts_figure(counted, best, results.candidates, title=title)
    other = counted.best[counted.best["candidates"] != results.candidates]
    if results.asked:  # the policies "preceding" and "mentions" have the same candidates
        other = other[other["candidates"] == ("words" if results.candidates != "words" else "preceding")]
    contrasts = counted.contrasts
    if len(contrasts):
        contrasts = contrasts[contrasts["candidates"] == results.candidates]
    return Section(
        title=f"What the attention heads of {titles.model} know about coreference",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "rows": _shown(best, results.min_count),
            "other_rows": _shown(other, results.min_count),
            "candidates": candidates_in_words(results),
            "policy": results.candidates,
            "singletons": results.singletons,
            "asked": results.asked,
            "has_control": "control_accuracy" in best,
            "has_intervals": bool((best["accuracy_low"] < best["accuracy_high"]).any()),
            "choices": 2 * int(counted.cells["layer"].max()) * int(counted.cells["head"].max()),
            "published": results.published,
            "contrasts": rows_of(contrasts),
            "largest": largest,
            "reasons": [(text, results.account[name]) for name, text in REASONS.items() if results.account.get(name)],
            "scored": scored,
            "account": dict(results.account),
            "best": rows_of(best)[0],
            "examples": {right: [row for row in examples if row["right"] == right] for right in (True, False)},
            "map_facts": list(results.map_facts),
            "notes": list(results.notes),
            "min_count": results.min_count,
        },
        summary={
            "coreference_best": records(counted.best),
            "coreference_baselines": records(counted.baselines),
            "coreference_contrasts": records(counted.contrasts),
            "coreference_largest_contrasts": records(counted.largest_contrasts),
            "coreference_examples": examples,
        },
        tables=tables,
        figures=figures,
    )


def candidates_in_words(results: CoreferenceResults) -> dict[str, str]:
    """Describe the candidates of each policy."""
    named = "head words of the two names or occupations in question"
    return {**CANDIDATES, "preceding": named, "mentions": named} if results.asked else CANDIDATES


def best_of(best: pd.DataFrame, policy: str) -> pd.DataFrame:
    """Return the best heads under one policy, with a row per type."""
    return best[best["candidates"] == policy].reset_index(drop=True)


def _examples_table(examples: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return a table with one row per example and candidate."""
    described = ["right", "document", "before", "mention", "after", "type", "of"]
    columns = [*described, "rank", "candidate", "head", "weight", "antecedent"]
    rows = [
        {**{name: row[name] for name in described}, "candidate": candidate["text"], **candidate}
        for row in examples
        for candidate in row["candidates"]
    ]
    return pd.DataFrame(rows, columns=columns)


def _beside_paper(best: pd.DataFrame, published: Mapping[str, Mapping[str, int]] | None) -> pd.DataFrame:
    """Add columns ``paper_METHOD`` in percent if the paper has numbers of this model."""
    columns = {
        f"paper_{column_name(method)}": [by_type[kind] for kind in best["type"]]
        for method, by_type in (published or {}).items()
    }
    return best.assign(**columns)


def _shown(best: pd.DataFrame, min_count: int) -> list[dict[str, Any]]:
    """Return the rows that have any mentions, each with the accuracies of its baselines."""
    return [
        {
            **row,
            "frequent": row["total"] >= min_count,
            "baselines": [row[f"{column_name(name)}_accuracy"] for name in BASELINES],
        }
        for row in sorted(rows_of(best), key=lambda row: POLICIES.index(row["candidates"]))
        if row["total"]
    ]
