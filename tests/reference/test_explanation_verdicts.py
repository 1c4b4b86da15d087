"""Means, intervals and verdicts against plain loops and by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.counting.resampling import poisson_weights
from attentionology.analyses.explanation.attention.readings import ModelReading
from attentionology.analyses.explanation.contract.explanation_test import Question
from attentionology.analyses.explanation.contract.summary import OVERALL, Bootstrap, quality, summarize
from attentionology.analyses.explanation.contract.verdict import FEWEST, verdicts
from attentionology.analyses.explanation.methods.correlation import (
    mark_significant,
)
from attentionology.analyses.explanation.methods.erasure import flip_table
from attentionology.analyses.explanation.methods.regularizers import _summarize as regularizers_of
from tests.reference.explained import TEXTS, some_texts


def test_the_bootstrap_equals_the_naive_loop():
    texts = [*some_texts([3, 4, 5, 6, 7, 8], seed=1), ("the", "same"), ("the", "same")]
    values = np.random.default_rng(0).normal(size=(8, 3))
    values[2:5, 1] = math.nan
    values[:, 2] = math.nan
    low, high = Bootstrap(texts, 60, seed=3)(values)
    drawn = poisson_weights(["\x1f".join(text) for text in texts], 60, 3).astype(int)
    assert (drawn[:, 6] == drawn[:, 7]).all()
    for c in range(2):
        means = []
        for times in drawn:
            sample = [x for x, t in zip(values[:, c], times, strict=True) for _ in range(t) if not math.isnan(x)]
            if sample:
                means.append(np.mean(sample))
        np.testing.assert_allclose([low[c], high[c]], np.quantile(means, (0.025, 0.975)), atol=1e-12)
    assert np.isnan([low[2], high[2]]).all()


def test_the_bootstrap_without_replicates_gives_no_intervals():
    low, high = Bootstrap(TEXTS, 0)(np.ones((len(TEXTS), 2)))
    assert low.shape == high.shape == (2,)
    assert np.isnan([low, high]).all()


def test_words_are_kept_apart_when_texts_are_drawn():
    weights = Bootstrap([("a b",), ("a", "b"), ("ab",)], 200).weights
    assert len(np.unique(weights, axis=1).T) == 3


def test_intervals_cover_the_mean_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    hits = []
    texts = [(str(i),) for i in range(60)]
    for seed in range(300):
        values = rng.exponential(size=(60, 1)) - 1
        (low,), (high,) = Bootstrap(texts, 200, seed)(values)
        hits.append(low <= 0 <= high)
    assert 0.88 < np.mean(hits) < 0.98


TABLE = pd.DataFrame(
    {
        "predicted": [0, 0, 0, 1, 1],
        "a": [1.0, 2.0, math.nan, 4.0, 8.0],
        "b": [math.nan] * 5,
        "p_loo": [0.05, 0.051, math.nan, 0.0, 1.0],
    }
)


def test_means_by_class_worked_by_hand():
    texts = [(str(i),) for i in range(5)]
    found = summarize(TABLE, {"t": ["a", "b"], "u": ["a"]}, ["no", "yes", "never"], Bootstrap(texts, 100))
    assert found[["test", "measure", "predicted"]].to_numpy().tolist() == [
        [test, measure, group]
        for test, measures in (("t", "ab"), ("u", "a"))
        for group in (OVERALL, "no", "yes", "never")
        for measure in measures
    ]
    a = found[(found["test"] == "t") & (found["measure"] == "a")].set_index("predicted")
    assert a["n"].to_dict() == {OVERALL: 4, "no": 2, "yes": 2, "never": 0}
    assert a["undefined"].to_dict() == {OVERALL: 1, "no": 1, "yes": 0, "never": 0}
    assert a["mean"].to_dict() == pytest.approx({OVERALL: 3.75, "no": 1.5, "yes": 6.0, "never": math.nan}, nan_ok=True)
    assert a["sd"]["yes"] == pytest.approx(math.sqrt(8))
    assert a["median"][OVERALL] == 3.0
    assert 1 <= a["low"][OVERALL] < 3.75 < a["high"][OVERALL] <= 8
    b = found[found["measure"] == "b"]
    assert b[["mean", "sd", "median", "low", "high"]].isna().all(axis=None)
    assert b["undefined"].tolist() == [5, 3, 2, 0]
    alone = summarize(TABLE[:1], {"t": ["a"]}, ["no"], Bootstrap(texts[:1], 0))
    assert alone[["n", "mean"]].to_numpy().tolist() == [[1, 1.0], [1, 1.0]]
    assert alone[["sd", "low", "high"]].isna().all(axis=None)


def test_a_class_may_be_called_like_the_whole():
    found = summarize(TABLE, {"t": ["a"]}, [OVERALL, "yes"], Bootstrap([(str(i),) for i in range(5)], 10))
    assert found["n"].tolist() == [4, 2, 2]


def test_one_text_has_no_interval():
    low, high = Bootstrap([("a",), ("b",)], 100)(np.array([[1.0], [math.nan]]))
    assert np.isnan([low, high]).all()


def test_significant_up_to_and_with_five_percent():
    found = mark_significant(TABLE)
    assert list(found) == ["significant_loo"]
    np.testing.assert_equal(found["significant_loo"], [1, 0, math.nan, 1, 0])


def test_flips_worked_by_hand():
    table = pd.DataFrame(
        {
            "single_x_top_flip": [1, 1, 1, 0, 0, 0, math.nan, 1],
            "single_x_random_flip": [1, 0, 0, 1, 0, 0, math.nan, 0],
        }
    )
    assert flip_table(table, ["x"]).to_dict("records") == [
        {"measure": "x", "n": 7, "both": 1, "only_top": 3, "only_random": 1, "neither": 2}
    ]
    assert flip_table(table, []).columns.tolist() == ["measure", "n", "both", "only_top", "only_random", "neither"]


def test_quality_worked_by_hand():
    """Of class 1: 2 of 3 found, 1 of 3 wrong. One of 6 pairs is in the wrong order."""
    second = np.array([0.9, 0.4, 0.6, 0.7, 0.2])
    found = quality(np.stack([1 - second, second], axis=1), np.array([1, 1, 1, 0, 0]))
    assert found == pytest.approx({"accuracy": 3 / 5, "f1": 2 / 3, "macro_f1": (2 / 3 + 1 / 2) / 2, "auc": 1 - 2 / 6})
    three = quality(np.eye(3)[[0, 1, 2, 2]], np.array([0, 1, 2, 0]))
    assert three["accuracy"] == 3 / 4
    assert math.isnan(three["f1"])
    assert three["macro_f1"] == pytest.approx((2 / 3 + 1 + 2 / 3) / 3)
    assert three["auc"] == pytest.approx((0.75 + 1 + 5 / 6) / 3)
    same = quality(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1, 1]))
    assert [same["accuracy"], same["f1"]] == pytest.approx([0.5, 2 / 3])
    assert math.isnan(same["auc"])


class Told(Bootstrap):
    """An interval of our choice."""

    def __init__(self, low, high, count=FEWEST):
        super().__init__([(str(i),) for i in range(count)], 1)
        self.bounds = low, high

    def __call__(self, values):
        return np.full(values.shape[1], self.bounds[0]), np.full(values.shape[1], self.bounds[1])


QUESTION = Question("?", "this against that", "x", "z", "yes", "no", searched="w")


def verdict(table, bootstrap, **options):
    found = verdicts(table, bootstrap, questions=[("t", QUESTION)], **options)
    return found.to_dict("records")[0] if len(found) else None


@pytest.mark.parametrize(
    ("low", "high", "n", "expected"),
    [
        (0.1, 0.2, FEWEST, "passes"),
        (0.1, 0.2, FEWEST - 1, "undecided"),
        (0.0, 0.2, FEWEST, "undecided"),
        (-0.1, 0.0, FEWEST, "undecided"),
        (0.0, 0.0, FEWEST, "undecided"),
        (-0.2, -0.1, FEWEST, "fails"),
        (-0.2, -0.1, 3, "undecided"),
        (math.nan, math.nan, FEWEST, "undecided"),
        (5e-324, 1.0, FEWEST, "passes"),
    ],
)
def test_only_an_interval_without_zero_decides(low, high, n, expected):
    table = pd.DataFrame({"x": [1.0] * n + [math.nan] * 7, "z": 0.0})
    found = verdict(table, Told(low, high, n + 7))
    assert found is not None
    assert (found["verdict"], found["n"]) == (expected, n)
    undecided = (
        "There is no interval" if math.isnan(low) else "The interval includes 0" if n >= FEWEST else f"Only {n} "
    )
    assert found["meaning"].startswith({"passes": "yes", "fails": "no"}.get(expected, undecided))
    np.testing.assert_equal([found["low"], found["high"]], [low, high])


def test_a_verdict_is_about_texts_that_have_both_columns():
    n = 40
    table = pd.DataFrame({"x": [3.0] * n, "z": np.arange(n) / n})
    table.loc[:4, "x"] = math.nan
    table.loc[36:, "z"] = math.nan
    found = verdict(table, Bootstrap([(str(i),) for i in range(n)], 200))
    assert found is not None
    mean = np.arange(5, 36).mean() / n
    assert (found["larger"], found["smaller"], found["n"]) == ("x", "z", 31)
    assert [found["larger_mean"], found["smaller_mean"], found["difference"]] == pytest.approx([3, mean, 3 - mean])
    assert found["low"] < found["difference"] < found["high"]
    assert found["verdict"] == "passes"


def test_questions_whose_columns_are_not_there_are_left_out():
    table = pd.DataFrame({"x": [0.3] * FEWEST})
    assert verdict(table, Told(1.0, 1.0)) is None
    assert verdict(table.rename(columns={"x": "z"}), Told(1.0, 1.0)) is None


def test_a_question_without_any_text_is_undecided_and_not_left_out():
    found = verdict(pd.DataFrame({"x": [math.nan] * FEWEST, "z": [1.0] * FEWEST}), Told(math.nan, math.nan))
    assert found is not None
    assert (found["verdict"], found["n"], found["meaning"]) == ("undecided", 0, "No text has both values.")
    assert np.isnan([found["difference"], found["larger_mean"], found["smaller_mean"]]).all()


def test_what_only_a_search_found_is_never_passed():
    """The search may have missed it. An exact number counts before that of the search, if there is one."""
    table = pd.DataFrame({"x": [1.0] * FEWEST, "w": [0.5] * FEWEST})
    found = verdict(table, Told(0.4, 0.6))
    assert found is not None
    assert (found["smaller"], found["verdict"]) == ("w", "undecided")
    found = verdict(table, Told(-0.6, -0.4))
    assert found is not None
    assert found["verdict"] == "fails"
    found = verdict(table.assign(z=0.25), Told(0.4, 0.6))
    assert found is not None
    assert (found["smaller"], found["smaller_mean"], found["verdict"]) == ("z", 0.25, "passes")


def test_the_first_search_of_several_replaces_the_exact_number():
    several = Question("?", "this against that", "x", "z", "yes", "no", searched=("v", "w"))
    assert several.columns == ("x", "z", "v", "w")
    assert QUESTION.columns == ("x", "z", "w")
    table = pd.DataFrame({"x": [1.0] * FEWEST, "w": [0.5] * FEWEST, "v": [0.75] * FEWEST})
    for columns, smaller, decision in ((["x", "w", "v"], "v", "undecided"), (["x", "w"], "w", "undecided")):
        found = verdicts(table[columns], Told(0.1, 0.2), questions=[("t", several)]).to_dict("records")
        assert [(row["smaller"], row["verdict"]) for row in found] == [(smaller, decision)]
    found = verdicts(table.assign(z=0.0), Told(0.1, 0.2), questions=[("t", several)]).to_dict("records")
    assert [(row["smaller"], row["verdict"]) for row in found] == [("z", "passes")]


def test_the_tolerance_is_a_floor():
    table = pd.DataFrame({"permutation_tvd": [0.3] * FEWEST})
    found = verdicts(table, Told(0.1, 0.1), epsilon=0.2).to_dict("records")
    assert [(row["larger"], row["smaller"], row["smaller_mean"]) for row in found] == [
        ("permutation_tvd", "epsilon", pytest.approx(0.2))
    ]
    assert "epsilon" not in table


@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_decides_nothing(sign):
    """Equal numbers that were computed in two ways, such as a mean over draws that are all alike."""
    value = 0.1
    table = pd.DataFrame({"x": [value] * 50, "z": [value + sign * 1e-16] * 50})
    bootstrap = Bootstrap([(str(i),) for i in range(50)], 100)
    assert (table["x"] != table["z"]).all()
    found = verdict(table, bootstrap)
    assert found is not None
    assert (found["verdict"], found["low"], found["high"]) == ("undecided", 0, 0)
    found = verdict(table.assign(z=value - sign * 1e-5), bootstrap)
    assert found is not None
    assert found["verdict"] == ("passes" if sign > 0 else "fails")


@pytest.mark.parametrize(
    ("different", "decision", "meaning"),
    [
        (1, "undecided", "Only 1 different text has both values, which is too few."),
        (FEWEST - 1, "undecided", f"Only {FEWEST - 1} different texts have both values, which is too few."),
        (FEWEST, "passes", QUESTION.passed),
    ],
)
def test_copies_of_one_text_are_one_text(different, decision, meaning):
    """Those that are different and have both values are counted, and decide."""
    table = pd.DataFrame({"x": [1.0] * 50 + [math.nan] * 9, "z": [0.5] * 59})
    texts = [(str(index % different),) for index in range(50)] + [("other", str(index)) for index in range(9)]
    found = verdict(table, Bootstrap(texts))
    assert found is not None
    assert (found["n"], found["verdict"], found["meaning"]) == (different, decision, meaning)


def test_a_reading_knows_what_is_predicted():
    found = ModelReading([np.ones((1, 1))] * 2, np.array([[0.2, 0.8], [0.6, 0.4]]))
    assert found.probabilities.argmax(1).tolist() == [1, 0]


def test_regularizers_are_compared_in_every_measure_but_the_predicted_class():
    measured = {
        name: pd.DataFrame({"predicted": [0, 1, 1], "correct": [1.0, 0.0, 1.0], "tau": [0.25, 0.5, tau]})
        for name, tau in (("none", 0.75), ("tying", 1.5))
    }
    found = regularizers_of(measured, ["no", "yes"], Bootstrap([(str(i),) for i in range(3)], 0))["regularizers"]
    assert found[["regularizer", "measure", "n"]].to_numpy().tolist() == [
        [name, measure, 3] for name in ("none", "tying") for measure in ("accuracy", "tau")
    ]
    assert found["mean"].tolist() == pytest.approx([2 / 3, 0.5, 2 / 3, 0.75])
