"""The columns of all tables of the coreference analysis, in the order in which they are shown."""

from __future__ import annotations

from ...reports.columns import Explored, Schema, TableColumn, bounds
from ...reports.format import best_direction, best_head, number_equal, rare_in_parentheses
from ..counting.best_head import RANDOM_WEIGHTS
from .ensembles import ENSEMBLES
from .failure_tables import FAILURES, PICKED
from .group_columns import CONTRASTS, GROUPS, HEAD_CONTRASTS, LARGEST_CONTRASTS

CELLS = Schema(
    "coreference",
    "One row per kind of candidates, type of mention, direction, layer and head.",
    (
        TableColumn("candidates", "text", "what can be chosen: `preceding` mentions, all `mentions`, or `words`"),
        TableColumn("type", "text", "`all`, `pronoun`, `proper` or `nominal` mentions"),
        TableColumn("direction", "text", "the direction in which attention is read"),
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("correct total", "count", "mentions whose antecedent is found, and all scored mentions"),
        TableColumn(
            "accuracy",
            "share",
            "`correct` / `total`",
            explored=Explored(
                "Antecedents",
                "{mentions}, {arrow}",
                "The share of mentions whose most attended candidate is an antecedent. The baseline is the rules.",
                counted="total",
            ),
        ),
    ),
)

BEST = Schema(
    "coreference_best",
    "One row per kind of candidates and type of mention: the best head, baselines and controls.",
    (
        TableColumn(
            "candidates",
            "text",
            "as in `coreference.csv`",
            "candidates",
            cell=lambda row: str(row["candidates_in_words"]),
        ),
        TableColumn("type", "text", "as in `coreference.csv`", "mentions"),
        TableColumn("total", "count", "scored mentions", "n", cell=rare_in_parentheses),
        TableColumn(
            "layer head",
            "number from 1",
            "the best attention head",
            "attention head",
            terminal="head",
            cell=best_head,
            beside=number_equal,
            beside_in="page",
            help="<code>3-9</code> is layer 3, head 9, both counted from 1. (The <i>head word</i> of a mention is its "
            "syntactic head.)",
        ),
        TableColumn(
            "direction",
            "text",
            "its direction",
            "direction",
            cell=best_direction,
            help="<b>m→ante</b>: the mention attends to its antecedent. <b>ante→m</b>: the antecedent is the candidate "
            "that attends most to the mention.",
        ),
        TableColumn("tied", "count", "heads and directions with this count"),
        TableColumn("correct", "count", "mentions whose antecedent is found"),
        TableColumn(
            "accuracy accuracy_low accuracy_high",
            "share",
            "`correct` / `total`",
            "accuracy",
            beside=bounds("accuracy"),
            help="The share of the n mentions whose antecedent is found{interval}. The head was chosen as the best of "
            "{choices} on these same mentions, so its accuracy is too high as an estimate for other documents.",
        ),
        TableColumn(
            "heldout_correct heldout_total", "count", "found and scored mentions over all halves of all splits"
        ),
        TableColumn(
            "heldout_accuracy heldout_min heldout_max",
            "share",
            "the accuracy of heads that were chosen on the other half; lowest and highest of a split",
            "held-out",
            beside=bounds("heldout", "min", "max"),
            beside_in="page",
            help="The accuracy if head and direction are chosen on one half of the documents and scored on the other, "
            "in both directions. It is the mean over ten random halvings, with the lowest and highest of them in "
            "brackets.",
        ),
        TableColumn(
            "nearest_correct head_match_correct rule_based_correct random_correct",
            "count",
            "mentions whose antecedent a baseline finds",
        ),
        TableColumn(
            "nearest_accuracy",
            "share",
            "the accuracy of the nearest candidate",
            "nearest",
            help="The accuracy of a guess that always picks the nearest candidate. The candidates of this and the next "
            "three columns are {preceding}.",
        ),
        TableColumn(
            "head_match_accuracy",
            "share",
            "the accuracy of the nearest candidate with the same head word",
            "same head word",
            terminal="same head",
            help="The accuracy of the nearest candidate with the same head word; the guess is wrong if there is none.",
        ),
        TableColumn(
            "rule_based_accuracy",
            "share",
            "the accuracy of the rules",
            "rules",
            help="The accuracy of the nearest candidate that meets the first of these conditions which any candidate "
            "meets: the same words; the same head word; agreement in number, gender and person; no condition.",
        ),
        TableColumn(
            "random_accuracy",
            "share",
            "the accuracy of a random candidate",
            "chance",
            room="page",
            help="The accuracy of one random candidate for every mention. Chance does well if there are few "
            "candidates.",
        ),
        TableColumn(
            "gain gain_low gain_high",
            "points",
            "`accuracy` − `rule_based_accuracy`",
            "gain over rules",
            beside=bounds("gain"),
            room="page",
            help="The accuracy minus that of the rules, on the mentions that chose the head. It is too high by the "
            "luck of the choice.",
        ),
        TableColumn("gain_nearest gain_nearest_low gain_nearest_high", "points", "`accuracy` − `nearest_accuracy`"),
        TableColumn(
            "heldout_gain heldout_gain_low heldout_gain_high",
            "points",
            "`heldout_accuracy` − the accuracy of the rules on the same mentions",
            "held-out gain",
            beside=bounds("heldout_gain"),
            help="The held-out accuracy minus that of the rules on the same mentions. If it is not above 0 with its "
            "whole interval, there is no evidence that a head does better than the rules.",
        ),
        TableColumn(
            "control_accuracy",
            "share",
            "with `--control`: the mean over the copies of the accuracy of each copy's best head",
            "random weights",
            terminal="random",
            help=RANDOM_WEIGHTS,
        ),
        TableColumn("control_accuracy_max", "share", "with `--control`: the largest of these accuracies"),
    ),
)

