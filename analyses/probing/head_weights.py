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

MOST_WEIGHTED = ("weight", "contribution")
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
    runs: Sequence[Mapping[str, tuple[int, ndarray, ndarray]]],
    correct: Int[ndarray, "2 layers heads"],
    total: int,
) -> HeadWeights:
    """The weights of the heads as tables. Without any arc there are no weights, and the table of relations is empty."""
    # runs: for each run and relation the number of arcs, and the sums over them of weight and contribution, both of
    # shape (2, layers, heads), `dep->head` first.
    nothing = 0, np.zeros(correct.shape), np.zeros(correct.shape)
    means = [[_mean([nothing, *run.values()], which) for run in runs] for which in (1, 2)]
    weight, contribution = (np.mean(of_runs, axis=0) for of_runs in means)
    spread = np.std(means[0], axis=0, ddof=1) if len(runs) > 1 else np.full(weight.shape, np.nan)
    direction, layer, head = np.indices(correct.shape).reshape(3, -1)
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


def _mean(parts: Sequence[tuple[int, ndarray, ndarray]], which: int) -> Float[ndarray, "2 layers heads"]:
    arcs = sum(part[0] for part in parts)
    return np.asarray(sum(part[which] for part in parts)) / (arcs or np.nan)


def _relations(runs: Sequence[Mapping[str, tuple[int, ndarray, ndarray]]]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for relation in sorted(runs[0], key=lambda r: (-runs[0][r][0], r)):
        row: dict[str, Any] = {"relation": relation, "arcs": runs[0][relation][0]}
        for which, name in enumerate(MOST_WEIGHTED, start=1):
            mean = _mean([run[relation] for run in runs], which)
            direction, layer, head = np.unravel_index(int(mean.argmax()), mean.shape)
            row |= {
                f"{name}_direction": DIRECTIONS[int(direction)],
                f"{name}_layer": int(layer) + 1,
                f"{name}_head": int(head) + 1,
                name: float(mean.max()),
            }
        rows.append(row)
    columns = [f"{name}{of}" for name in MOST_WEIGHTED for of in ("_direction", "_layer", "_head", "")]
    return pd.DataFrame(rows, columns=["relation", "arcs", *columns])


def _correlations(heads: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for name in MOST_WEIGHTED:
        values, accuracy = heads[name].to_numpy(float), heads["accuracy"].to_numpy(float)
        both: dict[str, float] = {measure: correlation(measure, values, accuracy) for measure in CORRELATIONS}
        rows.append({"of": name, "heads": len(heads), **both})
    return pd.DataFrame(rows)
