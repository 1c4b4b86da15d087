"""The tables of failures say what their files say, and the finding names a mistake only where it is clearly first."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from attentionology.analyses.contract import Titles
from attentionology.analyses.coreference.explored import explored_coreference
from attentionology.analyses.coreference.failure_tables import failure_tables
from attentionology.analyses.coreference.failures import CoreferenceFailures
from attentionology.analyses.coreference.section import coreference_section
from attentionology.analyses.coreference.shown_tables import CoreferenceResults, shown_tables
from tests.documents import counted_mentions, random_batch
from tests.shown_tables import Columns, cells, distinct, in_latex, in_terminal, on_page

ACCOUNT = {"anaphors": 99, "scored": 77, "no answer": 3, "documents": 8, "forced": 0}


@pytest.fixture(scope="module")
def counted():
    accuracy, failures = counted_mentions(12), CoreferenceFailures(2, 3)
    failures.update(random_batch(12)[1])
    tables = accuracy.compute()
    best, cells = (table[table["candidates"] == "preceding"] for table in (tables.best, tables.cells))
    failed = failure_tables(failures, best, cells, ["best", "1-1"])
    return accuracy, CoreferenceResults(tables, account=ACCOUNT, failures=failed, min_count=1)


@pytest.mark.parametrize("name", ["failures", "picked"])
def test_tables_say_what_the_csv_files_say(counted, name):
    table = distinct(getattr(counted[1].failures, name))
    results = counted[1]._replace(failures=counted[1].failures._replace(**{name: table}))
    shown = shown_tables(results)[{"failures": -2, "picked": -1}[name]]
    rows: list[Any] = table.to_dict("records")
    arrows = {"mention->antecedent": "m→ante", "antecedent->mention": "ante→m"}
    share = {"failures": "accuracy", "picked": "share"}[name]
    columns: Columns = {
        "mentions": "type",
        "direction": lambda row: arrows[row["direction"]],
        **({"by": "by", "class": "class"} if name == "failures" else {"picked": "picked", "picks": ",d count"}),
        "n": ",d total",
        share: f"% {share} {share}_low {share}_high",
        "nearest": f"% nearest_{share} nearest_low nearest_high",
        "same head word": f"% head_match_{share} head_match_low head_match_high",
        "rules": f"% rule_based_{share} rule_based_low rule_based_high",
    }
    page = cells(rows, {**columns, "attention head": lambda row: f"{row['layer']}-{row['head']}"})
    assert len(page) > 10
    assert on_page(shown) == in_latex(shown) == page
    assert in_terminal(shown, 250) == cells(rows, {**columns, "head": lambda row: f"{row['layer']}-{row['head']}"}, "")


def test_the_section_writes_and_shows_both_tables(counted):
    results = counted[1]
    section = coreference_section(results, Titles("m", "c"))
    assert section.tables["coreference_failures"] is results.failures.failures
    assert section.tables["coreference_picks"] is results.failures.picked
    assert {"coreference_failures", "coreference_picks"} <= {table.name for table in section.shown}
    without = coreference_section(results._replace(failures=None), Titles("m", "c"))
    assert not {"coreference_failures", "coreference_picks"} & set(without.tables)


def findings(counted, min_count=1, **values):
    """The findings about mistakes when a head picks the nearest mention clearly most often, but for some values."""
    accuracy, results = counted
    best = results.tables.best[results.tables.best["type"] == "all"].iloc[0]
    rows = [("antecedent", 0.5, 0.45, 0.55), ("nearest mention", 0.3, 0.25, 0.35), ("other mention", 0.1, 0.05, 0.2)]
    table = pd.DataFrame(
        [
            {**best[["type", "layer", "head", "direction", "total"]], "picked": name, "count": int(100 * value),
             "share": value, "share_low": low, "share_high": high, "nearest_share": 0.125, "nearest_low": 0.1,
             "nearest_high": 0.15} for name, value, low, high in rows
        ]
    )  # fmt: skip
    for column, value in values.items():
        table.loc[2, column] = value
    made = results._replace(failures=results.failures._replace(picked=table), min_count=min_count)
    texts = [finding.text for finding in explored_coreference(made, accuracy, "weight").findings]
    return [text for text in texts if "is wrong" in text], best


def test_the_finding_names_the_most_frequent_mistake_where_it_is_clear(counted):
    [text], best = findings(counted)
    assert f"Where head {best['layer']}-{best['head']}, the best for all mentions, is wrong" in text
    assert f"most often picks the nearest mention: for 30.0 % [25.0, 35.0] of {best['total']} mentions" in text
    assert "(the nearest candidate: 12.5 % [10.0, 15.0])" in text
    assert findings(counted, share_high=0.26)[0] == []  # the intervals overlap
    assert findings(counted, min_count=10**6)[0] == []  # too few mentions
