"""The control of an analysis: copies of the model with random weights, which are counted as the model is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import pandas as pd

from ...corpora_loaders import Sentence
from ...extractors import MapMaker
from ...reports.columns import Schema, TableColumn
from ..counting.best_head import RANDOM_WEIGHTS, control_columns, control_table
from ..counting.counting import CountMaps
from ..counting.metric import Metric
from ..option_groups import OptionSet
from ..plans import Request
from .head_counts import CONTROL
from .options import ControlOptions, CountOptions

CONTROL_COLUMNS = (
    TableColumn(
        "control_accuracy",
        "share",
        "with `--control`: the mean over the copies of the accuracy of each copy's best head",
        "random weights",
        terminal="random",
        help=RANDOM_WEIGHTS,
    ),
    TableColumn("control_accuracy_max", "share", "with `--control`: the largest of these accuracies"),
)
"""What the copies add to a table of best heads, see `attentionology.analyses.counting.best_head.control_columns`."""


class OfCopies:
    """What questions about copies with random weights have in common, whose answer is the best heads of each copy.

    Attributes:
        tables: the table of these heads.
        keys: the columns that name a row of the best heads.
    """

    name: ClassVar[str] = CONTROL
    tables: ClassVar[tuple[Schema, ...]]
    added: ClassVar[tuple[TableColumn, ...]] = CONTROL_COLUMNS
    keys: ClassVar[tuple[str, ...]]

    def requests(self, plan_context: Any) -> Iterable[Request]:
        """Count the heads of each copy."""
        copies: list[Request] = plan_context.accuracy_requests()[1:]
        return copies

    def columns(self, answer: tuple[pd.DataFrame, ...]) -> pd.DataFrame:
        """Return the mean and the largest accuracy of the best heads of the copies."""
        return control_columns(answer, self.keys)

    def frames(self, answer: tuple[pd.DataFrame, ...], results: Any) -> Mapping[str, pd.DataFrame]:
        """Return the best heads of all copies as one table."""
        return control_table(answer, self.keys, self.tables[0].name)


def requests_with_control(
    name: str,
    inputs: Sequence[Sentence],
    maker: MapMaker,
    metric: type[Metric],
    arguments: Mapping[str, Any],
    options: OptionSet,
) -> list[Request]:
    """Return the request for the model, and one for each copy with random weights, which needs no replicates."""

    def request(name: str, label: str, replicates: int, copy: int | None = None) -> Request:
        counting = CountMaps(metric, (*arguments.items(), ("replicates", replicates)))
        return Request(f"{name}/{maker.kind}", label, inputs, maker, counting, copy)

    n = options[ControlOptions].copies()
    copies = (request(f"{name}-random{k + 1}", f"random weights {k + 1}/{n}", 0, k) for k in range(n))
    return [request(name, name, options[CountOptions].replicates), *copies]


def control_record(control: ControlOptions, seed: int) -> dict[str, object]:
    """Return the entry ``control`` of the run record; None stands for a run without a control."""
    copies = control.copies()
    seeds = list(range(seed, seed + copies))
    return {"control": {"kind": "random-init", "copies": copies, "seeds": seeds} if copies else None}
