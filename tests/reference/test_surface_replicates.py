"""Bootstrap replicates of surface statistics against a plain loop over replicates, inputs and heads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from attentionology.analyses.comparison.differences import differences
from attentionology.analyses.counting.comparable import Comparable, Measured
from attentionology.analyses.counting.exact_sums import ExactSumError, floating
from attentionology.analyses.counting.resampling import poisson_weights
from attentionology.analyses.surface import batches
from attentionology.analyses.surface.batches import replicate_sums
from attentionology.analyses.surface.shares import comparable_statistics
from attentionology.analyses.surface.statistics import STATISTICS, SurfaceStatistics
from attentionology.extractors import MapBatch
from tests.reference import naive_surface
from tests.reference.test_surface import random_batch

REPLICATES, SEED = 7, 3


def batches_of(seed: int) -> list[MapBatch]:
    """Two batches of five inputs, each input with an id of its own."""
    rng = np.random.default_rng(seed)
    batches = [random_batch(rng, specials=bool(index)) for index in range(2)]
    return [
        dataclasses.replace(
            batch, sentences=tuple(dataclasses.replace(one, id=f"{index}-{one.id}") for one in batch.sentences)
        )
        for index, batch in enumerate(batches)
    ]


def counted(batches: list[MapBatch], replicates: int = REPLICATES) -> SurfaceStatistics:
    metric = SurfaceStatistics(2, 3, replicates=replicates, seed=SEED)
    for batch in batches:
        metric.update(batch)
    return metric


def naive(batches: list[MapBatch], name: str, layer: int, replicate: int) -> float:
    """The mean over the drawn inputs that have a statistic of its mean over heads."""
    total = drawn = 0.0
    for batch in batches:
        for row, (sentence, maps) in enumerate(batch.unpadded()):
            weight = float(poisson_weights([sentence.id], REPLICATES, SEED)[replicate, 0])
            special = batch.special[row, : maps.shape[-1]].tolist()
            heads = [naive_surface.statistics(head, special, batch.forms[row])[name] for head in maps[layer]]
            if heads[0][1]:
                total += weight * sum(value / rows for value, rows in heads) / len(heads)
                drawn += weight
    return total / drawn if drawn else float("nan")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_replicates_are_those_of_a_plain_loop(seed):
    batches = batches_of(seed)
    metric = counted(batches)
    for name in STATISTICS:
        expected = [[naive(batches, name, layer, replicate) for replicate in range(REPLICATES)] for layer in range(2)]
        np.testing.assert_allclose(metric.layer_replicates(name), expected, rtol=0, atol=1e-6, err_msg=name)


def test_replicates_do_not_depend_on_batches():
    rng = np.random.default_rng(0)
    values = torch.from_numpy(rng.random((40, 2, 3)))
    defined = torch.from_numpy(rng.random((40, 2)) < 0.8)
    ids = [f"s{index}" for index in range(40)]
    whole = replicate_sums(values, defined, ids, 30, 0)
    order = rng.permutation(40)
    parts = [
        replicate_sums(values[rows], defined[rows], [ids[row] for row in rows], 30, 0)
        for rows in np.split(order, [7, 8, 31])
    ]
    for index in (0, 1):
        assert torch.equal(whole[index], sum((part[index] for part in parts), torch.zeros_like(whole[index])))


def test_products_are_exact_whatever_their_number(monkeypatch):
    values, defined = torch.rand(50, 1, 2, dtype=torch.float64), torch.ones(50, 1, dtype=torch.bool)
    ids = [f"s{index}" for index in range(50)]
    expected = replicate_sums(values, defined, ids, 20, 0)[0]
    units = (values * 2**32).round().long()
    weights = torch.from_numpy(poisson_weights(ids, 20, 0).astype(np.int64))
    assert torch.equal(expected, (weights[:, :, None, None] * units).sum(1))
    monkeypatch.setattr(batches, "_EXACT", 2**38)  # three inputs at once
    assert torch.equal(replicate_sums(values, defined, ids, 20, 0)[0], expected)
    with pytest.raises(ExactSumError, match="too large"):
        replicate_sums(100 * values + 10, defined, ids, 20, 0)


def test_statistics_do_not_differ_from_themselves():
    metric = counted(batches_of(1), replicates=50)
    rows = [row for one in comparable_statistics(metric) for row in differences(one, one, min_count=1)]
    assert len(rows) == 14 + 8 * 2 + 3
    assert {(row.difference, row.low, row.high) for row in rows if row.p == row.p} == {(0.0, 0.0, 0.0)}
    assert sum(row.p == 1 for row in rows) > 25


def test_values_are_those_of_the_report():
    metric = counted(batches_of(2))
    tables = metric.compute()
    overall, layered, entropies = comparable_statistics(metric)
    by_group = {one.group: one for one in (*overall.measured, *layered.measured, *entropies.measured)}
    heads = tables.heads
    assert by_group["previous"].value == pytest.approx(heads["previous"].mean())
    assert by_group["punctuation, layer 2"].value == pytest.approx(heads[heads["layer"] == 2]["punctuation"].mean())
    assert by_group["layer 1"].value == pytest.approx(heads[heads["layer"] == 1]["entropy"].mean())
    assert by_group["self"].n == 10
    assert by_group["first_special"].n == 5  # only the inputs of one batch have special tokens
    assert entropies.unit == "nats"


def test_random_halves_differ_significantly_no_more_often_than_intervals_say():
    rng = np.random.default_rng(5)
    excluded = trials = 0
    for trial in range(400):
        values = torch.from_numpy(rng.normal(0.5, 0.1, size=(80, 1, 1)))
        sides: list[Comparable] = []
        for half in (values[:40], values[40:]):
            ids = [f"{trial}-{len(sides)}-{index}" for index in range(40)]
            sums, drawn = replicate_sums(half, torch.ones(40, 1, dtype=torch.bool), ids, 200, 0)
            value = float(half.mean())
            deviations = (floating(sums[:, 0, 0]) / drawn[:, 0]).numpy() - value
            sides.append(Comparable("all", (Measured("share", value, 40, deviations),), "shares", "inputs", 0))
        (row,) = differences(*sides, min_count=1)
        excluded += not row.low <= 0 <= row.high
        trials += 1
    assert 0.02 * trials <= excluded <= 0.09 * trials  # 5 %, three standard errors, and a little for 40 inputs
