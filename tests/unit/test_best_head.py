"""Best heads, held-out scores and intervals against loops over single ones, and resampling by hash."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.counting.best_head import (
    argbest,
    cells_of_groups,
    heldout,
    interval,
    intervals,
    rates,
    score_choices,
)
from attentionology.analyses.counting.held_out import (
    best_in_replicates,
    choice_deviations,
    heldout_rate,
    score_deviations,
    split_deviations,
)
from attentionology.analyses.counting.outcomes import Counts
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.analyses.shared.failures import chosen_heads, clear_mistake, cluster_interval


def naive_best(correct: np.ndarray) -> tuple[int, int, int]:
    """The last of the largest counts by layer, head and direction."""
    indices = [(layer, head, direction) for direction, layer, head in np.ndindex(correct.shape)]
    layer, head, direction = max(indices, key=lambda index: (correct[index[2], index[0], index[1]], index))
    return direction, layer, head


@pytest.mark.parametrize("seed", range(20))
def test_choices_on_halves_against_a_loop(seed):
    rng = np.random.default_rng(seed)
    splits, shape = int(rng.integers(0, 4)), tuple(rng.integers(1, 4, size=3))
    total = rng.integers(0, 4, size=1 + splits)  # small numbers: many ties, and halves that are empty
    correct = rng.integers(0, 1 + total[:, None, None, None], size=(1 + splits, *shape))
    total[0], correct[0] = total.max(), correct.max(0)
    expected = []
    for split in range(splits):
        first, second = correct[split + 1], correct[0] - correct[split + 1]
        sizes = int(total[split + 1]), int(total[0] - total[split + 1])
        for (chosen, scored), (size, n) in zip(((first, second), (second, first)), (sizes, sizes[::-1]), strict=True):
            if size:
                best = naive_best(chosen)
                assert argbest(chosen) == best
                expected.append((split, best, int(scored[best]), n))
    heads, scores, totals = score_choices(correct, total)
    choosing = np.stack([total[1:], total[0] - total[1:]], axis=1).ravel()  # an empty half chooses nothing
    choices = zip(heads, scores.ravel(), totals.ravel(), choosing, strict=True)
    found = [(number // 2, head, right, n) for number, (head, right, n, size) in enumerate(choices) if size]
    assert found == expected
    columns = heldout(correct, total)
    assert columns["heldout_correct"] == sum(right for _, _, right, _ in expected)
    assert columns["heldout_total"] == sum(n for *_, n in expected)


def test_cells_of_groups_are_those_of_single_groups():
    rng = np.random.default_rng(0)
    total, names = np.array([0, 7, 3]), ["none", "nsubj", "det"]
    correct = rng.integers(0, 1 + total[:, None, None, None], size=(3, 2, 3, 4))
    groups = cells_of_groups(correct, total, ("rows", "columns"), {"relation": names})
    assert list(dict.fromkeys(groups["relation"])) == names
    assert len(groups) == correct.size
    for name, right, n in zip(names, correct, total, strict=True):
        rows = groups[groups["relation"] == name]
        for direction, layer, head in np.ndindex(2, 3, 4):
            columns = (rows["direction"] == ("rows", "columns")[direction], rows["layer"] == layer + 1)
            (row,) = rows[columns[0] & columns[1] & (rows["head"] == head + 1)].to_dict("records")
            assert (row["correct"], row["total"]) == (right[direction, layer, head], n)
            assert row["accuracy"] == row["correct"] / n if n else np.isnan(row["accuracy"])


def test_intervals_of_rows_are_those_of_single_rows():
    values = np.random.default_rng(0).random((3, 101))
    assert intervals(values) == [interval(row) for row in values]
    assert interval(np.arange(101) / 100) == pytest.approx((0.025, 0.975))
    assert np.isnan(intervals(np.empty((2, 0)))).all()


IDS = [f"sentence-{i}" for i in range(2000)]


def test_weights_are_poisson_with_mean_one():
    weights = poisson_weights(IDS, 500)
    assert weights.shape == (500, 2000)
    for k in range(5):
        expected = math.exp(-1) / math.factorial(k)
        assert abs((weights == k).mean() - expected) < 4 * math.sqrt(expected / weights.size)
    assert abs(weights.astype(float).var() - 1) < 0.01


def test_weights_of_replicates_and_sentences_are_uncorrelated():
    weights = poisson_weights(IDS, 200).astype(float)
    by_replicate = np.corrcoef(weights)
    by_sentence = np.corrcoef(weights[:, :200].T)
    for matrix in (by_replicate, by_sentence):
        off_diagonal = matrix[~np.eye(len(matrix), dtype=bool)]
        assert abs(off_diagonal.mean()) < 0.005
        assert np.abs(off_diagonal).max() < 0.4


def test_a_sentence_gets_the_same_weights_in_any_company():
    alone = poisson_weights(["sentence-7"], 50)
    assert np.array_equal(alone[:, 0], poisson_weights(IDS, 50)[:, 7])
    assert np.array_equal(alone[:20], poisson_weights(["sentence-7"], 20))
    assert not np.array_equal(alone, poisson_weights(["sentence-7"], 50, seed=1))


def test_weights_are_the_same_on_every_machine():
    # Written down once; a change here changes every published interval.
    assert poisson_weights(["a", "b"], 6).tolist() == [[1, 1], [3, 0], [1, 2], [2, 1], [0, 0], [0, 0]]
    assert halves(["a", "b", "c", "d"], 1).astype(int).tolist() == [[1, 1, 0, 0]]


def test_halves_are_halves_and_splits_are_independent():
    half = halves(IDS, 10)
    assert half.shape == (10, 2000)
    tolerance = 4 * 0.5 / math.sqrt(len(IDS))
    assert np.abs(half.mean(1) - 0.5).max() < tolerance
    agreement = np.array([(half[i] == half[j]).mean() for i in range(10) for j in range(i)])
    assert np.abs(agreement - 0.5).max() < tolerance
    assert np.array_equal(halves(IDS[10:20], 10), half[:, 10:20])
    assert not np.array_equal(halves(IDS, 10, seed=1), half)


def test_no_sentences():
    assert poisson_weights([], 3).shape == (3, 0)
    assert halves([], 2).shape == (2, 0)


def test_weights_that_are_kept_cannot_be_written_to():
    weights = poisson_weights(["a", "b"], 6)
    with pytest.raises(ValueError, match="read-only"):
        weights[0, 0] = 7
    for ids, replicates, seed in ((["b", "a"], 6, 0), (["a", "b"], 5, 0), (["a", "b"], 6, 1)):
        expected = np.hstack([poisson_weights([name], replicates, seed) for name in ids])
        assert np.array_equal(poisson_weights(ids, replicates, seed), expected)
    assert np.array_equal(poisson_weights(("a", "b"), 6), weights)


def test_intervals_of_shares_of_words_depend_on_their_sentences():
    """Wilson's interval with as many words as would have the same variance if they were independent."""
    x, n = np.array([3, 0, 2, 5, 1]), np.array([4, 3, 2, 9, 7])
    p, total = x.sum() / n.sum(), n.sum()
    variance = ((x - p * n) ** 2).sum() / total**2
    words = p * (1 - p) / variance
    assert words < total
    z = 1.959963984540054
    root = z * math.sqrt(p * (1 - p) / words + z * z / (4 * words * words))
    expected = [(p + z * z / (2 * words) + sign * root) / (1 + z * z / words) for sign in (-1, 1)]
    sums = [int(each) for each in (x.sum(), (x * x).sum(), (x * n).sum(), total, (n * n).sum())]
    assert cluster_interval(*sums) == pytest.approx(expected, rel=1e-9)
    # With two words per sentence, one of which is right, the share never varies; with none or all right, neither.
    for none in ((5, 5, 10, 10, 20), (0, 0, 0, 10, 20), (10, 20, 20, 10, 20)):
        assert all(map(math.isnan, cluster_interval(*none)))
    few = cluster_interval(2, 2, 2, 4, 4)  # four sentences of a word
    wilson = [(0.5 + z * z / 8 + sign * z * math.sqrt(1 / 16 + z * z / 64)) / (1 + z * z / 4) for sign in (-1, 1)]
    assert few == pytest.approx(wilson, rel=1e-9)


