"""Divergences between heads against sums written out, and their bounds."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attentionology.analyses.clusters import distances as module
from attentionology.analyses.clusters.distances import HeadDistances
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapBatch
from tests.reference import naive_surface
from tests.reference.test_surface import hand_made


@pytest.fixture(autouse=True, scope="module", params=["numpy", "torch"])
def _logarithm(request):
    """Each processor has its faster logarithm, and every test runs with both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_log2", {"numpy": np.log2, "torch": module._torch_log2}[request.param])
        yield


def batch_of(rng: np.random.Generator, lengths: list[int], layers: int = 2, heads: int = 3) -> MapBatch:
    maps = [rng.dirichlet(np.full(n, 0.1), size=(layers, heads, n)) for n in lengths]
    return hand_made(maps, [[False] * n for n in lengths], [("a",) * n for n in lengths])


def naive(batches: list[MapBatch], smoothing: float = 0.0) -> np.ndarray:
    heads = batches[0].maps.shape[1] * batches[0].maps.shape[2]
    total = np.zeros((heads, heads))
    for batch in batches:
        for _, array in batch.unpadded():
            maps = array.reshape(heads, *array.shape[-2:])
            for a, b in itertools.product(range(heads), repeat=2):
                total[a, b] += naive_surface.divergence(maps[a], maps[b], smoothing)
    return total


@functools.cache
def example(
    *lengths: tuple[int, ...], shape: tuple[int, int] = (2, 3), smoothing: float = 0.0
) -> tuple[list[MapBatch], np.ndarray]:
    """Batches of inputs of these lengths, and the sums written out, which both logarithms are compared with."""
    rng = np.random.default_rng(0)
    batches = [batch_of(rng, [*of_batch], *shape) for of_batch in lengths]
    return batches, naive(batches, smoothing)


@pytest.mark.parametrize("smoothing", [0.0, 1e-3])
@pytest.mark.parametrize("shape", [(1, 2), (2, 3), (3, 5)])
def test_against_sums_written_out(shape, smoothing):
    batches, expected = example((5, 2, 9), (1, 30), shape=shape, smoothing=smoothing)
    metric = HeadDistances(*shape, smoothing=smoothing)
    for batch in batches:
        metric.update(batch)
    tables = metric.compute()
    assert tables.rows == 47
    assert tables.sums.to_numpy() == pytest.approx(expected, abs=5e-6)
    assert tables.per_row.to_numpy() == pytest.approx(tables.sums.to_numpy() / 47)
    names = [f"{layer + 1}-{head + 1}" for layer in range(shape[0]) for head in range(shape[1])]
    assert tables.sums.index.tolist() == tables.sums.columns.tolist() == names


def counted(*batches: MapBatch) -> HeadDistances:
    metric = HeadDistances(*batches[0].maps.shape[1:3])
    for batch in batches:
        metric.update(batch)
    return metric


@pytest.mark.parametrize(("block", "compared"), [(128, 128), (128, 2**20), (1000, 5000), (2**18, 1)])
def test_cutting_into_blocks_changes_no_bit(monkeypatch, block, compared):
    [batch], expected = example((17, 17, 17, 12, 12, 3, 3, 20, 3, 11))
    whole = counted(batch)
    assert whole.compute().sums.to_numpy() == pytest.approx(expected, abs=5e-6)
    monkeypatch.setattr(module, "_BLOCK", block)
    monkeypatch.setattr(module, "_COMPARED", compared)
    assert torch.equal(counted(batch).doubled, whole.doubled)


class LastFirst:
    """Stands in for threads: computes everything when all of it has been submitted, the last first."""

    def __init__(self, threads: int) -> None:
        pass

    def __enter__(self) -> LastFirst:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return [function(item) for item in reversed(list(items))][::-1]


@pytest.mark.parametrize("block", [128, 1000, 2**18])
def test_the_order_in_which_threads_compare_blocks_changes_no_bit(monkeypatch, block):
    [batch], expected = example((17, 17, 17, 12, 12, 3, 3, 3, 3))
    monkeypatch.setattr(module, "_BLOCK", block)
    whole = counted(batch)
    assert whole.compute().sums.to_numpy() == pytest.approx(expected, abs=5e-6)
    monkeypatch.setattr(module, "ThreadPoolExecutor", LastFirst)
    assert torch.equal(counted(batch).doubled, whole.doubled)


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize("heads", [1, 3, 4, 24])
def test_threads_change_no_bit(threads, heads):
    before = torch.get_num_threads()
    batch = batch_of(np.random.default_rng(2), [40, 100], layers=1, heads=heads)
    whole = counted(batch)
    torch.set_num_threads(threads)
    try:
        assert torch.equal(counted(batch).doubled, whole.doubled)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


