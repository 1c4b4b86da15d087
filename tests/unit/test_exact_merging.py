"""Metrics add up to the same bits for any split of a corpus into parts, and any order and nesting of merges.

Every metric counts the same random batches in one go and in parts. The values are compared with means over single
inputs that are added up in rational numbers, and therefore without any rounding of their own.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics import Metric

from attentionology.analyses.norms.feed_forward import FeedForwardChange
from attentionology.analyses.norms.mixing import MixingRatios
from attentionology.analyses.norms.shares import NormShares
from attentionology.analyses.shared.exact_sums import LIMIT, ExactSumError
from attentionology.analyses.surface.gradients import GradientImportance
from attentionology.analyses.surface.statistics import STATISTICS, SurfaceStatistics
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MIXING_VARIANTS, TOKEN_CLASSES, GradientBatch, MapBatch, NormBatch, StageBatch
from tests.reference import naive_surface

LAYERS, HEADS, VOCABULARY = 2, 3, 12
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
    labels = tuple(("w",) * n for n in lengths)
    sizes, classes = torch.tensor(lengths), classes_of(rng, lengths)
    return StageBatch(maps, COMPONENTS, sizes, classes, labels, sentences_of(rng, lengths))


def gradient_batch(rng: np.random.Generator) -> GradientBatch:
    lengths = lengths_of(rng)
    maps = attention(rng, lengths)
    gradients = maps * torch.from_numpy(rng.exponential(1e-5, maps.shape)).float()
    losses = torch.from_numpy(rng.random(len(lengths))).float()
    return GradientBatch(gradients, maps, classes_of(rng, lengths), losses, sentences_of(rng, lengths))


METRICS: dict[str, tuple[Callable[[], Metric], Callable[[np.random.Generator], Any]]] = {
    "surface": (lambda: SurfaceStatistics(LAYERS, HEADS), map_batch),
    "gradients": (lambda: GradientImportance(LAYERS, HEADS), gradient_batch),
    "shares": (lambda: NormShares(LAYERS, HEADS), norm_batch),
    "mixing": (lambda: MixingRatios(LAYERS), norm_batch),
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


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("surface", "macro"),
        ("surface", "pooled"),
        ("surface", "uniform"),
        ("gradients", "macro"),
        ("gradients", "pooled"),
        ("gradients", "loss"),
        ("shares", "sums"),
        ("mixing", "sums"),
        ("change", "sums"),
    ],
)
def test_sums_that_overflow_are_refused(name, state):
    make, batch_of = METRICS[name]
    metric, other = make(), make()
    for changed in (metric, other):
        getattr(changed, state).fill_(LIMIT - 1)
    with pytest.raises(ExactSumError, match="too large"):
        metric.merge_state(other)
    with pytest.raises(ExactSumError, match="too large"):
        other.update(batch_of(np.random.default_rng(0)))


def test_maps_that_are_not_finite_are_refused():
    batch = map_batch(np.random.default_rng(0))
    batch.maps[0, 0, 0, 0, 0] = math.nan
    metric = SurfaceStatistics(LAYERS, HEADS)
    with pytest.raises(ValueError, match="rows sum to 1 only within nan"):
        metric.update(batch)
    assert int(metric.inputs.sum()) == 0


@pytest.mark.parametrize(
    ("name", "field"), [("shares", "value_norms"), ("mixing", "ratios"), ("change", "maps"), ("gradients", "gradients")]
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
