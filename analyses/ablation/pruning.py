"""How many heads can go at once? What is left of a model if more and more heads are switched off, in several orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

from ...extractors import SharedBatch
from ...extractors.replaceable.heads_off import Head
from ...reports.columns import Schema, TableColumn
from ...reports.drawing import BLUE, COLUMN, GREEN, GREY, ORANGE, finish, panel, with_style
from ..contract import Reader
from ..counting.exact_sums import add_values, floating
from .effects import AblationMaker
from .heads import HeadEffects, Values
from .rows import HEADS, LABELS, AblationQuestion, AblationResults, Effects, LookupContext, PlanContext

STEPS, SEEDS = 10, 10
"""The number of shares of heads that are removed, from 0 % on, and the number of random orders."""

_ORDERS = {"effect": (BLUE, "o"), "importance": (GREEN, "s"), "random": (GREY, "^"), "reverse": (ORANGE, "v")}
_NAMES = {
    "effect": "smallest effect first",
    "importance": "smallest importance first",
    "random": "random (ten orders)",
    "reverse": "largest effect first",
}

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


class Pruning(AblationQuestion):
    """How many heads can be switched off at once?"""

    name = "pruning"
    tables = (PRUNING,)
    template = Path(__file__).with_name("pruning.html.j2")

    def passes(self, plan_context: PlanContext) -> float:
        """Return how many forward passes the sets of heads take."""
        n_heads, makers = len(plan_context.heads), plan_context.makers
        n_sentences = len(plan_context.setting.corpus.sentences[: plan_context.chosen.pruning_sentences])
        return n_sentences * sets_of(n_heads, importance="predictions" in makers) * len(makers) if n_heads > 1 else 0

    def look(self, lookup_context: LookupContext) -> list[dict[str, Any]] | None:
        """Switch off more and more heads at once on the first sentences."""
        counts = lookup_context.effects
        inputs = lookup_context.inputs[: counts.chosen.pruning_sentences]
        heads = counts.facts.heads
        if not len(inputs) or len(heads) < 2:
            return None
        metric = counts.metrics_of(HEADS, HeadEffects)[-1]
        effect = metric.compute().mean[0, :, 0]  # the first effect of each head on all words
        by_order = orders(heads, effect, metric.mean_importance(), counts.facts.seed)
        return [
            row for maker in lookup_context.makers for row in prune_heads(lookup_context.read, inputs, maker, by_order)
        ]

    def find(self, counts: Effects, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the table. Merged runs have none, because each has looked at its own sentences."""
        return None if lookups is None else pruning_table(lookups, len(counts.facts.heads))

    def frames(self, answer: pd.DataFrame, results: AblationResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {PRUNING.name: answer}

    def draw(self, answer: pd.DataFrame, results: AblationResults, title: str) -> Mapping[str, Figure]:
        """Draw the effect against the share of heads that are gone."""
        return {"ablation_pruning": pruning_figure(answer, results.effect, title=title)}

    def values(self, answer: pd.DataFrame, results: AblationResults) -> Mapping[str, Any]:
        """Return the number of words or masked pieces."""
        return {"pruning_total": int(answer.loc[answer["effect"] == results.effect, "total"].max())}


@dataclass(frozen=True)
class PruningMaker:
    """Makes the sums of the effects of removing several heads in each sentence, one row for each set of heads."""

    reads_weights: ClassVar[bool] = False

    sets: tuple[tuple[Head, ...], ...]
    maker: AblationMaker

    def of(self, batch: SharedBatch) -> list[tuple[Tensor, int]]:
        """Return for each sentence the sums of the effects (sets, measures), and how many words or masked pieces."""
        return [(values.double().sum(1), values.shape[1]) for values in self.maker.of_sets(batch, self.sets)]


def orders(
    heads: Sequence[Head], effect: Values, importance: Values | None, seed: int
) -> dict[tuple[str, int], list[Head]]:
    """Return the orders in which heads are removed, by the name of the order and the number of its draw."""
    # Of heads with equal effects, the first one goes first.
    by_effect = [heads[index] for index in np.argsort(effect, kind="stable")]
    by_order: dict[tuple[str, int], list[Head]] = {("effect", 0): by_effect, ("reverse", 0): by_effect[::-1]}
    if importance is not None:
        by_order["importance", 0] = [heads[index] for index in np.argsort(importance, kind="stable")]
    for draw in range(SEEDS):
        shuffled = np.random.default_rng([seed, draw]).permutation(len(heads))
        by_order["random", draw] = [heads[index] for index in shuffled]
    return by_order


def steps(n_heads: int) -> list[int]:
    """Return how many heads are gone at 0, 10, … 90 % of them."""
    return list(dict.fromkeys(round(n_heads * step / STEPS) for step in range(STEPS)))


def sets_of(n_heads: int, *, importance: bool) -> int:
    """Return how many different sets of heads are switched off at most: in each of the `orders`, and none at all."""
    n_orders = 2 + importance + SEEDS  # by effect, the reverse of it, by importance, and at random
    return n_orders * (len(steps(n_heads)) - 1) + 1


def prune_heads(
    read: Reader, inputs: Sequence[Any], maker: AblationMaker, by_order: dict[tuple[str, int], list[Head]]
) -> list[dict[str, Any]]:
    """Return the effects of removing more and more heads in each of the `orders`, as rows."""
    removals = [(order, draw, n_heads) for order, draw in by_order for n_heads in steps(len(maker.heads))]
    sets = [tuple(by_order[order, draw][:n_heads]) for order, draw, n_heads in removals]
    unique = tuple(dict.fromkeys(sets))  # the set of no head, for example, begins every order
    sums, total = torch.zeros(len(unique), len(maker.measures), dtype=torch.int64), 0  # in fixed point
    for sums_of_batch in read(inputs, PruningMaker(unique, maker)):
        for sums_of_sentence, n_items in sums_of_batch:
            sums, total = add_values(sums, sums_of_sentence[None]), total + n_items
    means = dict(zip(unique, (floating(sums) / max(total, 1)).tolist(), strict=True))
    return [
        {"order": order, "seed": draw, "heads": n_heads, "effect": measure, "value": value, "total": total}
        for (order, draw, n_heads), heads in zip(removals, sets, strict=True)
        for measure, value in zip(maker.measures, means[heads], strict=True)
    ]


def pruning_table(rows: Sequence[Mapping[str, Any]], n_heads: int) -> pd.DataFrame:
    """Return the table of the effects of removing several heads: of random orders, their mean, minimum and maximum."""
    table = pd.DataFrame(rows, columns=["order", "seed", "heads", "effect", "value", "total"])
    grouped = table.groupby(["order", "effect", "heads"], sort=False)["value"].agg(["mean", "min", "max"])
    grouped = grouped.reset_index().rename(columns={"mean": "value", "min": "low", "max": "high"})
    totals = table.drop_duplicates("effect").set_index("effect")["total"]
    grouped.loc[grouped["order"] != "random", ["low", "high"]] = float("nan")
    grouped["share"] = grouped["heads"] / n_heads
    grouped["total"] = grouped["effect"].map(totals)
    return grouped[PRUNING.names]


@with_style
def pruning_figure(pruning: pd.DataFrame, effect: str, *, title: str = "") -> Figure:
    """Draw the effect of removing heads against the share of heads that are gone, a line for each order."""
    figure, axes = panel(COLUMN, 2.8, "y")
    rows = pruning[pruning["effect"] == effect]
    for order, (color, marker) in _ORDERS.items():
        line = rows[rows["order"] == order]
        if len(line):
            axes.plot(100 * line["share"], line["value"], color=color, marker=marker, ms=3.5, label=_NAMES[order])
            if line["low"].notna().all():
                axes.fill_between(100 * line["share"], line["low"], line["high"], color=color, alpha=0.25, lw=0)
    axes.set_xlabel("heads switched off (%)")
    axes.set_ylabel(LABELS[effect])
    finish(figure, axes, title)
    return figure
