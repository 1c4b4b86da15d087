"""Does the model prefer the acceptable sentence? Accuracy over minimal pairs, by group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ...reports.columns import Schema, TableColumn, bounds
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount, verb
from ..contract import Request
from ..counting.comparable import Comparable, Measured
from ..counting.counting import CountWith
from ..counting.exact_sums import ExactMetric, floating, to_fixed_point
from ..shared.measures import address, share
from .rows import WITHOUT_INTERVAL, PairCounts, PairQuestion, PairResults, PlanContext, nats_bounds
from .scores import ScoreMaker

PAIR_SCORES = Schema(
    "pairs",
    "If the model has a language-model head. One row per pair.",
    (
        TableColumn("pair group good bad", "text", "the pair, its group, and the two sentences"),
        TableColumn("score_good score_bad", "nats", "the scores of the sentences"),
        TableColumn("pieces_good pieces_bad", "count", "the scored pieces"),
        TableColumn("difference", "nats", "`score_good` − `score_bad`"),
        TableColumn("correct", "count", "1 if `difference` is above 0, else 0"),
    ),
)
GROUPS = Schema(
    "pairs_accuracy",
    "If the model has a language-model head. One row per group, and one of all pairs.",
    (
        TableColumn("group", "text", "the group, or `all`", "group"),
        TableColumn("pairs", "count", "pairs of which both sentences were scored", "pairs"),
        TableColumn("correct", "count", "pairs whose acceptable sentence has the higher score"),
        TableColumn("ties", "count", "pairs whose sentences have the same score, which are not correct", "ties"),
        TableColumn(
            "accuracy accuracy_low accuracy_high",
            "share",
            "`correct` / `pairs`, and Wilson's 95 % interval",
            "accuracy",
            beside=bounds("accuracy"),
            help="The share of pairs whose acceptable sentence has the higher score, with Wilson’s 95 % interval. It "
            "is an interval for other pairs of these templates, whose words recur, and not for other constructions.",
        ),
        TableColumn(
            "accuracy_with_ties",
            "share",
            "(`correct` + `ties`) / `pairs`, as the LM Evaluation Harness counts",
        ),
        TableColumn(
            "difference difference_low difference_high",
            "nats",
            "the mean of `difference`, and its 95 % interval over pairs",
            "difference, nats",
            beside=nats_bounds("difference"),
            help="How much higher the score of the acceptable sentence is, as a mean over pairs.",
        ),
    ),
)


class Scores(NamedTuple):
    """The answer: the scores of all pairs, and the accuracy of each group."""

    pairs: pd.DataFrame
    groups: pd.DataFrame


class PairScores(ExactMetric):
    """The scores of the two sentences of each pair, and their scored pieces.

    Args:
        ids: the ids of the pairs.
    """

    scores: Int[Tensor, "pairs 2"]
    pieces: Int[Tensor, "pairs 2"]

    def __init__(self, ids: Sequence[str]) -> None:
        super().__init__()
        self.ids = tuple(ids)
        self._place = {f"{pair} {end}": (row, column) for row, pair in enumerate(ids) for column, end in _ENDS}
        self.add_state("scores", torch.zeros(len(ids), 2, dtype=torch.int64), "sum")
        self.add_state("pieces", torch.zeros(len(ids), 2, dtype=torch.int64), "sum")

    def update(self, batch: tuple[Sequence[str], Float[Tensor, "sentences 2"]]) -> None:
        """Add the scores of some sentences.

        Raises:
            ExactSumError: a score is not finite.
        """
        names, values = batch
        rows, columns = zip(*(self._place[name] for name in names), strict=True)
        self.scores[rows, columns] += to_fixed_point(values[:, 0])
        self.pieces[rows, columns] += values[:, 1].long()

    def compute(self) -> tuple[Any, Any]:
        """Return the scores, NaN where a sentence was not scored, and the scored pieces, shape (pairs, 2)."""
        pieces = self.pieces.cpu()
        return torch.where(pieces > 0, floating(self.scores.cpu()), torch.nan).numpy(), pieces.numpy()


_ENDS = ((0, "good"), (1, "bad"))


class Accuracy(PairQuestion):
    """How often does the acceptable sentence have the higher score?"""

    name = "accuracy"
    tables = (PAIR_SCORES, GROUPS)
    template = Path(__file__).with_name("accuracy.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Score all sentences, if the model has a head for it."""
        if plan_context.scorer is None:
            return ()
        counting = CountWith(PairScores, (("ids", tuple(plan_context.pairs["pair"])),))
        return (
            Request("pairs-scores", "scores", plan_context.setting.corpus, ScoreMaker(plan_context.scorer), counting),
        )

    def find(self, counts: PairCounts, lookups: Any, earlier: Mapping[str, Any]) -> Scores | None:
        """Return the scores and the accuracy; None if nothing was scored."""
        for metric in counts.metrics_of(self.name, PairScores):
            return scores_of(counts, *metric.compute())
        return None

    def frames(self, answer: Scores, results: PairResults) -> Mapping[str, pd.DataFrame]:
        """Return both tables."""
        return {PAIR_SCORES.name: answer.pairs, GROUPS.name: answer.groups}

    def show(self, answer: Scores, results: PairResults) -> Sequence[ShownTable]:
        """Return the accuracy of each group."""
        return (accuracy_table(answer),)

    def explore(self, answer: Scores, counts: PairCounts, results: PairResults, kind: str) -> Contribution:
        """Say how often the acceptable sentence is preferred, and in which group least."""
        *groups, total = rows_of(answer.groups)
        if not total["pairs"]:
            return Contribution()
        least = min(groups, key=lambda row: row["accuracy"])
        ties = f", with {amount(total['ties'], 'ties')} counted as wrong" if total["ties"] else ""
        text = (
            f"{_of(total)} of {amount(total['pairs'], 'pairs')} {verb(total['pairs'], 'have', 'has')} the higher score "
            f"for the acceptable sentence{ties}; least often in the group {least['group']} ({_of(least)})."
        )
        return Contribution(findings=(Finding(text, address(kind=kind)),))


