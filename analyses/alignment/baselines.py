"""How well do links align words that are not read off the model, by a rule or by another system?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.columns import Schema, TableColumn, bounds
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..contract import Request
from ..counting.counting import CountWith
from .accuracy import BASELINES as RULES
from .accuracy import AlignmentCounts, BaselineAccuracy
from .rows import BASELINES as NAME
from .rows import Aligned, AlignmentQuestion, AlignmentResults, PlanContext

BASELINES = Schema(
    "alignment_baselines",
    "One row per baseline, and per system of `--baseline`.",
    (
        TableColumn("name", "text", "the baseline or system", "alignment"),
        TableColumn("links", "count", "as in `alignment.csv`", "links", room="page"),
        TableColumn("sure hits_sure hits_possible", "count", "as in `alignment.csv`"),
        TableColumn("error_rate low high", "share", "as in `alignment.csv`", "error rate", beside=bounds()),
        TableColumn("precision", "share", "as in `alignment.csv`", "precision"),
        TableColumn("recall", "share", "as in `alignment.csv`", "recall"),
        TableColumn("f1", "share", "as in `alignment.csv`"),
    ),
)

_WIDE = 100
"""The columns of a terminal from which on error rates have intervals."""


class Baselines(AlignmentQuestion):
    """How well do links align words that are not read off the model?"""

    name = NAME
    tables = (BASELINES,)
    template = Path(__file__).with_name("baselines.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the links of all rules and systems."""
        systems = (source.name for source in plan_context.corpus.hypotheses)
        maker = plan_context.maker(
            both=plan_context.chosen.both_directions
        )  # that of the model, with which they share a pass
        for name in (*RULES, *systems) if plan_context.gold else ():
            arguments = (("name", name), ("replicates", plan_context.replicates), ("seed", plan_context.setting.seed))
            count = CountWith(BaselineAccuracy, arguments)
            yield Request(f"alignment/baseline/{name}", "alignment", plan_context.corpus, maker, count)

    def find(self, counts: Aligned, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the scores; None without gold links."""
        rows = [baseline_row(name, of_baseline) for name, of_baseline in counts.baselines.items()]
        return pd.DataFrame(rows) if counts.has_gold else None

    def frames(self, answer: pd.DataFrame, results: AlignmentResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {BASELINES.name: answer}

    def show(self, answer: pd.DataFrame, results: AlignmentResults) -> Sequence[ShownTable]:
        """Return the scores, and the lowest error rate of each copy with random weights."""
        undefined = dict.fromkeys(("links", "low", "high", "precision", "recall"), float("nan"))
        copies = [
            {**undefined, "name": f"random weights, copy {number}, best of all", "error_rate": best["error_rate"].min()}
            for number, best in enumerate(results.answers.get("controls", ()), start=1)
        ]
        rows = [*rows_of(answer), *copies]
        uncertain = "is that of random weights, which have no replicates, or does not vary in the text"
        return (ShownTable(BASELINES.name, "Baselines (%)", BASELINES.columns, rows, wide=_WIDE, uncertain=uncertain),)


def baseline_row(name: str, counts: AlignmentCounts) -> dict[str, object]:
    """Return the scores of an alignment that was not read off the model, which counts as one layer with one head."""
    return {"name": name, **counts.scores(0, 0), **counts.interval(counts.error_rates()[:, 0, 0])}
