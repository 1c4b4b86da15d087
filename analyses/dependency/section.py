"""The results of the dependency analysis, and their section of the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ...reports.columns import Row
from ...reports.format import ARROWS, percent, rows_of, shown_rows
from ...reports.page import Section
from ...reports.table import ShownTable
from ...reports.tables import records
from ..contract import Titles
from ..shared.best_head import control_table
from ..shared.ensembles import shown_ensembles
from ..shared.failures import FailureTables
from ..shared.previews import Previewed
from .columns import AGAINST_TAGS, BEST
from .ensembles import ENSEMBLES
from .failure_tables import by_relation, shown_failures
from .figures import best_heads_figure, heads_figure
from .spanning_tables import SpanningTrees, shown_trees
from .tables import TOTALS

_INTERVAL = (
    ", with a 95 % bootstrap interval over sentences (none is shown if all words are right, or all are wrong, because "
    "resampling then cannot tell how certain the number is)"
)

_BOTH = " <b>both</b>: the word for which the sum of the two values is largest."


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
    cells, best, min_count, title = results.cells, results.best, results.min_count, titles.figure
    is_enhanced = results.trees == "enhanced"
    title = f"{title} · enhanced dependencies" if title and is_enhanced else title
    shown = best_table(results)
    failures, ensembles, rules, spanning = results.failures, results.ensembles, results.rules, results.spanning_trees
    of_failures = shown_failures(failures, min_count) if failures else ()
    shown_further = [*of_failures]
    if rules is not None:
        shown_further.append(against_tags(shown))
    if ensembles is not None:
        shown_further.append(shown_ensembles(ensembles, ENSEMBLES))
    if spanning:
        shown_further.append(shown_trees(spanning))
    single = [row for row in shown.rows if row["is_frequent"] and row["relation"] not in (*TOTALS, "punct")]
    return Section(
        title=f"What the attention heads of {titles.model} know about dependency syntax",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "example": single[0] if single else None,
            "min_count": min_count,
            "map_facts": [*results.map_facts, *reach_facts(cells)],
            "is_enhanced": is_enhanced,
            "failures": by_relation(*of_failures) if of_failures else [],
            "has_ensembles": ensembles is not None,
            "has_rules": rules is not None,
            "spanning_trees": spanning,
        },
        shown=(shown, *shown_further),
        summary={"dependency_best": records(best)},
        tables={
            "dependency": cells,
            "dependency_best": best,
            **control_table(results.controls, ("relation",), "dependency_control"),
            **({"dependency_failures": failures.failures, "dependency_picks": failures.picked} if failures else {}),
            **({"dependency_ensembles": ensembles} if ensembles is not None else {}),
            **({"dependency_trees": spanning.heads, "dependency_trees_best": spanning.best} if spanning else {}),
            **({"dependency_rules": rules} if rules is not None else {}),
        },
        figures={
            "dependency_best": best_heads_figure(best, min_count=min_count, title=title, ensembles=ensembles),
            "dependency_heads": heads_figure(cells, best, title=title),
        },
    )


def best_table(results: DependencyResults) -> ShownTable:
    """Return the table of the best head of each relation, frequent relations first."""
    cells, best = results.cells, results.best
    has_intervals = bool(best["accuracy_low"].notna().any())
    return ShownTable(
        "dependency_best",
        "Best attention head per relation (accuracy in %)",
        BEST.columns,
        list(shown_rows(best, results.min_count)),
        notes=(
            f"n in parentheses: fewer than {results.min_count} words, too few for reliable conclusions.",
            *(f"{fact[0].upper()}{fact[1:]}." for fact in (*results.map_facts, *reach_facts(cells))),
        ),
        style=_style,
        facts={
            "choices": cells["direction"].nunique() * int(cells["layer"].max()) * int(cells["head"].max()),
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
    first = cells[cells["relation"] == cells["relation"].iloc[0]].drop_duplicates("direction")
    shares = ", ".join(f"{ARROWS[row['direction']]} {percent(row['reach'])} %" for row in rows_of(first))
    row = first["relation"].iloc[0]
    return (f"causal model, in which words see only the words before; {row} words whose head is in reach: {shares}",)


def _style(row: Row) -> str:
    return f"{'' if row['is_frequent'] else 'rare'} {'total' if row['relation'] in TOTALS else ''}".strip()
