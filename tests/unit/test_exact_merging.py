"""Metrics add up to the same bits for any split of a corpus into parts, and any order and nesting of merges.

Every metric counts the same random batches in one go and in parts. The values are compared with means over single
inputs that are added up in rational numbers, and therefore without any rounding of their own.
"""

from __future__ import annotations

import copy
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.failures import CoreferenceFailures
from attentionology.analyses.counting.exact_sums import ExactSumError
from attentionology.analyses.counting.metric import Metric
from attentionology.analyses.counting.resampling import sentence_keys
from attentionology.analyses.counting.stored_metrics import MetricStates
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.norms.block import FeedForwardBlock
from attentionology.analyses.norms.feed_forward import FeedForwardChange
from attentionology.analyses.norms.frequency import MEASURES, FrequencyCorrelation
from attentionology.analyses.norms.mixing import MixingRatios
from attentionology.analyses.norms.shares import NormShares
from attentionology.analyses.norms.spread import WeightsAndNorms
from attentionology.analyses.surface.gradients import GradientImportance
from attentionology.analyses.surface.statistics import STATISTICS, SurfaceStatistics
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MIXING_VARIANTS, TOKEN_CLASSES, GradientBatch, MapBatch, NormBatch, StageBatch
from attentionology.extractors.maps.stage_batch import LEFT_OUT
from tests import documents
from tests.maps import RELATIONS, batch_of, random_sentence
from tests.reference import naive_surface

LAYERS, HEADS, DIM, VOCABULARY = 2, 3, 5, 12
COMPONENTS = ("FF", "RES", "LN")


def attention(rng: np.random.Generator, lengths: Sequence[int]) -> torch.Tensor:
    """Padded random attention, shape (batch, layers, heads, n, n)."""
    maps = torch.zeros(len(lengths), LAYERS, HEADS, max(lengths), max(lengths))
    for row, n in enumerate(lengths):
        maps[row, ..., :n, :n] = torch.from_numpy(rng.dirichlet(np.full(n, 0.4), size=(LAYERS, HEADS, n)))
    return maps


def lengths_of(rng: np.random.Generator) -> list[int]:
    lengths: list[int] = rng.integers(1, 6, size=rng.integers(1, 4)).tolist()
    return lengths


def classes_of(rng: np.random.Generator, lengths: Sequence[int]) -> torch.Tensor:
    classes = torch.full((len(lengths), max(lengths)), -1)
    for row, n in enumerate(lengths):
        classes[row, :n] = torch.from_numpy(rng.integers(0, len(TOKEN_CLASSES), n))
    return classes


def sentences_of(rng: np.random.Generator, lengths: Sequence[int]) -> tuple[Sentence, ...]:
    return tuple(Sentence(f"s{rng.integers(2**40)}", tuple("w" * n)) for n in lengths)


def map_batch(rng: np.random.Generator) -> MapBatch:
    lengths = lengths_of(rng)
    forms = tuple(tuple(rng.choice([".", "!", "dog"], size=n).tolist()) for n in lengths)
    special = torch.zeros(len(lengths), max(lengths), dtype=torch.bool)
    for row, n in enumerate(lengths):
        special[row, :n] = torch.from_numpy(rng.random(n) < 0.3)
    maps, sentences = attention(rng, lengths), sentences_of(rng, lengths)
    return MapBatch(maps, torch.tensor(lengths), special, sentences, forms, forms, level="token")


def norm_batch(rng: np.random.Generator) -> NormBatch:
    lengths = lengths_of(rng)
    size, n = len(lengths), max(lengths)
    return NormBatch(
        attention(rng, lengths),
        torch.from_numpy(rng.exponential(3, (size, LAYERS, HEADS, n))).float(),
        torch.from_numpy(rng.exponential(100, (size, LAYERS, n))).float(),
        torch.from_numpy(rng.random((size, len(MIXING_VARIANTS), LAYERS, n))).float(),
        torch.tensor(lengths),
        torch.from_numpy(rng.integers(0, VOCABULARY, (size, n))),
        classes_of(rng, lengths),
        sentences_of(rng, lengths),
    )


