"""The columns of the tables about groups of documents, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable

from ...reports.columns import Row, Schema, TableColumn, bounds
from ...reports.format import direction, named_head


def _number_of(side: str) -> Callable[[Row], str]:
    """Return a function that writes how many mentions the first or second group of a row has."""
    return lambda row: f"(n = {row[f'{side}_total']:,})"


GROUPS = Schema(
    "coreference_groups",
    "With groups of documents (GAP, WinoBias). One row per kind of candidates, group, direction, layer and head.",
    (
        TableColumn("candidates direction", "text", "as in `coreference.csv`"),
        TableColumn("group", "text", "the group, such as `feminine pronoun`"),
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("correct total", "count", "found and scored mentions of the group"),
        TableColumn("accuracy", "share", "`correct` / `total`"),
    ),
)

CONTRASTS = Schema(
    "coreference_contrasts",
    "With groups of documents. One row per kind of candidates and pair of groups: the best head of the whole corpus in "
    "both.",
    (
        TableColumn("candidates", "text", "as in `coreference.csv`"),
        TableColumn(
            "layer head", "number from 1", "the best head of the whole corpus", "attention head", cell=named_head
        ),
        TableColumn("direction", "text", "its direction", "direction", cell=direction),
        TableColumn("first", "text", "the first group", "first group", beside=_number_of("first"), beside_in="any"),
        TableColumn("first_correct first_total", "count", "its found and scored mentions"),
        TableColumn("first_accuracy", "share", "the accuracy in it", "first"),
        TableColumn("second", "text", "the second group", "second group", beside=_number_of("second"), beside_in="any"),
        TableColumn("second_correct second_total", "count", "its found and scored mentions"),
        TableColumn("second_accuracy", "share", "the accuracy in it", "second"),
        TableColumn(
            "difference difference_low difference_high",
            "points",
            "`first_accuracy` − `second_accuracy`",
            "difference",
            beside=bounds("difference"),
        ),
        TableColumn("ratio ratio_low ratio_high", "number", "`first_accuracy` / `second_accuracy`", "ratio", digits=2),
    ),
)

HEAD_CONTRASTS = Schema(
    "coreference_head_contrasts",
    "With groups of documents. One row per kind of candidates, pair of groups, direction, layer and head.",
    (
        TableColumn("candidates first second direction", "text", "as above"),
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn(
            "first_correct first_total second_correct second_total", "count", "found and scored mentions of each group"
        ),
        TableColumn("first_accuracy second_accuracy", "share", "the accuracies in the groups"),
        TableColumn(
            "difference difference_low difference_high",
            "points",
            "their difference, with an interval for this head alone",
        ),
        TableColumn("standard_error", "points", "the bootstrap standard error of the difference"),
        TableColumn(
            "simultaneous_low simultaneous_high",
            "points",
            "an interval that holds for all heads and directions at once",
        ),
    ),
)

LARGEST_CONTRASTS = Schema(
    "coreference_largest_contrasts",
    "With groups of documents. The heads with the largest differences on each side.",
    (
        TableColumn("candidates first second", "text", "as above"),
        TableColumn("higher", "text", "the group in which these heads are better", "higher in"),
        TableColumn("rank", "number from 1", "the rank of the head on this side"),
        TableColumn("layer head", "number from 1", "the attention head", "attention head", cell=named_head),
        TableColumn("direction", "text", "its direction", "direction", cell=direction),
        TableColumn("first_correct first_total", "count", "found and scored mentions of the first group"),
        TableColumn("first_accuracy", "share", "the accuracy in it", "first group"),
        TableColumn("second_correct second_total", "count", "found and scored mentions of the second group"),
        TableColumn("second_accuracy", "share", "the accuracy in it", "second group"),
        TableColumn(
            "difference difference_low difference_high",
            "points",
            "their difference, with an interval for this head alone",
            "difference",
            beside=bounds("difference"),
        ),
        TableColumn(
            "simultaneous_low simultaneous_high",
            "points",
            "an interval that holds for all heads and directions at once",
            "for all heads at once",
            cell=bounds("simultaneous"),
        ),
        TableColumn(
            "heldout_first_correct heldout_first_total heldout_second_correct heldout_second_total",
            "count",
            "the same on the halves on which the head was not chosen",
        ),
        TableColumn(
            "heldout_difference heldout_min heldout_max",
            "points",
            "the held-out difference; its smallest and largest value in a split",
            "held-out",
            beside=bounds("heldout", "min", "max"),
        ),
        TableColumn("heldout_choices", "count", "halves on which a head was chosen"),
        TableColumn(
            "heldout_same",
            "count",
            "halves on which it was this head",
            "chosen again",
            cell=lambda row: f"{row['heldout_same']} of {row['heldout_choices']}",
        ),
    ),
)
