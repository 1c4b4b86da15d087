"""How far away are the heads that a method finds? Scores by the distance between a word and its head."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import Schema, TableColumn
from ...reports.drawing import TEXT, finish, panel, styled
from ...reports.shapes import by_bins
from .methods import RANDOM, color
from .rows import ROOT_LENGTH, ProbeQuestion, ProbeResults, Tested

LENGTHS = Schema(
    "probe_by_length",
    "One row per method, way of decoding and length of the arc.",
    (
        TableColumn("method decoding", "text", "as in `probe.csv`"),
        TableColumn("length", "count", "the distance between a word and its syntactic head in words; 0 for roots"),
        TableColumn("runs", "count", "training runs"),
        TableColumn("correct", "count", "found words at this distance, added up over all runs"),
        TableColumn("total", "count", "scored words at this distance, of each run"),
        TableColumn("uas", "share", "the mean over runs: `correct` / (`total` × `runs`)"),
    ),
)

_BINS = (
    ("root", ROOT_LENGTH, ROOT_LENGTH), ("1", 1, 1), ("2", 2, 2), ("3–4", 3, 4), ("5–8", 5, 8), ("9+", 9, 10**9),
)  # fmt: skip
"""Ranges of lengths: their names, and the first and the last length of each."""

_NOT_BY_LENGTH = ("right-branching", "best offset of the gold relation")


class Lengths(ProbeQuestion):
    """How far away are the heads that a method finds?"""

    name = "lengths"
    tables = (LENGTHS,)
    template = Path(__file__).with_name("lengths.html.j2")

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the scores by length, without punctuation."""
        return counts.rows_by(counts.words.length, "length", counts.words.scored)

    def frames(self, answer: pd.DataFrame, results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {LENGTHS.name: answer}

    def draw(self, answer: pd.DataFrame, results: ProbeResults, title: str) -> Mapping[str, Figure]:
        """Draw the scores."""
        return {"probe_lengths": lengths_figure(answer, title=title)}


@styled
def lengths_figure(lengths: pd.DataFrame, *, title: str) -> Figure:
    """Draw scores by the distance between word and head. Roots have no distance, so no line leads to them."""
    left_out = lengths["method"].isin(_NOT_BY_LENGTH) | lengths["method"].str.endswith(RANDOM)
    table = by_bin(lengths[(lengths["decoding"] == "argmax") & ~left_out])
    bins = list(dict.fromkeys(table["bin"]))
    totals = table.groupby("bin", sort=False)["total"].first()  # the same for all methods
    figure, axes = panel(TEXT, 3.0, "y")
    for marker, (method, rows) in zip(cycle("osD^vP"), table.groupby("method", sort=False), strict=False):
        of_bins = 100 * rows.set_index("bin")["uas"].reindex(bins)
        by_bins(axes, of_bins, totals[bins], color(str(method)), marker, str(method), first=int("root" in bins))
    axes.set_xticks(range(len(bins)), [f"{name}\nn = {totals[name]:,}" for name in bins])
    axes.set_xlabel("distance between word and head, in words")
    axes.set_ylabel("UAS (%)")
    axes.set_ylim(0, 100)
    finish(figure, axes, title)
    return figure


def by_bin(lengths: pd.DataFrame) -> pd.DataFrame:
    """Return scores by ranges of lengths, roots first: ``method, bin, total, uas``."""
    rows = []
    for method, table in lengths.groupby("method", sort=False):
        for name, low, high in _BINS:
            in_bin = table[table["length"].between(low, high)]
            if total := int(in_bin["total"].sum()):
                correct = (in_bin["correct"] / in_bin["runs"]).sum()
                rows.append({"method": method, "bin": name, "total": total, "uas": correct / total})
    return pd.DataFrame(rows)
