"""The columns of all tables of the analysis of ablation."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...reports.columns import HEAD, Explored, Row, Schema, TableColumn
from ...reports.format import named_head, number, rare_in_parentheses

_GROUP = "What changes without the head"
_EFFECTS = (
    TableColumn(
        "cosine cosine_low cosine_high",
        "number",
        "1 − the cosine of the final vectors of a word with and without the head, mean over words, and its interval",
        explored=Explored(_GROUP, "change of final vectors, 1 − cosine"),
    ),
    TableColumn(
        "l2 l2_low l2_high",
        "number",
        "the length of the change of the final vector of a word, divided by that of the vector",
        explored=Explored(_GROUP, "relative change of final vectors"),
    ),
    TableColumn(
        "loss loss_low loss_high",
        "nats",
        "the increase of −log p of masked pieces or next words without the head; only with a language-model head",
        explored=Explored(_GROUP, "loss"),
    ),
)
EFFECTS = {column.names.split()[0]: column.explored.label for column in _EFFECTS if column.explored}
"""The names of the effects for people."""

INTERVALS = (
    "The 95 % intervals are those of means over words that were sampled by sentence, and hold for one value alone."
)

FEWEST_SENTENCES = 30
"""The number of sentences below which nothing is concluded from effects in them. In simulations of effects as skewed as
the largest ones on the final vectors of a small BERT, the 95 % intervals from so many sentences contained the truth in
93 % of cases, those from twenty in 91.5 %, from ten in 90 %, and from five in 86 %."""

DIGITS = 4
"""The number of decimals of effects. The vectors of a large model change little without one of its heads."""


def effect_bounds(name: str) -> Callable[[Row], str]:
    """Return a function that writes the interval of an effect in a row, as ``[low, high]``; nothing if it is NaN."""

    def written_interval(row: Row) -> str:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return "" if math.isnan(low) else f"[{number(low, DIGITS)}, {number(high, DIGITS)}]"

    return written_interval


ABLATION = Schema(
    "ablation",
    f"One row per head that was switched off: what changes in the model. {INTERVALS}",
    (
        HEAD,
        *_EFFECTS,
        TableColumn(
            "importance",
            "number",
            "the mean over sentences of |Σ z · ∂L/∂z|, where z is what the head gives and L the loss (Michel et al. "
            "2019); only with a language-model head",
        ),
    ),
)

GROUPS = Schema(
    "ablation_groups",
    "One row per head and group of words: those of each dependency relation and of each part of speech of Universal "
    "Dependencies that occurs.",
    (
        TableColumn("by", "text", "`all`, `relation` or `tag`"),
        TableColumn("group", "text", "the relation or part of speech; `all` for all words"),
        HEAD,
        TableColumn("total", "count", "words of the group"),
        TableColumn("predicted", "count", "masked pieces or words that are predicted; only with a language-model head"),
        TableColumn("sentences predicted_sentences", "count", "sentences with such words, and with such predictions"),
        *_EFFECTS,
    ),
)

RELATIONS = Schema(
    "ablation_relations",
    "With the analysis `dependency`. One row per relation with `--min-count` words and effect: whether the head that "
    "finds the relation matters more for its words than the other heads of its layer do.",
    (
        TableColumn("relation", "text", "the relation", "relation"),
        TableColumn("effect", "text", "the effect: `cosine`, `l2` or `loss`", "effect"),
        TableColumn(
            "layer head",
            "number from 1",
            "the head that finds the relation best",
            "best head",
            cell=named_head,
            help="The head with the highest accuracy for the relation, see the dependency table.",
        ),
        TableColumn(
            "accuracy", "share", "its accuracy", "accuracy", room="page", help="Its accuracy for the relation."
        ),
        TableColumn(
            "total",
            "count",
            "words of the relation, or masked pieces of these words",
            "n",
            cell=rare_in_parentheses,
            help="The number of words of the relation, or of masked pieces of these words if they are predicted.",
        ),
        TableColumn("sentences", "count", "sentences with these words or masked pieces"),
        TableColumn(
            "value value_low value_high",
            "number",
            "the effect of the head on these words",
            "effect of head",
            digits=DIGITS,
            beside=effect_bounds("value"),
            beside_in="page",
            help="The mean effect of switching the head off on the words of the relation, with its 95 % interval.",
        ),
        TableColumn(
            "others",
            "number",
            "the mean effect of the other heads of its layer on the same words",
            "other heads",
            digits=DIGITS,
            help="The mean effect of the other heads of its layer on the same words.",
        ),
        TableColumn(
            "difference difference_low difference_high",
            "number",
            "`value` − `others`, with its paired interval",
            "difference",
            digits=DIGITS,
            beside=effect_bounds("difference"),
            help="The effect of the head minus that of the others, paired by sentence, with its 95 % interval.",
        ),
        TableColumn(
            "everywhere",
            "number",
            "the effect of the head on all words",
            "on all words",
            room="page",
            digits=DIGITS,
            help="The mean effect of switching the head off on all words. A head may matter for everything.",
        ),
        TableColumn(
            "rank heads",
            "number from 1",
            "the rank of its effect in its layer, 1 for the largest, and the number of heads of the layer",
            "rank",
            cell=lambda row: f"{row['rank']} of {row['heads']}",
            help="The rank of its effect among the heads of its layer.",
        ),
        TableColumn(
            "p p_holm",
            "p",
            "the share of heads of the layer with at least this effect, which cannot be below 1 / `heads`, and the "
            "same, adjusted by Holm's procedure for all relations that have enough words or masked pieces",
            "p",
            help="The share of heads of the layer with at least this effect. With twelve heads it is at least 0.083, "
            "so that no single relation can be significant. The test of all relations together stands below.",
        ),
        TableColumn(
            "rho",
            "number",
            "Spearman's ρ of accuracy for the relation and effect on its words, over all heads",
            "ρ",
            room="page",
            help="Spearman’s ρ of the accuracy for the relation and the effect on its words, over all heads.",
        ),
    ),
)

SUMMARY = Schema(
    "ablation_summary",
    "One row per effect: heads that find relations and heads that matter, over all of the model.",
    (
        TableColumn("effect", "text", "the effect"),
        TableColumn(
            "relations",
            "count",
            "relations whose best head is compared with its layer, on `--min-count` words or masked pieces in at least "
            f"{FEWEST_SENTENCES} sentences",
        ),
        TableColumn("above", "count", "relations for which it matters more than the mean of the others"),
        TableColumn("mean_rank", "number", "the mean of `(rank − 1) / (heads − 1)`: 0 if all are first, 0.5 by chance"),
        TableColumn(
            "p",
            "p",
            "the share of assignments of heads to places within their layers, 9,999 random ones and the observed one, "
            "in which the mean rank is at most this",
        ),
        TableColumn("rho_accuracy", "number", "Spearman's ρ of accuracy and effect over all words and heads"),
        TableColumn("rho_importance", "number", "Spearman's ρ of importance and effect over all heads"),
        TableColumn("sentences", "count", "sentences in which the effect was measured"),
        TableColumn("layer head", "number from 1", "the head with the largest effect on all words"),
        TableColumn(
            "rival_layer rival_head",
            "number from 1",
            "the head that comes closest: the lower end of the interval of its difference from that head is the lowest",
        ),
        TableColumn(
            "lead lead_low lead_high",
            "number",
            "the difference between these two heads, with its paired interval, which runs of versions up to 0.3 lack",
        ),
    ),
)

PRUNING = Schema(
    "ablation_pruning",
    "One row per order in which heads are removed, and share of heads that are gone, on the first "
    "`--pruning-sentences` sentences.",
    (
        TableColumn(
            "order",
            "text",
            "`effect` or `importance` for the smallest first, `reverse` for the largest effect first, or `random`",
        ),
        TableColumn("heads", "count", "heads that are gone"),
        TableColumn("share", "share", "the share of all heads"),
        TableColumn("effect", "text", "the effect that is measured"),
        TableColumn("value", "number", "the effect of removing these heads; the mean over ten orders for `random`"),
        TableColumn("low high", "number", "the smallest and largest effect of the ten random orders"),
        TableColumn("total", "count", "the words or masked pieces that it is the mean of"),
    ),
)

SCHEMAS = (ABLATION, GROUPS, RELATIONS, SUMMARY, PRUNING)
"""The tables that the analysis writes."""
