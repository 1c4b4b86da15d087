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
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Int

from ...corpora_loaders import OFFSETS, Sentence, coarse_relation
from ...extractors import MapBatch
from ..shared.best_head import drawn, rate
from ..shared.held_out import HeldOutRate, gain_columns, heldout_rate
from ..shared.outcomes import Counts, OutcomeCounts
from .decisions import ScoredWords
from .failures import TAGS, tag_indices

Array = npt.NDArray[Any]

_OFFSETS = tuple(sorted(OFFSETS))
NEAREST = tuple((side, tag) for side in ("before", "after") for tag in TAGS)
FAMILIES = {"tag_offset": slice(0, len(_OFFSETS)), "tag_rule": slice(len(_OFFSETS), len(_OFFSETS) + len(NEAREST))}
"""The baselines, each with its rules: offsets, and the nearest word with a part of speech on one side."""


class DependencyRules(OutcomeCounts):
    """How often rules find the syntactic head of a word, by its relation and its part of speech."""

    # The rules are those of `FAMILIES`. They need no maps, but are counted with the heads, so that both are scored on
    # the same words. The groups are pairs of a relation and a part of speech. The counts take `groups × replicates × 47
    # × 4` bytes.

    inventory = "pairs"

    def __init__(
        self, pairs: Iterable[tuple[str, str]], *, coarse: bool = False, replicates: int = 1000, seed: int = 0
    ) -> None:
        self.pairs = _known(pairs, coarse)
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
        relations = {relation: 0 for sentence in batch.sentences for relation in sentence.relations}
        words = ScoredWords.of(batch.sentences, {name: i for i, name in enumerate(relations)})
        names = [coarse_relation(name) if self.coarse else name for name in relations]
        tags = [tag_indices(sentence).tolist() for sentence in batch.sentences]
        try:
            group = [
                self._index[names[relation], TAGS[tags[sentence][number - 1]]]
                for relation, sentence, number in zip(
                    words.relation.tolist(), words.sentence.tolist(), words.number.tolist(), strict=True
                )
            ]
        except KeyError as error:
            raise ValueError(f"the relation and part of speech {error} are not in the inventory") from None
        nearest = [nearest_words(sentence) for sentence in batch.sentences]
        predicted = np.concatenate(
            [
                np.clip(words.number[:, None] + np.array(_OFFSETS), 1, words.length[:, None]),
                np.array(
                    [nearest[s][n - 1] for s, n in zip(words.sentence.tolist(), words.number.tolist(), strict=True)]
                ).reshape(-1, len(NEAREST)),
            ],
            axis=1,
        )
        hits = torch.from_numpy((predicted == words.head[:, None]) & (words.head > 0)[:, None])
        self.add_outcomes(
            np.array(group, dtype=np.int64),
            words.sentence,
            [sentence.id for sentence in batch.sentences],
            hits[:, None],
            np.zeros((len(group), 0), dtype=bool),
        )

    def compute(self) -> pd.DataFrame:
        """Return the best rules for each relation and part of speech, see the schema ``dependency_rules``."""
        subsets, _ = self.split_counts()
        rows = []
        for index, (relation, tag) in enumerate(self.pairs):
            right = subsets.correct[index, 0, 0]
            offset, nearest = (family.start + int(_chosen(right[None, family])[0]) for family in FAMILIES.values())
            side, of = NEAREST[nearest - len(_OFFSETS)]
            rows.append(
                {
                    "relation": relation,
                    "tag": tag,
                    "total": int(subsets.total[index, 0]),
                    "offset": _OFFSETS[offset],
                    "offset_correct": int(right[offset]),
                    "side": side,
                    "nearest": of,
                    "nearest_correct": int(right[nearest]),
                }
            )
        table = pd.DataFrame(rows)
        return table.sort_values(["total", "relation", "tag"], ascending=[False, True, True], ignore_index=True)


def nearest_words(sentence: Sentence) -> Int[np.ndarray, "words rules"]:
    """Return the number of the word that each rule of `NEAREST` picks for each word; 0 if there is no such word."""
    n = len(sentence)
    numbers = np.where(tag_indices(sentence)[:, None] == np.arange(len(TAGS)), np.arange(1, n + 1)[:, None], 0)
    none = np.zeros((1, len(TAGS)), dtype=numbers.dtype)
    before = np.concatenate([none, np.maximum.accumulate(numbers)[:-1]])
    reversed_ = np.where(numbers[::-1] > 0, numbers[::-1], n + 1)
    after = np.concatenate([none + n + 1, np.minimum.accumulate(reversed_)[:-1]])[::-1]
    return np.concatenate([before, np.where(after > n, 0, after)], axis=1)