def test_heads_are_read_in_their_better_direction_and_each_once():
    cells = pd.DataFrame(
        [(1, 1, "dep->head", 5), (1, 1, "head->dep", 6), (2, 1, "dep->head", 4), (2, 1, "head->dep", 4),
         (1, 2, "dep->head", 9), (1, 2, "head->dep", 1)],
        columns=["layer", "head", "direction", "correct"],
    )  # fmt: skip
    best = {"layer": 1, "head": 2, "direction": "dep->head", "total": 10}
    found = [*chosen_heads(best, cells, ("best", "1-1", "2-1", "1-2"))]
    assert found == [(1, 2, "dep->head"), (1, 1, "head->dep"), (2, 1, "head->dep")]
    assert [*chosen_heads({**best, "total": 0}, cells, ("best",))] == []


@pytest.mark.parametrize(("high", "clear"), [(0.29, "b"), (0.3, None)])
def test_the_first_mistake_is_clear_if_its_interval_lies_above_the_second(high, clear):
    head = {"relation": "obj", "layer": 1, "head": 2, "direction": "dep->head"}

    def pick(picked, count, low, high, **other):
        return {**head, "picked": picked, "count": count, "share_low": low, "share_high": high, **other}

    right = pick("right", 90, 0.5, 0.9)
    picked = [pick("a", 10, 0.1, high), right, pick("b", 40, 0.3, 0.5), pick("c", 50, 0.4, 0.6, layer=2)]
    found = clear_mistake(picked, head, "relation", "right")
    assert (found and found["picked"]) == clear
    assert clear_mistake([right], head, "relation", "right") is None
    only = clear_mistake([right, picked[2]], head, "relation", "right")
    assert only is picked[2]


