"""The tables of all heads and of the best head of each relation: what their columns hold, and how people read them."""

from __future__ import annotations

from ...reports.columns import Explored, Schema, TableColumn, bar
from ...reports.format import best_direction, best_offset, rare_in_parentheses
from ..shared.best_heads import best_accuracy_column, best_head_column, estimate, heldout_columns

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
        best_head_column(
            "the attention head with the largest count",
            "The <i>syntactic</i> head of a word is the word it depends on.",
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
        best_accuracy_column("the n words with that relation whose head", "words", "sentences"),
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
        estimate(
            "gain",
            "points",
            "`accuracy` − `offset_accuracy`",
            "gain",
            "The accuracy minus that of the offset, on the words that chose both. It is too high by the luck of the "
            "choice.",
            room="page",
        ),
        *heldout_columns(
            "found and scored words over all halves of all splits; each word counts once per split",
            "sentences",
            ends=" The farther it falls below the accuracy, the more of the accuracy was due to luck in the choice.",
            room="page",
        ),
        estimate(
            "heldout_gain",
            "points",
            "`heldout_accuracy` − the accuracy of the offset that was chosen on the other half",
            "held-out gain",
            "The held-out accuracy minus that of an offset that was chosen and scored on the same halves. If it is not "
            "above 0 with its whole interval, there is no evidence that a head knows more than positions.",
        ),
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