def stage_batch(rng: np.random.Generator) -> StageBatch:
    lengths = lengths_of(rng)
    maps = torch.zeros(len(lengths), LAYERS, 4, max(lengths), max(lengths))
    for row, n in enumerate(lengths):
        maps[row, ..., :n, :n] = torch.from_numpy(rng.random((LAYERS, 4, n, n)))
    without = torch.zeros(len(lengths), LAYERS, len(LEFT_OUT), 2, max(lengths), max(lengths))
    words = torch.full((len(lengths), max(lengths)), -1)
    for row, n in enumerate(lengths):
        without[row, ..., :n, :n] = torch.from_numpy(rng.random((LAYERS, len(LEFT_OUT), 2, n, n)))
        words[row, :n] = torch.arange(n)
    return StageBatch(
        maps=maps,
        without=without,
        components=COMPONENTS,
        ff_norms=torch.from_numpy(rng.exponential(3, (len(lengths), LAYERS, max(lengths)))),
        residual_norms=torch.from_numpy(rng.exponential(9, (len(lengths), LAYERS, max(lengths)))),
        angles=torch.from_numpy(rng.uniform(0, 180, (len(lengths), LAYERS, max(lengths)))),
        sizes=torch.from_numpy(rng.exponential(1, (len(lengths), LAYERS, DIM))),
        gammas=torch.linspace(0, 1, LAYERS * DIM).view(LAYERS, DIM),
        lengths=torch.tensor(lengths),
        classes=classes_of(rng, lengths),
        words=words,
        labels=tuple(("w",) * n for n in lengths),
        sentences=sentences_of(rng, lengths),
    )


def gradient_batch(rng: np.random.Generator) -> GradientBatch:
    lengths = lengths_of(rng)
    maps = attention(rng, lengths)
    gradients = maps * torch.from_numpy(rng.exponential(1e-5, maps.shape)).float()
    losses = torch.from_numpy(rng.random(len(lengths))).float()
    return GradientBatch(gradients, maps, classes_of(rng, lengths), losses, sentences_of(rng, lengths))


def word_batch(rng: np.random.Generator) -> MapBatch:
    sentences = [random_sentence(rng, f"s{rng.integers(2**40)}", 5) for _ in range(rng.integers(1, 4))]
    word_maps = [rng.random((LAYERS, HEADS, len(s) + 2, len(s) + 2), dtype=np.float32) for s in sentences]
    return batch_of(sentences, word_maps)


def window_batch(rng: np.random.Generator) -> MapBatch:
    windows = [documents.window(DOCUMENTS[index]) for index in rng.integers(0, len(DOCUMENTS), rng.integers(1, 4))]
    word_maps = [rng.random((LAYERS, HEADS, len(w) + 2, len(w) + 2), dtype=np.float32) for w in windows]
    return batch_of(windows, word_maps)


DOCUMENTS = [documents.random_document(np.random.default_rng(k), f"d{k}") for k in range(6)]

METRICS: dict[str, tuple[Callable[[], Metric], Callable[[np.random.Generator], Any]]] = {
    "dependency": (lambda: DependencyAccuracy(RELATIONS, LAYERS, HEADS, replicates=9), word_batch),
    "coreference": (
        lambda: CoreferenceAccuracy(documents.corpus(*DOCUMENTS), LAYERS, HEADS, replicates=9),
        window_batch,
    ),
    "coreference-failures": (lambda: CoreferenceFailures(LAYERS, HEADS), window_batch),
    "surface": (lambda: SurfaceStatistics(LAYERS, HEADS, replicates=9), map_batch),
    "gradients": (lambda: GradientImportance(LAYERS, HEADS), gradient_batch),
    "shares": (lambda: NormShares(LAYERS, HEADS), norm_batch),
    "frequency": (lambda: FrequencyCorrelation(VOCABULARY), norm_batch),
    "frequency-sample": (lambda: FrequencyCorrelation(VOCABULARY, most_tokens=7), norm_batch),
    "mixing": (lambda: MixingRatios(LAYERS), norm_batch),
    "spread": (lambda: WeightsAndNorms(LAYERS, HEADS), norm_batch),
    "block": (lambda: FeedForwardBlock(LAYERS, COMPONENTS, DIM, []), stage_batch),
    "change": (lambda: FeedForwardChange(LAYERS, COMPONENTS, top=4), stage_batch),
}
"""How to make each metric, and a random batch for it."""


def merged(make: Callable[[], Metric], batches: Sequence[Any], choices: random.Random) -> Metric:
    """Count the batches in a random order and in random parts, which are merged in a random nesting."""
    order = list(batches)
    choices.shuffle(order)
    parts = []
    while order:
        part, size = make(), choices.randint(0, len(order))
        for batch in order[:size]:
            part.update(batch)
        parts.append(part)
        del order[:size]
    while len(parts) > 1:
        first, second = (parts.pop(choices.randrange(len(parts))) for _ in range(2))
        first.merge_state(second if choices.random() < 0.5 else copy.deepcopy(second.metric_state))
        parts.append(first)
    return parts[0]


def same(one: Any, other: Any) -> bool:
    """Whether two states are equal, bit by bit."""
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one.dtype == other.dtype and torch.equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 6))
def test_any_split_order_and_nesting_gives_the_same_states(name, seed, size):
    make, batch_of = METRICS[name]
    rng = np.random.default_rng(seed)
    batches = [batch_of(rng) for _ in range(size)]
    whole = make()
    for batch in batches:
        whole.update(batch)
    states, expected = merged(make, batches, random.Random(seed)).metric_state, whole.metric_state
    assert set(states) == set(whole._defaults)
    for state, value in expected.items():
        assert same(states[state], value), state


