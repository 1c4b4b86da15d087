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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...corpora_loaders import coarse_relation
from ...corpora_loaders.describing import amount
from ...reports.format import rows_of
from ..dependency.decisions import READINGS
from ..dependency.tables import TOTALS, Asked
from ..shared.best_head import Choice, argbest, drawn, interval, rate, rates
from ..shared.comparable import Measured, replicate_order
from ..shared.explored import points
from ..shared.held_out import best_in_replicates, choice_deviations, gain_columns, score_deviations
from ..shared.outcomes import Counts

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


def transfers(treebanks: Mapping[str, KeptCounts], min_count: int, **labels: str) -> tuple[list[Row], list[Row]]:
    """Score the best heads of each treebank on every other one: the rows of both tables of transfer.

    The counts are those of one model with one kind of map. Relations that are part of means have at least ``min_count``
    words in both treebanks. The labels are further columns of all rows, such as the name of the model.
    """
    rows, means = list[Row](), list[Row]()
    # An order of its own, as if the name of the treebank were part of the ids of its sentences.
    orders = {name: replicate_order(name, kept.replicates.total.shape[1]) for name, kept in treebanks.items()}
    for chosen_on in treebanks:
        pairs = [_transferred(chosen_on, name, treebanks, orders, min_count) for name in treebanks if name != chosen_on]
        rows += [{**labels, **row} for pair in pairs for row in pair.rows]
        means += [{**labels, **pair.mean} for pair in pairs]
        if pairs_with_mean := [pair for pair in pairs if pair.mean["relations"]]:
            means.append({**labels, "chosen_on": chosen_on, "scored_on": "", **_mean_over_treebanks(pairs_with_mean)})
    return rows, means


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
    return _Transferred(rows, mean, np.mean(deviations_in_mean, axis=0) if rows_in_mean else np.zeros(0))


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


def transfer_findings(means: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each model and kind of map: whose heads transfer worst and best, or that none stand out."""
    rows_over_treebanks = [row for row in rows_of(means) if row["scored_on"] == ""]
    has_several_maps = len({row["map"] for row in rows_over_treebanks}) > 1
    for model, kind in dict.fromkeys((row["model"], row["map"]) for row in rows_over_treebanks):
        rows = [row for row in rows_over_treebanks if (row["model"], row["map"]) == (model, kind)]
        if len(rows) < 2:
            continue
        worst, *_, best = sorted(rows, key=lambda row: row["loss"])  # the lower, the worse
        name = f"{model} ({kind})" if has_several_maps else model
        # The worst and the best of several are chosen by their losses, so the intervals themselves must be apart, which
        # asks for more than an interval of their difference does. Without intervals, nothing is shown.
        if worst["loss_high"] < best["loss_low"]:
            yield (
                f"{name}: of the heads of {len(rows)} treebanks, those chosen on {worst['chosen_on']} transfer worst "
                f"to the other treebanks (mean loss {_evidence(worst)}), and those chosen on {best['chosen_on']} best "
                f"({_evidence(best)})."
            )
        else:
            reason = "without intervals" if math.isnan(worst["loss_low"]) else "and their intervals overlap"
            yield (
                f"{name}: no treebank's heads clearly transfer worse than those of another. Mean losses on the other "
                f"treebanks are between {_evidence(worst)} for heads chosen on {worst['chosen_on']} and "
                f"{_evidence(best)} for those chosen on {best['chosen_on']}, {reason}."
            )


def only_in_one(means: pd.DataFrame) -> dict[str, str]:
    """Return the relations that only one of two treebanks has, by the name of both: ``ewt but not gsd``."""
    return {
        f"{row['chosen_on']} but not {row['scored_on']}": row["only_chosen"]
        for row in rows_of(means)
        if row["only_chosen"]
    }


def _evidence(row: Mapping[str, Any]) -> str:
    loss = points(row["loss"], row["loss_low"], row["loss_high"])
    return f"{loss}, {amount(row['relations'], 'relations')}, n = {row['n']:,}"