def _of(row: Mapping[str, Any]) -> str:
    return share(row["accuracy"], row["accuracy_low"], row["accuracy_high"])


def scores_of(counts: PairCounts, scores: Any, pieces: Any) -> Scores:
    """Return the tables of the scores and scored pieces of the sentences of all pairs, each of shape (pairs, 2)."""
    values = scores[:, 0] - scores[:, 1]
    pairs = counts.pairs[["pair", "group", "good", "bad"]].assign(
        score_good=scores[:, 0],
        score_bad=scores[:, 1],
        pieces_good=pieces[:, 0],
        pieces_bad=pieces[:, 1],
        difference=values,
        correct=(values > 0).astype(int),
    )
    rows = []
    for name, chosen in counts.groups.items():
        known = values[chosen & ~np.isnan(values)]
        n, correct, ties = len(known), int((known > 0).sum()), int((known == 0).sum())
        low, high = wilson(correct, n)
        mean, *ends = counts.means(values, chosen)
        row = {"group": name, "pairs": n, "correct": correct, "ties": ties}
        row |= {"accuracy": correct / n if n else math.nan, "accuracy_low": low, "accuracy_high": high}
        row |= {"accuracy_with_ties": (correct + ties) / n if n else math.nan, "difference": float(mean)}
        rows.append({**row, "difference_low": float(ends[0]), "difference_high": float(ends[1])})
    # A group may have the name of the total; with one group, the total says the same.
    return Scores(pairs, pd.DataFrame(rows, columns=GROUPS.names))


def comparable_accuracy(counts: PairCounts) -> tuple[Comparable, ...]:
    """Return the accuracy of each group, which can be compared with that of another model; nothing without scores."""
    for metric in counts.metrics_of(Accuracy.name, PairScores):
        scores, _ = metric.compute()
        values = scores[:, 0] - scores[:, 1]
        measured = []
        for name, chosen in counts.groups.items():
            known = chosen & ~np.isnan(values)
            n, right = int(known.sum()), (values[known] > 0).astype(np.float64)
            weights = counts.weights(known)
            with np.errstate(invalid="ignore"):
                deviations = weights @ right / weights.sum(1) - (right.mean() if n else math.nan)
            ids = counts.pairs["pair"].to_numpy()[known].tolist()
            decisions = dict(zip(ids, (right > 0).tolist(), strict=True))
            value = float(right.mean()) if n else math.nan
            measured.append(Measured(name, value, n, deviations, units=n, decisions=decisions))
        return (Comparable("minimal pairs", tuple(measured), "pairs that are right", "pairs", counts.facts.seed),)
    return ()


def accuracy_table(answer: Scores) -> ShownTable:
    """Return the table of groups."""
    return ShownTable(
        GROUPS.name, "Minimal pairs (accuracy in %)", GROUPS.columns, rows_of(answer.groups), uncertain=WITHOUT_INTERVAL
    )


def wilson(correct: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share, NaN without cases."""
    if not total:
        return math.nan, math.nan
    from scipy.stats import binomtest

    interval = binomtest(correct, total).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)