@given(st.lists(st.integers(1, 24), min_size=2, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_no_split_and_no_order_changes_a_bit(lengths, random):
    rng = np.random.default_rng(lengths)
    inputs = [rng.dirichlet(np.full(n, 0.1), size=(2, 3, n)) for n in lengths]

    def batch(chosen: list[np.ndarray]) -> MapBatch:
        sizes = [maps.shape[-1] for maps in chosen]
        return hand_made(chosen, [[False] * n for n in sizes], [("a",) * n for n in sizes])

    whole = counted(batch(inputs))
    random.shuffle(inputs)
    cuts = sorted(random.sample(range(1, len(inputs)), random.randint(1, len(inputs) - 1)))
    spans = zip([0, *cuts], [*cuts, len(inputs)], strict=True)
    parts = [counted(batch(inputs[start:end])) for start, end in spans]
    while len(parts) > 1:  # nested in any way
        absorbed = parts.pop(random.randrange(len(parts)))
        random.choice(parts).merge_state(absorbed)
    assert torch.equal(parts[0].doubled, whole.doubled)
    assert torch.equal(parts[0].rows, whole.rows)


def test_heads_that_attend_alike_and_heads_that_share_nothing():
    n = 8
    diagonal, next_one = np.eye(n), np.roll(np.eye(n), 1, axis=1)
    metric = HeadDistances(1, 3)
    metric.update(hand_made([np.stack([diagonal, next_one, diagonal])[None]], [[False] * n], [("a",) * n]))
    per_row = metric.compute().per_row.to_numpy()
    # All values are powers of two, whose logarithms are exact. Only the sums are rounded, to multiples of 2⁻³².
    assert per_row[0, 2] == pytest.approx(0, abs=3e-10)
    assert per_row[0, 1] == per_row[1, 2] == pytest.approx(math.log(2), abs=1e-7)
    assert (per_row == per_row.T).all()
    assert (np.diag(per_row) == 0).all()


def test_never_above_ln_2_nor_far_below_0():
    metric = HeadDistances(3, 5)
    metric.update(batch_of(np.random.default_rng(3), [50, 60], 3, 5))
    per_row = metric.compute().per_row.to_numpy()
    assert per_row.max() <= math.log(2) + 1e-7
    assert per_row.min() >= -1e-7


def test_sums_in_the_thousands_are_precise():
    """Peaked and broad heads over 4,000 rows of 128: float32 logarithms, yet right to 1e-3 of sums of thousands."""
    rng = np.random.default_rng(4)
    scores = rng.standard_normal((32, 1, 3, 128, 128)) * np.array([0.5, 3, 8])[:, None, None]
    maps = np.exp(scores - scores.max(-1, keepdims=True)).astype(np.float32)
    maps /= maps.sum(-1, keepdims=True)
    metric = HeadDistances(1, 3)
    metric.update(hand_made(list(maps), [[False] * 128] * 32, [("a",) * 128] * 32))
    sums = metric.compute().sums.to_numpy()
    exact = maps.astype(np.float64)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        p, q = exact[:, 0, a], exact[:, 0, b]
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.nan_to_num(p * np.log(2 * p / (p + q))) + np.nan_to_num(q * np.log(2 * q / (p + q)))
        assert terms.sum() / 2 > 1000
        assert sums[a, b] == pytest.approx(terms.sum() / 2, abs=1e-3)


def test_what_cannot_be_compared():
    batch = batch_of(np.random.default_rng(6), [3])
    with pytest.raises(ValueError, match="were expected"):
        HeadDistances(3, 3).update(batch)
    unnormalized = MapBatch(batch.maps * 2, batch.lengths, batch.special, (Sentence("bad", ("w",)),))
    with pytest.raises(ValueError, match="rows sum to 1 only within 1; extract"):
        HeadDistances(2, 3).update(unnormalized)
    unknown = batch.maps.clone()
    unknown[0, 1, 2, 0, 0] = torch.nan
    with pytest.raises(ValueError, match="rows sum to 1 only within nan"):
        HeadDistances(2, 3).update(MapBatch(unknown, batch.lengths, batch.special, batch.sentences))
    with pytest.raises(ValueError, match="smoothing"):
        HeadDistances(1, 1, smoothing=1.0)


@pytest.mark.parametrize(
    ("targets", "platform", "expected"),
    [
        ({"log2": {"ff": {"current": "AVX512_SKX"}}}, "linux", True),
        ({"log2": {"ff": {"current": "AVX512_SKX"}}}, "win32", False),
        ({"log2": {"ff": {"current": "baseline(SSE SSE2 SSE3)"}}}, "linux", False),
        ({}, "linux", False),
    ],
)
def test_which_processors_have_a_logarithm_of_numpy(monkeypatch, targets, platform, expected):
    monkeypatch.setattr(module, "opt_func_info", lambda name, signature: targets)
    monkeypatch.setattr(sys, "platform", platform)
    assert module._is_written_for_processor() is expected
