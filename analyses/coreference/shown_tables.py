"""The results of coreference and the tables that people read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from ...reports.columns import Row, TableColumn
from ...reports.format import ARROWS, head_name, interval, percent, rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount
from ..counting.held_out import beside_zero
from ..shared.ensembles import shown_ensembles
from ..shared.failures import FailureTables, shown_failure_tables
from ..shared.previews import results_html, results_line
from .columns import BEST
from .contrasts import by_comparison
from .decisions import POLICIES
from .ensembles import ENSEMBLES
from .examples import ShownExample
from .failure_tables import FAILURES, PICKED
from .group_columns import CONTRASTS, LARGEST_CONTRASTS
from .picks import PICKS
from .tables import CoreferenceTables


class CoreferenceResults(NamedTuple):
    """The results of the analysis ``coreference``. Layers and heads are 1-based, accuracies are shares of mentions.

    Attributes:
        tables: those of `attentionology.analyses.coreference.tables.CoreferenceTables`, which lists them: ``cells``,
            ``best``, ``baselines``, ``distances`` and others. ``best`` has the columns of the control if there is one.
        controls: the table of best heads of each randomly initialized copy.
        examples: decisions of the best head.
        account: see `attentionology.analyses.coreference.decisions.account`.
        candidates: the policy that the report is about.
        singletons: ``"drop"`` or ``"keep"``.
        published: in percent by method and type, if the model is the paper's.
        map_facts, notes: sentences about the maps, and about how the numbers were computed.
        asked: whether the corpus asks questions of its own, which come with candidates.
        min_count: types with fewer mentions are grayed.
        failures: what heads pick instead, with the option ``--failures``.
        ensembles: the accuracies of ensembles of heads, with the option ``--ensembles``.
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
    failures: FailureTables | None = None
    ensembles: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)


CANDIDATES = {
    "preceding": "head words of the preceding mentions",
    "mentions": "head words of all other mentions",
    "words": "all other words",
}


def shown_tables(results: CoreferenceResults) -> list[ShownTable]:
    """Return the tables of the page."""
    tables = [best_table(results), _others(results)]
    if results.published:
        columns = [TableColumn("method", "text", "", "method")]
        columns += [TableColumn(name, "count", "", name) for name in ("all", "pronoun", "proper", "nominal")]
        rows = [{"method": method, **by_type} for method, by_type in results.published.items()]
        tables.append(ShownTable("coreference_published", "The paper’s numbers (%)", columns, rows))
    contrasts = results.tables.contrasts
    if len(contrasts):
        rows = rows_of(contrasts[contrasts["candidates"] == results.candidates])
        tables.append(ShownTable("coreference_contrasts", "Groups of documents (%)", CONTRASTS.columns, rows))
    for number, comparison in enumerate(shown_contrasts(results.tables, results.candidates), start=1):
        title = f"Largest differences: {comparison['first']} minus {comparison['second']} (%)"
        name = f"coreference_largest_contrasts_{number}"
        tables.append(ShownTable(name, title, LARGEST_CONTRASTS.columns, comparison["rows"]))
    if results.ensembles is not None:
        tables.append(shown_ensembles(results.ensembles, ENSEMBLES))
    if results.failures:
        tables += shown_failure_tables(results.failures, (FAILURES, PICKED), "mentions", PICKS[0])
    return tables


def best_table(results: CoreferenceResults) -> ShownTable:
    """Return the table of the best head of each type of mention, beside the baselines."""
    best = best_of(results.tables.best, results.candidates)
    account = results.account
    words = candidates_in_words(results)
    has_intervals = bool((best["accuracy_low"] < best["accuracy_high"]).any())
    scored = f"{account['scored']:,} of {account['anaphors']:,} mentions that have an antecedent"
    no_answer = f" Asked for, but with no right candidate: {account['no answer']:,}." if account["no answer"] else ""
    differences = [
        f"{row['first']} {percent(row['first_accuracy'])}, {row['second']} {percent(row['second_accuracy'])}: "
        f"difference {percent(row['difference'], sign=True)} "
        f"{interval(row['difference_low'], row['difference_high'])} (head {head_name(row['layer'], row['head'])})"
        for row in rows_of(results.tables.contrasts)
        if row["candidates"] == results.candidates
    ]
    notes = (
        f"n in parentheses: fewer than {amount(results.min_count, 'mentions')}. "
        f"Candidates are {words[results.candidates]}.",
        f"Scored: {scored}.{no_answer}",
        *results.notes,
        *differences,
        *_contrast_lines(results.tables, results.candidates),
        *(f"{fact[0].upper()}{fact[1:]}." for fact in results.map_facts),
    )
    return ShownTable(
        "coreference_best",
        f"Best attention head per type of mention ({scored}; antecedents found in %)",
        BEST.columns[1:],
        _rows(best, results),
        notes=notes,
        style=_style,
        facts={
            "choices": f"{n_choices(results):,}",
            "copies": len(results.controls),
            "interval": ", with a 95 % bootstrap interval over documents" if has_intervals else "",
            "preceding": words["preceding"],
        },
    )


