"""The intervals of effects of heads: by hand, in simulations, and in runs of earlier versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import stats

from attentionology.analyses.ablation.effects import EffectBatch
from attentionology.analyses.ablation.heads import HeadEffects, head_tables
from attentionology.analyses.ablation.rows import FEWEST_SENTENCES
from attentionology.analyses.counting.stored_metrics import MetricStates, add_up
from attentionology.corpora_loaders import Sentence

Values = npt.NDArray[np.float64]


def counted(values: list[Values], heads: tuple[tuple[int, int], ...], relations: tuple[str, ...] = ()) -> HeadEffects:
    """The metric of effects in sentences, given those of each, shape (words, heads, measures)."""
    metric = HeadEffects(heads, relations, [f"m{k}" for k in range(values[0].shape[2])])
    for index, of_sentence in enumerate(values):
        n = len(of_sentence)
        sentence = Sentence(str(index), ("w",) * n)
        batch = torch.tensor(of_sentence), torch.zeros(n, dtype=torch.int64), torch.arange(n)
        metric.update(EffectBatch(*batch, (sentence,)))
    return metric


def by_hand(x: Values, n: Values) -> Any:
    """The ratio of two totals over sentences, with the interval of Student's t with one degree of freedom less."""
    k, ratio = len(n), x.sum() / n.sum()
    error = np.sqrt(k / (k - 1) * ((x - ratio * n) ** 2).sum()) / n.sum()
    return ratio, *stats.t.interval(0.95, k - 1, ratio, error)


@pytest.mark.parametrize("k", [2, 3, 12])
def test_intervals_are_those_of_students_t(k: int) -> None:
    rng = np.random.default_rng(k)
    n = rng.integers(1, 6, k).astype(float)
    heads = ((0, 0), (0, 2), (1, 1), (1, 2))
    values = [rng.exponential(1, (int(size), 4, 2)) * rng.exponential(1) for size in n]
    metric = counted(values, heads)
    effects = metric.compute()
    totals = np.array([each.sum(0) for each in values])
    assert (effects.items[0], effects.sentences[0]) == (n.sum(), k)
    for head, measure in np.ndindex(4, 2):
        own = [bound[0, head, measure] for bound in effects[:3]]
        np.testing.assert_allclose(own, by_hand(totals[:, head, measure], n), rtol=1e-7, atol=1e-8)
        for other, found in enumerate(zip(*metric.leads(head, measure), strict=True)):
            lead = totals[:, head, measure] - totals[:, other, measure]
            if head == other:
                assert found == (0, 0, 0)
                continue
            np.testing.assert_allclose(found, by_hand(lead, n), rtol=1e-6, atol=1e-7)
            if heads[head][0] == heads[other][0]:  # the only other head of its layer
                difference = [bound[0, head, measure] for bound in effects[3:6]]
                np.testing.assert_allclose(difference, found, rtol=1e-6, atol=1e-7)


def test_one_sentence_has_no_interval() -> None:
    metric = counted([np.ones((3, 2, 1))], ((0, 0), (0, 1)))
    assert np.isnan([*metric.compute().low[0].ravel(), *metric.compute().high[0].ravel()]).all()
    assert np.isnan(metric.leads(0, 0)[1:]).all()
    (row,) = head_tables([metric]).largest.to_dict("records")
    assert np.isnan(row["lead"])


def test_the_rival_is_the_head_that_comes_closest() -> None:
    """Not the head with the second-largest effect if that of another one is less certain."""
    steady, noisy = np.random.default_rng(0).normal(1, np.array([[0.1], [5]]), (2, 40))
    totals = np.array([steady, steady - 0.1, noisy - noisy.mean() + steady.mean() - 0.4, steady - 0.7])
    metric = counted([totals[None, :, [k]] for k in range(40)], tuple((0, head) for head in range(4)))
    (row,) = head_tables([metric]).largest.to_dict("records")
    assert (row["layer"], row["head"], row["rival_layer"], row["rival_head"]) == (1, 1, 1, 3)
    assert [row["lead"], row["lead_low"], row["lead_high"]] == pytest.approx(
        by_hand(totals[0] - totals[2], np.ones(40))
    )
    assert row["sentences"] == 40


