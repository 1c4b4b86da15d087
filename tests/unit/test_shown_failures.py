"""The tables of failures say what their files say, and the finding names a mistake only where it is clearly first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from attentionology.analyses.contract import OptionError, Titles
from attentionology.analyses.dependency.explored import explored_dependency
from attentionology.analyses.dependency.failure_tables import by_relation, failure_tables, shown_failures
from attentionology.analyses.dependency.failures import DependencyFailures
from attentionology.analyses.dependency.section import DependencyResults, dependency_section
from attentionology.analyses.shared.options import FailureOptions
from tests.maps import RELATIONS, batch_of, counted_words, random_corpus
from tests.shown_tables import Columns, cells, distinct, in_latex, in_terminal, on_page


@pytest.fixture(scope="module")
def counted():
    accuracy, failures = counted_words(), DependencyFailures(RELATIONS, 2, 3)
    failures.update(batch_of(*random_corpus(0)))
    tables = accuracy.compute()
    failed = failure_tables(failures, tables.best, tables.cells, ["best"])
    return accuracy, DependencyResults(tables.cells, tables.best, (), 20, (), failed)


@pytest.mark.parametrize("number", [0, 1])
def test_tables_say_what_the_csv_files_say(counted, number):
    table = distinct(counted[1].failures[number])
    shown = shown_failures(counted[1].failures._replace(**{("failures", "picked")[number]: table}), 20)[number]
    rows: list[Any] = [
        row for row in table.to_dict("records") if row["relation"] in {r["relation"] for r in shown.rows}
    ]
    arrows = {"dep->head": "dep→head", "head->dep": "head→dep"}
    share = ("accuracy", "share")[number]
    columns: Columns = {
        "relation": "relation",
        "direction": lambda row: arrows[row["direction"]],
        **({"picked": "picked", "words": ",d count"} if number else {"by": "by", "class": "class"}),
        "n": ",d total",
        share: f"% {share} {share}_low {share}_high",
        "offset": f"% offset_{share} offset_low offset_high",
    }
    for heading, unit, read in (
        ("attention head", " %", (on_page(shown), in_latex(shown))), ("head", "", (in_terminal(shown, 200),)),
    ):  # fmt: skip
        expected = cells(rows, {**columns, heading: lambda row: f"{row['layer']}-{row['head']}"}, unit)
        assert all(with_hyphens(each) == with_hyphens(expected) for each in read)


def with_hyphens(rows):
    return [{name: text.replace("−", "-") for name, text in row.items()} for row in rows]


def test_each_relation_has_a_tab_with_its_rows(counted):
    results = counted[1]
    failures, picked = shown_failures(results.failures, 1)
    tabs = by_relation(failures, picked)
    assert [name for name, _, _ in tabs] == list(dict.fromkeys(row["relation"] for row in picked.rows))
    assert len(tabs) > 1
    for name, of_picks, of_failures in tabs:
        for part, whole in ((of_picks, picked), (of_failures, failures)):
            assert on_page(part) == [cells for cells in on_page(whole) if cells["relation"] == name]
            assert on_page(part)
    assert dependency_section(results, Titles("m", "c")).context["failures"]


def test_the_section_writes_both_tables(counted):
    results = counted[1]
    section = dependency_section(results, Titles("m", "c"))
    assert section.tables["dependency_failures"] is results.failures.failures
    assert section.tables["dependency_picks"] is results.failures.picked
    assert "dependency_picks" not in dependency_section(replace(results, failures=None), Titles("m", "c")).tables


def findings(counted, **values):
    """The findings about mistakes when a head picks siblings clearly most often, but for some values."""
    accuracy, results = counted
    best = results.best[results.best["relation"] == "obj"].iloc[0]
    rows = [("head", 0.5, 0.45, 0.55), ("sibling", 0.3, 0.25, 0.35), ("punctuation", 0.1, 0.05, 0.2)]
    table = pd.DataFrame(
        [
            {**best[["relation", "layer", "head", "direction", "total"]], "picked": name, "count": int(100 * value),
             "share": value, "share_low": low, "share_high": high, "offset_share": 0.125, "offset_low": 0.1,
             "offset_high": 0.15} for name, value, low, high in rows
        ]
    )  # fmt: skip
    for column, value in values.items():
        table.loc[2, column] = value
    made = replace(results, failures=results.failures._replace(picked=table), min_count=1)
    found = [one for one in explored_dependency(made, accuracy, "weight").findings if "mistakes" in one.text]
    assert all(one.address.endswith("&show=wrong:sibling") for one in found)
    return [one.text for one in found], best


def test_the_finding_names_the_most_frequent_mistake_where_it_is_clear(counted):
    [text], best = findings(counted)
    assert f"for obj, head {best['layer']}-{best['head']} picks another dependent of its head for 30.0 %" in text
    assert f"of {best['total']} words" in text
    assert "offset: 12.5 %" in text
    assert findings(counted, share_high=0.26)[0] == []  # the intervals overlap


@pytest.mark.parametrize("name", ["8", "0-1", "all", "3-x"])
def test_heads_must_be_named(name):
    with pytest.raises(OptionError, match="--failures takes 'best' or heads"):
        FailureOptions(failures=(name,)).check()
