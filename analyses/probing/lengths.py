"""How far away are the heads that a method finds? Scores by the distance between a word and its head."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...probes.registry import RANDOM
from ...reports.columns import Schema, TableColumn
from ...reports.drawing import MARKERS, TEXT, finish, panel, with_style
from ...reports.shapes import by_bins
from .methods import color
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


@with_style
def lengths_figure(lengths: pd.DataFrame, *, title: str) -> Figure:
    """Draw scores with intervals by the distance between word and head. No line leads to roots, which have none."""
    left_out = lengths["method"].isin(_NOT_BY_LENGTH) | lengths["method"].str.endswith(RANDOM)
    table = by_bin(lengths[(lengths["decoding"] == "argmax") & ~left_out])
    bins = list(dict.fromkeys(table["bin"]))
    totals = table.groupby("bin", sort=False)["total"].first()  # the same for all methods
    figure, axes = panel(TEXT, 3.0, "y")
    by_method = list(table.groupby("method", sort=False))
    for number, (marker, (method, rows)) in enumerate(zip(cycle(MARKERS), by_method, strict=False)):
        of_bins = rows.set_index("bin")["uas"].reindex(bins)
        beside = 0.06 * (number - (len(by_method) - 1) / 2)  # so that intervals do not cover each other
        look = color(str(method)), marker, str(method)
        by_bins(axes, 100 * of_bins, totals[bins], *look, first=int("root" in bins), beside=beside)
        limits = [wilson(uas, total) for uas, total in zip(of_bins, totals[bins], strict=True)]
        axes.vlines(np.arange(len(bins)) + beside, *(100 * np.array(limits).T), color=look[0], lw=1.2, alpha=0.6)
    axes.set_xticks(range(len(bins)), [f"{name}\nn = {totals[name]:,}" for name in bins])
    axes.set_xlabel("distance between word and head, in words")
    axes.set_ylabel("UAS (%)")
    axes.set_ylim(-2, 102)
    finish(figure, axes, title)
    return figure


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson for a share of n independent cases, which may be a mean over runs."""
    z2 = 1.959964**2 / n
    middle = (share + z2 / 2) / (1 + z2)
    half = (z2 * share * (1 - share) + z2**2 / 4) ** 0.5 / (1 + z2)
    return middle - half, middle + half


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