def rule_columns(
    rules: DependencyRules, rows: Mapping[str, frozenset[str]], heads: Counts, replicates: Counts, groups: Sequence[str]
) -> pd.DataFrame:
    """Return the held-out accuracies of the rules, and how much more the best heads find, one row for each name."""
    # rows: for each row of the table of best heads, the relations that it counts.
    of_rules, drawn_rules = rules.split_counts()
    table = []
    for relations in rows.values():
        of_head = heldout_rate([groups.index(name) for name in groups if name in relations], heads, replicates)
        columns: dict[str, float] = {}
        for name, family in FAMILIES.items():
            found = _heldout_rules(rules.pairs, relations, of_rules, drawn_rules, family)
            gain = gain_columns(of_head.value - found.value, of_head.deviations - found.deviations)
            columns[f"{name}_heldout"] = found.value
            columns |= {key.replace("heldout", name): value for key, value in gain.items()}
        table.append(columns)
    return pd.DataFrame(table, index=list(rows))


def _heldout_rules(
    pairs: Sequence[tuple[str, str]], relations: frozenset[str], subsets: Counts, replicates: Counts, family: slice
) -> HeldOutRate:
    """Choose a rule for each part of speech on one half and score it on the other, as `heldout_rate` does of heads."""
    tags = sorted({tag for relation, tag in pairs if relation in relations})
    members = [[i for i, (name, of) in enumerate(pairs) if name in relations and of == tag] for tag in tags]

    def by_tag(counts: Array) -> Array:  # (weightings, tags, …)
        return np.stack([drawn(counts[rows]) for rows in members], axis=1)

    correct, total = by_tag(subsets.correct[:, :, 0, family]), by_tag(subsets.total)
    drawn_correct, drawn_total = by_tag(replicates.correct[:, :, 0, family]), by_tag(replicates.total).sum(1)
    # Each half of each split chooses, and is scored on the other half.
    choosing = np.stack([correct[1:], correct[0] - correct[1:]])
    sizes = np.stack([total[1:], total[0] - total[1:]]).sum(-1)
    chosen = _chosen(choosing)
    scored = np.where(sizes > 0, sizes[::-1], 0)
    right = np.where(sizes > 0, _picked(choosing[::-1], chosen), 0)
    n, everything = int(total[0].sum()), int(scored.sum())
    # The deviations are those of the module on held-out gains: of the scores of what was chosen, and of the choices.
    is_drawn = drawn_total > 0
    deviations = np.where(is_drawn, 0.0, np.nan)
    times: Counter[tuple[int, ...]] = Counter()  # how many words each choice of rules is scored on
    for half, split in zip(*np.nonzero(scored), strict=True):
        times[tuple(chosen[half, split])] += int(scored[half, split])
    for rule, number in times.items():
        at = (np.arange(len(tags)), np.array(rule))
        shares = drawn_correct[:, *at].sum(-1) / np.maximum(drawn_total, 1)
        deviations += number / everything * (shares - rate(int(correct[0][at].sum()), n))
    of_choices = _picked(correct[0][None], _chosen(drawn_correct)) / max(n, 1)
    if is_drawn.any():
        deviations += of_choices - of_choices[is_drawn].mean()
    return HeldOutRate(rate(int(right.sum()), everything), deviations)


def _chosen(correct: Array) -> Array:
    """Return the best rule for each part of speech, shape (…, tags), from counts of shape (…, tags, rules)."""
    # Of equally good rules, that which is right for more words of any part of speech is chosen, which also decides for
    # a part of speech that does not occur. Then the last rule is, as among offsets.
    everywhere = correct.sum(-2, keepdims=True)
    order = correct.astype(np.int64) * (int(everywhere.max(initial=0)) + 1) + everywhere
    best: Array = order.shape[-1] - 1 - order[..., ::-1].argmax(-1)
    return best


def _picked(correct: Array, rule: Array) -> Array:
    """Add up the counts of the rule of each part of speech."""
    shape = np.broadcast_shapes(correct.shape[:-1], rule.shape)
    counts = np.broadcast_to(correct, (*shape, correct.shape[-1]))
    values: Array = np.take_along_axis(counts, np.broadcast_to(rule, shape)[..., None], -1)[..., 0].sum(-1)
    return values


def _known(pairs: Iterable[tuple[str, str]], coarse: bool) -> tuple[tuple[str, str], ...]:
    known = {(coarse_relation(name) if coarse else name, tag if tag in TAGS else TAGS[-1]) for name, tag in pairs}
    return tuple(sorted(known))
