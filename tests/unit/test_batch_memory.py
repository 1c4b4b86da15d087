"""The memory that the largest batch of a pass is expected to take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.engine.counting.passes import Limits, Pass
from attentionology.extractors import MapMaker, get_kind
from attentionology.extractors.maps.batching import WINDOW, cut, most_pieces
from attentionology.probes import batch_from_array


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("longest", [9, 70, 600])
def test_no_batch_of_a_window_is_larger_than_is_expected(device, longest):
    model: Any = SimpleNamespace(device=torch.device(device), n_layers=1)
    limits = Limits.of(model, None, "skip")
    lengths = sorted(np.random.default_rng(0).integers(longest // 2, longest + 1, WINDOW).tolist(), reverse=True)
    batches = cut(lengths, int, "padded", limits.batch_cells, most_pieces(model.device))
    largest = max(len(batch) * batch[0] ** 2 for batch in batches)
    first = batch_from_array(
        Sentence("a", ("word",) * lengths[0]), np.zeros((1, 1, lengths[0], lengths[0]), np.float32)
    )
    told = Pass(None, (), None, ())._check_memory({MapMaker(get_kind("weight")): first}, model, limits)
    # While a layer is computed, four more arrays exist, here of one layer. Close decisions take a few sentences more.
    assert 5 * 4 * largest <= told <= 2 * 5 * 4 * (largest + 3 * longest**2)
