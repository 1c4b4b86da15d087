"""The tables of failures say what their files say, and the finding names a mistake only where it is clearly first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.contract import Titles
from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.explored import explored_coreference
from attentionology.analyses.coreference.failure_tables import failure_tables
from attentionology.analyses.coreference.failures import CoreferenceFailures
from attentionology.analyses.coreference.section import coreference_section
from attentionology.analyses.coreference.shown_tables import CoreferenceResults, shown_tables
from tests.documents import corpus, random_document, window
from tests.maps import batch_of
from tests.shown_tables import as_shown, distinct, in_latex, in_terminal, on_page

ACCOUNT = {"anaphors": 99, "scored": 77, "no answer": 3, "documents": 8, "forced": 0}


@pytest.fixture(scope="module")
def counted():
    rng = np.random.default_rng(1)
    docs = [random_document(rng, f"d{n}") for n in range(12)]
    windows = [window(one) for one in docs]
    batch = batch_of(windows, [rng.random((2, 3, len(w) + 2, len(w) + 2)).astype(np.float32) for w in windows])
    accuracy, failures = CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=20), CoreferenceFailures(2, 3)
    for metric in (accuracy, failures):
        metric.update(batch)
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
    beside = {"nearest": "nearest", "same head word": "head_match", "rules": "rule_based"}
    for page in (True, False):
        unit = " %" if page else ""
        expected = []
        for row in rows:
            cells = {
                "mentions": row["type"],
                "attention head" if page else "head": f"{row['layer']}-{row['head']}",
                "direction": arrows[row["direction"]],
            }
            if name == "failures":
                cells |= {"by": row["by"], "class": row["class"], "n": f"{row['total']:,}"}
                cells[f"accuracy{unit}"] = as_shown(row, "accuracy accuracy_low accuracy_high")
            else:
                cells |= {"picked": row["picked"], "picks": f"{row['count']:,}", "n": f"{row['total']:,}"}
                cells[f"share{unit}"] = as_shown(row, "share share_low share_high")
            share = "accuracy" if name == "failures" else "share"
            for heading, column in beside.items():
                cells[f"{heading}{unit}"] = as_shown(row, f"{column}_{share} {column}_low {column}_high")
            expected.append(cells)
        assert len(expected) > 10
        for read in (on_page(shown), in_latex(shown)) if page else (in_terminal(shown, 250),):
            assert read == expected


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
