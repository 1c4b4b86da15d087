"""The control of an analysis: copies of the model with random weights, which are counted as the model is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...corpora_loaders import Sentence
from ...extractors import MapMaker
from ...reports.columns import TableColumn
from ..counting.best_head import RANDOM_WEIGHTS
from ..counting.counting import CountMaps
from ..counting.metric import Metric
from ..option_groups import OptionSet
from ..plans import Request
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
