"""The columns of all tables of the dependency analysis, in the order in which they are shown."""

from __future__ import annotations

from dataclasses import replace

from ...reports.columns import Explored, Schema, TableColumn, bar, bounds
from ...reports.format import best_direction, best_head, best_offset, number_equal, rare_in_parentheses
from ..counting.best_head import RANDOM_WEIGHTS
from .ensembles import ENSEMBLES
from .failure_tables import FAILURES, PICKED
from .spanning_tables import TREES, TREES_BEST

_RULES = (
    TableColumn(
        "tag_offset_heldout",
        "share",
        "the accuracy of the best offset for each part of speech of the word, chosen on the other half",
        "offset by part of speech",
        help="The held-out accuracy of a guess that knows the part of speech of the word, and points the same number "
        "of words to the right or left for all words with this part of speech.",
    ),
    TableColumn(
        "tag_offset_gain tag_offset_gain_low tag_offset_gain_high",
        "points",
        "`heldout_accuracy` − `tag_offset_heldout`",
        "head − offset",
        beside=bounds("tag_offset_gain"),
        help="How much more the head finds, where both are chosen on one half and scored on the other.",
    ),
    TableColumn(
        "tag_rule_heldout",
        "share",
        "the accuracy of the best rule “the nearest word with this part of speech on this side” for each part of "
        "speech of the word, chosen on the other half",
        "nearest by part of speech",
        help="The held-out accuracy of a guess that knows the parts of speech of all words: the nearest word with one "
        "part of speech on one side, such as the nearest verb before a noun. A head that finds no more than this may "
        "know nothing but parts of speech.",
    ),
    TableColumn(
        "tag_rule_gain tag_rule_gain_low tag_rule_gain_high",
        "points",
        "`heldout_accuracy` − `tag_rule_heldout`",
        "head − nearest",
        beside=bounds("tag_rule_gain"),
        help="How much more the head finds, as above.",
    ),
)
"""What rules find that know parts of speech, and how much more heads find."""

CELLS = Schema(
    "dependency",
    "One row per relation, direction, layer and head.",
    (
        TableColumn("relation", "text", "the relation, or `all`, `all-nopunct`, `all-nopunct-noroot`"),
        TableColumn("direction", "text", "the direction in which attention is read"),
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("correct", "count", "words whose syntactic head is found"),
        TableColumn("total", "count", "words of the relation"),
        TableColumn(
            "accuracy",
            "share",
            "`correct` / `total`",
            explored=Explored(
                "Dependency accuracy",
                "{relation}, {arrow}",
                "The share of words whose {heads} is the most attended other word.",
                counted="total",
            ),
        ),
        TableColumn("reach", "share", "only of causal models: the words whose syntactic head this direction can reach"),
    ),
)

