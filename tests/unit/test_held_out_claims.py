"""What is said of a best head: it is better than its baseline only if heads that were chosen on other text are, too."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.alignment.explored import explored_alignment
from attentionology.analyses.alignment.results import AlignmentResults, LayerChoice
from attentionology.analyses.alignment.series import Series
from attentionology.analyses.alignment.tables import AlignmentTables
from attentionology.analyses.comparison.differences import is_significant
from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.explored import explored_coreference
from attentionology.analyses.coreference.shown_tables import CoreferenceResults
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.explored import explored_dependency
from attentionology.analyses.dependency.section import DependencyResults
from attentionology.analyses.shared.ensembles import finds_more
from attentionology.analyses.shared.held_out import gain_columns, side_of_baseline
from attentionology.reports.explorer.contribution import Contribution
from tests.documents import corpus, random_document, window
from tests.maps import RELATIONS, batch_of, random_corpus

NAN = math.nan
BETTER = {"gain": 0.119, "gain_low": 0.008, "gain_high": 0.22}
"""A gain that is above 0 with its whole interval, on the data that chose the head."""
HELD_OUT = {"heldout_gain": 0.1, "heldout_gain_low": 0.001, "heldout_gain_high": 0.2}
JUST_NOT = {**HELD_OUT, "heldout_gain_low": -0.001}
WITHOUT = dict.fromkeys(HELD_OUT, NAN)
WORSE = {"heldout_gain": -0.1, "heldout_gain_low": -0.2, "heldout_gain_high": -0.001}


@pytest.mark.parametrize(
    ("changes", "side"),
    [
        (HELD_OUT, 1),
        (JUST_NOT, 0),
        (WITHOUT, 0),
        (WORSE, 0),  # better on the data that chose it, worse on other data
        ({**HELD_OUT, "gain_low": -0.001}, 0),
        ({**WORSE, "gain": -0.1, "gain_low": -0.2, "gain_high": -0.01}, -1),
        ({**WORSE, "heldout_gain_high": 0.001, "gain": -0.1, "gain_low": -0.2, "gain_high": -0.01}, 0),
        ({"gain_low": NAN, "gain_high": NAN, **WITHOUT, "heldout_gain": 0.01}, 1),  # no bootstrap
        ({"gain_low": NAN, "gain_high": NAN, **WITHOUT, "heldout_gain": 0.0}, 0),
    ],
)
def test_a_claim_needs_both_gains_on_its_side(changes, side):
    assert side_of_baseline({**BETTER, **changes}) == side


def test_heads_find_more_together_only_with_the_whole_interval():
    assert finds_more({"gain": 0.1, "gain_low": 0.001})
    assert not finds_more({"gain": 0.1, "gain_low": 0.0})
    assert not finds_more({"gain": 0.1, "gain_low": NAN})


def test_a_p_value_of_five_percent_is_not_significant():
    assert is_significant(0.0499)
    assert not is_significant(0.05)
    assert not is_significant(NAN)


def test_a_table_without_a_gain_on_the_same_data_goes_by_the_held_out_gain_alone():
    assert [side_of_baseline(row) for row in (HELD_OUT, JUST_NOT, WORSE)] == [1, 0, -1]


def test_deviations_that_cancel_out_are_no_gain():
    noise = np.array([1e-17, -1e-17, np.nan])
    assert gain_columns(0.0, noise) == {"heldout_gain": 0.0, "heldout_gain_low": 0.0, "heldout_gain_high": 0.0}


def said(contribution: Contribution) -> str:
    """All findings, phrases and facts of the page, but not what the heads are called."""
    phrases = [phrase for each in contribution.phrases.values() for phrase in each]
    return "\n".join([*(finding.text for finding in contribution.findings), *phrases])


@pytest.fixture(scope="module")
def words():
    texts, maps = random_corpus(22, sentences=20)
    for text, of_text in zip(texts, maps, strict=True):  # head 1-1 finds every word's head
        for word, head in enumerate(text.heads, start=1):
            of_text[0, 0, word, head or 0] += 100
    metric = DependencyAccuracy(RELATIONS, 2, 3, replicates=20)
    metric.update(batch_of(texts, maps))
    return metric, metric.compute()


def of_words(words, det, obj):
    """What is said of two relations, of which the second has the larger gain on the data that chose its head."""
    metric, tables = words
    best = tables.best[tables.best["relation"].isin(["det", "obj"])].set_index("relation")
    for relation, columns in (("det", {**BETTER, **det}), ("obj", {**BETTER, "gain": 0.2, **obj})):
        best.loc[relation, list(columns)] = list(columns.values())
    results = DependencyResults(tables.cells, best.reset_index(), min_count=1)
    return explored_dependency(results, metric, "weight")


def test_heads_beat_position_only_if_they_do_held_out(words):
    both = of_words(words, {**HELD_OUT, "heldout_gain": 0.15}, HELD_OUT)
    text = both.findings[0].text
    assert text.startswith("For 2 of 2 relations with at least 1 words, one head finds the other word more often than")
    assert text.index("det by head") < text.index("obj by head")  # the largest held-out gain comes first
    assert "held out +15.0 points [0.1, 20.0]" in text
    assert {fact.label.split(",")[0] for each in both.facts.values() for fact in each} == {"det", "obj"}
    for relation in (JUST_NOT, WITHOUT, WORSE):
        one = of_words(words, HELD_OUT, relation)
        assert one.findings[0].text.startswith("For 1 of 2 relations")
        assert "For 1 of 2 relations with at least 1 words, no head is clearly better" in said(one)
        assert "best head for obj" not in said(one)
        assert "best head for det" in said(one)
        assert {fact.label.split(",")[0] for each in one.facts.values() for fact in each} == {"det"}


@pytest.fixture(scope="module")
def mentions():
    rng = np.random.default_rng(1)
    docs = [random_document(rng, f"d{n}") for n in range(8)]
    windows = [window(one) for one in docs]
    metric = CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=20)
    size = [len(each) + 2 for each in windows]
    metric.update(batch_of(windows, [rng.random((2, 3, n, n)).astype(np.float32) for n in size]))
    return metric, metric.compute()


def of_mentions(mentions, changes, min_count=1):
    metric, tables = mentions
    best = tables.best[tables.best["type"] == "all"].assign(**BETTER, **changes)
    return explored_coreference(CoreferenceResults(tables._replace(best=best), min_count=min_count), metric, "weight")


def test_heads_beat_the_rules_only_if_they_do_held_out(mentions):
    claim = of_mentions(mentions, HELD_OUT)
    assert "more than the rules (+10.0 points [0.1, 20.0])" in claim.findings[0].text
    assert "better than the rules do, by +11.9 points [0.8, 22.0]; held out +10.0 points [0.1, 20.0]" in said(claim)
    for changes in (JUST_NOT, WORSE):
        none = of_mentions(mentions, changes)
        assert "neither clearly more nor clearly less than the rules" in none.findings[0].text
        assert "better than the rules do" not in said(none)
        assert "but not clearly better than the rules" in said(none)
    for changes, min_count in ((WITHOUT, 1), (HELD_OUT, 10**6)):  # no held-out value, or too few mentions
        silent = of_mentions(mentions, changes, min_count)
        assert "more" not in silent.findings[0].text
        assert "Held out" not in silent.findings[0].text
        assert "better than the rules do" not in said(silent)


def of_pairs(changes):
    series = {"setting": "AWI", "measure": "norm", "heads": "single", "direction": "forward"}
    head = {**series, "layer": 1, "error_rate": 0.2, "low": 0.1, "high": 0.3, "on_special": 0.0}
    cells = pd.DataFrame([{**head, "head": 1}, {**head, "head": 2, "error_rate": 0.4, "low": 0.3, "high": 0.5}])
    best = pd.DataFrame([{**head, "head": 1, "heldout_error_rate": 0.25, **changes}])
    baselines = pd.DataFrame([{"name": "diagonal", "error_rate": 0.35, "low": 0.32, "high": 0.38}])
    tables = AlignmentTables(cells, best, pd.DataFrame(), pd.DataFrame(), baselines)
    chosen = LayerChoice(Series("AWI", "norm"), 0, by_gold=True)
    return said(explored_alignment(AlignmentResults("cross-attention", tables, (), chosen)))


def test_heads_beat_the_best_baseline_only_if_they_do_held_out():
    assert "the best heads are better than the best baseline (+10.0 points [0.1, 20.0])" in of_pairs(HELD_OUT)
    assert "neither clearly better nor clearly worse than the best baseline" in of_pairs(JUST_NOT)
    assert "the best heads are worse than the best baseline (-10.0 points" in of_pairs(WORSE)
    assert "than the best baseline" not in of_pairs(WITHOUT)
    lowest = "the lowest alignment error rate of all heads, 20.0 % [10.0, 30.0] by norm (AWI)"
    assert f"{lowest}; held out, the best ones have 25.0 %." in of_pairs(HELD_OUT)
