"""The tables of the coreference analysis say what their CSV files say, wherever they are shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.contrasts import CONTRASTS
from attentionology.analyses.coreference.shown_tables import (
    CoreferenceResults,
    best_table,
    candidates_table,
    shown_tables,
)
from attentionology.analyses.shared.best_head import with_control
from tests.documents import corpus, random_document, window
from tests.maps import batch_of
from tests.shown_tables import as_shown, distinct, in_brackets, in_latex, in_terminal, on_page, percent

MIN_COUNT = 20
ARROWS = {"mention->antecedent": "m→ante", "antecedent->mention": "ante→m"}
BASELINES = {
    "nearest": "nearest_accuracy",
    "same head word": "head_match_accuracy",
    "rules": "rule_based_accuracy",
    "chance": "random_accuracy",
}
HELD_OUT_GAIN = "heldout_gain heldout_gain_low heldout_gain_high"


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(1)
    labels = CONTRASTS[0]
    docs = [replace(random_document(rng, f"d{n}"), labels=(labels[n % 2],)) for n in range(8)]
    windows = [window(one) for one in docs]
    metric = CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=20)
    sizes = [len(each) + 2 for each in windows]
    metric.update(batch_of(windows, [rng.random((2, 3, n, n)).astype(np.float32) for n in sizes]))
    tables = metric.compute()
    best = distinct(with_control(tables.best, [tables.best], key=("candidates", "type")))
    changed = tables._replace(
        best=best,
        contrasts=distinct(tables.contrasts),
        largest_contrasts=distinct(tables.largest_contrasts),
    )
    account = {"anaphors": 99, "scored": 77, "no answer": 3, "documents": 8}
    return CoreferenceResults(changed, (tables.best,), account=account, min_count=MIN_COUNT)


def head_of(row):
    return f"{row['layer']}-{row['head']}"


def n_of(row):
    return f"{row['total']:,}" if row["total"] >= MIN_COUNT else f"({row['total']:,})"


def best_rows(results, policies):
    best = results.tables.best
    of_policies = [best[best["candidates"] == policy] for policy in policies]
    return [row for rows in of_policies for row in rows.to_dict("records") if row["total"]]


def equal(row):
    return f" ({row['tied']} equal)" if row["tied"] > 1 else ""


def test_best_heads_on_the_page_and_in_latex(results):
    expected = [
        {
            "mentions": row["type"],
            "n": n_of(row),
            "attention head": head_of(row) + equal(row),
            "direction": ARROWS[row["direction"]],
            "accuracy %": as_shown(row, "accuracy accuracy_low accuracy_high"),
            "held-out %": as_shown(row, "heldout_accuracy heldout_min heldout_max"),
            **{f"{heading} %": percent(row[name]) for heading, name in BASELINES.items()},
            "gain over rules": as_shown(row, "gain gain_low gain_high", "+"),
            "held-out gain": as_shown(row, HELD_OUT_GAIN, "+"),
            "random weights %": percent(row["control_accuracy"]),
        }
        for row in best_rows(results, ["preceding"])
    ]
    table = best_table(results)
    assert len(expected) > 2
    assert on_page(table) == in_latex(table) == expected


def test_best_heads_in_a_wide_terminal(results):
    expected = [
        {
            "mentions": row["type"],
            "n": n_of(row),
            "head": head_of(row),
            "direction": ARROWS[row["direction"]],
            "accuracy": as_shown(row, "accuracy accuracy_low accuracy_high"),
            "held-out": percent(row["heldout_accuracy"]),
            "nearest": percent(row["nearest_accuracy"]),
            "same head": percent(row["head_match_accuracy"]),
            "rules": percent(row["rule_based_accuracy"]),
            "held-out gain": as_shown(row, HELD_OUT_GAIN, "+"),
            "random": percent(row["control_accuracy"]),
        }
        for row in best_rows(results, ["preceding"])
    ]
    assert in_terminal(best_table(results), 200) == expected


def test_other_candidates(results):
    (others,) = (table for table in shown_tables(results) if table.name == "coreference_others")
    words = {"mentions": "head words of all other mentions", "words": "all other words"}
    expected = [
        {
            "candidates": words[row["candidates"]],
            "mentions": row["type"],
            "n": n_of(row),
            "attention head": head_of(row) + equal(row),
            "direction": ARROWS[row["direction"]],
            "accuracy %": as_shown(row, "accuracy accuracy_low accuracy_high"),
            "held-out %": as_shown(row, "heldout_accuracy heldout_min heldout_max"),
            "random weights %": percent(row["control_accuracy"]),
        }
        for row in best_rows(results, ["mentions", "words"])
    ]
    assert on_page(others) == in_latex(others) == expected


def test_groups_of_documents(results):
    (groups,) = (table for table in shown_tables(results) if table.name == "coreference_contrasts")
    contrasts = results.tables.contrasts
    rows = contrasts[contrasts["candidates"] == "preceding"].to_dict("records")
    expected = [
        {
            "attention head": head_of(row),
            "direction": ARROWS[row["direction"]],
            "first group": f"{row['first']} (n = {row['first_total']:,})",
            "first %": percent(row["first_accuracy"]),
            "second group": f"{row['second']} (n = {row['second_total']:,})",
            "second %": percent(row["second_accuracy"]),
            "difference": as_shown(row, "difference difference_low difference_high", "+"),
            "ratio": f"{row['ratio']:.2f}",
        }
        for row in rows
    ]
    assert len(rows) == 1
    assert on_page(groups) == in_latex(groups) == expected


def test_largest_differences(results):
    (largest,) = (table for table in shown_tables(results) if table.name.startswith("coreference_largest"))
    contrasts = results.tables.largest_contrasts
    expected = [
        {
            "higher in": row["higher"],
            "attention head": head_of(row),
            "direction": ARROWS[row["direction"]],
            "first group %": percent(row["first_accuracy"]),
            "second group %": percent(row["second_accuracy"]),
            "difference": as_shown(row, "difference difference_low difference_high", "+"),
            "for all heads at once": in_brackets(row["simultaneous_low"], row["simultaneous_high"]).strip(),
            "held-out": as_shown(row, "heldout_difference heldout_min heldout_max", "+"),
            "chosen again": f"{row['heldout_same']} of {row['heldout_choices']}",
        }
        for row in contrasts[contrasts["candidates"] == "preceding"].to_dict("records")
    ]
    assert len(expected) > 1
    assert on_page(largest) == in_latex(largest) == expected
    said = " ".join(best_table(results).notes)
    for row in expected[:1]:
        assert f"{row['difference'].split()[0]} {row['for all heads at once']} in head {row['attention head']}" in said


def test_the_papers_numbers(results):
    numbers = {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58}
    tables = shown_tables(results._replace(published={"head 5-4": numbers}))
    (published,) = (table for table in tables if table.name == "coreference_published")
    expected = [{"method": "head 5-4", **{name: str(value) for name, value in numbers.items()}}]
    assert on_page(published) == in_latex(published) == expected


def test_candidates_of_a_decision():
    candidates = [{"text": "the cat", "head": "cat", "weight": 0.1234, "rank": 2, "antecedent": True}]
    expected = {"candidate": "the cat", "head word": "cat", "weight": "0.12", "rank of 7": "2", "right": "antecedent"}
    assert on_page(candidates_table({"of": 7, "candidates": candidates})) == [expected]
    wrong = candidates_table({"of": 7, "candidates": [{**candidates[0], "antecedent": False}]})
    assert on_page(wrong) == [{**expected, "right": ""}]
