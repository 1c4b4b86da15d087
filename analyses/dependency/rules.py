"""Baselines that know parts of speech: how far a guess gets that knows what a head may only seem to know.

A head that beats every fixed offset may still know nothing but parts of speech. So rules that know the part of speech
of the dependent are counted beside the heads, and are chosen and scored like them, on different halves:

* the best offset for each part of speech of the dependent;
* the nearest word with a part of speech on one side, such as the nearest verb before it; the best such rule for each
  part of speech of the dependent.

Every rule is counted for each pair of a relation and a part of speech, so that counts of parts of a corpus add up, and
the choice comes last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Int

from ...corpora_loaders import OFFSETS, Sentence, coarse_relation
from ...corpora_loaders.tags import UPOS
from ...corpora_loaders.tree import counted_relations, plain_relation
from ...extractors import MapBatch
from ...reports.columns import Schema, TableColumn
from ...reports.format import shown_rows
from ...reports.table import ShownTable
from ..contract import Request
from ..counting.best_head import both_halves, rate, rates, sum_groups
from ..counting.counting import CountWith
from ..counting.held_out import HeldOutRate, gain_columns, heldout_rate, split_deviations
from ..counting.outcomes import Counts, OutcomeCounts
from ..shared.best_heads import estimate
from ..shared.options import CountOptions
from .columns import BEST
from .decisions import TAGS, ScoredWords, tag_indices
from .rows import DependencyQuestion, DependencyResults, PlanContext, Words, style_of

Array = npt.NDArray[Any]

_OFFSETS = tuple(sorted(OFFSETS))
NEAREST = tuple((side, tag) for side in ("before", "after") for tag in TAGS)
FAMILIES = {"tag_offset": slice(0, len(_OFFSETS)), "tag_rule": slice(len(_OFFSETS), len(_OFFSETS) + len(NEAREST))}
"""The baselines, each with its rules: offsets, and the nearest word with a part of speech on one side."""

_KEYS = ("relation", "total", "layer", "heldout_accuracy")

AGAINST = (
    TableColumn(
        "tag_offset_heldout",
        "share",
        "the accuracy of the best offset for each part of speech of the word, chosen on the other half",
        "offset by part of speech",
        help="The held-out accuracy of a guess that knows the part of speech of the word, and points the same number "
        "of words to the right or left for all words with this part of speech.",
    ),
    estimate(
        "tag_offset_gain",
        "points",
        "`heldout_accuracy` − `tag_offset_heldout`",
        "head − offset",
        "How much more the head finds, where both are chosen on one half and scored on the other.",
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
    estimate(
        "tag_rule_gain",
        "points",
        "`heldout_accuracy` − `tag_rule_heldout`",
        "head − nearest",
        "How much more the head finds, as above.",
    ),
)
"""What rules find that know parts of speech, and how much more heads find."""

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


@dataclass(frozen=True)
class Rules:
    """The answer: the best rules, and what they find held out."""

    best: pd.DataFrame  # one row per relation and part of speech
    heldout: pd.DataFrame  # the columns that are added to the table of best heads
    rates: Mapping[str, Mapping[str, HeldOutRate]] = field(default_factory=dict)  # by row of this table and `FAMILIES`


class BeyondTags(DependencyQuestion):
    """Does a head know more than parts of speech?"""

    name = "rules"
    tables = (RULES,)
    added = tuple(replace(column, heading="") for column in AGAINST)  # which people read in a table of their own
    template = Path(__file__).with_name("rules.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count what rules find, if words have parts of speech, and one head each."""
        corpus, options, chosen = plan_context.setting.corpus, plan_context.options, plan_context.chosen
        if chosen.gold != "basic" or not any(tag in UPOS for _, tag in corpus.counted.tagged):
            return ()
        arguments = {
            "pairs": tuple(sorted(corpus.counted.tagged)),
            "coarse": chosen.coarse,
            "seed": plan_context.setting.seed,
            "replicates": options[CountOptions].replicates,
        }
        counting = CountWith(DependencyRules, tuple(arguments.items()))
        maker = plan_context.setting.maps
        return (Request(f"dependency-rules/{maker.kind}", "rules", corpus, maker, counting),)

    def find(self, counts: Words, lookups: Any, earlier: Mapping[str, Any]) -> Rules | None:
        """Return the best rules, and what rules find that were chosen on the other half."""
        for rules in counts.metrics_of(self.name, DependencyRules):
            rates = heldout_rules(rules, counts.relations)
            heads = counts.subsets, counts.replicates, counts.metric.groups
            heldout = rule_columns(rules, counts.relations, *heads, rates=rates)
            return Rules(rules.compute(), heldout, rates)
        return None

    def columns(self, answer: Rules) -> pd.DataFrame:
        """Return what rules find held out, and how much more the best heads find."""
        return answer.heldout

    def frames(self, answer: Rules, results: DependencyResults) -> Mapping[str, pd.DataFrame]:
        """Return the best rules."""
        return {RULES.name: answer.best}

    def show(self, answer: Rules, results: DependencyResults) -> Sequence[ShownTable]:
        """Return the table that compares the best heads with rules."""
        of_heads = [column for column in BEST.columns if column.names.split(" ")[0] in _KEYS]
        rows = list(shown_rows(results.best, results.min_count))
        title = "Heads against rules that know parts of speech (accuracy in %)"
        return (ShownTable("dependency_tags", title, (*of_heads, *AGAINST), rows, style=style_of),)


