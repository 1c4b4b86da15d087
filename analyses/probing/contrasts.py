"""What does a probe add to something simpler? Differences of methods on the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ...probes import registered_probes, registered_state_probes
from ...probes.registry import RANDOM
from ...reports.columns import Schema, TableColumn, bounds
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..counting.best_head import interval
from .rows import ProbeQuestion, ProbeResults, Tested, mean, scores

CONTRASTS = Schema(
    "probe_contrasts",
    "One row per pair of methods.",
    (
        TableColumn("first", "text", "the first method", "difference of"),
        TableColumn("second", "text", "the second method", "and"),
        TableColumn(
            "difference low high",
            "points",
            "the UAS of the first minus that of the second; the interval is paired",
            "points of UAS",
            beside=bounds(),
        ),
    ),
)


class Contrasts(ProbeQuestion):
    """What does a probe add to something simpler?"""

    name = "contrasts"
    tables = (CONTRASTS,)
    template = Path(__file__).with_name("contrasts.html.j2")

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the difference of each probe and what it is compared with."""
        return contrast_table(counts, pairs(method for method, _ in counts.groups))

    def frames(self, answer: pd.DataFrame, results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {CONTRASTS.name: answer}

    def show(self, answer: pd.DataFrame, results: ProbeResults) -> Sequence[ShownTable]:
        """Return the table."""
        return (ShownTable(CONTRASTS.name, "What each adds (points of UAS)", CONTRASTS.columns, rows_of(answer)),)

    def values(self, answer: pd.DataFrame, results: ProbeResults) -> Mapping[str, Any]:
        """Return the number of pairs."""
        return {"contrasts": len(answer)}


def pairs(methods: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of methods whose difference is worth an interval: a probe, and what it is compared with."""
    names = dict.fromkeys(methods)
    known: dict[str, Any] = {**registered_probes(), **registered_state_probes()}
    wanted = [(name, other) for name, probe in known.items() for other in (*probe.beside, f"{name}{RANDOM}")]
    return [(first, second) for first, second in wanted if first in names and second in names]


def contrast_table(counts: Tested, wanted: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Return the differences of the mean scores of pairs of methods, with their intervals."""
    rows = []
    for pair in wanted:
        first, second = ((name, "argmax") for name in pair)
        low, high = interval(counts.replicated[first] - counts.replicated[second])
        first_mean, second_mean = (mean(scores(counts.words.scored, counts.groups[key])) for key in (first, second))
        rows.append((*pair, first_mean - second_mean, low, high))
    return pd.DataFrame(rows, columns=["first", "second", "difference", "low", "high"])
