"""The coreference analysis on disk and in the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from attentionology.analyses.contract import Titles
from attentionology.analyses.coreference.baselines import BASELINES, column_name
from attentionology.analyses.coreference.choices import POLICIES, REASONS
from attentionology.analyses.coreference.contrasts_section import contrasts_figure, shown_contrasts
from attentionology.analyses.coreference.examples import CoreferenceExample
from attentionology.analyses.coreference.figures import best_figure, distance_figure, heads_figure
from attentionology.analyses.coreference.tables import CoreferenceTables
from attentionology.analyses.shared.controls import control_table
from attentionology.analyses.shared.previews import results_html, results_line
from attentionology.reports.format import rows_of
from attentionology.reports.json_text import records
from attentionology.reports.page import Section

CANDIDATES = {
    "preceding": "head words of the mentions before it",
    "mentions": "head words of all other mentions",
    "words": "all other words",
}

_SHOWN_CANDIDATES = 6
_SHOWN_WORDS = 12


class CoreferenceResults(NamedTuple):
    """What the analysis found.

    Attributes:
        tables: of the model, ``best`` perhaps with the control's columns.
        controls: the best-heads table of each randomly initialised copy.
        examples: decisions of the best head.
        account: what became of the mentions that have an antecedent, see `analyses.linguistic.coreference.account`.
        candidates: the policy that the report is about.
        singletons: ``"drop"`` or ``"keep"``.
        published: the paper's accuracies in percent if the model is the paper's, by method and type.
        map_facts: what the maps are, a phrase each.
        notes: how the numbers came about, a sentence each.
        asked: whether the corpus asks questions of its own, which come with candidates.
        min_count: types with fewer mentions are greyed.
    """

    tables: CoreferenceTables
    controls: tuple[pd.DataFrame, ...] = ()
    examples: tuple[CoreferenceExample, ...] = ()
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
    """The tables, the figures and the section of the page."""
    titles = titles or Titles()
    found, title = results.tables, titles.figure
    examples = [example_row(example, results.candidates) for example in results.examples]
    tables = {
        "coreference": found.cells,
        "coreference_best": _beside_paper(found.best, results.published),
        "coreference_baselines": found.baselines,
        "coreference_distances": found.distances,
        "coreference_examples": _examples_table(examples),
        **control_table(results.controls, ("candidates", "type"), "coreference_control"),
    }
    if len(found.groups):
        tables["coreference_groups"] = found.groups
    if len(found.contrasts):
        tables["coreference_contrasts"] = found.contrasts
        tables["coreference_head_contrasts"] = found.head_contrasts
        tables["coreference_largest_contrasts"] = found.largest_contrasts
    own = best_of(found.best, results.candidates)
    scored = int(own["total"].max())
    figures = {}
    if scored:
        figures = {
            "coreference_best": best_figure(own, results.published, title=title),
            "coreference_heads": heads_figure(found.cells, own, results.candidates, title=title),
            "coreference_distances": distance_figure(found.distances, own, results.candidates, title=title),
        }
    largest = shown_contrasts(found, results.candidates)
    if largest:
        figures["coreference_contrasts"] = contrasts_figure(found, own, results.candidates, title=title)
    other = found.best[found.best["candidates"] != results.candidates]
    if results.asked:  # whichever side they stand on, the candidates are the same
        other = other[other["candidates"] == ("words" if results.candidates != "words" else "preceding")]
    contrasts = found.contrasts
    if len(contrasts):
        contrasts = contrasts[contrasts["candidates"] == results.candidates]
    return Section(
        title=f"What the attention heads of {titles.model} know about coreference",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "rows": _shown(own, results.min_count),
            "other_rows": _shown(other, results.min_count),
            "candidates": candidates_in_words(results),
            "policy": results.candidates,
            "singletons": results.singletons,
            "asked": results.asked,
            "has_control": "control_accuracy" in own,
            "has_intervals": bool((own["accuracy_low"] < own["accuracy_high"]).any()),
            "choices": 2 * int(found.cells["layer"].max()) * int(found.cells["head"].max()),
            "published": results.published,
            "contrasts": rows_of(contrasts),
            "largest": largest,
            "account": [(why, results.account[name]) for name, why in REASONS.items() if results.account.get(name)],
            "scored": scored,
            "told": dict(results.account),
            "best": rows_of(own)[0],
            "examples": {right: [row for row in examples if row["right"] == right] for right in (True, False)},
            "map_facts": list(results.map_facts),
            "notes": list(results.notes),
            "min_count": results.min_count,
        },
        summary={
            "coreference_best": records(found.best),
            "coreference_baselines": records(found.baselines),
            "coreference_contrasts": records(found.contrasts),
            "coreference_largest_contrasts": records(found.largest_contrasts),
            "coreference_examples": examples,
        },
        tables=tables,
        figures=figures,
    )


def candidates_in_words(results: CoreferenceResults) -> dict[str, str]:
    """What each policy's candidates are."""
    given = "head words of the two names or occupations asked about"
    return {**CANDIDATES, "preceding": given, "mentions": given} if results.asked else CANDIDATES


