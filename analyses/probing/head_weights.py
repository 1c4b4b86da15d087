"""Which attention heads a trained probe uses, and whether they are the ones that know most by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy import ndarray

from ...extractors import DIRECTIONS
from ..shared.correlation import CORRELATIONS, correlation

IMPORTANCES = ("weight", "contribution")
"""The numbers by which the most important head of a relation is chosen."""


class HeadWeights(NamedTuple):
    """Tables of the weights of the attention heads. Layers and heads are 1-based."""

    # one row per direction, layer and head: `weight` (mean over runs and arcs), `weight_sd` (over runs), `contribution`
    # (weight times attention, mean over runs and arcs), and how often the head alone is right on the training sentences
    # (of all folds together), `correct, total, accuracy`
    heads: pd.DataFrame
    # one row per relation, frequent ones first: `relation, arcs`, and the head with the largest mean weight and the one
    # with the largest mean contribution: `weight_direction, weight_layer, weight_head, weight` and the same for
    # `contribution`
    relations: pd.DataFrame
    # of weight and of contribution with accuracy over all heads and directions: `of, heads, spearman, pearson`
    correlations: pd.DataFrame


def head_weights(
    runs: Sequence[Mapping[str, tuple[int, ndarray, ndarray]]], correct: Int[ndarray, "2 layers heads"], total: int
) -> HeadWeights:
    """Return the weights as tables. Without any arc there are no weights, and the table of relations is empty.

    Each run has for each relation the number of arcs, and the sums over them of weight and contribution. The single
    heads are right for some of a total number of words. The directions of all arrays begin with ``dep->head``.
    """
    no_arcs = 0, np.zeros(correct.shape), np.zeros(correct.shape)
    weights, contributions = zip(*(_means([no_arcs, *run.values()]) for run in runs), strict=True)  # run by run
    weight, contribution = np.mean(weights, axis=0), np.mean(contributions, axis=0)
    spread = np.std(weights, axis=0, ddof=1) if len(runs) > 1 else np.full(weight.shape, np.nan)
    direction, layer, head = np.indices(correct.shape).reshape(3, -1)  # 0-based, of each row
    heads = pd.DataFrame(
        {
            "direction": np.array(DIRECTIONS, dtype=object)[direction],
            "layer": layer + 1,
            "head": head + 1,
            "weight": weight.ravel(),
            "weight_sd": spread.ravel(),
            "contribution": contribution.ravel(),
            "correct": correct.ravel(),
            "total": total,
            "accuracy": correct.ravel() / total if total else np.nan,
        }
    )
    return HeadWeights(heads, _relations(runs), _correlations(heads))


def _means(
    sums: Sequence[tuple[int, ndarray, ndarray]],
) -> tuple[Float[ndarray, "2 layers heads"], Float[ndarray, "2 layers heads"]]:
    """Return the mean weight and the mean contribution over all arcs, given `ArcWeights`; NaN if there are none."""
    arcs, weights, contributions = zip(*sums, strict=True)
    n_arcs = sum(arcs) or np.nan
    return np.asarray(sum(weights)) / n_arcs, np.asarray(sum(contributions)) / n_arcs


def _relations(runs: Sequence[Mapping[str, tuple[int, ndarray, ndarray]]]) -> pd.DataFrame:
    """Return the head with the largest mean weight, and that with the largest mean contribution, by relation."""
    rows: list[dict[str, Any]] = []
    n_arcs = {relation: arcs for relation, (arcs, _, _) in runs[0].items()}  # the same in all runs
    for relation in sorted(n_arcs, key=lambda name: (-n_arcs[name], name)):
        row: dict[str, Any] = {"relation": relation, "arcs": n_arcs[relation]}
        for name, mean in zip(IMPORTANCES, _means([run[relation] for run in runs]), strict=True):
            direction, layer, head = np.unravel_index(int(mean.argmax()), mean.shape)
            row |= {
                f"{name}_direction": DIRECTIONS[int(direction)],
                f"{name}_layer": int(layer) + 1,
                f"{name}_head": int(head) + 1,
                name: float(mean.max()),
            }
        rows.append(row)
    columns = [f"{name}{part}" for name in IMPORTANCES for part in ("_direction", "_layer", "_head", "")]
    return pd.DataFrame(rows, columns=["relation", "arcs", *columns])


def _correlations(heads: pd.DataFrame) -> pd.DataFrame:
    """Return the correlations of weight and of contribution with accuracy."""
    rows = []
    for name in IMPORTANCES:
        values, accuracy = heads[name].to_numpy(float), heads["accuracy"].to_numpy(float)
        by_kind: dict[str, float] = {kind: correlation(kind, values, accuracy) for kind in CORRELATIONS}
        rows.append({"of": name, "heads": len(heads), **by_kind})
    return pd.DataFrame(rows)
