"""Best heads, held-out scores and intervals of many tables at once, against loops over single ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.shared.best_head import (
    argbest,
    cells,
    cells_of_groups,
    heldout,
    heldout_choices,
    interval,
    intervals,
)


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
    choices = [(choice.split, choice.head, choice.correct, choice.total) for choice in heldout_choices(correct, total)]
    assert choices == expected
    columns = heldout(correct, total)
    assert columns["heldout_correct"] == sum(right for _, _, right, _ in expected)
    assert columns["heldout_total"] == sum(n for *_, n in expected)


def test_cells_of_groups_are_those_of_single_groups():
    rng = np.random.default_rng(0)
    total, names = np.array([0, 7, 3]), ["none", "nsubj", "det"]
    correct = rng.integers(0, 1 + total[:, None, None, None], size=(3, 2, 3, 4))
    groups = cells_of_groups(correct, total, ("rows", "columns"), {"relation": names})
    single = [
        cells(right, int(n), ("rows", "columns"), {"relation": name})
        for right, n, name in zip(correct, total, names, strict=True)
    ]
    pd.testing.assert_frame_equal(groups, pd.concat(single, ignore_index=True))
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
