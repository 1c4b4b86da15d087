"""How much can be counted, and what it takes: said before, and an error where it is too much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy, mentions_by_group
from attentionology.analyses.dependency.accuracy import DependencyAccuracy, words_by_group
from attentionology.analyses.shared.metric import Metric
from attentionology.analyses.shared.resampling import MOST_DECISIONS, TooManyDecisionsError, check_limit
from attentionology.corpora_loaders import OFFSETS, AttentionologyError
from tests import documents

RELATIONS = ["det", "nsubj", "nsubj:pass", "punct"]


def counted(words: int, *, drawn: int = 0, replicates: int = 3) -> DependencyAccuracy:
    """Counts as after `words` words of one relation, of which a replicate draws some number."""
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=replicates)
    accuracy.counts[1, 0, -1] = words
    if replicates:
        accuracy.bootstrap[1, 2, -1] = drawn or words
    return accuracy


def test_counts_that_together_pass_the_limit_do_not_merge():
    half = MOST_DECISIONS // 2
    fits = counted(half)
    fits.merge_state(counted(half))
    best = fits.compute().best
    assert dict(zip(best["relation"], best["total"], strict=True))["nsubj"] == MOST_DECISIONS
    refused = counted(half)
    with pytest.raises(TooManyDecisionsError, match=r"1,073,741,825 .*'nsubj'.*--replicates 0"):
        refused.merge_state(counted(half + 1))
    assert int(refused.counts[1, 0, -1]) == half  # the metric is as it was
    without = counted(half, replicates=0)
    without.merge_state(counted(half + 1, replicates=0))
    assert int(without.counts[1, 0, -1]) == MOST_DECISIONS + 1


def test_counts_past_the_limit_that_were_loaded_are_no_result():
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=3)
    accuracy.load_state_dict(counted(MOST_DECISIONS + 1).metric_state)
    with pytest.raises(TooManyDecisionsError, match="nsubj"):
        accuracy.compute()


def test_a_replicate_that_draws_more_than_int32_holds_is_an_error():
    """Few large documents may be drawn many times over: 800 million words three times overflow."""
    overflowed = torch.tensor(2**31 - 1, dtype=torch.int32) + 1
    assert int(overflowed) == -(2**31)  # this is what must not happen unseen
    fits = counted(800_000_000, drawn=2**31 - 1)
    fits.compute()
    with pytest.raises(TooManyDecisionsError, match=r"2,147,483,648 .*'nsubj'"):
        fits.merge_state(counted(1, drawn=1))
    fits.compute()
    group, unit, hits = np.full(50, 1), np.arange(50), torch.zeros(50, 2, 2, 3, dtype=torch.bool)
    with pytest.raises(TooManyDecisionsError, match=r"2,147,483,648 .*'nsubj'"):
        fits.add_outcomes(group, unit, [f"s{k}" for k in unit], hits, np.zeros((50, len(OFFSETS)), dtype=bool))


def test_counts_past_what_float32_holds_are_exact():
    """float32 drops odd numbers from 2²⁴ on."""
    hits, none = torch.ones(1, 2, 2, 3, dtype=torch.bool), np.zeros((1, len(OFFSETS)), dtype=bool)
    alone, after = counted(0), counted(2**24, drawn=2**24)
    after.bootstrap[1] = 2**24
    for accuracy in (alone, after):
        for _ in range(3):
            accuracy.add_outcomes(np.array([1]), np.array([0]), ["s4"], hits, none)
    assert 1 in alone.bootstrap[1] // 3  # a replicate draws the sentence once
    assert torch.equal(after.bootstrap[1] - 2**24, alone.bootstrap[1])


def test_a_batch_of_many_decisions_is_counted_in_exact_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    size = 40
    arguments = (
        rng.integers(0, 4, size),
        rng.integers(0, 9, size),
        [f"s{k}" for k in range(9)],
        torch.from_numpy(rng.random((size, 2, 2, 3)) < 0.5),
        rng.random((size, len(OFFSETS))) < 0.5,
    )
    whole, in_pieces = counted(0), counted(0)
    whole.add_outcomes(*arguments)
    monkeypatch.setattr("attentionology.analyses.shared.outcomes._ROWS", 3)
    in_pieces.add_outcomes(*arguments)
    assert torch.equal(whole.bootstrap, in_pieces.bootstrap)
    assert torch.equal(whole.counts, in_pieces.counts)
    assert whole.bootstrap.dtype == torch.int32


def test_the_limit_is_known_from_the_inventory():
    relations = {"nsubj": 600_000_000, "nsubj:pass": 500_000_000, "det": 1_000_000_000}
    assert words_by_group(relations, coarse=True) == {"nsubj": 1_100_000_000, "det": 1_000_000_000}
    check_limit(words_by_group(relations), replicates=1000)
    check_limit(words_by_group(relations, coarse=True), replicates=0)
    with pytest.raises(TooManyDecisionsError, match="1,100,000,000 decisions of the group 'nsubj'") as error:
        check_limit(words_by_group(relations, coarse=True), replicates=1)
    assert isinstance(error.value, AttentionologyError)
    assert isinstance(error.value, OverflowError)


def held(metric: Metric) -> int:
    """Bytes of all states and of the zeros that they begin with, as they are stored."""
    tensors = [*(getattr(metric, name) for name in metric._defaults), *metric._defaults.values()]
    storages = [tensor.untyped_storage() for tensor in tensors if isinstance(tensor, torch.Tensor)]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


@pytest.mark.parametrize("replicates", [0, 10, 1000])
def test_the_size_of_the_counts_is_told_before_they_are_made(replicates):
    arguments: dict[str, Any] = {"relations": RELATIONS, "n_layers": 12, "n_heads": 16, "replicates": replicates}
    told = DependencyAccuracy.state_bytes(**arguments)
    assert told == held(DependencyAccuracy(**arguments))
    assert told >= 4 * len(RELATIONS) * replicates * 2 * 12 * 16
    coarse = DependencyAccuracy.state_bytes(**arguments, coarse=True)
    assert coarse == held(DependencyAccuracy(**arguments, coarse=True)) < told


def test_the_mentions_of_each_type_are_known_before_the_windows_are_read():
    text = documents.document(
        "d",
        ["Ann saw Ann .", "She left the dog , and the dog her ."],
        [(0, 1, "ann"), (2, 3, "ann"), (4, 5, "ann"), (6, 8, "dog"), (10, 12, "dog"), (12, 13, "ann")],
        xpos=["NNP VBD NNP .", "PRP VBD DT NN , CC DT NN PRP ."],
    )
    corpus = documents.corpus(text)
    assert mentions_by_group(corpus) == {"proper": 1, "pronoun": 2, "nominal": 1}
    for replicates in (0, 100):
        arguments: dict[str, Any] = {"corpus": corpus, "n_layers": 12, "n_heads": 12, "replicates": replicates}
        made = CoreferenceAccuracy(**arguments)
        assert set(mentions_by_group(corpus)) <= set(made.groups)
        assert CoreferenceAccuracy.state_bytes(**arguments) == held(made)
