"""What is said first of the explanation tests: the count of verdicts, and the questions that were decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....reports.finding import Finding
from ....reports.page import slug
from ....storage.writing import amount, verb
from ..contract.explanation_test import SHARE
from ..contract.registry import attending_to, registered_tests
from ..contract.results import ExplainResults
from .columns import shown_bounds, shown_value
from .section import verdict_rows

_IN_ORDER = ("fails", "passes", "undecided")
"""The verdicts in the order in which questions are named: to fail one says more than to pass one."""

_SAID = {"passes": "Attention passes “{}”", "fails": "Attention fails “{}”", "undecided": "“{}” is undecided"}


def explain_findings(results: ExplainResults) -> Sequence[Finding]:
    """Return how many questions attention passes, and each decided question with both of its numbers.

    The question whether attention is needed at all is named first, whatever its verdict is, because the others mean
    little without it. Undecided ones are only counted.
    """
    with attending_to(results.item):
        rows = verdict_rows(results.verdicts)
        if not rows:
            return ()
        gates = {test.name for test in registered_tests().values() if test.gate}
        first = [row for row in rows if row["test"] in gates]
        others = [row for row in rows if row["test"] not in gates and row["verdict"] != "undecided"]
        others.sort(key=lambda row: _IN_ORDER.index(row["verdict"]))
        return (_count(rows), *_sentences([*first, *others]))


def _count(rows: Sequence[Mapping[str, Any]]) -> Finding:
    """Say how many questions attention passes and fails, and how many are undecided."""
    passed, failed, undecided = (
        sum(row["verdict"] == verdict for row in rows) for verdict in ("passes", "fails", "undecided")
    )
    text = (
        f"{passed} of {amount(len(rows), 'questions')} {verb(passed, 'are', 'is', of=len(rows))} passed by attention, "
        f"{failed} {verb(failed, 'are', 'is')} failed, and {undecided} {verb(undecided, 'are', 'is')} undecided."
    )
    return Finding(text, "#part-1-verdicts")


def _sentences(rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield for each question its number, its floor, their difference and the verdict."""
    headings = {test.name: test.heading for test in registered_tests().values()}
    for row in rows:
        number, floor = (f"{_value(row[side])} ({row[side]['label']})" for side in ("number", "floor"))
        points = " points" if row["unit"] == SHARE else ""
        difference = f"{shown_value(row['difference'], row['unit'], sign=True)}{points}"
        # The difference is above 0 in favor of attention, so the number is to be below its floor if the signs differ.
        less = (row["number"]["mean"] - row["floor"]["mean"]) * row["difference"] < 0
        evidence = f"{difference} {shown_bounds(row['low'], row['high'], row['unit'])}".rstrip()
        text = (
            f"{number}, beside {floor}, the floor{' (less is better)' if less else ''}: {evidence}, n = {row['n']:,}. "
            f"{_SAID[row['verdict']].format(row['question'])}: {row['meaning']}"
        )
        yield Finding(text, f"#part-1-{slug(headings[row['test']])}")


def _value(side: Mapping[str, Any]) -> str:
    """Write a number with its unit, as the table of verdicts does."""
    return f"{shown_value(side['mean'], side['unit'])}{' %' if side['unit'] == SHARE else ''}"
