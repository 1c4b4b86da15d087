"""Which heads does the preference need? What changes in it if a head is switched off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from ...reports.columns import Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount, verb
from ..comparison.differences import holm
from ..counting.comparable import mcnemar
from ..shared.measures import address
from .accuracy import Scores
from .options import PairsOptions
from .rows import ALL, WITHOUT_INTERVAL, LookupContext, PairCounts, PairQuestion, PairResults, PlanContext, nats_bounds
from .scores import EstimateMaker, WithoutMaker, by_pair

NEEDED = Schema(
    "pairs_heads",
    "With `--needed-heads`. One row per head that was switched off and group, and one of all pairs.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("group", "text", "the group, or `all`", "group"),
        TableColumn("pairs", "count", "pairs that were scored"),
        TableColumn("estimate", "nats", "the first-order estimate of `effect`, by which heads were chosen", "estimate"),
        TableColumn(
            "effect effect_low effect_high",
            "nats",
            "how much the difference of the two scores shrinks without the head, mean over pairs and its interval",
            "effect, nats",
            beside=nats_bounds("effect"),
            help="How much the difference between the scores of the acceptable and the other sentence shrinks without "
            "the head, as a mean over pairs with its 95 % interval over pairs.",
        ),
        TableColumn("accuracy_without", "share", "the accuracy without the head", "accuracy without"),
        TableColumn("lost", "count", "pairs that are correct only with the head", "lost"),
        TableColumn("won", "count", "pairs that are correct only without it", "won"),
        TableColumn(
            "p",
            "p",
            "the exact p value of McNemar's test of these two numbers, Holm-adjusted over the heads of a group",
            "p",
            help="The exact p value of McNemar’s test of the lost and won pairs, adjusted over the heads (Holm).",
        ),
    ),
)


class Needed(PairQuestion):
    """Which heads does the preference need?"""

    name = "needed"
    tables = (NEEDED,)
    needs = ("accuracy",)
    template = Path(__file__).with_name("needed.html.j2")

    def passes(self, plan_context: PlanContext) -> float:
        """Return about how many forward passes of single inputs switching heads off takes."""
        number = plan_context.options[PairsOptions].needed_heads
        if plan_context.scorer is None or not number:
            return 0
        rows = 1 if plan_context.scorer.causal else 10  # of a sentence of about ten pieces
        return 2.0 * len(plan_context.pairs) * rows * (4 + number / 2)

    def look(self, lookup_context: LookupContext) -> dict[str, Any] | None:
        """Estimate the effects of all heads, and score all sentences without those that have the largest ones."""
        number = lookup_context.options[PairsOptions].needed_heads
        if lookup_context.scorer is None or not number:
            return None
        ids = lookup_context.counts.pairs["pair"].tolist()
        estimates = by_pair(ids, lookup_context.read(lookup_context.inputs, EstimateMaker(lookup_context.scorer)))
        of_heads = estimates[:, 0] - estimates[:, 1]  # pair, layer, head
        size = of_heads.nanmean(0).abs().flatten()
        order = size.argsort(descending=True, stable=True)[:number].tolist()
        heads = tuple(divmod(index, of_heads.shape[-1]) for index in order)
        without = by_pair(ids, lookup_context.read(lookup_context.inputs, WithoutMaker(lookup_context.scorer, heads)))
        layers, numbers = torch.tensor(heads).T
        return {
            "heads": [list(head) for head in heads],
            "estimates": _as_plain(of_heads[:, layers, numbers]),
            "without": _as_plain(without[:, 0] - without[:, 1]),
        }

    def find(self, counts: PairCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the table of heads."""
        if lookups is None:
            return None
        scores: Scores = earlier["accuracy"]
        estimates, without = (np.array(lookups[name], dtype=np.float64) for name in ("estimates", "without"))
        full = scores.pairs["difference"].to_numpy()
        rows = [row for name, chosen in counts.groups.items() for row in _rows(counts, name, chosen, full, without)]
        for row in rows:
            chosen = counts.groups[row["group"]]
            row["estimate"] = float(np.nanmean(estimates[chosen, row["number"]]))
            row["layer"], row["head"] = (index + 1 for index in lookups["heads"][row["number"]])
        return pd.DataFrame(rows, columns=NEEDED.names)

    def frames(self, answer: pd.DataFrame, results: PairResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {NEEDED.name: answer}

    def show(self, answer: pd.DataFrame, results: PairResults) -> Sequence[ShownTable]:
        """Return the heads over all pairs."""
        named = TableColumn("head", "text", "", "head", cell=lambda row: head_name(row["layer"], row["head"]))
        columns = (named, *(column for column in NEEDED.columns if column.names != "group"))
        rows = rows_of(answer[answer["group"] == ALL])
        return (
            ShownTable(
                NEEDED.name, "Heads that are switched off, over all pairs", columns, rows, uncertain=WITHOUT_INTERVAL
            ),
        )

    def explore(self, answer: pd.DataFrame, counts: PairCounts, results: PairResults, kind: str) -> Contribution:
        """Say which head the preference needs most, if the interval of its effect says so."""
        rows = [row for row in rows_of(answer[answer["group"] == ALL]) if row["effect_low"] > 0]
        if not rows:
            return Contribution()
        top = max(rows, key=lambda row: row["effect"])
        head = head_name(top["layer"], top["head"])
        text = (
            f"{top['effect']:.2f} nats [{top['effect_low']:.2f}, {top['effect_high']:.2f}] is how much the difference "
            f"of the scores of a minimal pair shrinks without head {head}, the most of the heads that were switched "
            f"off; {amount(top['lost'], 'pairs')} {verb(top['lost'], 'are', 'is')} lost and {top['won']} won."
        )
        return Contribution(findings=(Finding(text, address(head=head, kind=kind)),))


def _as_plain(values: torch.Tensor) -> list[list[float | None]]:
    """Return values as plain data, None for what is missing."""
    return [[None if value != value else value for value in row] for row in values.tolist()]


def _rows(counts: PairCounts, name: str, chosen: Any, full: Any, without: Any) -> Iterator[dict[str, Any]]:
    """Yield what changes without each head in the pairs of a group."""
    effect, low, high = counts.means(full[:, None] - without, chosen)
    rows: list[dict[str, Any]] = []
    for number in range(without.shape[1]):
        known = chosen & ~np.isnan(full) & ~np.isnan(without[:, number])
        before, after = full[known] > 0, without[known, number] > 0
        lost, won = int((before & ~after).sum()), int((~before & after).sum())
        rows.append(
            {
                "number": number,
                "group": name,
                "pairs": int(known.sum()),
                "effect": float(effect[number]),
                "effect_low": float(low[number]),
                "effect_high": float(high[number]),
                "accuracy_without": float(after.mean()) if len(after) else np.nan,
                "lost": lost,
                "won": won,
                "p": mcnemar(lost, won),
            }
        )
    adjusted = holm([row["p"] for row in rows])
    yield from ({**row, "p": p} for row, p in zip(rows, adjusted, strict=True))
