"""The columns of all tables of the analysis of norms."""

from __future__ import annotations

from ...reports.table import Schema, TableColumn

NORMS_SHARES = Schema(
    "norms_shares",
    "One row per head and class of tokens.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("class", "text", "the class of the attended tokens"),
        TableColumn("weight", "share", "the share of attention to the class"),
        TableColumn("value_norm", "number", "the mean of ‖f(x)‖ over the tokens of the class"),
        TableColumn("norm", "number", "the mean over queries of the sum of ‖αf(x)‖ over the tokens of the class"),
        TableColumn("norm_share", "share", "the same with the rows divided by their sums"),
        TableColumn("sentences", "count", "sentences that have a token of the class"),
    ),
)

NORMS_MIXING = Schema(
    "norms_mixing",
    "One row per measure, layer and class of tokens: how much of a token's new vector comes from other tokens.",
    (
        TableColumn(
            "variant",
            "text",
            "the measure: the kind of map, and whether it is computed from weights (`-w`) or norms (`-n`)",
        ),
        TableColumn("layer", "number from 1", "the layer; 0 stands for all layers together"),
        TableColumn("class", "text", "the class of the tokens, or `all`"),
        TableColumn("mean min max", "share", "the mean, smallest and largest mixing ratio"),
        TableColumn("tokens", "count", "tokens of the class"),
    ),
)

NORMS_FREQUENCY = Schema(
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
    ),
)

NORMS_EXPANSION = Schema(
    "norms_expansion",
    "One row per layer.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("expansion", "number", "the expansion rate of the value and output matrices"),
    ),
)

NORMS_CHANGE = Schema(
    "norms_change",
    "One row per layer and component of the feed-forward block.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("component", "text", "`FF`, `RES`, `LN`, or `FFB` for all three"),
        TableColumn("change", "number, 0 to 2", "1 − Spearman's ρ between the maps before and after"),
        TableColumn("sentences", "count", "sentences for which it is defined"),
    ),
)

NORMS_AMPLIFIED = Schema(
    "norms_amplified",
    "One row per layer and rank: the pairs of tokens that the feed-forward network amplifies most.",
    (
        TableColumn("layer rank", "number from 1", "the layer, and the rank of the pair in it"),
        TableColumn("from to", "text", "the piece that attends, and the piece that it attends to"),
        TableColumn(
            "amplification", "points", "the cell of the row-normalized map after the network minus that before"
        ),
        TableColumn("from_position to_position", "number from 1", "the positions of these pieces in the input"),
        TableColumn("sentence_id text", "text", "the sentence"),
    ),
)