def _others(results: CoreferenceResults) -> ShownTable:
    """Return the best heads for the other choices of candidates."""
    best = results.tables.best
    other = best[best["candidates"] != results.candidates]
    if results.asked:  # the policies "preceding" and "mentions" have the same candidates
        other = other[other["candidates"] == ("words" if results.candidates != "words" else "preceding")]
    headings = ("candidates", "mentions", "n", "attention head", "direction", "accuracy", "held-out", "random weights")
    rows = _rows(other, results)
    return ShownTable("coreference_others", "Other candidates (%)", BEST.only(*headings), rows, style=_style)


def shown_contrasts(tables: CoreferenceTables, policy: str) -> list[dict[str, Any]]:
    """Return the comparisons under the policy that the report is about."""
    comparisons = []
    of_heads = by_comparison(tables.head_contrasts, policy)
    for (first, second), rows in by_comparison(tables.largest_contrasts, policy).items():
        heads = of_heads[first, second]
        above, below = beside_zero(heads, "simultaneous_low", "simultaneous_high")
        comparisons.append(
            {
                "first": first,
                "second": second,
                "first_total": int(heads["first_total"].iloc[0]),
                "second_total": int(heads["second_total"].iloc[0]),
                "rows": rows_of(rows),
                "choices": len(heads),
                "above": above,
                "below": below,
                "has_intervals": bool(heads["simultaneous_low"].notna().any()),
            }
        )
    return comparisons


def _contrast_lines(tables: CoreferenceTables, policy: str) -> list[str]:
    """Return lines for the terminal with the largest difference on each side of every comparison."""
    lines = []
    for comparison in shown_contrasts(tables, policy):
        heads = []
        for row in comparison["rows"]:
            if row["rank"] == 1:
                bounds = interval(row["simultaneous_low"], row["simultaneous_high"])  # empty without a bootstrap
                difference = f"{percent(row['difference'], sign=True)} {bounds}".rstrip()
                head = f"head {head_name(row['layer'], row['head'])} {ARROWS[row['direction']]}"
                heads.append(f"{difference} in {head}, held-out {percent(row['heldout_difference'], sign=True)}")
        lines.append(f"Largest differences, {comparison['first']} minus {comparison['second']}: {'; '.join(heads)}.")
    if lines:
        lines.append("The intervals of the largest differences hold for all heads at once.")
    return lines


def candidates_table(example: Mapping[str, Any]) -> ShownTable:
    """Return the candidates of a decision with the most weight, and all antecedents."""
    columns = [
        TableColumn("text", "text", "", "candidate"),
        TableColumn("head", "text", "", "head word"),
        TableColumn("weight", "number", "", "weight", cell=lambda row: f"{row['weight']:.2g}"),
        TableColumn("rank", "number from 1", "", f"rank of {example['of']}"),
        TableColumn("antecedent", "text", "", "right", cell=lambda row: "antecedent" if row["antecedent"] else ""),
    ]
    return ShownTable("candidates", "Candidates", columns, example["candidates"])


def candidates_in_words(results: CoreferenceResults) -> dict[str, str]:
    """Describe the candidates of each policy."""
    named = "head words of the two names or occupations in question"
    return {**CANDIDATES, "preceding": named, "mentions": named} if results.asked else CANDIDATES


def best_of(best: pd.DataFrame, policy: str) -> pd.DataFrame:
    """Return the best heads under one policy, with a row per type."""
    return best[best["candidates"] == policy].reset_index(drop=True)


def n_choices(results: CoreferenceResults) -> int:
    """Return the number of heads and directions among which the best one is chosen."""
    return 2 * int(results.tables.cells["layer"].max()) * int(results.tables.cells["head"].max())


def _rows(best: pd.DataFrame, results: CoreferenceResults) -> list[Row]:
    """Return the rows that have any mentions, in the order of `POLICIES`."""
    words = candidates_in_words(results)
    rows: Iterable[dict[str, Any]] = sorted(rows_of(best), key=lambda row: POLICIES.index(row["candidates"]))
    return [
        {**row, "is_frequent": row["total"] >= results.min_count, "candidates_in_words": words[row["candidates"]]}
        for row in rows
        if row["total"]
    ]


def _style(row: Row) -> str:
    """Return how a row is shown: ``rare``, ``total``, both or neither."""
    rare = "" if row["is_frequent"] else "rare"
    total = "total" if row["type"] == "all" else ""
    return f"{rare} {total}".strip()
