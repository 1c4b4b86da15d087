"""The columns of all tables of the tests of attention as an explanation."""

from __future__ import annotations

import math

from ....reports.columns import Row, Schema, TableColumn, bounds
from ....reports.format import interval, number, percent
from ..contract.explanation_test import SHARE

MARKS = {"passes": "✓ passes", "fails": "✗ fails", "undecided": "? undecided"}


def shown_value(value: float, unit: str, *, sign: bool = False) -> str:
    """Format a value for readers, if asked for with a plus sign above 0."""
    if unit == SHARE:
        return percent(value, sign=sign)
    plus = "+" if sign and value > 0 else ""
    return f"{plus}{number(value)}"


def shown_bounds(low: float, high: float, unit: str) -> str:
    """Format an interval for readers; empty if there is none, or if it has no width, see `interval`."""
    if unit == SHARE:
        return interval(low, high)
    return "" if math.isnan(low) or low == high else f"[{number(low)}, {number(high)}]"


def _interval(row: Row) -> str:
    return shown_bounds(row["low"], row["high"], row["unit"])


MEAN = TableColumn(
    "mean",
    "number",
    "",
    "mean",
    cell=lambda row: shown_value(row["mean"], row["unit"]),
    beside=_interval,
    beside_in="any",
)
"""The mean of a measure, in its unit, with its interval."""


def _side(name: str) -> TableColumn:
    """Return the column of one side of a question, its ``number`` or its ``floor``, with the unit."""

    def cell(row: Row) -> str:
        unit = " %" if row["unit"] == SHARE else ""
        return f"{shown_value(row[name]['mean'], row['unit'])}{unit}"

    return TableColumn("", "number", "", name, cell=cell, below=lambda row: str(row[name]["label"]))


EXPLAIN_VERDICTS = Schema(
    "explain_verdicts",
    "One row per question.",
    (
        TableColumn("test", "text", "the test", "test"),
        TableColumn("question", "text", "the question", "question", wraps=True, below=lambda row: str(row["compared"])),
        TableColumn("compared", "text", "what is compared with what, in words"),
        TableColumn(
            "larger smaller",
            "text",
            "the columns of `explain_texts.csv` that are compared: the one that should be larger if attention "
            "explains, and the other",
        ),
        TableColumn("larger_mean smaller_mean", "number", "their means"),
        _side("number"),
        _side("floor"),
        TableColumn(
            "difference low high",
            "number",
            "the mean difference; above 0 in favor of attention",
            "difference",
            cell=lambda row: shown_value(row["difference"], row["unit"], sign=True),
            beside=_interval,
            beside_in="any",
            below=lambda row: "points" if row["unit"] == SHARE else str(row["unit"]),
        ),
        TableColumn("n", "count", "different texts for which both are defined; pairs with the same text are one", "n"),
        TableColumn(
            "verdict",
            "text",
            "`passes`, `fails` or `undecided`",
            "verdict",
            cell=lambda row: MARKS.get(row["verdict"], str(row["verdict"])),
            look=lambda row: str(row["verdict"]),
            below=lambda row: str(row["meaning"]),
        ),
        TableColumn("meaning", "text", "what the verdict does and does not mean"),
    ),
)

EXPLAIN_SUMMARY = Schema(
    "explain_summary",
    "One row per test, measure and predicted class.",
    (
        TableColumn("test", "text", "the test"),
        TableColumn("measure", "text", "the column of `explain_texts.csv`"),
        TableColumn("predicted", "text", "the predicted class, or `(all)`"),
        TableColumn("n undefined", "count", "texts for which it is defined, and for which it is not"),
        TableColumn("mean sd median", "as the measure", "over these texts"),
        TableColumn("low high", "as the measure", "the interval of the mean"),
    ),
)

EXPLAIN_MODELS = Schema(
    "explain_models",
    "One row per model that was trained.",
    (
        TableColumn("model", "text", "the name of the model", "model"),
        TableColumn(
            "role", "text", "what it is for: `base`, `uniform`, `seed`, `guided`, `adversary`, `regularizer`", "role"
        ),
        TableColumn(
            "accuracy low high", "share", "tested texts that it classifies correctly", "accuracy", beside=bounds()
        ),
        TableColumn("macro_f1", "share", "the mean F1 over the classes", "macro F1"),
        TableColumn("f1", "share", "with two classes: the F1 of the second class", "F1", optional=True),
        TableColumn(
            "auc",
            "number, 0 to 1",
            "the area under the ROC curve; with more than two classes, the mean over them",
            "AUC",
            optional=True,
        ),
    ),
)

EXPLAIN_TRAINING = Schema(
    "explain_training",
    "One row per model and epoch.",
    (
        TableColumn("model role", "text", "as in `explain_models.csv`"),
        TableColumn("epoch", "number from 1", "the epoch"),
        TableColumn("loss", "number", "the mean training loss"),
        TableColumn("dev_auc", "share", "the area under the ROC curve on the dev texts"),
    ),
)

EXPLAIN_FLIPS = Schema(
    "explain_flips",
    "From the test `erasure`. One row per measure that ranks words.",
    (
        TableColumn("measure", "text", "what chooses the top word: `attention`, `gradient` or `attention_gradient`"),
        TableColumn("n", "count", "texts"),
        TableColumn(
            "both only_top only_random neither",
            "count",
            "texts whose decision changes if the weight of the top word, or of a random one, is removed",
        ),
    ),
)

EXPLAIN_CURVE = Schema(
    "explain_curve",
    "From the tests `seeds`, `adversarial` and `imitation`. One row per point of the curve.",
    (
        TableColumn(
            "kind",
            "text",
            "what is compared with the base: another `seed`, the adversary `per text`, or an `adversary` that was "
            "trained",
        ),
        TableColumn("name", "text", "the name of the point"),
        TableColumn("lambda", "number", "the weight of the divergence in training; empty for others"),
        TableColumn("jsd", "nats", "the mean divergence between the attentions"),
        TableColumn("tvd", "share", "the mean total variation distance between the outputs"),
    ),
)

EXPLAIN_REGULARIZERS = Schema(
    "explain_regularizers",
    "From the test `regularizers`. One row per regularizer and measure.",
    (
        TableColumn("regularizer", "text", "the regularizer, or `none`"),
        TableColumn("measure", "text", "the measure"),
        TableColumn("n", "count", "texts for which it is defined"),
        TableColumn("mean low high", "as the measure", "over these texts"),
    ),
)

SCHEMAS = (
    EXPLAIN_VERDICTS,
    EXPLAIN_SUMMARY,
    EXPLAIN_MODELS,
    EXPLAIN_TRAINING,
    EXPLAIN_FLIPS,
    EXPLAIN_CURVE,
    EXPLAIN_REGULARIZERS,
)
"""The tables that ``explain`` writes, after the one of texts."""
