"""Does a head copy? The eigenvalues of its value and output matrices together (Elhage et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from ...extractors.layers import LayerWeights
from ...reports.columns import Explored, Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ..contract import Request
from ..shared.measures import head_measures
from .rows import NormCounts, NormQuestion, NormResults, PlanContext

COPYING = Schema(
    "norms_copying",
    "One row per head.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn(
            "copying",
            "number, −1 to 1",
            "Σ Re λ / Σ |λ| over the eigenvalues λ of the value and output matrices together: 1 if the head writes "
            "what it reads, −1 if with the opposite sign",
            explored=Explored(
                "eigenvalues",
                "copying, Σ Re λ / Σ |λ|",
                "1 if the head writes what it reads, −1 if the opposite; layer norms after attention are ignored.",
                center=0.0,
            ),
        ),
    ),
)


class Copying(NormQuestion):
    """Does a head write what it reads?"""

    name = "copying"
    tables = (COPYING,)
    long = (COPYING.name,)

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Compute the scores, which follow from the weights of the model alone."""
        plan_context.kept[self.name] = [copying_scores(layer) for layer in plan_context.layers.weights]
        return ()

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the scores of all heads."""
        scores = counts.facts.kept.get(self.name)
        if scores is None:
            return None
        by_head = np.array(scores, dtype=np.float64)  # None is NaN
        layer, head = np.indices(by_head.shape).reshape(2, -1) + 1
        return pd.DataFrame({"layer": layer, "head": head, "copying": by_head.ravel()})

    def frames(self, answer: pd.DataFrame, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {COPYING.name: answer}

    def explore(self, answer: pd.DataFrame, counts: NormCounts, results: NormResults, kind: str) -> Contribution:
        """Add the score of each head."""
        return Contribution(measures=tuple(head_measures(COPYING, answer, lambda column: f"norms/{column}")))


def copying_scores(weights: LayerWeights) -> list[float | None]:
    """Return the score of each head of a layer; None for a head that gives nothing.

    The linear part of a norm before attention is part of what a head reads, and that of a norm of what attention adds
    is part of what it writes. Other norms are ignored.
    """
    read, written = weights.by_head(weights.w_v).double(), weights.moving.double()
    if weights.norm_in is not None:
        written = weights.norm_in.linear(written)
    size = written.shape[0] // weights.n_heads
    heads = [slice(start, start + size) for start in range(0, written.shape[0], size)]
    scores = [copying_score(read[:, head].cpu(), written[head].cpu()) for head in heads]
    return [None if math.isnan(score) else score for score in scores]


def copying_score(w_v: Float[Tensor, "dim inner"], w_o: Float[Tensor, "inner dim"]) -> float:
    """Return ``Re Σ λ / Σ |λ|`` over the eigenvalues of ``W_V W_O``, NaN if all are 0.

    Example:
        >>> copying_score(-torch.eye(2), torch.eye(2))
        -1.0
    """
    values = torch.linalg.eigvals(w_o @ w_v)  # which has those of W_V W_O that are not 0
    size = float(values.abs().sum())
    return float(values.real.sum()) / size if size else math.nan