def test_maps_that_are_not_finite_are_refused():
    batch = map_batch(np.random.default_rng(0))
    batch.maps[0, 0, 0, 0, 0] = math.nan
    metric = SurfaceStatistics(LAYERS, HEADS)
    with pytest.raises(ValueError, match="rows sum to 1 only within nan"):
        metric.update(batch)
    assert int(metric.inputs.sum()) == 0


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("shares", "value_norms"),
        ("frequency", "value_norms"),
        ("mixing", "ratios"),
        ("change", "maps"),
        ("gradients", "gradients"),
    ],
)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused(name, field, value):
    make, batch_of = METRICS[name]
    batch, metric = batch_of(np.random.default_rng(0)), make()
    before = copy.deepcopy(metric.metric_state)
    getattr(batch, field)[0, 0, 0].view(-1)[0] = value
    with pytest.raises(ExactSumError, match="not finite"):
        metric.update(batch)
    for state, empty in before.items():
        assert same(metric.metric_state[state], empty), state


def measures_of(batches: Sequence[NormBatch]) -> dict[str, list[tuple[int, bool, list[float]]]]:
    """The vocabulary id, whether it is special, and the measures of each token, by sentence."""
    tokens: dict[str, list[tuple[int, bool, list[float]]]] = {}
    for batch in batches:
        for row, (sentence, length) in enumerate(zip(batch.sentences, batch.lengths.tolist(), strict=True)):
            alpha, norms = batch.alpha[row].double().numpy(), batch.value_norms[row].double().numpy()
            tokens[sentence.id] = [
                (
                    int(batch.ids[row, i]),
                    TOKEN_CLASSES[batch.classes[row, i]] in ("[CLS]", "[SEP]"),
                    [
                        norms[..., i].mean(),
                        alpha[..., :length, i].mean(),
                        (alpha[..., :length, i].mean(-1) * norms[..., i]).mean(),
                        *batch.ratios[row, ..., i].double().mean(1).tolist(),
                    ],
                )
                for i in range(length)
            ]
    return tokens


@pytest.mark.parametrize("most_tokens", [1000, 60, 20])
def test_correlations_are_those_of_the_sample_and_ranks_those_of_all_tokens(most_tokens):
    rng = np.random.default_rng(1)
    batches = [norm_batch(rng) for _ in range(30)]
    metric = FrequencyCorrelation(VOCABULARY, most_tokens=most_tokens)
    for batch in batches:
        metric.update(batch)
    tokens = measures_of(batches)
    size = sum(map(len, tokens.values()))
    counts = Counter(token for sentence in tokens.values() for token, _, _ in sentence)
    in_sample, bound = list(tokens), 2**64
    while sum(len(tokens[name]) for name in in_sample) > most_tokens:
        bound //= 2
        in_sample = [name for name in tokens if int(sentence_keys([name])[0]) < bound]
    assert metric.sample_size() == (len(in_sample), len(tokens))
    assert (len(in_sample) < len(tokens)) == (size > most_tokens)
    table = {(row["measure"], row["tokens"]): row for row in metric.compute().to_dict("records")}
    for choice in ("all", "words"):
        rows = [row for name in in_sample for row in tokens[name] if choice == "all" or not row[1]]
        for column, measure in enumerate(MEASURES):
            expected = spearmanr([-counts[token] for token, _, _ in rows], [values[column] for *_, values in rows])
            assert table[measure, choice]["rho"] == pytest.approx(expected.statistic, abs=1e-9)
            assert table[measure, choice]["count"] == len(rows)


@pytest.mark.parametrize("tokens", [4, 5])
def test_fewer_than_five_tokens_do_not_correlate_with_their_frequency(monkeypatch, tokens):
    monkeypatch.setitem(globals(), "lengths_of", lambda rng: [tokens])
    metric = FrequencyCorrelation(VOCABULARY, {token: token + 1 for token in range(VOCABULARY)})
    metric.update(norm_batch(np.random.default_rng(1)))
    table = metric.compute().query("tokens == 'all'")
    assert set(table["count"]) == {tokens}
    assert table["rho"].isna().all() == (tokens == 4)


