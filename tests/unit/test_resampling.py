"""Resampling by hash: right distribution, and nothing but the id and the seed matters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attentionology.analyses.shared.resampling import halves, poisson_weights

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
