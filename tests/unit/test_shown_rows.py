"""Which rows tables leave out, where there are more than are shown."""

from __future__ import annotations

import pandas as pd
import pytest

from attentionology.analyses.dependency.failures import FAILURES, PICKED, shown_failures
from attentionology.analyses.shared.failures import FailureTables


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