class DependencyRules(OutcomeCounts):
    """How often rules find the syntactic head of a word, by its relation and its part of speech."""

    # The rules are those of `FAMILIES`. They need no maps, but are counted with the heads, so that both are scored on
    # the same words. The groups are pairs of a relation and a part of speech. The counts take `groups × replicates × 47
    # × 4` bytes.

    inventory = "pairs"

    def __init__(
        self, pairs: Iterable[tuple[str, str]], *, coarse: bool = False, replicates: int = 1000, seed: int = 0
    ) -> None:
        # Relations are universal ones if ``coarse``, and all other tags have one name.
        counted = {(coarse_relation(name) if coarse else name, tag if tag in TAGS else TAGS[-1]) for name, tag in pairs}
        self.pairs = tuple(sorted(counted))
        self.coarse = coarse
        super().__init__(
            [f"{relation} {tag}" for relation, tag in self.pairs],
            (1, len(_OFFSETS) + len(NEAREST)),  # rules stand where the heads of one layer would
            0,
            replicates=replicates,
            seed=seed,
            configuration=("rules", coarse),
        )
        self._index = {pair: index for index, pair in enumerate(self.pairs)}

    def update(self, batch: MapBatch) -> None:
        """Count the words of a batch."""
        relations = dict.fromkeys(name for sentence in batch.sentences for name in counted_relations(sentence))
        words = ScoredWords.of(batch.sentences, {name: index for index, name in enumerate(relations)})
        counted_names = [coarse_relation(name) if self.coarse else name for name in relations]
        tags = words.look_up([tag_indices(sentence) for sentence in batch.sentences], words.number - 1)
        try:
            group = [
                self._group(counted_names[relation], TAGS[tag])
                for relation, tag in zip(words.relation.tolist(), tags.tolist(), strict=True)
            ]
        except KeyError as error:
            raise ValueError(f"the relation and part of speech {error} are not in the inventory") from None
        at_offset = np.clip(words.number[:, None] + np.array(_OFFSETS), 1, words.length[:, None])
        nearest = words.look_up([nearest_words(sentence) for sentence in batch.sentences], words.number - 1)
        picked = np.concatenate([at_offset, nearest], axis=1)  # (words, rules)
        is_right = (picked == words.head[:, None]) & (words.head > 0)[:, None]
        self.add_outcomes(
            np.array(group, dtype=np.int64),
            words.sentence,
            [sentence.id for sentence in batch.sentences],
            torch.from_numpy(is_right[:, None]),  # of one layer
            np.zeros((len(group), 0), dtype=bool),  # no baselines
        )

    def _group(self, relation: str, tag: str) -> int:
        """Return the group of a relation, as it is counted or as it is in the file, and a part of speech."""
        index = self._index.get((relation, tag))
        return self._index[plain_relation(relation), tag] if index is None else index

    def compute(self) -> pd.DataFrame:
        """Return the best rules for each relation and part of speech, see the schema ``dependency_rules``."""
        subsets, _ = self.split_counts()
        groups_of: dict[tuple[str, str], list[int]] = {}  # which may be counted apart, see `counted_relations`
        for index, (relation, tag) in enumerate(self.pairs):
            groups_of.setdefault((plain_relation(relation), tag), []).append(index)
        rows = []
        for (relation, tag), indices in groups_of.items():
            correct = subsets.correct[indices, 0, 0].sum(0)  # of each rule
            offset, nearest = (  # the best rule of each family
                family.start + int(_best_rules(correct[None, family])[0]) for family in FAMILIES.values()
            )
            side, nearest_tag = NEAREST[nearest - len(_OFFSETS)]
            rows.append(
                {
                    "relation": relation,
                    "tag": tag,
                    "total": int(subsets.total[indices, 0].sum()),
                    "offset": _OFFSETS[offset],
                    "offset_correct": int(correct[offset]),
                    "side": side,
                    "nearest": nearest_tag,
                    "nearest_correct": int(correct[nearest]),
                }
            )
        table = pd.DataFrame(rows)
        return table.sort_values(["total", "relation", "tag"], ascending=[False, True, True], ignore_index=True)


