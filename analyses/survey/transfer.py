"""Transfer: the head that is best for a relation on one treebank, scored on another treebank.

Heads are compared with those that the other treebank chooses itself. Part of the accuracy of a chosen head is luck, so
the other treebank chooses its head on one half of its sentences and scores it on the other half. The first treebank
chooses its head on all of its sentences, because none of them is scored. A loss can therefore be above 0: all sentences
of a large treebank may choose a better head than half of a small one.

The deviations of a loss have two independent parts. The sentences of the treebank of the score change the accuracies of
both heads, in the same replicate, and its own choice. Other sentences of the treebank of the choice would choose other
heads, whose accuracies on the other treebank differ. The replicates of each treebank are put into an order of their
own, as for means over treebanks (`attentionology.analyses.survey.contrasts`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...corpora_loaders import coarse_relation
from ...reports.format import rows_of
from ..counting.best_head import Choice, argbest, drawn, interval, rate, rates
from ..counting.comparable import Measured, replicate_order
from ..counting.held_out import best_in_replicates, choice_deviations, gain_columns, score_deviations
from ..counting.outcomes import Counts
from ..counting.resampling import effective_number_drawn
from ..dependency.accuracy import TOTALS, Asked
from ..dependency.decisions import READINGS
from .choosers import ChooserContrast, Choosers, Loss

Array = npt.NDArray[Any]
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class KeptCounts:
    """What is kept of a cell with one kind of map, to score heads of other treebanks on it and its heads on others."""

    groups: Mapping[str, list[int]]  # the indices of the counts that make up each relation or total, by its name
    in_means: frozenset[str]  # the relations that are part of means, see `averaged`
    # the right decisions of each head for each relation, shape (directions, layers, heads)
    correct: Mapping[str, Array]
    heldout: Mapping[str, Measured]  # the held-out accuracy of the treebank's own heads for each relation
    # for each relation, the head that is best in each replicate, see `best_in_replicates`
    best_again: Mapping[str, Array]
    replicates: Counts  # the counts over replicates
    _scores: dict[tuple[str, Choice], tuple[Array, tuple[float, float]]] = field(default_factory=dict, init=False)

    def scores(self, relation: str, head: Choice) -> tuple[Array, tuple[float, float]]:
        """Return how far the accuracy of a head deviates in each replicate, and its interval."""
        if (relation, head) not in self._scores:
            rows, n = self.groups[relation], self.heldout[relation].n
            right = drawn(self.replicates.correct[(rows, slice(None), *head)])  # in each replicate
            deviations = score_deviations(rows, {head: 1}, self.correct[relation], n, self.replicates)
            bounds = interval(rates(right, drawn(self.replicates.total[rows])))
            self._scores[relation, head] = deviations, bounds
        return self._scores[relation, head]


def averaged(groups: Mapping[str, list[int]], asked: Asked) -> dict[str, list[int]]:
    """Return the relations that are part of means: no totals, no groups of relations, and no root."""
    together = {*TOTALS, *(name for name, _ in asked.unions)}
    single = {name: rows for name, rows in groups.items() if name not in together}
    return {name: rows for name, rows in single.items() if coarse_relation(name).lower() != "root"}


def kept_counts(
    groups: Mapping[str, list[int]],
    in_means: Iterable[str],
    measured: Iterable[Measured],
    counts: tuple[Counts, Counts],
) -> KeptCounts:
    """Keep what transfer needs of the counts over subsets of the corpus and over replicates; see `KeptCounts`."""
    subsets, replicates = counts
    # The counts over replicates go to a temporary file, because they take 26 MB for 45 relations and 144 heads, for
    # each model, treebank and kind of map of the survey.
    drawn_correct = replicates.correct.astype(np.min_scalar_type(int(replicates.correct.max(initial=0))))
    if drawn_correct.size:
        with TemporaryFile() as file:
            drawn_correct.tofile(file)
            file.flush()
            drawn_correct = np.memmap(file, drawn_correct.dtype, "r", shape=drawn_correct.shape)
    return KeptCounts(
        groups,
        frozenset(in_means),
        {name: subsets.correct[rows, 0].sum(0) for name, rows in groups.items()},  # subset 0 is the whole corpus
        {heldout.group: heldout for heldout in measured},
        {name: best_in_replicates(rows, replicates) for name, rows in groups.items()},
        Counts(drawn_correct, np.zeros(0), replicates.total),
    )


class _Transferred(NamedTuple):
    """Heads of one treebank on another: a row for each relation, their mean, and how far the mean loss deviates."""

    rows: list[Row]
    mean: Row
    deviations: Array
    losses: Mapping[str, Loss]  # of the relations that are part of the mean


class Transfers(NamedTuple):
    """The rows of both tables of transfer, and the treebanks that choose compared with each other."""

    rows: list[Row]
    means: list[Row]
    choosers: list[ChooserContrast]


def transfers(treebanks: Mapping[str, KeptCounts], min_count: int, **labels: str) -> Transfers:
    """Score the best heads of each treebank on every other one.

    The counts are those of one model with one kind of map. Relations that are part of means have at least ``min_count``
    words in both treebanks. The labels are further columns of all rows, such as the name of the model.
    """
    # An order of its own, as if the name of the treebank were part of the ids of its sentences.
    orders = {name: replicate_order(name, kept.replicates.total.shape[1]) for name, kept in treebanks.items()}
    choosers = Choosers({name: _units(kept) for name, kept in treebanks.items()})
    pairs: dict[str, list[_Transferred]] = {name: [] for name in treebanks}  # by the treebank that chose
    for scored_on in treebanks:
        transferred = {
            name: _transferred(name, scored_on, treebanks, orders, min_count) for name in treebanks if name != scored_on
        }
        choosers.add(scored_on, {name: pair.losses for name, pair in transferred.items()})
        for name, pair in transferred.items():  # without the losses, to save memory
            pairs[name].append(pair._replace(losses={}))
    rows, means = list[Row](), list[Row]()
    for chosen_on, of_choice in pairs.items():
        rows += [{**labels, **row} for pair in of_choice for row in pair.rows]
        means += [{**labels, **pair.mean} for pair in of_choice]
        if pairs_with_mean := [pair for pair in of_choice if pair.mean["relations"]]:
            means.append({**labels, "chosen_on": chosen_on, "scored_on": "", **_mean_over_treebanks(pairs_with_mean)})
    return Transfers(rows, means, choosers.contrasts())


def _units(kept: KeptCounts) -> float:
    """Return the effective number of sentences of a treebank, by the words of all relations that are part of means."""
    rows = sorted({row for name in kept.in_means for row in kept.groups[name]})
    n_words = sum(kept.heldout[name].n for name in kept.in_means)
    return effective_number_drawn(n_words, drawn(kept.replicates.total[rows]))


def _mean_over_treebanks(pairs: Sequence[_Transferred]) -> Row:
    """Return the mean of what the heads of one treebank reach on several others."""
    relations = {name for pair in pairs for name in pair.mean["used"]}
    mean = _mean([pair.mean for pair in pairs], [pair.deviations for pair in pairs])
    return {"treebanks": len(pairs), "relations": len(relations), **mean, "only_chosen": "", "only_scored": ""}


def _transferred(
    chosen_on: str,
    scored_on: str,
    treebanks: Mapping[str, KeptCounts],
    orders: Mapping[str, Array],
    min_count: int,
) -> _Transferred:
    """Score the heads of one treebank on another, whose replicates have these orders."""
    choice, score = treebanks[chosen_on], treebanks[scored_on]
    rows = list[Row]()
    rows_in_mean, deviations_in_mean = list[Row](), list[Array]()
    losses: dict[str, Loss] = {}
    for relation in choice.groups:
        if relation not in score.groups:
            continue
        head = argbest(choice.correct[relation])
        direction, layer, head_in_layer = head
        correct = score.correct[relation]
        heldout = score.heldout[relation]  # the accuracy of heads that the scoring treebank chooses itself
        accuracy = rate(int(correct[head]), heldout.n)
        of_score, (low, high) = score.scores(relation, head)
        of_choice = choice_deviations(choice.best_again[relation], correct, heldout.n)
        # Each of the two independent parts is in the order of the replicates of its own treebank.
        deviations = (of_score - heldout.deviations)[orders[scored_on]] + of_choice[orders[chosen_on]]
        row = {
            "chosen_on": chosen_on,
            "scored_on": scored_on,
            "relation": relation,
            "layer": layer + 1,
            "head": head_in_layer + 1,
            "direction": READINGS[direction],
            "n_chosen": choice.heldout[relation].n,
            "n": heldout.n,
            "correct": int(correct[head]),
            "accuracy": accuracy,
            "low": low,
            "high": high,
            "heldout": heldout.value,
            **_loss(accuracy - heldout.value, deviations),
        }
        rows.append(row)
        is_frequent = min(row["n_chosen"], row["n"]) >= min_count
        if is_frequent and relation in choice.in_means and not math.isnan(row["loss"]):
            rows_in_mean.append(row)
            deviations_in_mean.append(deviations)
            losses[relation] = Loss(row["loss"], heldout.n, deviations)
    mean = {
        "chosen_on": chosen_on,
        "scored_on": scored_on,
        "treebanks": 1,
        "relations": len(rows_in_mean),
        **_mean(rows_in_mean, deviations_in_mean),
        "only_chosen": _only_in_first(choice, score),
        "only_scored": _only_in_first(score, choice),
        "used": [row["relation"] for row in rows_in_mean],
    }
    deviations_of_mean = np.mean(deviations_in_mean, axis=0) if rows_in_mean else np.zeros(0)
    return _Transferred(rows, mean, deviations_of_mean, losses)


def _mean(rows: Sequence[Row], deviations: Sequence[Array]) -> Row:
    """Return the means of some rows, each with the same weight, and the interval of the mean loss."""
    if not rows:
        return {"n": 0, **dict.fromkeys(("accuracy", "heldout", "loss", "loss_low", "loss_high"), math.nan)}
    means = {name: float(np.mean([row[name] for row in rows])) for name in ("accuracy", "heldout", "loss")}
    return {"n": sum(row["n"] for row in rows), **means, **_loss(means["loss"], np.mean(deviations, axis=0))}


def _loss(value: float, deviations: Array) -> Row:
    """Return a loss with its interval, which is that of any held-out difference."""
    return dict(zip(("loss", "loss_low", "loss_high"), gain_columns(value, deviations).values(), strict=True))


def _only_in_first(first: KeptCounts, second: KeptCounts) -> str:
    """Return the relations that only the first of two treebanks has."""
    return ", ".join(name for name in first.groups if name not in second.groups)


def only_in_one(means: pd.DataFrame) -> dict[str, str]:
    """Return the relations that only one of two treebanks has, by the name of both: ``ewt but not gsd``."""
    return {
        f"{row['chosen_on']} but not {row['scored_on']}": row["only_chosen"]
        for row in rows_of(means)
        if row["only_chosen"]
    }
