"""The columns of all tables of the alignment analysis."""

from __future__ import annotations

import math

from ...reports.columns import Explored, Row, Schema, TableColumn, bounds
from ...reports.format import named_head, number


def _mean_norm(row: Row) -> str:
    """Write the mean value of a map; that of attention weights says nothing, because their rows add up to 1."""
    return number(row["size"], 4) if row["measure"] == "norm" else ""


_LABEL = "{setting}, by {measure}{together}"
"""The name of a measure in the explorer."""

CELLS = Schema(
    "alignment",
    "One row per setting, measure, layer and head.",
    (
        TableColumn("setting", "text", "`AWI` or `AWO`; for encoders, the method", "setting"),
        TableColumn("measure", "text", "`weight` or `norm`; for the method `similarity`, `cosine`", "measure"),
        TableColumn("heads", "text", "`all` for all heads of a layer together, `single` for one head"),
        TableColumn(
            "direction",
            "text",
            "`forward` for links of target words, `reverse` for links of source words, or the method by which both "
            "are combined",
        ),
        TableColumn("layer", "number from 1", "the decoder layer", "layer"),
        TableColumn("head", "number from 1", "the attention head; 0 stands for all heads together"),
        TableColumn("links sure", "count", "links that are made, and sure gold links"),
        TableColumn(
            "hits_sure hits_possible", "count", "links that are among the sure, and among the possible gold links"
        ),
        TableColumn(
            "error_rate low high",
            "share",
            "the alignment error rate",
            "error rate",
            beside=bounds(),
            explored=Explored(
                "Alignment error rate",
                _LABEL,
                "The alignment error rate of the links (Och & Ney 2003); 0 is a perfect alignment.",
                low_is_best=True,
            ),
        ),
        TableColumn("precision", "share", "the precision of the links", "precision", room="page"),
        TableColumn("recall", "share", "the recall of the links", "recall", room="page"),
        TableColumn("f1", "share", "their F1"),
        TableColumn(
            "on_special",
            "share",
            "the share of target words with their largest value on a special token; empty if `direction` is not "
            "`forward`",
            "on special tokens",
            terminal="on special",
            explored=Explored(
                "Target words on special tokens",
                _LABEL,
                "The share of target words whose largest value is on a special token, so that they have no link.",
            ),
        ),
        TableColumn("on_punctuation", "share", "the same on punctuation", "on punctuation", room="page"),
        TableColumn("on_word", "share", "the same on another word"),
        TableColumn("size", "number", "the mean of the values", "mean norm", cell=_mean_norm, room="page"),
    ),
)

BEST = Schema(
    "alignment_best",
    "One row per setting, measure and `heads`: the layer and head with the lowest error rate.",
    (
        TableColumn("setting", "text", "as in `alignment.csv`", "setting"),
        TableColumn("measure", "text", "as in `alignment.csv`", "measure"),
        TableColumn("heads", "text", "as in `alignment.csv`", "heads"),
        TableColumn("direction", "text", "as in `alignment.csv`", "links"),
        TableColumn(
            "layer head",
            "number from 1",
            "the best layer and head; head 0 stands for all heads together",
            "best",
            cell=lambda row: named_head(row) if row["head"] else str(row["layer"]),
        ),
        TableColumn("error_rate low high", "share", "its alignment error rate", "error rate", beside=bounds()),
        TableColumn("heldout_error_rate", "share", "the error rate if it is chosen on the other half", "held-out"),
        TableColumn(
            "heldout_gain heldout_gain_low heldout_gain_high",
            "points",
            "the error rate of the best baseline, chosen on the other half, − `heldout_error_rate`; above 0, the "
            "model is better",
            "held-out gain",
            beside=bounds("heldout_gain"),
        ),
        TableColumn(
            "largest_layer largest_head", "number from 1", "the one with the largest mean norm; empty for weights"
        ),
        TableColumn("largest_error_rate", "share", "its error rate", "by largest norm"),
        TableColumn("mean_error_rate", "share", "the mean over all layers and heads", "mean of all", room="page"),
    ),
)

CONTROLS = Schema(
    "alignment_controls",
    "With `--controls`. The same for copies of the model with random weights.",
    (
        TableColumn("setting measure heads direction", "text", "as in `alignment.csv`"),
        TableColumn("layer head", "number from 1", "as in `alignment_best.csv`"),
        TableColumn("error_rate low high heldout_error_rate", "share", "as in `alignment_best.csv`"),
        TableColumn("largest_layer largest_head", "number from 1", "as in `alignment_best.csv`"),
        TableColumn("largest_error_rate mean_error_rate", "share", "as in `alignment_best.csv`"),
        TableColumn("heldout_gain heldout_gain_low heldout_gain_high", "points", "as in `alignment_best.csv`"),
        TableColumn("copy", "number from 1", "the copy"),
    ),
)

CONTRASTS = Schema(
    "alignment_contrasts",
    "One row per contrast and layer, for all heads of the layer together.",
    (
        TableColumn("contrast", "text", "`norm − weight` or `AWI − AWO`", "difference of error rates"),
        TableColumn("of", "text", "the setting or the measure that both sides share", "of"),
        TableColumn("layer", "number from 1", "the decoder layer", "layer"),
        TableColumn(
            "difference low high",
            "points",
            "the difference of the error rates; the interval is paired",
            "points",
            beside=bounds(),
        ),
    ),
)

CORRELATIONS = Schema(
    "alignment_correlations",
    "One row per setting, and per set of layers or heads.",
    (
        TableColumn("setting", "text", "as in `alignment.csv`", "setting"),
        TableColumn(
            "over",
            "text",
            "`layers` for all heads of each layer together, or `heads`",
            "over",
            cell=lambda row: f"{row['n']} {row['over']}",
        ),
        TableColumn("n", "count", "the layers or heads"),
        TableColumn(
            "rho low high",
            "number, −1 to 1",
            "Spearman's correlation of mean norms and the error rates of norms; empty for fewer than five layers or "
            "heads. The interval covers the choice of sentence pairs alone",
            "Spearman’s ρ",
            digits=2,
            beside=lambda row: "" if math.isnan(row["low"]) else f"[{row['low']:.2f}, {row['high']:.2f}]",
        ),
    ),
)

BASELINES = Schema(
    "alignment_baselines",
    "One row per baseline, and per system of `--baseline`.",
    (
        TableColumn("name", "text", "the baseline or system", "alignment"),
        TableColumn("links", "count", "as in `alignment.csv`", "links", room="page"),
        TableColumn("sure hits_sure hits_possible", "count", "as in `alignment.csv`"),
        TableColumn("error_rate low high", "share", "as in `alignment.csv`", "error rate", beside=bounds()),
        TableColumn("precision", "share", "as in `alignment.csv`", "precision"),
        TableColumn("recall", "share", "as in `alignment.csv`", "recall"),
        TableColumn("f1", "share", "as in `alignment.csv`"),
    ),
)

SCHEMAS = (CELLS, BEST, CONTROLS, CONTRASTS, CORRELATIONS, BASELINES)
"""The tables that the analysis writes. Without gold links, there is only the first one, without scores."""
