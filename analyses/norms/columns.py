"""The columns of all tables of the analysis of norms."""

from __future__ import annotations

from ...extractors import MIXING_VARIANTS
from ...reports.columns import Explored, Schema, TableColumn

SHARES = Schema(
    "norms_shares",
    "One row per head and class of tokens.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("class", "text", "the class of the attended tokens", "tokens"),
        TableColumn(
            "weight",
            "share",
            "the share of attention to the class",
            "attention weight α",
            explored=Explored("Where attention goes by weight", "to {class}"),
        ),
        TableColumn(
            "value_norm", "number", "the mean of ‖f(x)‖ over the tokens of the class", "norm of f(x)", digits=2
        ),
        TableColumn(
            "norm",
            "number",
            "the mean over queries of the sum of ‖αf(x)‖ over the tokens of the class",
            "‖αf(x)‖, sum per query",
        ),
        TableColumn(
            "norm_share",
            "share",
            "the share of what a head moves to the class, by norms whose rows are divided by their sums",
            "share of ‖αf(x)‖",
            explored=Explored("Where attention goes by norm", "to {class}"),
        ),
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

DISPERSION = Schema(
    "norms_dispersion",
    "One row per measure, layer and head: how much norms and weights vary.",
    (
        TableColumn(
            "measure",
            "text",
            "`input_norm` is ‖x‖, `value_norm` ‖f(x)‖ of tokens; `weight` is α, `norm` ‖αf(x)‖ of pairs of tokens",
            "measure",
            cell=lambda row: {"input_norm": "‖x‖", "value_norm": "‖f(x)‖", "weight": "α", "norm": "‖αf(x)‖"}[
                row["measure"]
            ],
        ),
        TableColumn("layer head", "number from 1", "the layer and the head; 0 stands for all of them together"),
        TableColumn("mean", "number", "the mean", "mean"),
        TableColumn("sd", "number", "the standard deviation", "SD"),
        TableColumn("cv", "number", "the coefficient of variation: the standard deviation over the mean", "CV"),
        TableColumn("min", "number", "the smallest value", "smallest"),
        TableColumn("max", "number", "the largest value", "largest"),
        TableColumn("count", "count", "values: tokens, or pairs of them with a weight above 0", "values"),
    ),
)

CORRELATION = Schema(
    "norms_correlation",
    "One row per layer, head and class of attended tokens: do weight and norm go together?",
    (
        TableColumn("layer head", "number from 1", "the layer and the head; 0 stands for all of them together"),
        TableColumn("class", "text", "the class of the attended tokens, or `all`"),
        TableColumn(
            "rho",
            "number, −1 to 1",
            "Spearman's ρ between α and ‖f(x)‖ of pairs of tokens, on a grid. Empty if the values hardly vary",
        ),
        TableColumn("pairs", "count", "pairs with a weight above 0"),
    ),
)

GRID = Schema(
    "norms_grid",
    "One row per layer, class of attended tokens and cell of the grid: what the scatter plots of α and ‖f(x)‖ show.",
    (
        TableColumn("layer", "number from 1", "the layer; 0 stands for all layers together"),
        TableColumn("class", "text", "the class of the attended tokens"),
        TableColumn(
            "weight", "number", "the lower edge of the cell: α; a cell is one octave wide, the first ends at 2⁻¹⁶"
        ),
        TableColumn(
            "value_norm", "number", "the lower edge of the cell: ‖f(x)‖; a cell is a quarter of an octave wide"
        ),
        TableColumn("pairs", "count", "pairs of tokens in the cell, of all heads together"),
    ),
)

POINTS = Schema(
    "norms_frequency_points",
    "One row per token of a few sentences: what the scatter plots of frequency show.",
    (
        TableColumn("rank", "number from 1", "the frequency rank"),
        TableColumn("special", "`True` or `False`", "whether the token is [CLS] or [SEP]"),
        TableColumn("value_norm", "number", "its ‖f(x)‖, as the mean over layers and heads"),
        TableColumn(
            "weight norm", "number", "the weight and ‖αf(x)‖ that it receives, as means over layers, heads, queries"
        ),
        TableColumn(
            " ".join(MIXING_VARIANTS),
            "share",
            "its mixing ratios, as means over layers; the names are those of `norms_mixing.csv`",
        ),
    ),
)

OVERWRITING = Schema(
    "norms_overwriting",
    "One row per layer and quantity: what the feed-forward network adds to the residual.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn(
            "quantity",
            "text",
            "`FF`, the norm of what the network computes; `residual`, the norm of what it is added to; or `angle`, "
            "the angle between both in degrees",
        ),
        TableColumn("median", "number", "the median over tokens"),
        TableColumn("low high", "number", "the quartiles"),
        TableColumn("tokens", "count", "tokens"),
    ),
)

DIMENSIONS = Schema(
    "norms_dimensions",
    "One row per layer and rank: the largest dimensions of what the layer norm of the feed-forward block reads.",
    (
        TableColumn("layer", "number from 1", "the layer", "layer"),
        TableColumn("rank", "number from 1", "the rank of the dimension", "rank"),
        TableColumn("dimension", "number from 0", "the dimension, counted from 0 as in the weights", "dimension"),
        TableColumn("size", "number", "its mean absolute value", "mean |x|", digits=2),
        TableColumn("median_size", "number", "the median of this over all dimensions", "median of all", digits=2),
        TableColumn("gamma", "number", "the weight γ of the layer norm for it", "γ", digits=2),
        TableColumn("median_gamma", "number", "the median of γ over all dimensions", "median γ", digits=2),
    ),
)

LEFT = Schema(
    "norms_left_out",
    "One row per layer and number of dimensions that are left out.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("left_out", "count", "how many dimensions are left out, those that are largest in the sentence"),
        TableColumn(
            "change", "number, 0 to 2", "1 − Spearman's ρ between the maps before and after the layer norm without them"
        ),
        TableColumn("sentences", "count", "sentences for which it is defined"),
    ),
)

PAIRS = Schema(
    "norms_pairs",
    "One row per layer, type of pair and relation: which pairs of tokens the feed-forward network amplifies.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("type", "text", "the type of the pair", "type"),
        TableColumn("relation", "text", "the relation, if one word is the head of the other", "relation"),
        TableColumn("amplified", "count", "pairs of the type among those that are amplified most", "amplified"),
        TableColumn("share", "share", "their share of those that are amplified most", "of amplified"),
        TableColumn("pairs", "count", "pairs of the type", "pairs"),
        TableColumn("share_of_all", "share", "their share of all pairs", "of all pairs"),
    ),
)

SCHEMAS = (
    SHARES, DISPERSION, CORRELATION, GRID, MIXING, FREQUENCY, POINTS, EXPANSION, CHANGE, AMPLIFIED, PAIRS, OVERWRITING,
    DIMENSIONS, LEFT,
)  # fmt: skip
"""The tables that the analysis writes."""