@pytest.mark.parametrize("seed", [85, 119, 189, 216, 248])  # in which another order gives another last bit
def test_empty_halves_do_not_change_the_order_in_which_deviations_are_added_up(seed):
    rng = np.random.default_rng(seed)
    n, replicates = int(rng.integers(2, 6)), 50
    right = (rng.random((n, 2, 2, 3)) < 0.5).astype(np.int64)
    subsets = np.concatenate([np.ones((1, n)), rng.random((10, n)) < 0.5]).astype(np.int64)
    drawn = rng.poisson(1, (replicates, n))
    by_subset, by_replicate = (
        Counts(np.tensordot(weights, right, 1)[None], np.zeros((1, len(weights), 1)), weights.sum(1)[None])
        for weights in (subsets, drawn)
    )
    found = heldout_rate([0], by_subset, by_replicate).deviations

    correct, total = by_subset.correct[0], by_subset.total[0]
    times: Counter[tuple[int, int, int]] = Counter()
    for half, size in zip(correct[1:], total[1:], strict=True):
        for chosen, chosen_size in ((half, size), (correct[0] - half, total[0] - size)):
            if chosen_size:
                times[naive_best(chosen)] += int(total[0] - chosen_size)
    _, right, scored = score_choices(correct, total)
    deviations = (
        score_deviations([0], times, correct[0], n, by_replicate),
        choice_deviations(best_in_replicates([0], by_replicate), correct[0], n),
        split_deviations(rates(right.sum(1), scored.sum(1)), replicates),
    )
    expected = deviations[0] + deviations[1] + deviations[2]
    np.testing.assert_array_equal(found, expected)
