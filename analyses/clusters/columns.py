"""The columns of all tables of the analysis of clusters."""

from __future__ import annotations

from ...reports.columns import Explored, Schema, TableColumn

HEAD_DISTANCES = Schema(
    "head_distances",
    "The matrix of mean Jensen-Shannon divergences, one row per head.",
    (
        TableColumn("head", "text", "the attention head as `layer-head`, both from 1"),
        TableColumn("LAYER-HEAD", "nats", "its mean divergence from this head: a column for every head"),
    ),
)

HEAD_DISTANCES_SUM = Schema(
    "head_distances_sum",
    "The same matrix with sums over all rows of attention instead of means, as in the paper.",
    (
        TableColumn("head", "text", "the attention head as `layer-head`, both from 1"),
        TableColumn("LAYER-HEAD", "nats", "the summed divergence from this head"),
    ),
)

HEAD_EMBEDDING = Schema(
    "head_embedding",
    "One row per head.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("x y", "number", "its coordinates in the figure, by multidimensional scaling"),
        TableColumn(
            "cluster",
            "number from 1",
            "its cluster; 1 is the largest",
            explored=Explored(
                "Heads that attend alike",
                "cluster",
                "The clusters of average linkage on the Jensen-Shannon divergences between heads, the largest first.",
            ),
        ),
        TableColumn(
            "nearest", "text", "the head with the smallest divergence, as `layer-head`; empty if there are several"
        ),
        TableColumn("nearest_distance", "nats", "the divergence from it"),
        TableColumn("label labels relation", "text", "as in `surface.csv`, if `surface` is part of the run"),
    ),
)

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

SCHEMAS = (HEAD_DISTANCES, HEAD_DISTANCES_SUM, HEAD_EMBEDDING, HEAD_NEIGHBORS)
"""The tables that the analysis writes."""
