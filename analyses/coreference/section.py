"""The section of the coreference analysis in the report."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from ...reports.columns import Row
from ...reports.format import rows_of
from ...reports.page import Section
from ...reports.tables import records
from ...storage.writing import is_right_to_left
from ..contract import Titles
from ..counting.best_head import control_table
from .columns import EXAMPLES
from .contrasts import FEWEST_DOCUMENTS
from .decisions import REASONS, column_name
from .figures import best_figure, contrasts_figure, distance_figure, heads_figure
from .shown_tables import (
    CoreferenceResults,
    best_of,
    candidates_in_words,
    candidates_table,
    n_choices,
    shown_contrasts,
    shown_tables,
)


def coreference_section(results: CoreferenceResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    titles = titles or Titles()
    counted = results.tables
    title = titles.figure
    examples = [asdict(example) for example in results.examples]
    candidates = [
        {**example, "candidate": candidate["text"], **candidate}
        for example in examples
        for candidate in example["candidates"]
    ]
    of_paper = {  # in percent, if the paper has numbers of this model
        f"paper_{column_name(method)}": [by_type[kind] for kind in counted.best["type"]]
        for method, by_type in (results.published or {}).items()
    }
    tables = {
        "coreference": counted.cells,
        "coreference_best": counted.best.assign(**of_paper),
        "coreference_baselines": counted.baselines,
        "coreference_distances": counted.distances,
        "coreference_examples": pd.DataFrame(candidates, columns=EXAMPLES.names),
        **control_table(results.controls, ("candidates", "type"), "coreference_control"),
    }
    if len(counted.groups):
        tables["coreference_groups"] = counted.groups
    if len(counted.contrasts):
        tables["coreference_contrasts"] = counted.contrasts
        tables["coreference_head_contrasts"] = counted.head_contrasts
        tables["coreference_largest_contrasts"] = counted.largest_contrasts
    if results.failures:
        tables["coreference_failures"], tables["coreference_picks"] = results.failures
    if results.ensembles is not None:
        tables["coreference_ensembles"] = results.ensembles
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
    return Section(
        title=f"What the attention heads of {titles.model} know about coreference",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "candidates": candidates_in_words(results),
            "policy": results.candidates,
            "singletons": results.singletons,
            "asked": results.asked,
            "choices": n_choices(results),
            "published": results.published,
            "contrasts": len(counted.contrasts),
            "largest": largest,
            "has_failures": bool(results.failures),
            "has_ensembles": results.ensembles is not None,
            "reasons": [(text, results.account[name]) for name, text in REASONS.items() if results.account.get(name)],
            "scored": scored,
            "account": dict(results.account),
            "best": rows_of(best)[0],
            "examples": {
                right: [(row, candidates_table(row), _direction(row)) for row in examples if row["right"] == right]
                for right in (True, False)
            },
            "map_facts": list(results.map_facts),
            "notes": list(results.notes),
            "min_count": results.min_count,
            "fewest": FEWEST_DOCUMENTS,
        },
        shown=shown_tables(results),
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


def _direction(example: Row) -> Markup:
    """Return the attribute of the element with the text of an example, if it is read from right to left."""
    text = [example[part] for part in ("before", "mention", "after")]
    return Markup(' dir="rtl"') if is_right_to_left(text) else Markup()
