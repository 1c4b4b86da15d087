"""The sizes of counts that a dry run extrapolates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from attentionology.analyses.shared.input_sample import InputSample
from attentionology.corpora_loaders import Sentence
from attentionology.engine.forecast_sizes import CountSizes, sizes_of_counts
from attentionology.engine.pass_counts import PassCounts
from tests.maps import batch_of

LAYERS, HEADS, WORDS = 2, 3, 6


def counted(inputs: int, size: int) -> PassCounts:
    """A sample of equally long inputs, of which ``size`` are kept."""
    rng = np.random.default_rng(0)
    counts = PassCounts()
    arguments = {"n_layers": LAYERS, "n_heads": HEADS, "size": size}
    metric = InputSample(LAYERS, HEADS, size=size)
    for i in range(inputs):
        maps = rng.random((LAYERS, HEADS, WORDS + 2, WORDS + 2), dtype=np.float32)
        metric.update(batch_of([Sentence(f"s{i:03d}", WORDS * ("word",))], [maps]))
    counts.metrics["sample"], counts.arguments["sample"] = metric, arguments
    return counts


def taken(counts: PassCounts) -> int:
    states = counts.metrics["sample"].metric_state.values()
    return sum(tensor.nbytes for state in states for tensor in ([state] if isinstance(state, Tensor) else state))


@pytest.mark.parametrize(("inputs", "most"), [(8, 20), (8, 12), (16, 12), (8, 200)])
def test_a_sample_is_as_large_as_it_will_be(inputs, most):
    (sizes,) = sizes_of_counts((inputs // 2, counted(inputs // 2, most)), (inputs, counted(inputs, most)))
    for later in (inputs, 10, 30, 60):
        if later >= inputs:
            assert sizes.memory(later) == pytest.approx(taken(counted(later, most)), rel=0.01)


def test_counts_of_a_fixed_size_grow_in_files_with_each_doubling():
    sizes = CountSizes(inputs=64, fixed=1000, growing=0, bound=float("inf"), packed=300, doubling=50)
    assert [sizes.memory(inputs) for inputs in (64, 6400)] == [1000, 1000]
    assert [sizes.disk(inputs) for inputs in (10, 64, 128, 64 * 16)] == [300, 300, 350, 500]
    growing = replace(sizes, growing=640, bound=1280)
    assert [growing.memory(inputs) for inputs in (64, 96, 6400)] == [1640, 1960, 2280]
    assert [growing.disk(inputs) for inputs in (64, 96, 6400)] == [300, 450, 600]


def test_an_empty_sample_has_no_bound():
    assert InputSample(LAYERS, HEADS, size=4).most_bytes == float("inf")
    assert torch.isfinite(torch.tensor(getattr(counted(3, 4).metrics["sample"], "most_bytes")))  # noqa: B009
