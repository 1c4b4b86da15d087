"""The columns of all tables of the analysis of norms."""

from __future__ import annotations

from ...reports.columns import Schema, TableColumn

SHARES = Schema(
    "norms_shares",
    "One row per head and class of tokens.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("class", "text", "the class of the attended tokens", "tokens"),
        TableColumn("weight", "share", "the share of attention to the class", "attention weight α"),
        TableColumn(
            "value_norm",
            "number",
            "the mean of ‖f(x)‖ over the tokens of the class",
            "norm of f(x)",
            digits=2,
        ),
        TableColumn(
            "norm",
            "number",
            "the mean over queries of the sum of ‖αf(x)‖ over the tokens of the class",
            "‖αf(x)‖, sum per query",
        ),
        TableColumn("norm_share", "share", "the same with the rows divided by their sums", "share of ‖αf(x)‖"),
        TableColumn("sentences", "count", "sentences that have a token of the class"),
    ),
)

MIXING = Schema(
    "norms_mixing",
    "One row per measure, layer and class of tokens: how much of a token's new vector comes from other tokens.",
    (
        TableColumn(
            "variant",
            "text",
            "the measure: the kind of map, and whether it is computed from weights (`-w`) or norms (`-n`)",
            "variant",
        ),
        TableColumn("layer", "number from 1", "the layer; 0 stands for all layers together"),
        TableColumn("class", "text", "the class of the tokens, or `all`"),
        TableColumn("mean", "share", "the mean mixing ratio", "mean"),
        TableColumn("max", "share", "the largest one", "largest"),
        TableColumn("min", "share", "the smallest one", "smallest"),
        TableColumn(
            "published",
            "share",
            "the mean of the paper, if it has one for this model",
            "published mean",
            beside=lambda row: row["published_range"],
        ),
        TableColumn("tokens", "count", "tokens of the class"),
    ),
)

FREQUENCY = Schema(
    "norms_frequency",
    "One row per measure and selection of tokens.",
    (
        TableColumn("measure", "text", "what is correlated with the frequency rank"),
        TableColumn("tokens", "text", "`all`, or `words` without special tokens"),
        TableColumn(
            "rho",
            "number, −1 to 1",
            "Spearman's ρ; rank 1 is the most frequent token. Empty for fewer than five tokens",
        ),
        TableColumn("count", "count", "tokens"),
        TableColumn("published", "number, −1 to 1", "the ρ of the paper, if it has one for this model"),
    ),
)

EXPANSION = Schema(
    "norms_expansion",
    "One row per layer.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("expansion", "number", "the expansion rate of the value and output matrices"),
        TableColumn("published", "number", "that of the paper, if it has one for this model"),
    ),
)

CHANGE = Schema(
    "norms_change",
    "One row per layer and component of the feed-forward block.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("component", "text", "`FF`, `RES`, `LN`, or `FFB` for all three"),
        TableColumn("change", "number, 0 to 2", "1 − Spearman's ρ between the maps before and after"),
        TableColumn("sentences", "count", "sentences for which it is defined"),
    ),
)

AMPLIFIED = Schema(
    "norms_amplified",
    "One row per layer and rank: the pairs of tokens that the feed-forward network amplifies most.",
    (
        TableColumn("layer", "number from 1", "the layer", "layer"),
        TableColumn("rank", "number from 1", "the rank of the pair in the layer", "rank"),
        TableColumn("from", "text", "the piece that attends", "from"),
        TableColumn("to", "text", "the piece that it attends to", "to"),
        TableColumn(
            "amplification",
            "points",
            "the cell of the row-normalized map after the network minus that before",
            "amplification",
        ),
        TableColumn("from_position to_position", "number from 1", "the positions of these pieces in the input"),
        TableColumn("sentence_id", "text", "the id of the sentence", "sentence"),
        TableColumn("text", "text", "its words", "text", wraps=True),
    ),
)

SCHEMAS = (SHARES, MIXING, FREQUENCY, EXPANSION, CHANGE, AMPLIFIED)
"""The tables that the analysis writes."""