def test_counts_of_earlier_versions_have_no_paired_intervals() -> None:
    """They are read, added up and absorbed. What comes closest is then the head whose own interval ends highest."""
    rng = np.random.default_rng(1)
    heads = ((0, 0), (0, 1), (1, 0))
    values = [rng.normal(np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.1, 9.0]), (4, 3))[..., None] for _ in range(8)]
    arguments = {"heads": heads, "relations": (), "measures": ["m0"]}
    whole, first, second = counted(values, heads), counted(values[:5], heads), counted(values[5:], heads)
    stored = MetricStates.of(first, arguments)
    older = replace(stored, tensors={**stored.tensors}, versions=[{"attentionology": "0.3.0"}])
    del older.tensors["pairs"]  # type: ignore[attr-defined]
    newer, _ = add_up([stored, MetricStates.of(second, arguments)], HeadEffects)
    mixed, _ = add_up([older, MetricStates.of(second, arguments)], HeadEffects)
    related = MetricStates.of(counted(values[5:], heads, ("obj",)), {**arguments, "relations": ["obj"]})
    absorbed, _ = add_up([older, related], HeadEffects)
    np.testing.assert_array_equal(newer.leads(0, 0), whole.leads(0, 0))
    assert np.isfinite(newer.leads(0, 0)).all()
    for metric in (older.restore(HeadEffects), mixed, absorbed):
        lead, low, high = metric.leads(0, 0)
        assert np.isnan([low, high]).all()
        (row,) = head_tables([metric]).largest.to_dict("records")
        assert (row["head"], row["rival_layer"], row["rival_head"], row["lead"]) == (1, 2, 1, lead[2])
        assert np.isnan([row["lead_low"], row["lead_high"]]).all()
    for own, expected in zip(mixed.compute()[:3], whole.compute()[:3], strict=True):
        np.testing.assert_array_equal(own, expected)


Drawn = Callable[[np.random.Generator, int, int], Values]


def losses(rng: np.random.Generator, n: int, replicates: int) -> Values:
    """Sums over n masked pieces of increases of the loss, which are larger than its decreases; the mean is 0.3."""
    return rng.gamma(n, 1, (2, replicates)) - 0.7 * rng.gamma(n, 1, (2, replicates))


def changes(rng: np.random.Generator, n: int, replicates: int) -> Values:
    """Sums over n words of changes of vectors, which are large in some sentences; the mean is 1."""
    return rng.gamma(3, 1 / 3, (2, replicates)) * rng.gamma(0.5 * n, 2, (2, replicates))


def coverage(drawn: Drawn, longest: int, mean: float, sentences: int, runs: int = 20, replicates: int = 500) -> Any:
    """How often the intervals of an effect and of the lead over an equal head contain the truth, and the skewness.

    Each replicate is a measure of its own, and each run has other lengths of sentences.
    """
    rng = np.random.default_rng(0)
    own, of_lead, residuals = [], [], []
    for _ in range(runs):
        n = rng.integers(1, longest + 1, sentences)
        totals = [drawn(rng, int(size), replicates) for size in n]
        values = [(total / size)[None].repeat(size, 0) for total, size in zip(totals, n, strict=True)]
        metric = counted(values, ((0, 0), (0, 1)))
        effects = metric.compute()
        own.append((effects.low[0] <= mean) & (mean <= effects.high[0]))
        leads = np.array([metric.leads(0, measure) for measure in range(replicates)])[:, 1:, 1]  # (replicates, bounds)
        of_lead.append((leads[:, 0] <= 0) & (leads[:, 1] >= 0))
        residuals += [total - mean * size for total, size in zip(totals, n, strict=True)]
    return np.mean(own), np.mean(of_lead), stats.skew(np.ravel(residuals))


@pytest.mark.slow
@pytest.mark.parametrize("sentences", [FEWEST_SENTENCES, 100])
@pytest.mark.parametrize(("drawn", "longest", "mean"), [(losses, 5, 0.3), (changes, 25, 1.0)])
def test_intervals_that_findings_read_contain_the_truth(
    drawn: Drawn, longest: int, mean: float, sentences: int
) -> None:
    """Of nominally 95 %, in effects that are as skewed as the largest ones of a small BERT: by 0.4 and 2."""
    own, of_lead, skewness = coverage(drawn, longest, mean, sentences)
    assert skewness > (0.3 if drawn is losses else 1.9)
    assert 0.92 <= own <= 0.98
    assert 0.92 <= of_lead <= 0.98


@pytest.mark.slow
def test_findings_read_no_intervals_of_fewer_sentences() -> None:
    """Those of skewed effects in ten sentences are too narrow, while those of losses would do."""
    assert coverage(changes, 25, 1.0, 10)[0] < 0.92 <= coverage(losses, 5, 0.3, 10)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("n_heads", "most"), [(2, 0.08), (15, 0.05)])
def test_equal_heads_are_rarely_said_to_differ(n_heads: int, most: float) -> None:
    """The largest of many effects is not said to be larger than the others more often than its interval allows."""
    rng, said, runs = np.random.default_rng(0), 0, 1000
    for _ in range(runs):
        values = [losses(rng, 3, n_heads)[:1, :, None] for _ in range(FEWEST_SENTENCES)]
        metric = counted(values, tuple((0, head) for head in range(n_heads)))
        (row,) = head_tables([metric]).largest.to_dict("records")
        said += row["lead_low"] > 0
    assert said / runs <= most
    assert said or n_heads > 2