BASELINES = Schema(
    "coreference_baselines",
    "One row per baseline and type of mention.",
    (
        TableColumn("baseline", "text", "`nearest`, `head match`, `rule-based` or `random`"),
        TableColumn("type", "text", "the type of mention"),
        TableColumn("correct total", "count", "mentions whose antecedent is found, and all scored mentions"),
        TableColumn("accuracy accuracy_low accuracy_high", "share", "`correct` / `total`"),
    ),
)

CONTROL = Schema(
    "coreference_control",
    "With `--control`. One row per copy with random weights, kind of candidates and type: the best head of the copy.",
    (
        TableColumn("copy", "number from 1", "the copy"),
        TableColumn("candidates type direction", "text", "as in `coreference.csv`"),
        TableColumn("layer head", "number from 1", "the best head"),
        TableColumn("correct total", "count", "found and scored mentions"),
        TableColumn("accuracy", "share", "`correct` / `total`"),
    ),
)

DISTANCES = Schema(
    "coreference_distances",
    "One row per kind of candidates, type, bin of distances, direction, layer and head; and one per baseline, type "
    "and bin.",
    (
        TableColumn("candidates", "text", "as in `coreference.csv`; the name of the baseline in rows of baselines"),
        TableColumn("type direction", "text", "as in `coreference.csv`"),
        TableColumn("unit", "text", "the unit of the distance to the nearest antecedent: `sentences` or `words`"),
        TableColumn("distance", "text", "the bin, such as `6–10` or `51+`"),
        TableColumn("layer head", "number from 1", "the attention head; empty for baselines"),
        TableColumn("correct total", "count", "found and scored mentions at this distance"),
        TableColumn("accuracy", "share", "`correct` / `total`"),
    ),
)

EXAMPLES = Schema(
    "coreference_examples",
    "Decisions of the best head. One row per mention and candidate.",
    (
        TableColumn("right", "`True` or `False`", "whether the head finds an antecedent of the mention"),
        TableColumn("document", "text", "the document"),
        TableColumn("before mention after", "text", "the mention, and the words around it"),
        TableColumn("type", "text", "the type of mention"),
        TableColumn("of", "count", "candidates of this mention"),
        TableColumn("rank", "number from 1", "the rank of the candidate by its weight"),
        TableColumn("candidate", "text", "the words of the candidate"),
        TableColumn("head", "text", "its head word"),
        TableColumn("weight", "share", "the attention weight between the mention and the candidate"),
        TableColumn("antecedent", "`True` or `False`", "whether the candidate is an antecedent"),
    ),
)

SCHEMAS = (
    CELLS,
    BEST,
    BASELINES,
    CONTROL,
    DISTANCES,
    EXAMPLES,
    GROUPS,
    CONTRASTS,
    HEAD_CONTRASTS,
    LARGEST_CONTRASTS,
    FAILURES,
    PICKED,
    ENSEMBLES,
)
"""The tables that the analysis writes."""