def nearest_words(sentence: Sentence) -> Int[np.ndarray, "words rules"]:
    """Return the number of the word that each rule of `NEAREST` picks for each word; 0 if there is no such word."""
    n_words = len(sentence)
    number = np.arange(1, n_words + 1)[:, None]
    has_tag = tag_indices(sentence)[:, None] == np.arange(len(TAGS))  # (words, tags)
    last_up_to_word = np.maximum.accumulate(np.where(has_tag, number, 0))
    first_from_word = np.minimum.accumulate(np.where(has_tag, number, n_words + 1)[::-1])[::-1]
    # A word is not the nearest to itself, so it takes what its neighbor on that side has.
    nearest = np.zeros((n_words, 2 * len(TAGS)), dtype=np.int64)
    nearest[1:, : len(TAGS)] = last_up_to_word[:-1]
    nearest[:-1, len(TAGS) :] = first_from_word[1:] % (n_words + 1)  # 0 where no word follows
    return nearest


def heldout_rules(rules: DependencyRules, rows: Mapping[str, frozenset[str]]) -> dict[str, dict[str, HeldOutRate]]:
    """Return the held-out accuracies of both families of rules, for each name of a row and the relations it counts."""
    subsets, replicates = rules.split_counts()
    return {
        name: {
            family: _heldout_rules(rules.pairs, relations, subsets, replicates, members)
            for family, members in FAMILIES.items()
        }
        for name, relations in rows.items()
    }


def rule_columns(
    rules: DependencyRules,
    rows: Mapping[str, frozenset[str]],
    heads: Counts,
    replicates: Counts,
    groups: Sequence[str],
    *,
    rates: Mapping[str, Mapping[str, HeldOutRate]] | None = None,
) -> pd.DataFrame:
    """Return the held-out accuracies of the rules, and how much more the best heads find, one row for each name."""
    # rows: for each row of the table of best heads, the relations that it counts.
    # heads, replicates, groups: the counts of heads, and the relations that are their groups.
    # rates: what `heldout_rules` returns, if it is known already.
    rates = heldout_rules(rules, rows) if rates is None else rates
    table = []
    for row, relations in rows.items():
        of_heads = heldout_rate([groups.index(name) for name in groups if name in relations], heads, replicates)
        columns: dict[str, float] = {}
        for name, of_rules in rates[row].items():
            gain = gain_columns(of_heads.value - of_rules.value, of_heads.deviations - of_rules.deviations)
            columns[f"{name}_heldout"] = of_rules.value
            columns |= {key.replace("heldout", name): value for key, value in gain.items()}  # such as heldout_gain_low
        table.append(columns)
    return pd.DataFrame(table, index=list(rows))


