"""What do heads with random weights align? The best layers and heads of copies of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ...reports.columns import Schema, TableColumn
from ..contract import Request
from .held_out import best_table
from .rows import CONTROLS as NAME
from .rows import Aligned, AlignmentQuestion, AlignmentResults, PlanContext

CONTROLS = Schema(
    "alignment_controls",
    "With `--controls`. The same for copies of the model with random weights.",
    (
        TableColumn("setting measure heads direction", "text", "as in `alignment.csv`"),
        TableColumn("layer head", "number from 1", "as in `alignment_best.csv`"),
        TableColumn("error_rate low high heldout_error_rate", "share", "as in `alignment_best.csv`"),
        TableColumn("largest_layer largest_head", "number from 1", "as in `alignment_best.csv`"),
        TableColumn("largest_error_rate mean_error_rate", "share", "as in `alignment_best.csv`"),
        TableColumn("heldout_gain heldout_gain_low heldout_gain_high", "points", "as in `alignment_best.csv`"),
        TableColumn("copy", "number from 1", "the copy"),
    ),
)


class Controls(AlignmentQuestion):
    """What do heads with random weights align?"""

    name = NAME
    tables = (CONTROLS,)

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the links of target words of each copy, without replicates."""
        for copy in range(plan_context.chosen.controls if plan_context.gold else 0):
            yield from plan_context.requests(0, copy)

    def find(self, counts: Aligned, lookups: Any, earlier: Mapping[str, Any]) -> tuple[pd.DataFrame, ...] | None:
        """Return the best layers and heads of each copy."""
        baselines = list(counts.baselines.values())
        return tuple(best_table(copy, baselines) for copy in counts.copies) or None

    def frames(self, answer: tuple[pd.DataFrame, ...], results: AlignmentResults) -> Mapping[str, pd.DataFrame]:
        """Return those of all copies as one table."""
        copies = [best.assign(copy=number) for number, best in enumerate(answer, start=1)]
        return {CONTROLS.name: pd.concat(copies, ignore_index=True)}
