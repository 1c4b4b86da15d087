"""Differences between runs: held-out values, intervals and adjusted p values against naive computations."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from attentionology.analyses.comparison.differences import Difference, differences, holm
from attentionology.analyses.counting.comparable import Comparable, Measured, measured_heads
from attentionology.analyses.counting.outcomes import SPLITS, Counts
from attentionology.analyses.counting.resampling import halves, poisson_weights
from tests.reference.naive import of_splits

DIRECTIONS = ("dep->head", "head->dep")
REPLICATES = 120


def sample(rng, ids, accuracies, *, ease=None, words=3):
    """Whether each head is right for each word: sentences differ in how easy they are for all heads.

    Returns:
        hits, shape (words, heads), and the sentence of each word.
    """
    ease = rng.normal(size=len(ids)) if ease is None else ease
    sentence = np.repeat(np.arange(len(ids)), words)
    latent = 0.8 * ease[sentence, None] + 0.6 * rng.normal(size=(len(sentence), len(accuracies)))
    return latent < np.array([NormalDist().inv_cdf(accuracy) for accuracy in accuracies]), sentence


def counts(ids, hits, sentence, group=None, replicates=REPLICATES):
    """The counts of right decisions of heads in one layer and one direction."""
    group = np.zeros(len(sentence), dtype=int) if group is None else group
    subsets = np.concatenate([np.ones((1, len(ids)), dtype=bool), halves(ids, SPLITS)])

    def of(weights):
        by_word = weights[:, sentence].astype(float)
        of_group = [group == index for index in range(group.max() + 1)]
        correct = np.stack([by_word[:, rows] @ hits[rows] for rows in of_group]).astype(np.int64)
        total = np.stack([by_word[:, rows].sum(1) for rows in of_group]).astype(np.int64)
        return Counts(correct[:, :, None, None], np.zeros((*total.shape, 0)), total)

    return of(subsets), of(poisson_weights(ids, replicates))


def family(ids, hits, sentence, group=None, names=("nsubj",)):
    groups = {name: [index] for index, name in enumerate(names)}
    subsets, replicates = counts(ids, hits, sentence, group)
    measured = measured_heads(groups, subsets, replicates, DIRECTIONS[:1])
    return Comparable("relations", measured, "words whose head is found", "words", 0)


def numbers(row: Difference):
    return np.array([row.difference, row.low, row.high, row.p, row.p_holm])


def naive_value(ids, hits, sentence):
    """The held-out accuracy, one sentence at a time."""
    first = halves(ids, SPLITS)
    right = scored = 0.0
    for split, choose in itertools.product(range(SPLITS), (True, False)):
        best, most = None, -1.0
        for head in range(hits.shape[1]):
            correct = 0.0
            for word, of in enumerate(sentence):
                correct += float(hits[word, head]) * (first[split, of] == choose)
            if correct >= most:  # the later head wins a tie
                best, most = head, correct
        for word, of in enumerate(sentence):
            if first[split, of] != choose:
                right += float(hits[word, best])
                scored += 1.0
    return right / scored


def naive_deviations(ids, hits, sentence):
    """The deviations of the replicates: of the scores of the chosen heads, of the choices, and of the halves."""
    first, weights = halves(ids, SPLITS), poisson_weights(ids, REPLICATES)
    overall = hits.mean(0)
    times = np.zeros(hits.shape[1])
    right_by_split = np.zeros(SPLITS)
    for split, choose in itertools.product(range(SPLITS), (True, False)):
        inside = first[split][sentence] == choose
        right = hits[inside].sum(0)
        best = max(range(len(right)), key=lambda head: (right[head], head))
        times[best] += (~inside).sum()
        right_by_split[split] += hits[~inside, best].sum()
    times /= times.sum()
    scores, choices = [], []
    for replicate in range(REPLICATES):
        drawn = np.repeat(hits, weights[replicate][sentence], axis=0)
        right = drawn.sum(0)
        scores.append(float(((drawn.mean(0) - overall) * times).sum()))
        choices.append(float(overall[max(range(len(right)), key=lambda head: (right[head], head))]))
    of_halves = of_splits((right_by_split / len(sentence)).tolist(), REPLICATES)
    return np.array(scores) + np.array(choices) - np.mean(choices) + of_halves


@pytest.fixture(scope="module")
def pair():
    """Two runs over the same sentences, whose heads differ."""
    rng = np.random.default_rng(3)
    ids = [f"s{index}" for index in range(40)]
    ease = rng.normal(size=len(ids))
    return ids, [sample(rng, ids, accuracies, ease=ease) for accuracies in ((0.6, 0.58, 0.3), (0.5, 0.45, 0.44))]


def test_differences_are_those_of_naive_counts(pair):
    ids, runs = pair
    (row,) = differences(*(family(ids, *run) for run in runs), min_count=1)
    first, second = (naive_value(ids, *run) for run in runs)
    assert row.difference == pytest.approx(first - second, abs=1e-12)
    deviations = naive_deviations(ids, *runs[0]) - naive_deviations(ids, *runs[1])
    error = np.sqrt(((deviations - deviations.mean()) ** 2).sum() / (REPLICATES - 1))
    assert (row.low, row.high) == pytest.approx((first - second - 1.959964 * error, first - second + 1.959964 * error))
    assert row.p == pytest.approx(2 * (1 - NormalDist(0, error).cdf(abs(first - second))), abs=1e-12)
    assert row.p_holm == row.p


def test_the_choice_is_that_of_the_whole_corpus(pair):
    ids, runs = pair
    for hits, sentence in runs:
        (measured,) = family(ids, hits, sentence).measured
        right = hits.sum(0)
        assert measured.choice == f"1-{max(range(3), key=lambda head: (right[head], head)) + 1} dep->head"
        assert measured.n == len(sentence)
    (none,) = family(ids, np.zeros((len(sentence), 3), dtype=bool), sentence).measured
    assert (none.choice, none.value) == ("", 0)


def test_a_run_does_not_differ_from_itself(pair):
    ids, runs = pair
    for run in runs:
        (row,) = differences(family(ids, *run), family(ids, *run), min_count=1)
        assert numbers(row).tolist() == [0, 0, 0, 1, 1]
        assert not row.reason


def test_the_difference_changes_its_sign_with_the_order_of_the_runs(pair):
    ids, runs = pair
    first, second = (family(ids, *run) for run in runs)
    (forth,), (back,) = differences(first, second, min_count=1), differences(second, first, min_count=1)
    assert forth.difference != 0
    assert (back.difference, back.low, back.high) == (-forth.difference, -forth.high, -forth.low)
    assert (back.p, back.p_holm) == (forth.p, forth.p_holm)


def test_the_order_of_groups_has_no_effect(pair):
    ids, runs = pair
    names, group = ("nsubj", "obj", "det"), np.arange(len(runs[0][1])) % 3
    first, second = (family(ids, hits, sentence, group, names) for hits, sentence in runs)
    rows = {row.group: numbers(row) for row in differences(first, second, min_count=1)}
    turned = Comparable("relations", first.measured[::-1], "", "", 0), second
    again = differences(*turned, min_count=1)
    assert [row.group for row in again] == list(names[::-1])
    for row in again:
        np.testing.assert_array_equal(numbers(row), rows[row.group])


def test_sums_of_groups_are_measured_as_one_group(pair):
    ids, runs = pair
    group = np.arange(len(runs[0][1])) % 3
    hits, sentence = runs[0]
    subsets, replicates = counts(ids, hits, sentence, group)
    (total,) = measured_heads({"all": [2, 0, 1]}, subsets, replicates, DIRECTIONS[:1])
    (alone,) = family(ids, *runs[0]).measured
    assert (total.value, total.n, total.choice) == (alone.value, alone.n, alone.choice)
    np.testing.assert_array_equal(total.deviations, alone.deviations)


def test_pairing_narrows_intervals(pair):
    ids, runs = pair
    renamed = [f"other-{name}" for name in ids]
    (paired,) = differences(family(ids, *runs[0]), family(ids, *runs[1]), min_count=1)
    (unpaired,) = differences(family(ids, *runs[0]), family(renamed, *runs[1]), min_count=1)
    assert paired.high - paired.low < 0.8 * (unpaired.high - unpaired.low)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True], ids=["halves of one corpus", "the same sentences"])
@pytest.mark.parametrize("accuracies", [(0.6, *[0.3] * 9), tuple(np.linspace(0.4, 0.5, 10))], ids=["clear", "close"])
def test_intervals_leave_out_0_as_rarely_as_they_say(paired, accuracies):
    """Two models whose heads are equally good. With 200 trials, 18 of them are 9 %, 2.6 standard errors above 5 %."""
    rng, outside, significant = np.random.default_rng(11), 0, 0
    for trial in range(200):
        ids = [f"{trial}-{index}" for index in range(60)]
        ease = rng.normal(size=60)
        half = [f"second-{name}" for name in ids]
        first = family(ids, *sample(rng, ids, accuracies, ease=ease))
        if paired:
            second = family(ids, *sample(rng, ids, accuracies, ease=ease))
        else:
            second = family(half, *sample(rng, half, accuracies))
        (row,) = differences(first, second, min_count=1)
        outside += not row.low <= 0 <= row.high
        significant += row.significant
    assert outside <= 18
    assert significant == outside


def test_intervals_leave_out_0_where_there_is_a_difference():
    rng, ids = np.random.default_rng(5), [f"s{index}" for index in range(200)]
    (row,) = differences(
        family(ids, *sample(rng, ids, (0.7, 0.2))), family(ids, *sample(rng, ids, (0.2, 0.5))), min_count=1
    )
    assert row.low > 0.05
    assert row.significant


def test_holm_worked_by_hand():
    # Sorted: 0.005 · 4 = 0.02; 0.01 · 3 = 0.03; 0.03 · 2 = 0.06; 0.04 · 1 = 0.04, raised to 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []


def test_holm_rejects_what_the_step_down_procedure_rejects():
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 45):
        p = rng.uniform(size=size) ** 3
        p[rng.uniform(size=size) < 0.2] = p[0]  # ties
        for level in (0.01, 0.05, 0.3):
            rejected, left = set(), set(range(size))
            while left:
                smallest = min(left, key=lambda index: p[index])
                if p[smallest] > level / len(left):
                    break
                rejected.add(smallest)
                left.remove(smallest)
            assert {index for index, value in enumerate(holm(list(p))) if value <= level} == rejected


def measured(group, value=0.5, n=100, deviations=(-0.1, 0.0, 0.1)):
    return Measured(group, value, n, np.array(deviations, dtype=float))


def of(*statistics):
    return Comparable("relations", statistics, "words whose head is found", "words", 0)


def test_groups_of_one_run_are_listed():
    first, second = of(measured("a"), measured("b")), of(measured("c"), measured("b", 0.4, deviations=(0.1, 0.0, 0.2)))
    rows = differences(first, second, min_count=1, names=("norm", "weight"))
    assert [row.group for row in rows] == ["a", "b", "c"]
    assert [row.reason for row in rows] == ["only norm has this group", "", "only weight has this group"]
    assert np.isnan(numbers(rows[0])).all()
    assert np.isnan(numbers(rows[2])).all()
    assert rows[1].p_holm == rows[1].p  # the others are not counted
    missing = differences(None, second, min_count=1, names=("norm", "weight"))
    assert {row.reason for row in missing} == {"only weight has this group"}


def test_small_groups_are_not_tested():
    names = ("a", "b", "c")
    first = of(*(measured(name, 0.7, 100 if name != "b" else 3) for name in names))
    second = of(*(measured(name, 0.5, deviations=(0.1, -0.1, 0.05)) for name in names))
    rows = differences(first, second, min_count=50)
    assert [row.reason for row in rows] == ["", "not tested: fewer than 50 in one of the runs", ""]
    assert rows[0].p_holm == pytest.approx(2 * rows[0].p)
    assert math.isnan(rows[1].p_holm)
    assert (rows[1].difference, rows[1].p) == (rows[0].difference, rows[0].p)
    assert not rows[1].significant


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (measured("a", math.nan, 1), "B has no value for this group, of n = 1"),
        (measured("a", 0.4, deviations=()), "no interval: there are no bootstrap replicates"),
        (measured("a", 0.4), "no interval: the difference is the same in every replicate"),
    ],
)
def test_missing_numbers_have_a_reason(second, reason):
    (row,) = differences(of(measured("a")), of(second), min_count=1)
    assert row.reason == reason
    assert np.isnan(numbers(row)[1:]).all()


def test_a_value_that_never_varies_is_not_tested():
    (row,) = differences(
        of(measured("root", 0.0, deviations=(0, 0))), of(measured("root", 0.0, deviations=(0, 0))), min_count=1
    )
    assert numbers(row)[:4].tolist() == [0, 0, 0, 1]
    assert math.isnan(row.p_holm)
    assert row.reason.startswith("not tested: neither value varies")


def test_the_replicates_that_both_runs_have_are_used():
    longer = measured("a", 0.6, deviations=(-0.1, 0.0, 0.2, 5.0, math.nan))
    (row,) = differences(of(longer), of(measured("a", 0.5, deviations=(0.1, 0.0, math.nan))), min_count=1)
    assert row.high - row.difference == pytest.approx(1.959964 * np.std([-0.2, 0.0], ddof=1))


def test_intervals_of_shares_stay_within_the_possible_range():
    """Three words: a third more of them with one head, and a standard error of half the range."""
    wide = (-0.5, 0.0, 0.5)
    first = of(measured("few", 2 / 3, 3, wide), measured("many", 0.6, 300, (-0.01, 0.0, 0.01)))
    second = of(measured("few", 1 / 3, 3, (0.0, 0.0, 0.0)), measured("many", 0.5, 300, (0.0, 0.0, 0.0)))
    few, many = differences(first, second, min_count=1)
    assert few.low == pytest.approx(1 / 3 - 1.959964 * 0.5)
    assert few.high == 1.0
    assert few.p == pytest.approx(math.erfc(1 / 3 / 0.5 / math.sqrt(2)))
    assert (many.low, many.high) == pytest.approx((0.1 - 0.01959964, 0.1 + 0.01959964))
    (back, _) = differences(second, first, min_count=1)
    assert (back.low, back.high) == (-1.0, -few.low)
    in_nats = [Comparable("entropy", one.measured[:1], "entropy", "inputs", 0, unit="nats") for one in (first, second)]
    assert differences(*in_nats, min_count=1)[0].high == pytest.approx(1 / 3 + 1.959964 * 0.5)