def _heldout_rules(
    pairs: Sequence[tuple[str, str]], relations: frozenset[str], subsets: Counts, replicates: Counts, family: slice
) -> HeldOutRate:
    """Choose a rule for each part of speech on one half and score it on the other, as `heldout_rate` does of heads."""
    groups_by_tag: dict[str, list[int]] = {}
    for group, (relation, tag) in enumerate(pairs):
        if relation in relations:
            groups_by_tag.setdefault(tag, []).append(group)

    def by_tag(counts: Array) -> Array:  # (groups, weightings, …) → (weightings, tags, …)
        # If all words are roots, one total has no relations at all, and so one part of speech without groups.
        return np.stack([sum_groups(counts[groups]) for groups in groups_by_tag.values() or [[]]], axis=1)

    correct, total = by_tag(subsets.correct[:, :, 0, family]), by_tag(subsets.total).sum(1)
    drawn_correct, drawn_total = by_tag(replicates.correct[:, :, 0, family]), by_tag(replicates.total).sum(1)

    # Each half of each split chooses, and is scored on the other half.
    choosing, sizes = both_halves(correct), both_halves(total)  # (splits, halves, tags, rules), (splits, halves)
    chosen = _best_rules(choosing)
    scored = np.where(sizes > 0, sizes[:, ::-1], 0)  # an empty half chooses nothing
    right = np.where(sizes > 0, _total_of_rules(choosing[:, ::-1], chosen), 0)  # (splits, halves)
    # How many words each choice of rules is scored on, half by half: the order decides the last bits of deviations.
    words_of_choice: Counter[tuple[int, ...]] = Counter()
    for half, split in zip(*np.nonzero(scored.T), strict=True):
        words_of_choice[tuple(chosen[split, half])] += int(scored[split, half])
    deviations = _deviations(words_of_choice, correct[0], int(total[0]), drawn_correct, drawn_total)
    of_halves = split_deviations(rates(right.sum(1), scored.sum(1)), len(deviations))
    return HeldOutRate(rate(int(right.sum()), int(scored.sum())), deviations + of_halves)


def _deviations(
    words_of_choice: Mapping[tuple[int, ...], int],
    correct: Array,
    n_words: int,
    drawn_correct: Array,
    drawn_total: Array,
) -> Array:
    """Return how far the share deviates in each replicate: as in `held_out`, the scores deviate, and the choices."""
    is_drawn = drawn_total > 0
    deviations = np.where(is_drawn, 0.0, np.nan)
    n_scored = sum(words_of_choice.values())
    for choice, n_words_scored in words_of_choice.items():
        drawn_shares = _total_of_rules(drawn_correct, np.array(choice)) / np.maximum(drawn_total, 1)
        share = rate(int(_total_of_rules(correct, np.array(choice))), n_words)
        deviations += n_words_scored / n_scored * (drawn_shares - share)
    shares_of_choices = _total_of_rules(correct, _best_rules(drawn_correct)) / max(n_words, 1)
    if is_drawn.any():
        deviations += shares_of_choices - shares_of_choices[is_drawn].mean()
    return deviations


def _best_rules(correct: Array) -> Array:
    """Return the best rule for each part of speech, shape (…, tags), from counts of shape (…, tags, rules)."""
    # Of equally good rules, that which is right for more words of any part of speech is chosen, which also decides for
    # a part of speech that does not occur. Then the last rule is, as among offsets.
    of_all_tags = correct.sum(-2, keepdims=True)
    order = correct.astype(np.int64) * (int(of_all_tags.max(initial=0)) + 1) + of_all_tags
    return np.asarray(order.shape[-1] - 1 - order[..., ::-1].argmax(-1))


def _total_of_rules(correct: Array, rule: Array) -> Array:
    """Return the counts (…, tags, rules) of the rule of each part of speech (…, tags), added up over these (…)."""
    shape = np.broadcast_shapes(correct.shape[:-1], rule.shape)
    counts = np.broadcast_to(correct, (*shape, correct.shape[-1]))
    return np.asarray(np.take_along_axis(counts, np.broadcast_to(rule, shape)[..., None], -1)[..., 0].sum(-1))
