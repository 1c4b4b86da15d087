"""Gains and differences are the first side minus the other one, in every table that has both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.contrasts import CONTRASTS
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from tests.documents import corpus, random_document, window
from tests.maps import RELATIONS, batch_of, random_corpus


def assert_differences(table: pd.DataFrame, difference: str, first: str, second: str) -> None:
    """Compare the differences of a table with its two sides, of which some differ."""
    expected = table[first] - table[second]
    assert (expected.abs() > 0.01).any()
    np.testing.assert_allclose(table[difference], expected, atol=1e-12)


def test_gain_over_the_best_offset():
    texts, maps = random_corpus(0)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=20)
    accuracy.update(batch_of(texts, maps))
    assert_differences(accuracy.compute().best, "gain", "accuracy", "offset_accuracy")


@pytest.fixture(scope="module")
def coreference():
    rng = np.random.default_rng(1)
    docs = [replace(random_document(rng, f"d{n}"), labels=(CONTRASTS[0][n % 2],)) for n in range(8)]
    windows = [window(one) for one in docs]
    metric = CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=20)
    sizes = [len(each) + 2 for each in windows]
    metric.update(batch_of(windows, [rng.random((2, 3, n, n)).astype(np.float32) for n in sizes]))
    return metric.compute()


def test_gains_over_rules_and_the_nearest_mention(coreference):
    best = coreference.best[coreference.best["total"] > 0]
    assert_differences(best, "gain", "accuracy", "rule_based_accuracy")
    assert_differences(best, "gain_nearest", "accuracy", "nearest_accuracy")


def test_differences_between_groups_of_documents(coreference):
    for table in (coreference.contrasts, coreference.head_contrasts, coreference.largest_contrasts):
        assert_differences(table, "difference", "first_accuracy", "second_accuracy")
    contrasts = coreference.contrasts
    np.testing.assert_allclose(contrasts["ratio"], contrasts["first_accuracy"] / contrasts["second_accuracy"])
