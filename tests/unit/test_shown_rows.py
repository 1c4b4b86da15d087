"""Which rows tables leave out, where there are more than are shown."""

from __future__ import annotations

import pandas as pd
import pytest

from attentionology.analyses.dependency.failures import FAILURES, PICKED, shown_failures
from attentionology.analyses.shared.failures import FailureTables
from attentionology.reports.columns import TableColumn
from attentionology.reports.table import ShownTable, Terminal, rare_rows


@pytest.mark.parametrize(("min_count", "first"), [(0, 1), (4, 4), (99, 1)])
def test_failures_are_those_of_the_first_eight_relations_with_enough_words(min_count: int, first: int) -> None:
    """If no relation has enough, all of them count; totals and roots are never among the eight."""
    totals = {"all": 98, "all-nopunct": 98, "all-nopunct-noroot": 98, "root": 98}
    totals |= {f"r{number}": number for number in range(1, 14)}
    tables = [
        pd.DataFrame([{**dict.fromkeys(schema.names, 0), "relation": name, "total": n} for name, n in totals.items()])
        for schema in (FAILURES, PICKED)
    ]
    for shown in shown_failures(FailureTables(*tables), min_count):
        assert [row["relation"] for row in shown.rows] == [f"r{number}" for number in range(first, first + 8)]


def test_a_terminal_leaves_out_rare_rows_unless_they_are_asked_for_or_all_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = [TableColumn("relation", "text", "", "relation"), TableColumn("total", "count", "", "n")]
    rows = [{"relation": name, "total": total} for name, total in (("obj", 60), ("det", 9), ("case", 8))]

    def shown(rows: list[dict[str, object]], *, rare: bool = False) -> str:
        table = ShownTable(
            "best", "Best", columns, rows, style=lambda row: "rare" * (row["total"] < 50), rare="fewer than 50 words"
        )
        with rare_rows(shown=rare):
            Terminal(80).print(table.terminal(80))
        return " ".join(capsys.readouterr().out.split())

    assert shown(rows) == "Best relation n obj 60 And 2 rarer ones (fewer than 50 words): --rare, or tables/best.csv."
    assert "And 1 rarer one (" in shown(rows[:2])
    all_of_them = "Best relation n obj 60 det 9 case 8 n in parentheses: fewer than 50 words."
    assert shown(rows, rare=True) == all_of_them
    assert shown(rows[1:]).endswith("det 9 case 8 n in parentheses: fewer than 50 words.")
    assert "parentheses" not in shown(rows[:1])
