"""Copying by eigenvalues: matrices whose eigenvalues are known, and the product of a model's own matrices."""

from __future__ import annotations

import math

import pytest
import torch

from attentionology.analyses.norms.copying import copying_score, copying_scores
from tests import tiny


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        (torch.eye(2), 1),
        (-torch.eye(2), -1),
        (torch.tensor([[0.0, -1.0], [1.0, 0.0]]), 0),  # a rotation by 90°: ±i
        (torch.diag(torch.tensor([3.0, -1.0])), 0.5),
    ],
)
def test_known_eigenvalues(product, expected):
    """Also if the head has fewer dimensions than the stream, whose further eigenvalues are 0."""
    assert copying_score(product, torch.eye(2)) == pytest.approx(expected, abs=1e-7)
    into = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    back = torch.linalg.pinv(into)
    assert copying_score(into @ product.double(), back) == pytest.approx(expected, abs=1e-7)


def test_a_head_that_gives_nothing_has_no_score():
    assert math.isnan(copying_score(torch.zeros(3, 2), torch.ones(2, 3)))


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_scores_are_those_of_the_whole_matrix(family):
    """From what the modules do to the unit vectors of the stream, with shared values and the norm before attention."""
    encoder = tiny.randomize(family)
    weights = encoder.layers.weights[1]
    unit = torch.eye(24, dtype=torch.float64)
    double = encoder.model.double()
    if family == "bert":
        attention = double.encoder.layer[1].attention
        value, output, read = attention.self.value, attention.output.dense, unit
    else:
        layer = double.layers[1]
        value, output, read = layer.self_attn.v_proj, layer.self_attn.o_proj, unit * layer.input_layernorm.weight
    with torch.no_grad():
        values = read @ value.weight.T
        size = output.weight.shape[1] // 4
        shared = values.view(24, -1, size).repeat_interleave(4 * size // values.shape[1], 1)
        for head, score in enumerate(copying_scores(weights)):
            whole = torch.linalg.eigvals(shared[:, head] @ output.weight.T[head * size : (head + 1) * size])
            assert score == pytest.approx(float(whole.real.sum() / whole.abs().sum()), abs=1e-5)