def test_sentences_of_one_id_are_sampled_together_in_any_order():
    rng = np.random.default_rng(2)
    batches = [norm_batch(rng) for _ in range(8)]
    named = [replace(batch, sentences=(Sentence("same", ("w",)),) * len(batch.lengths)) for batch in batches]
    metrics = [FrequencyCorrelation(VOCABULARY) for _ in range(2)]
    for metric, order in zip(metrics, (named, named[::-1]), strict=True):
        for batch in order:
            metric.update(batch)
    assert all(same(metrics[0].metric_state[name], state) for name, state in metrics[1].metric_state.items())
    few = FrequencyCorrelation(VOCABULARY, most_tokens=3)
    for batch in named:
        few.update(batch)
    assert few.sample_size()[0] == 0  # one sentence of too many tokens
    assert few.compute()["rho"].isna().all()


def test_the_states_of_a_sample_can_be_loaded():
    rng = np.random.default_rng(3)
    batches = [norm_batch(rng) for _ in range(9)]
    metric, restored = (FrequencyCorrelation(VOCABULARY, most_tokens=30) for _ in range(2))
    for batch in batches:
        metric.update(batch)
    restored.load_state_dict(metric.metric_state)
    assert restored.compute().equals(metric.compute())
    ranks = {"3": 1, "5": 2}  # as they come from JSON
    arguments = {"vocabulary": VOCABULARY, "most_tokens": 30, "ranks": ranks}
    given = FrequencyCorrelation(VOCABULARY, {3: 1, 5: 2}, most_tokens=30)
    given.merge_state(metric)
    assert MetricStates.of(given, arguments).restore(FrequencyCorrelation).compute().equals(given.compute())
    restored.update(batches[0])
    assert restored.sample_size()[1] == metric.sample_size()[1] + len(batches[0].lengths)
    with pytest.raises(ValueError, match="vocabulary id"):
        FrequencyCorrelation(2).update(batches[0])


def test_changes_without_a_rank_correlation_are_left_out():
    rng = np.random.default_rng(4)
    batch = stage_batch(rng)
    while max(batch.lengths) < 3:
        batch = stage_batch(rng)
    alone, both = (FeedForwardChange(LAYERS, COMPONENTS, top=2) for _ in range(2))
    alone.update(batch)
    both.update(batch)
    uniform = replace(batch, maps=batch.maps.clone())
    uniform.maps[:, 0, 0] = (batch.maps[:, 0, 0] > 0).float()  # nothing to rank before FF in layer 1
    uniform.maps[:, 1] = 0
    both.update(uniform)
    sentences = int((batch.lengths > 1).sum())
    expected = alone.compute().change.to_dict("records")
    for row, one in zip(both.compute().change.to_dict("records"), expected, strict=True):
        twice = row["layer"] == 1 and row["component"] in ("RES", "LN")
        assert row["sentences"] == sentences * (2 if twice else 1)
        assert row["change"] == pytest.approx(one["change"], rel=0, abs=1e-9)


def mean(values: Sequence[float]) -> float:
    """The mean without rounding errors of a sum in floating point."""
    return float(sum(map(Fraction, values)) / len(values)) if values else math.nan


@pytest.mark.parametrize("seed", range(3))
def test_means_of_surface_statistics(seed):
    rng = np.random.default_rng(seed)
    batches = [map_batch(rng) for _ in range(4)]
    for batch in batches:
        batch.maps[:] = batch.maps.double().mul(64).round() / 64  # sums over rows are then exact in float32
        remainder = 1 - batch.maps.sum(-1)
        batch.maps[..., 0] += torch.where(batch.maps.sum(-1) > 0, remainder, 0)
    metric = SurfaceStatistics(LAYERS, HEADS)
    for batch in batches:
        metric.update(batch)
    heads = {(row["layer"], row["head"]): row for row in metric.compute().heads.to_dict("records")}
    shares = [name for name in STATISTICS if "entropy" not in name]
    for layer in range(LAYERS):
        for head in range(HEADS):
            by_input = [
                naive_surface.statistics(
                    maps[layer, head], batch.special[row, : maps.shape[-1]].tolist(), batch.forms[row]
                )
                for batch in batches
                for row, (_, maps) in enumerate(batch.unpadded())
            ]
            for name in shares:
                defined = [statistics[name] for statistics in by_input if statistics[name][1]]
                macro = mean([total / rows for total, rows in defined])
                rows = sum(rows for _, rows in defined)
                pooled = mean([total for total, _ in defined]) * len(defined) / rows if rows else math.nan
                row = heads[layer + 1, head + 1]
                assert row[name] == pytest.approx(macro, rel=0, abs=1e-9, nan_ok=True), name
                assert row[name + "_pooled"] == pytest.approx(pooled, rel=0, abs=1e-9, nan_ok=True), name


def test_groups_of_documents_have_one_order_whatever_is_merged_first():
    runs = [{"corpus": corpus, "n_layers": 2, "n_heads": 3} for corpus in ([["b"]], [["a"], ["b"]])]
    for arguments in (runs, runs[::-1]):
        assert CoreferenceAccuracy.joined_arguments(arguments)["corpus"] == [("a",), ("b",)]
