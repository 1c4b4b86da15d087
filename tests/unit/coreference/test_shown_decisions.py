"""The candidates of a decision and the finding about the best head say what their rows say."""

from __future__ import annotations

import pytest

from attentionology.analyses.coreference.explored import explored_coreference
from attentionology.analyses.coreference.shown_tables import CoreferenceResults, candidates_table
from tests.documents import counted_mentions
from tests.shown_tables import as_shown, distinct, on_page, with_unit


def test_candidates_of_a_decision():
    candidates = [{"text": "the cat", "head": "cat", "weight": 0.1234, "rank": 2, "antecedent": True}]
    expected = {"candidate": "the cat", "head word": "cat", "weight": "0.12", "rank of 7": "2", "right": "antecedent"}
    assert on_page(candidates_table({"of": 7, "candidates": candidates})) == [expected]
    wrong = candidates_table({"of": 7, "candidates": [{**candidates[0], "antecedent": False}]})
    assert on_page(wrong) == [{**expected, "right": ""}]


def test_the_finding_has_the_numbers_of_the_best_head():
    metric = counted_mentions()
    tables = metric.compute()
    best = distinct(tables.best[tables.best["type"] == "all"])
    (row,) = best[best["candidates"] == best["candidates"].iloc[0]].to_dict("records")
    (finding, *_) = explored_coreference(
        CoreferenceResults(tables._replace(best=best), min_count=1), metric, "weight"
    ).findings
    accuracy = with_unit(row, "accuracy accuracy_low accuracy_high", "%")
    rules, held_out = (as_shown(row, f"{name}_accuracy") for name in ("rule_based", "heldout"))
    gain = with_unit(row, "heldout_gain heldout_gain_low heldout_gain_high", "points", "+")
    assert finding.text == (
        f"Head {row['layer']}-{row['head']} finds an antecedent of {accuracy} of {row['total']:,} mentions, and the "
        f"rules of {rules} %. Held out, the best heads have {held_out} %, more than the rules ({gain})."
    )


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.2, "more than"),
        (-0.2, -0.01, "less than"),
        (-0.1, 0.1, "neither clearly more nor clearly less than"),
    ],
)
def test_the_finding_says_on_which_side_of_the_rules_the_heads_are(low, high, verdict):
    metric = counted_mentions()
    tables = metric.compute()
    gains = {
        f"{name}{end}": value for name in ("gain", "heldout_gain") for end, value in (("_low", low), ("_high", high))
    }
    best = tables.best[tables.best["type"] == "all"].assign(gain=low, heldout_gain=low, heldout_accuracy=0.25, **gains)
    results = CoreferenceResults(tables._replace(best=best), min_count=1)
    (finding, *_) = explored_coreference(results, metric, "weight").findings
    assert f"Held out, the best heads have 25.0 %, {verdict} the rules (" in finding.text
