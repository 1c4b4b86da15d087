"""How much can be counted, and what it takes: said before, and an error where it is too much."""

from __future__ import annotations

import pytest
import torch
from torchmetrics import Metric

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy, mentions_by_group
from attentionology.analyses.dependency.accuracy import DependencyAccuracy, words_by_group
from attentionology.analyses.shared.outcomes import MOST_DECISIONS, TooManyDecisionsError, check_limit
from attentionology.corpora_loaders import AttentionologyError
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
    with pytest.raises(TooManyDecisionsError, match=r"8,388,609 .*'nsubj'.*--replicates 0"):
        counted(half).merge_state(counted(half + 1))
    without = counted(half, replicates=0)
    without.merge_state(counted(half + 1, replicates=0))
    assert int(without.counts[1, 0, -1]) == MOST_DECISIONS + 1


def test_counts_past_the_limit_that_were_loaded_are_no_result():
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=3)
    accuracy.load_state_dict(counted(MOST_DECISIONS + 1).state_dict())
    with pytest.raises(TooManyDecisionsError, match="nsubj"):
        accuracy.compute()


def test_a_replicate_that_draws_more_than_float32_counts_is_an_error():
    """Few large documents may be drawn many times over: 6 million words three times are no longer exact."""
    inexact = torch.tensor(2.0**24) + 1
    assert int(inexact) == 2**24  # this is what must not happen unseen
    fits = counted(6_000_000, drawn=2**24 - 1)
    fits.compute()
    with pytest.raises(TooManyDecisionsError, match="'nsubj'"):
        fits.merge_state(counted(1, drawn=1))


def test_the_limit_is_known_from_the_inventory():
    relations = {"nsubj": 5_000_000, "nsubj:pass": 4_000_000, "det": 8_000_000}
    assert words_by_group(relations, coarse=True) == {"nsubj": 9_000_000, "det": 8_000_000}
    check_limit(words_by_group(relations), replicates=1000)
    check_limit(words_by_group(relations, coarse=True), replicates=0)
    with pytest.raises(TooManyDecisionsError, match="9,000,000 decisions of the group 'nsubj'") as error:
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
    told = DependencyAccuracy.state_bytes(RELATIONS, 12, 16, replicates=replicates)
    made = held(DependencyAccuracy(RELATIONS, 12, 16, replicates=replicates))
    assert made / 1.05 <= told <= made * 1.05
    coarse = DependencyAccuracy.state_bytes(RELATIONS, 12, 16, coarse=True, replicates=replicates)
    made = held(DependencyAccuracy(RELATIONS, 12, 16, coarse=True, replicates=replicates))
    assert made / 1.05 <= coarse <= made * 1.05
    assert coarse < told


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
        told = CoreferenceAccuracy.state_bytes(corpus, 12, 12, replicates=replicates)
        made = CoreferenceAccuracy(corpus, 12, 12, replicates=replicates)
        assert set(mentions_by_group(corpus)) <= set(made.groups)
        own = held(made) - 2 * made.distances.untyped_storage().nbytes()
        assert own / 1.05 <= told <= own * 1.05