BEST = Schema(
    "dependency_best",
    "One row per relation: its best attention head, baselines and controls.",
    (
        TableColumn("relation", "text", "the relation", "relation"),
        TableColumn("total", "count", "words of the relation", "n", cell=rare_in_parentheses),
        TableColumn(
            "layer head",
            "number from 1",
            "the attention head with the largest count",
            "attention head",
            terminal="head",
            cell=best_head,
            beside=number_equal,
            beside_in="page",
            help="<code>3-9</code> is layer 3, head 9, both counted from 1. (The <i>syntactic</i> head of a word is "
            "the word it depends on.)",
        ),
        TableColumn(
            "direction",
            "text",
            "the direction in which it is largest",
            "direction",
            cell=best_direction,
            help="<b>dep→head</b>: the dependent attends to its syntactic head (the largest value in the dependent’s "
            "row). <b>head→dep</b>: the syntactic head is the word that attends most to the dependent (the largest "
            "value in its column).{both}",
        ),
        TableColumn("tied", "count", "heads and directions with this count"),
        TableColumn("correct", "count", "words whose syntactic head is found"),
        bar("accuracy", "offset_accuracy"),
        TableColumn(
            "accuracy accuracy_low accuracy_high",
            "share",
            "`correct` / `total`",
            "accuracy",
            beside=bounds("accuracy"),
            help="The share of the n words with that relation whose head is found{interval}. The head was chosen as "
            "the best of {choices} on these same words, so its accuracy is too high as an estimate for other "
            "sentences.",
        ),
        TableColumn("offset", "number, words", "the best fixed distance: +1 is the next word, −1 the word before"),
        TableColumn("offset_correct", "count", "words whose syntactic head is at this distance"),
        TableColumn(
            "offset_accuracy",
            "share",
            "`offset_correct` / `total`",
            "offset",
            beside=best_offset,
            beside_in="any",
            help="The accuracy of a guess that always points the same number of words to the right (+) or left (−), "
            "for the best number from −5 to +5. A head that does no better may know nothing but positions.",
        ),
        TableColumn(
            "gain gain_low gain_high",
            "points",
            "`accuracy` − `offset_accuracy`",
            "gain",
            beside=bounds("gain"),
            room="page",
            help="The accuracy minus that of the offset, on the words that chose both. It is too high by the luck of "
            "the choice.",
        ),
        TableColumn(
            "heldout_correct heldout_total",
            "count",
            "found and scored words over all halves of all splits; each word counts once per split",
        ),
        TableColumn(
            "heldout_accuracy",
            "share",
            "the accuracy of heads that were chosen on the other half",
            "held-out",
            beside=bounds("heldout", "min", "max"),
            beside_in="page",
            help="The accuracy if head and direction are chosen on one half of the sentences and scored on the other, "
            "in both directions. It is the mean over ten random halvings, with the lowest and highest of them in "
            "brackets. The farther it falls below the accuracy, the more of the accuracy was due to luck in the "
            "choice.",
        ),
        TableColumn("heldout_min heldout_max", "share", "the lowest and highest accuracy of a split"),
        TableColumn(
            "heldout_gain heldout_gain_low heldout_gain_high",
            "points",
            "`heldout_accuracy` − the accuracy of the offset that was chosen on the other half",
            "held-out gain",
            beside=bounds("heldout_gain"),
            help="The held-out accuracy minus that of an offset that was chosen and scored on the same halves. If it "
            "is not above 0 with its whole interval, there is no evidence that a head knows more than positions.",
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
        *(replace(column, heading="") for column in _RULES),
        TableColumn(
            "reach",
            "share",
            "only of causal models: the words whose syntactic head `direction` can reach",
            "in reach",
            help="The share of the n words whose syntactic head can be found in this direction at all. In a causal "
            "model, a word attends only to words before it: <b>dep→head</b> reaches the heads before a word, "
            "<b>head→dep</b> those after it, and <b>both</b> (the sum of the two directions) every word but roots.",
        ),
    ),
)

_KEYS = ("relation", "total", "layer", "heldout_accuracy")
AGAINST_TAGS = (*(column for column in BEST.columns if column.names.split(" ")[0] in _KEYS), *_RULES)
"""The columns of the table that compares best heads with rules."""

RULES = Schema(
    "dependency_rules",
    "One row per relation and part of speech of a word: the best rules that know the part of speech. They are chosen "
    "on the words that they are counted on. Tags that are not those of Universal Dependencies are `another tag`.",
    (
        TableColumn("relation", "text", "the relation"),
        TableColumn("tag", "text", "the universal part of speech of the word"),
        TableColumn("total", "count", "words of the relation with this part of speech"),
        TableColumn("offset", "number, words", "the best fixed distance: +1 is the next word, −1 the word before"),
        TableColumn("offset_correct", "count", "words whose syntactic head is at this distance"),
        TableColumn("side", "text", "`before` or `after`: the side of the best rule"),
        TableColumn("nearest", "text", "the best rule: the nearest word with this part of speech on that side"),
        TableColumn("nearest_correct", "count", "words whose syntactic head it is"),
    ),
)

CONTROL = Schema(
    "dependency_control",
    "With `--control`. One row per copy with random weights and relation: the best head of the copy.",
    (
        TableColumn("copy", "number from 1", "the copy"),
        TableColumn("relation", "text", "the relation"),
        TableColumn("direction", "text", "the direction of the best head"),
        TableColumn("layer head", "number from 1", "the best head"),
        TableColumn("correct total", "count", "words whose syntactic head is found, and all words of the relation"),
        TableColumn("accuracy", "share", "`correct` / `total`"),
    ),
)

SCHEMAS = (CELLS, BEST, RULES, CONTROL, FAILURES, PICKED, ENSEMBLES, TREES, TREES_BEST)
"""The tables that the analysis writes."""
