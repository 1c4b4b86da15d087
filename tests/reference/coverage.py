"""Samples from populations that are known, and the intervals that the toolkit gives for them.

A population has units (sentences, documents or pairs) with different numbers of decisions. All heads find the decisions
of some units more easily than those of others, so that the decisions of a unit depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch

from attentionology.analyses.alignment.accuracy import AlignmentCounts
from attentionology.analyses.alignment.baselines import baseline_row
from attentionology.analyses.alignment.contrasts import contrast_rows
from attentionology.analyses.alignment.held_out import best_row
from attentionology.analyses.alignment.series import SINGLE, Series
from attentionology.analyses.comparison.differences import differences
from attentionology.analyses.coreference.contrasts import best_head_contrast, contrast_tables
from attentionology.analyses.counting.comparable import Comparable, Measured, measured_heads
from attentionology.analyses.counting.outcomes import SPLITS, Counts
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.analyses.dependency.accuracy import ALL, tables
from attentionology.analyses.dependency.rules import NEAREST, rule_columns
from attentionology.analyses.dependency.spanning import _ensemble_row as ensemble_row
from attentionology.analyses.explanation.contract.summary import Bootstrap
from attentionology.analyses.probing.rows import Attempt, TestedSentence
from attentionology.analyses.shared.ensembles import right_alone, score_ensembles
from attentionology.analyses.shared.failures import cluster_interval
from attentionology.analyses.surface.batches import replicate_sums
from attentionology.analyses.survey.collecting import KeptCell
from attentionology.analyses.survey.contrasts import ContrastCollector
from attentionology.analyses.survey.kept_counts import KeptCounts, kept_counts
from attentionology.analyses.survey.transfer import transfers
from tests.probing_results import attachment

Array = np.ndarray[Any, Any]

REPLICATES = 400


class Estimate(NamedTuple):
    """A number with its interval, and the truth if it does not depend on the size of the sample."""

    value: float
    low: float
    high: float
    truth: float = math.nan  # by default, the mean of the number over all samples


class Sample(NamedTuple):
    """Decisions of some units."""

    ids: list[str]
    unit: Array  # of each decision
    hits: Array  # whether each head finds it, shape (decisions, heads)

    @property
    def weights(self) -> tuple[Array, Array]:
        """The subsets and the replicates: how often each unit is in them, shapes (1 + splits, units), (…, units)."""
        whole = np.ones((1, len(self.ids)), dtype=bool)
        return np.concatenate([whole, halves(self.ids, SPLITS)]), poisson_weights(self.ids, REPLICATES)


def sample(rng: np.random.Generator, units: int, shares: Sequence[float], *, size: float = 6.0) -> Sample:
    """Draw units with ``size`` decisions on average, of which each head finds its share."""
    unit = np.repeat(np.arange(units), 1 + rng.poisson(size - 1, units))
    latent = 0.5 * rng.normal(size=units)[unit, None] + math.sqrt(0.75) * rng.normal(size=(len(unit), len(shares)))
    return Sample(ids(rng, units), unit, latent < quantiles(shares))


def ids(rng: np.random.Generator, units: int) -> list[str]:
    """Ids of units, from which the bootstrap draws its weights."""
    return [f"{name}" for name in rng.integers(2**62, size=units)]


def quantiles(shares: Sequence[float]) -> Array:
    return np.array([NormalDist().inv_cdf(share) for share in shares])


def counts(one: Sample, n_baselines: int = 0, group: Array | None = None) -> tuple[Counts, Counts]:
    """The counts of heads in one direction and layer; the last columns of the hits are those of baselines."""
    group = np.zeros(len(one.unit), dtype=int) if group is None else group
    n_heads = one.hits.shape[1] - n_baselines

    def of(weights: Array) -> Counts:
        by_decision = weights[:, one.unit].astype(float)
        columns = np.concatenate([one.hits, np.ones((len(one.hits), 1))], 1)
        added = np.stack([by_decision[:, group == g] @ columns[group == g] for g in range(group.max() + 1)])
        correct, baselines, total = np.split(added.astype(np.int64), [n_heads, n_heads + n_baselines], axis=2)
        return Counts(correct[:, :, None, None], baselines, total[..., 0])

    subsets, replicates = one.weights
    return of(subsets), of(replicates)


EQUAL = (0.6, 0.6, 0.59, 0.58, 0.55, 0.5, 0.4, 0.3)
"""The shares of heads of which several are nearly equally good."""


def accuracy(rng: np.random.Generator, units: int) -> Estimate:
    (row,) = _best(sample(rng, units, (0.6, 0.4)), 1, 1)
    return Estimate(row["accuracy"], row["accuracy_low"], row["accuracy_high"], 0.6)


def gain(rng: np.random.Generator, units: int) -> Estimate:
    (row,) = _best(sample(rng, units, (0.6, 0.4)), 1, 1)
    return Estimate(row["gain"], row["gain_low"], row["gain_high"], 0.2)


def heldout_gain(rng: np.random.Generator, units: int) -> Estimate:
    (row,) = _best(sample(rng, units, (*EQUAL, 0.5, 0.49, 0.45, 0.1)), 4, 4)
    return Estimate(row["heldout_gain"], row["heldout_gain_low"], row["heldout_gain_high"])


def _best(one: Sample, n_baselines: int, n_offsets: int) -> Any:
    best = tables(["obj"], *counts(one, n_baselines), range(1, n_offsets + 1)).best
    return best[best["relation"] == ALL].to_dict("records")


def rules(rng: np.random.Generator, units: int) -> Estimate:
    shares = np.concatenate([EQUAL, np.linspace(0.2, 0.5, 10 + len(NEAREST))])
    one = sample(rng, units, shares.tolist())
    tag = rng.integers(0, 3, len(one.unit))
    heads = counts(one._replace(hits=one.hits[:, : len(EQUAL)]))
    of_rules = tuple(
        replace(each, correct=each.correct[:, :, 0])  # without directions
        for each in counts(one._replace(hits=one.hits[:, len(EQUAL) :]), group=tag)
    )
    metric: Any = SimpleNamespace(pairs=[("obj", t) for t in ("NOUN", "PRON", "VERB")], split_counts=lambda: of_rules)
    row: Any = rule_columns(metric, {"obj": frozenset(["obj"])}, *heads, ["obj"]).loc["obj"]
    best = heads_value(heads)
    return Estimate(best - row["tag_rule_heldout"], row["tag_rule_gain_low"], row["tag_rule_gain_high"])


def heads_value(of: tuple[Counts, Counts]) -> float:
    (one,) = measured_heads({"obj": [0]}, *of, ["dep->head"])
    return one.value


def ensemble(rng: np.random.Generator, units: int) -> Estimate:
    one = sample(rng, units, (0.5,))
    n_heads, n_candidates = 8, 5
    ease = rng.normal(size=units)[one.unit]
    values = rng.normal(size=(len(one.unit), n_heads, n_candidates))
    # The first candidate is right. Heads differ in how much more they give to it.
    values[..., 0] += np.array([1.0, 1.0, 0.95, 0.9, 0.8, 0.6, 0.4, 0.2]) + 0.5 * ease[:, None]
    gold = np.zeros(values.shape[::2], dtype=bool)
    gold[:, 0] = True
    subsets, replicates = one.weights
    single, halves = values.astype(np.float32), subsets[1:].T
    row, _ = score_ensembles(
        single, right_alone(single, gold), gold, one.unit, halves, replicates.astype(float), 3, (1, n_heads, 1), "raw"
    )
    value = (row["heldout_correct"] - row["single_correct"]) / row["heldout_total"]
    return Estimate(value, row["gain_low"] or math.nan, row["gain_high"] or math.nan)


def tree_ensemble(rng: np.random.Generator, units: int) -> Estimate:
    """The gain of the trees of an ensemble over those of the best head, each chosen on the same half."""
    one = sample(rng, units, (*EQUAL, *(share + 0.05 for share in EQUAL)))
    right = np.stack([np.bincount(one.unit, column, units) for column in one.hits.T], 1).astype(int)  # unit, head
    heads, together = np.split(right, 2, axis=1)
    subsets, replicates = one.weights
    first = subsets[1:]
    scored = np.concatenate([subsets[:1], np.stack([~first, first], 1).reshape(2 * SPLITS, units)]).T  # unit, choice
    chosen = [int((heads * choosing[:, None]).sum(0).argmax()) for choosing in (~scored[:, 1:]).T]
    chosen = [int(heads.sum(0).argmax()), *chosen]
    row = ensemble_row(
        together[:, chosen], {"head": heads[:, chosen]}, np.bincount(one.unit), scored, replicates.astype(float)
    )
    return Estimate(*(row[f"head_gain{end}"] for end in ("", "_low", "_high")))


def mistake(rng: np.random.Generator, units: int) -> Estimate:
    one = sample(rng, units, (0.3,))
    x, n = np.bincount(one.unit, one.hits[:, 0]).astype(int), np.bincount(one.unit)
    low, high = cluster_interval(*map(int, (x.sum(), (x * x).sum(), (x * n).sum(), n.sum(), (n * n).sum())))
    return Estimate(x.sum() / n.sum(), low, high, 0.3)


RELATIONS = tuple("abcdef")


def transfer(rng: np.random.Generator, units: int) -> Estimate:
    """The mean loss over relations, for which the treebanks have other best heads."""
    means = transfers({name: _treebank(rng, units, shift) for shift, name in enumerate("xy")}, 1).means
    return Estimate(*(means[0][name] for name in ("loss", "loss_low", "loss_high")))


def choosers(rng: np.random.Generator, units: int) -> Estimate:
    """The difference of the mean losses of the heads of two treebanks on the other two."""
    found = transfers({name: _treebank(rng, units, shift) for shift, name in enumerate("wxyz")}, 1).choosers
    row = found[0].difference
    return Estimate(row.difference, row.low, row.high)


def _treebank(rng: np.random.Generator, units: int, shift: int) -> KeptCounts:
    """A treebank in which the head with the number ``shift`` is better than in others."""
    shares = np.array(EQUAL)
    shares[shift] += 0.1
    one = sample(rng, units, shares.tolist(), size=6.0 * len(RELATIONS))
    of = counts(one, group=rng.integers(0, len(RELATIONS), len(one.unit)))
    groups = {name: [index] for index, name in enumerate(RELATIONS)}
    return kept_counts(groups, RELATIONS, measured_heads(groups, *of, ["dep->head"]), of)


def difference(rng: np.random.Generator, units: int) -> Estimate:
    one = sample(rng, units, (*EQUAL, *EQUAL))
    families = [_family(one._replace(hits=hits)) for hits in np.split(one.hits, 2, axis=1)]
    (row,) = differences(*families, min_count=1)
    return Estimate(row.difference, row.low, row.high)


def _family(one: Sample) -> Comparable:
    measured = measured_heads({"obj": [0]}, *counts(one), ["dep->head"])
    return Comparable("relations", measured, "words whose head is found", "words", 0)


def mean_over_treebanks(rng: np.random.Generator, units: int) -> Estimate:
    contrasts = ContrastCollector(1)
    for treebank in ("a", "b"):
        one = sample(rng, units, (*EQUAL, *EQUAL))
        cells = [
            KeptCell(model, {"weight": [_family(one._replace(hits=hits))]}, {})
            for model, hits in zip("xy", np.split(one.hits, 2, axis=1), strict=True)
        ]
        contrasts.add(treebank, cells)
    [row] = contrasts.collect().means[0].contrast.differences
    return Estimate(row.difference, row.low, row.high)


def group_contrast(rng: np.random.Generator, units: int) -> Estimate:
    subsets, replicates = _groups(rng, units, (0.6,))
    row = best_head_contrast(0, ("x", "y"), [0, 1], {"x": [0], "y": [1]}, subsets, replicates)
    return Estimate(row["difference"], row["difference_low"], row["difference_high"], 0.0)


def largest_contrast(rng: np.random.Generator, units: int) -> Estimate:
    """The contrast of all heads at once: the one that is the farthest outside its interval, if any is."""
    subsets, replicates = _groups(rng, units, EQUAL)
    every, _ = contrast_tables(0, ("x", "y"), {"x": [0], "y": [1]}, subsets, replicates)
    worst = every.iloc[int((every["difference"].abs() / every["standard_error"]).argmax())]
    return Estimate(worst["difference"], worst["simultaneous_low"], worst["simultaneous_high"], 0.0)


def _groups(rng: np.random.Generator, units: int, shares: Sequence[float]) -> tuple[Counts, Counts]:
    """Two groups of documents without a difference, by one policy and read in both directions."""
    one = sample(rng, 2 * units, (*shares, *shares))
    made = counts(one, group=(one.unit % 2))
    n = len(shares)
    return tuple(Counts(each.correct.reshape(2, -1, 1, 2, 1, n), each.baselines, each.total) for each in made)  # type: ignore[return-value]


def attachment_score(rng: np.random.Generator, units: int) -> Estimate:
    row = _attachment(rng, units).methods.iloc[0]
    return Estimate(row["uas"], row["uas_low"], row["uas_high"], 0.7)


def probes(rng: np.random.Generator, units: int) -> Estimate:
    row = _attachment(rng, units).contrasts.iloc[0]
    return Estimate(row["difference"], row["low"], row["high"], 0.1)


def _attachment(rng: np.random.Generator, units: int) -> Any:
    one = sample(rng, units, (0.7, 0.7, 0.6))
    sizes = np.bincount(one.unit)
    sentences = [TestedSentence(name, (1,) * int(n), ("obj",) * int(n)) for name, n in zip(one.ids, sizes, strict=True)]
    names = ("probe", "probe", "other")
    attempts = [
        Attempt(name, "dependencies", "argmax", run, one.hits[:, column])
        for column, (name, run) in enumerate(zip(names, (1, 2, 1), strict=True))
    ]
    return attachment(sentences, attempts, contrasts=[("probe", "other")], replicates=REPLICATES)


def statistic(rng: np.random.Generator, units: int) -> Estimate:
    """The mean of a statistic of inputs, as the surface analysis compares it, between two kinds of maps."""
    names = ids(rng, units)
    ease = rng.normal(size=units)
    families = []
    for shift in (0.2, 0.0):
        values = 1 / (1 + np.exp(-(ease + rng.normal(size=units) + shift)))
        sums, drawn = replicate_sums(
            torch.from_numpy(values[:, None, None]), torch.ones(units, 1, dtype=torch.bool), names, REPLICATES, 0
        )
        means = sums[:, 0, 0].numpy() / 2.0**32 / np.maximum(drawn[:, 0].numpy(), 1)
        measured = Measured("entropy", float(values.mean()), units, means - values.mean())
        families.append(Comparable("entropy", (measured,), "mean entropy", "inputs", 0, unit="nats"))
    (row,) = differences(*families, min_count=1)
    return Estimate(row.difference, row.low, row.high)


def error_rate(rng: np.random.Generator, units: int) -> Estimate:
    counted = _alignment(rng, units, (0.7,))
    row: Any = baseline_row("x", counted)
    return Estimate(float(row["error_rate"]), float(row["low"]), float(row["high"]))


def error_rates(rng: np.random.Generator, units: int) -> Estimate:
    both = _alignment(rng, units, (0.7, 0.65))
    norm, weight = (both._replace(links=both.links[:, :, [head]]) for head in (0, 1))
    row: Any
    (row,) = contrast_rows({Series("AWI", "norm"): norm, Series("AWI", "weight"): weight})
    return Estimate(row["difference"], row["low"], row["high"])


def heldout_error_rate(rng: np.random.Generator, units: int) -> Estimate:
    both = _alignment(rng, units, (*EQUAL, 0.5))
    heads = both._replace(links=both.links[:, :, :-1], size=np.zeros((1, len(EQUAL))))
    row: Any = best_row(Series("AWI", "weight", SINGLE), heads, [both._replace(links=both.links[:, :, -1:])])
    return Estimate(*(row[f"heldout_gain{end}"] for end in ("", "_low", "_high")))


def _alignment(rng: np.random.Generator, units: int, shares: Sequence[float]) -> AlignmentCounts:
    """Pairs in which each target word has a link, sure ones and possible ones."""
    one = sample(rng, units, shares, size=12)
    is_sure = rng.random(len(one.unit)) < 0.7
    ones = np.ones((len(one.unit), len(shares)))
    of_word = np.stack([ones, one.hits & is_sure[:, None], one.hits], 2)  # links, hits of sure and possible ones
    of_pair = np.stack([np.bincount(one.unit, column) for column in of_word.reshape(len(ones), -1).T], 1)
    weights = np.concatenate(one.weights).astype(float)
    links = (weights @ of_pair).reshape(len(weights), 1, len(shares), 3).astype(np.int64)
    sure = (weights @ np.bincount(one.unit, is_sure)).astype(np.int64)
    return AlignmentCounts(links, sure, np.zeros((1, len(shares), 3)), np.zeros((1, len(shares))), units)


def verdict(rng: np.random.Generator, units: int) -> Estimate:
    """The mean difference of two divergences of texts, which are skewed."""
    return _of_texts(rng, rng.gamma(2, 0.15, units) - rng.gamma(2, 0.1, units), 0.1)


def verdict_of_decisions(rng: np.random.Generator, units: int) -> Estimate:
    """In how many texts a decision changes by one measure and not by another one."""
    return _of_texts(rng, rng.choice([1.0, 0.0, -1.0], units, p=[0.3, 0.6, 0.1]), 0.2)


def _of_texts(rng: np.random.Generator, differences_of_texts: Array, truth: float) -> Estimate:
    bootstrap = Bootstrap([(name,) for name in ids(rng, len(differences_of_texts))], REPLICATES)
    (low,), (high,) = bootstrap(differences_of_texts[:, None])
    return Estimate(float(differences_of_texts.mean()), low, high, truth)


INTERVALS: dict[str, Callable[[np.random.Generator, int], Estimate]] = {
    each.__name__: each
    for each in (
        accuracy, gain, heldout_gain, rules, ensemble, tree_ensemble, mistake, transfer, choosers, difference,
        mean_over_treebanks, group_contrast, largest_contrast, attachment_score, probes, statistic, error_rate,
        error_rates, heldout_error_rate, verdict, verdict_of_decisions,
    )
}  # fmt: skip


def coverage(name: str, units: int, samples: int, seed: int = 0) -> tuple[float, int]:
    """The share of the intervals of samples that contain the truth, and the number of samples with an interval."""
    rng = np.random.default_rng(seed)
    drawn = [INTERVALS[name](rng, units) for _ in range(samples)]
    mean = float(np.mean([one.value for one in drawn]))
    contains = [
        one.low <= (mean if math.isnan(one.truth) else one.truth) <= one.high
        for one in drawn
        if not math.isnan(one.low)
    ]
    return float(np.mean(contains)), len(contains)
