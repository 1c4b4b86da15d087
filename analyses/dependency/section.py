"""The results of the dependency analysis, and their section of the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from ...reports.columns import Row
from ...reports.format import ARROWS, percent, rows_of, shown_rows
from ...reports.page import Section
from ...reports.table import ShownTable
from ...reports.tables import records
from ...storage.writing import amount
from ..contract import Titles
from ..counting.best_head import control_table
from ..shared.ensembles import shown_ensembles
from ..shared.failures import FailureTables
from ..shared.previews import Previewed
from .columns import AGAINST_TAGS, BEST
from .ensembles import ENSEMBLES
from .failure_tables import by_relation, shown_failures
from .figures import best_heads_figure, heads_figure
from .spanning_tables import SpanningTrees, shown_trees
from .tables import TOTALS

_INTERVAL = ", with a 95 % bootstrap interval over sentences"

_BOTH = Markup(" <b>both</b>: the word for which the sum of the two values is largest.")


@dataclass(frozen=True, repr=False)
class DependencyResults(Previewed):
    """The results of the analysis ``dependency``. Layers and heads are 1-based, accuracies are shares of words.

    Attributes:
        cells: one row per ``relation``, ``direction``, ``layer`` and ``head``, with ``correct``, ``total`` and
            ``accuracy``.
        best: one row per ``relation`` with its best ``layer``, ``head`` and ``direction``; its ``accuracy``; the best
            fixed ``offset`` with its ``offset_accuracy``; the ``gain`` over it; and ``heldout_accuracy`` and
            ``heldout_gain``, of heads that were chosen on other sentences. Columns that end in ``_low`` and ``_high``
            are 95 % intervals. With a control, its columns follow.
        controls: the table of best heads of each randomly initialized copy.
        min_count: relations with fewer words are left out of the first figure and grayed in the page.
        map_facts: sentences about the maps.
        failures: what heads pick instead, with the option ``--failures``.
        ensembles: the accuracies of ensembles of heads, with the option ``--ensembles``.
        rules: the best rules that know the part of speech of a word; None for a treebank without parts of speech.
        trees: the gold, the ``"basic"`` trees or the ``"enhanced"`` dependencies.
        spanning_trees: the scores of trees that are made of maps, with the option ``--spanning-trees``.
    """

    cells: pd.DataFrame
    best: pd.DataFrame
    controls: tuple[pd.DataFrame, ...] = ()
    min_count: int = 50
    map_facts: tuple[str, ...] = ()
    failures: FailureTables | None = None
    ensembles: pd.DataFrame | None = None
    rules: pd.DataFrame | None = None
    trees: str = "basic"
    spanning_trees: SpanningTrees | None = None


def dependency_section(results: DependencyResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    titles = titles or Titles()
    cells, best, min_count = results.cells, results.best, results.min_count
    is_enhanced = results.trees == "enhanced"
    title = f"{titles.figure} · enhanced dependencies" if titles.figure and is_enhanced else titles.figure
    shown_best = best_table(results)
    shown = [shown_best]
    tables = {
        "dependency": cells,
        "dependency_best": best,
        **control_table(results.controls, ("relation",), "dependency_control"),
    }
    failures_by_relation = []
    if results.failures:
        shown_of_failures = shown_failures(results.failures, min_count)
        failures_by_relation = by_relation(*shown_of_failures)
        shown += shown_of_failures
        tables["dependency_failures"] = results.failures.failures
        tables["dependency_picks"] = results.failures.picked
    if results.rules is not None:
        shown.append(against_tags(shown_best))
    if results.ensembles is not None:
        shown.append(shown_ensembles(results.ensembles, ENSEMBLES))
        tables["dependency_ensembles"] = results.ensembles
    if results.spanning_trees:
        shown.append(shown_trees(results.spanning_trees))
        tables["dependency_trees"] = results.spanning_trees.heads
        tables["dependency_trees_best"] = results.spanning_trees.best
    if results.rules is not None:
        tables["dependency_rules"] = results.rules  # only here, because files are listed in this order
    no_example = (*TOTALS, "punct", "_")
    relations = [row for row in shown_best.rows if row["is_frequent"] and row["relation"] not in no_example]
    return Section(
        title=f"What the attention heads of {titles.model} know about dependency syntax",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "example": relations[0] if relations else None,
            "min_count": min_count,
            "map_facts": [*results.map_facts, *reach_facts(cells)],
            "is_enhanced": is_enhanced,
            "failures": failures_by_relation,
            "has_ensembles": results.ensembles is not None,
            "has_rules": results.rules is not None,
            "spanning_trees": results.spanning_trees,
        },
        shown=shown,
        summary={"dependency_best": records(best)},
        tables=tables,
        figures={
            "dependency_best": best_heads_figure(best, min_count=min_count, title=title, ensembles=results.ensembles),
            "dependency_heads": heads_figure(cells, best, title=title),
        },
    )


def best_table(results: DependencyResults) -> ShownTable:
    """Return the table of the best head of each relation, frequent relations first."""
    cells, best = results.cells, results.best
    has_intervals = bool(best["accuracy_low"].notna().any())
    n_choices = cells["direction"].nunique() * int(cells["layer"].max()) * int(cells["head"].max())
    return ShownTable(
        "dependency_best",
        "Best attention head per relation (accuracy in %)",
        BEST.columns,
        list(shown_rows(best, results.min_count)),
        notes=(
            f"n in parentheses: fewer than {amount(results.min_count, 'words')}, too few for reliable conclusions.",
            *(f"{fact[0].upper()}{fact[1:]}." for fact in (*results.map_facts, *reach_facts(cells))),
        ),
        style=_style,
        facts={
            "choices": f"{n_choices:,}",
            "both": _BOTH if "both" in set(cells["direction"]) else "",
            "copies": len(results.controls),
            "interval": _INTERVAL if has_intervals else "",
        },
    )


def against_tags(best: ShownTable) -> ShownTable:
    """Return the table that compares the best heads with rules that know parts of speech."""
    title = "Heads against rules that know parts of speech (accuracy in %)"
    return ShownTable("dependency_tags", title, AGAINST_TAGS, best.rows, style=best.style)


def reach_facts(cells: pd.DataFrame) -> tuple[str, ...]:
    """Say of a causal model for which share of the words each direction can find the syntactic head at all."""
    if "reach" not in cells:
        return ()
    name = cells["relation"].iloc[0]  # that of all words, if it was not left out
    by_direction = cells[cells["relation"] == name].drop_duplicates("direction")
    shares = ", ".join(f"{ARROWS[row['direction']]} {percent(row['reach'])} %" for row in rows_of(by_direction))
    return (f"causal model, in which words see only the words before; {name} words whose head is in reach: {shares}",)


def _style(row: Row) -> str:
    """Return how a row is shown: ``rare``, ``total``, both or neither."""
    return f"{'' if row['is_frequent'] else 'rare'} {'total' if row['relation'] in TOTALS else ''}".strip()
