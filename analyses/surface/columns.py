"""The columns of all tables of the surface analysis."""

from __future__ import annotations

from ...reports.columns import Explored, Schema, TableColumn

_WHERE = "Where attention goes"


def _share(name: str, meaning: str, target: str) -> TableColumn:
    """Return the column of the share of attention that goes somewhere."""
    return TableColumn(name, "share", meaning, explored=Explored(_WHERE, f"to {target}"))


SURFACE = Schema(
    "surface",
    "One row per head. Means are over inputs, each with the same weight.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        _share("self", "the share of attention to the token itself", "the token itself"),
        _share("previous", "the share of attention to the token before, if there is one", "the previous token"),
        _share("next", "the share of attention to the next token, if there is one", "the next token"),
        _share("first_special", "the share of attention to special tokens before the first word", "{first_special}"),
        _share("last_special", "the share of attention to all other special tokens", "{last_special}"),
        TableColumn("period_comma", "share", "the share of attention to periods and commas"),
        _share("punctuation", "the share of attention to all punctuation", "punctuation"),
        _share("other", "the share of attention to all remaining tokens", "other words"),
        TableColumn(
            "first_to_first last_to_last",
            "share",
            "the share of the attention of these special tokens that goes to these special tokens",
        ),
        TableColumn(
            "rest_to_first rest_to_last",
            "share",
            "the share of the attention of all other tokens that goes to these special tokens",
        ),
        TableColumn(
            "entropy", "nats", "the mean entropy of all rows", explored=Explored("How broadly", "entropy of the rows")
        ),
        TableColumn("entropy_first", "nats", "the mean entropy of the rows of the first special tokens"),
        TableColumn(
            "entropy_relative",
            "share",
            "the mean entropy of all rows, divided by that of uniform attention",
            explored=Explored("How broadly", "entropy as a share of uniform attention"),
        ),
        TableColumn("entropy_first_relative", "share", "the same of the rows of the first special tokens"),
        TableColumn(
            "learned_sink",
            "share",
            "in models with learned sinks (gpt-oss) only: the share of attention that goes to them and to no token; "
            "entropies are then those of what goes to tokens",
            explored=Explored(
                _WHERE,
                "to the learned sink",
                "The share of attention that goes to the learned sink of the head, which is no token.",
            ),
        ),
        TableColumn(
            "STATISTIC_pooled", "as above", "the mean over all rows of all inputs, for each of the statistics above"
        ),
        TableColumn(
            "label",
            "text",
            "what the head does: `next`, `previous`, `self`, `broad`, `first-special`, `last-special`, `punctuation`, "
            "or `other`",
        ),
        TableColumn("labels", "text", "all labels that apply, separated by spaces"),
        TableColumn(
            "relation direction",
            "text",
            "if `dependency` is part of the run: the relation in which this head is the best and gains most, and its "
            "direction",
        ),
        TableColumn("relation_accuracy", "share", "its accuracy for this relation"),
        TableColumn("relation_gain", "points", "its gain over the best offset"),
    ),
)

SURFACE_LAYERS = Schema(
    "surface_layers",
    "One row per layer.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn(
            "STATISTIC", "as above", "the mean over the heads of the layer, for each of the statistics of `surface.csv`"
        ),
        TableColumn("STATISTIC_min STATISTIC_max", "as above", "the smallest and largest value of a head"),
        TableColumn(
            "sink", "text", "the class of special tokens that gets more attention: `first_special` or `last_special`"
        ),
        TableColumn("sink_share", "share", "the share of attention to this class"),
        TableColumn("uniform_entropy uniform_entropy_pooled", "nats", "the entropy of uniform attention"),
    ),
)

SURFACE_COUNTS = Schema(
    "surface_counts",
    "One row per statistic of `surface.csv`: the numbers of inputs and rows over which it is a mean.",
    (
        TableColumn("statistic", "text", "the column of `surface.csv`"),
        TableColumn("inputs", "count", "inputs that have a row of attention for it"),
        TableColumn("rows", "count", "rows of attention in all inputs"),
    ),
)

OFFSETS = Schema(
    "offsets",
    "One row per head and offset, from −5 to +5 (`--reach`).",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("offset", "number, tokens", "the distance: +1 is the next token"),
        TableColumn(
            "attention attention_pooled",
            "share",
            "the share of attention at this distance, as a mean over inputs and as a mean over all rows",
        ),
        TableColumn("rows", "count", "rows that have a token at this distance"),
    ),
)

GRADIENTS = Schema(
    "gradients",
    "With `--gradients`, or by default if the model has a masked-LM head. One row per head and class of tokens.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn(
            "class", "text", "the class of the attended tokens: `[CLS]`, `[SEP]`, `[MASK]`, `punctuation`, `other`"
        ),
        TableColumn(
            "gradient",
            "number, loss per unit of attention",
            "the mean absolute derivative of the loss with respect to a weight to the class, as a mean over inputs",
            explored=Explored(
                "How much attention matters to the loss", "gradient of attention to {target}", counted="inputs"
            ),
        ),
        TableColumn("gradient_pooled", "number, loss per unit of attention", "the same as a mean over all weights"),
        TableColumn("attention", "share", "the share of attention to the class"),
        TableColumn("inputs", "count", "inputs that have a token of the class"),
        TableColumn("weights", "count", "weights to the class in one head"),
        TableColumn("loss", "number", "the mean loss, the same in all rows"),
    ),
)

SEGMENTS = Schema(
    "segments",
    "With `--segments`. One row per segment that was read, whatever the analyses.",
    (
        TableColumn("id", "text", "the name of the segment"),
        TableColumn("file", "text", "the file"),
        TableColumn("line", "number from 1", "the line on which the segment begins"),
        TableColumn("pieces", "text", "the pieces, separated by spaces"),
        TableColumn("segment_ids", "text", "the segment id of each piece, 0 or 1, separated by spaces"),
    ),
)

SCHEMAS = (SURFACE, SURFACE_LAYERS, SURFACE_COUNTS, OFFSETS, GRADIENTS, SEGMENTS)
"""The tables that the analysis writes, and that of the segments that were read."""