def best_of(best: pd.DataFrame, policy: str) -> pd.DataFrame:
    """The best heads among candidates of one policy, a row per type."""
    return best[best["candidates"] == policy].reset_index(drop=True)


def example_row(example: CoreferenceExample, policy: str) -> dict[str, Any]:
    """A decision as a reader wants it: the sentence around the mention, and the candidates with the most weight."""
    document, choice = example.document, example.choice
    mention, words = choice.mention, document.words
    start = document.starts[document.sentence_of(mention.start)]
    stop = next((at for at in document.starts if at >= mention.stop), len(words))
    shown_by = {"preceding": choice.before, "mentions": document.mentions, "words": ()}[policy]
    mates = {one.head for one in shown_by if one.entity == mention.entity}
    # Of several mentions with one head word the first is shown, or the antecedent among them.
    known = [one for one in shown_by if one.entity == mention.entity or one.head not in mates]
    names = {one.head: document.text(one) for one in reversed(known) if one.head is not None}
    ranked = sorted(example.weights.items(), key=lambda item: (-item[1], item[0]))
    candidates = [
        {
            "rank": place,
            "text": _short(names.get(word, words[word])),
            "head": words[word],
            "weight": weight,
            "antecedent": word in choice.gold,
        }
        for place, (word, weight) in enumerate(ranked, start=1)
        if place <= _SHOWN_CANDIDATES or word in choice.gold
    ]
    return {
        "right": example.right,
        "document": document.id,
        "before": _short(" ".join(words[start : mention.start]), last=True),
        "mention": document.text(mention),
        "after": _short(" ".join(words[mention.stop : stop])),
        "type": mention.type,
        "candidates": candidates,
        "of": len(ranked),
    }


def _short(text: str, *, last: bool = False) -> str:
    """The first, or last, words of a text."""
    words = text.split()
    if len(words) <= _SHOWN_WORDS:
        return text
    return "… " + " ".join(words[-_SHOWN_WORDS:]) if last else " ".join(words[:_SHOWN_WORDS]) + " …"


def _examples_table(examples: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """One row per example and candidate."""
    described = ["right", "document", "before", "mention", "after", "type", "of"]
    columns = [*described, "rank", "candidate", "head", "weight", "antecedent"]
    rows = [
        {**{name: row[name] for name in described}, "candidate": one["text"], **one}
        for row in examples
        for one in row["candidates"]
    ]
    return pd.DataFrame(rows, columns=columns)


def _beside_paper(best: pd.DataFrame, published: Mapping[str, Mapping[str, int]] | None) -> pd.DataFrame:
    """With columns ``paper_METHOD`` in percent where there are such numbers."""
    columns = {
        f"paper_{column_name(method)}": [by_type[kind] for kind in best["type"]]
        for method, by_type in (published or {}).items()
    }
    return best.assign(**columns)


def _shown(best: pd.DataFrame, min_count: int) -> list[dict[str, Any]]:
    """Rows with anything to show, and with their baselines by name."""
    return [
        {
            **row,
            "frequent": row["total"] >= min_count,
            "baselines": [row[f"{column_name(name)}_accuracy"] for name in BASELINES],
        }
        for row in sorted(rows_of(best), key=lambda row: POLICIES.index(row["candidates"]))
        if row["total"]
    ]
