"""Do the heads of a layer attend alike? They are compared with heads of other layers, and both with shuffled layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...reports.columns import Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import number, rows_of
from ...reports.table import ShownTable
from ...reports.tables import records
from ..comparison.differences import is_significant
from ..shared.measures import address, share
from .rows import Array, ClusterQuestion, ClusterResults, Distances, layers_of, measure_id, nearest_of, square_of

Indices = npt.NDArray[np.int64]

HEAD_NEIGHBORS = Schema(
    "head_neighbors",
    "One row per question about layers: whether heads of one layer attend alike.",
    (
        TableColumn("question", "text", "what is measured, with its unit", "question", wraps=True),
        TableColumn("found", "number", "the value for the layers of the model", "observed"),
        TableColumn(
            "shuffled", "number", "the mean value if heads are assigned to layers at random", "layers shuffled"
        ),
        TableColumn("p", "p", "the share of random assignments with at least this value", "p"),
        TableColumn(
            "within across", "nats", "the mean divergence between heads of the same layer, and of different layers"
        ),
    ),
)

PERMUTATIONS = 9999
"""The number of random assignments of heads to layers."""


class Layers(ClusterQuestion):
    """Do the heads of a layer attend alike?"""

    name = "layers"
    tables = (HEAD_NEIGHBORS,)
    needs = ("distances",)
    template = Path(__file__).with_name("layers.html.j2")

    def find(self, counts: Distances, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the comparisons of heads of the same layer with those of other layers."""
        if "distances" not in earlier:
            return None
        return neighbors(earlier["distances"].per_row, seed=counts.facts.reading.seed)

    def frames(self, answer: pd.DataFrame, results: ClusterResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {HEAD_NEIGHBORS.name: answer}

    def summary(self, answer: pd.DataFrame, results: ClusterResults) -> Mapping[str, Any]:
        """Return the table."""
        return {HEAD_NEIGHBORS.name: records(answer)}

    def show(self, answer: pd.DataFrame, results: ClusterResults) -> Sequence[ShownTable]:
        """Return the table."""
        return (neighbors_table(results),)

    def values(self, answer: pd.DataFrame, results: ClusterResults) -> Mapping[str, Any]:
        """Return the rows."""
        return {"neighbors": answer.to_dict("records")}

    def explore(self, answer: pd.DataFrame, counts: Distances, results: ClusterResults, kind: str) -> Contribution:
        """Say whether the nearest head tends to be in the same layer."""
        return Contribution(findings=_findings(answer, kind))


def neighbors(distances: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Test whether the heads of a layer are alike."""
    # If several heads are equally near, each counts as an equal part of a nearest neighbor. p is the one-sided share of
    # assignments of heads to layers of the same sizes that give at least the observed value, among 9,999 random ones
    # and the observed one.
    square, (layers, _) = square_of(distances), layers_of(distances)
    return _neighbors(square, nearest_of(square)[0], layers, seed)


def _neighbors(square: Array, is_nearest: npt.NDArray[np.bool_], layers: Indices, seed: int) -> pd.DataFrame:
    """Compare heads of the same layer with heads of other layers, and both with layers that are shuffled."""
    # square: the distances. is_nearest: which heads (columns) are the nearest to each (row).
    # Heads are shuffled and not distances, because the distances of one head depend on each other. A permutation
    # keeps the sizes of the layers, so the observed assignment is one of the possible ones and is counted among them;
    # p can therefore never be 0.
    sizes = np.unique(layers, return_counts=True)[1]
    # The two heads of each pair of the same layer, by their indices.
    first_heads, second_heads = np.nonzero(np.triu(layers[:, None] == layers[None, :], 1))
    n_within = len(first_heads)
    n_across = len(layers) * (len(layers) - 1) // 2 - n_within
    if len(sizes) < 2 or not n_within:
        return pd.DataFrame(columns=["question", "found", "shuffled", "p", "within", "across"])
    part_of_nearest = is_nearest / is_nearest.sum(1, keepdims=True)
    parts_of_pair = part_of_nearest + part_of_nearest.T
    total = float(square.sum() / 2)  # of all pairs

    def statistics(order: Indices) -> tuple[float, float, float]:
        """Return the share of nearest heads in the same layer, and the mean distances within and across layers.

        The heads are assigned to the layers in the given order.
        """
        pairs = order[first_heads], order[second_heads]
        sum_within = float(square[pairs].sum())
        share = float(parts_of_pair[pairs].sum()) / len(layers)
        return share, sum_within / n_within, (total - sum_within) / n_across

    rng = np.random.default_rng(seed)
    share, within, across = statistics(np.arange(len(layers)))
    random = np.array([statistics(rng.permutation(len(layers))) for _ in range(PERMUTATIONS)])
    random_shares, random_within, random_across = random.T
    observed = np.array([share, across - within])  # one value for each of the two questions below
    shuffled = np.stack([random_shares, random_across - random_within], axis=1)
    p = (1 + (shuffled >= observed - 1e-12).sum(0)) / (1 + PERMUTATIONS)  # values that differ by rounding are equal
    return pd.DataFrame(
        {
            "question": ["nearest head is in the same layer (share)", "distance across minus within layers (nats)"],
            "found": observed,
            "shuffled": shuffled.mean(0),
            "p": p,
            "within": [float("nan"), within],
            "across": [float("nan"), across],
        }
    )


def neighbors_table(results: ClusterResults) -> ShownTable:
    """Return whether the heads of a layer attend alike."""
    found = results.answers.get("clusters")
    summary = (
        []
        if found is None
        else [
            f"Stress of the map in two dimensions: {number(found.stress, 2)}. Number of clusters: "
            f"{found.embedding['cluster'].nunique()}, mean silhouette {number(found.silhouette, 2)}."
        ]
    )
    further_notes = () if results.notes_shown else results.notes
    return ShownTable(
        "head_neighbors",
        f"Which heads attend alike (Jensen-Shannon divergence, {results.distances.rows:,} rows)",
        HEAD_NEIGHBORS.columns,
        rows_of(results.layers),
        notes=(*summary, *further_notes),
    )


def _findings(neighbors: pd.DataFrame, kind: str) -> tuple[Finding, ...]:
    """Return whether the nearest head tends to be in the same layer."""
    if not len(neighbors):
        return ()
    row = neighbors.iloc[0]  # whether the nearest head is in the same layer
    verdict = "more often than" if is_significant(row["p"]) else "not clearly more often than"
    text = (
        f"{share(float(row['found']))} of the heads have the head that attends most alike in their own layer, "
        f"{verdict} if heads were assigned to layers at random ({share(float(row['shuffled']))}, p = {row['p']:.4f})."
    )
    return (Finding(text, address(measure=measure_id(kind), kind=kind)),)
