"""The tables of where heads fail: their accuracy by properties of the words, and what they pick instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...corpora_loaders import OFFSETS
from ...reports.columns import HEAD, Schema, TableColumn, bounds
from ...reports.format import direction, rows_of
from ...reports.table import ShownTable
from ..shared.failures import FailureTables, chosen_heads, measured, shown_failure_tables
from .decisions import READINGS
from .failures import CLASSES, DependencyFailures
from .picks import PICKS
from .tables import TOTALS

_MOST = 8
"""The number of relations that the page shows."""

_HEAD = (
    TableColumn("relation", "text", "the relation", "relation"),
    HEAD,
    TableColumn("direction", "text", "the direction in which attention is read", "direction", cell=direction),
)
_OFFSET = TableColumn("offset", "number, words", "the best fixed distance for the relation")

FAILURES = Schema(
    "dependency_failures",
    "With `--failures`. One row per relation, chosen head and class of words. The 95 % intervals are Wilson's, for the "
    "effective number of words, because those of one sentence depend on each other.",
    (
        *_HEAD,
        TableColumn("by", "text", "the property of the words", "by"),
        TableColumn("class", "text", "the class of words", "class"),
        TableColumn("total", "count", "words of the relation in this class", "n"),
        TableColumn("correct", "count", "words whose syntactic head is found"),
        TableColumn(
            "accuracy accuracy_low accuracy_high",
            "share",
            "`correct` / `total`",
            "accuracy",
            beside=bounds("accuracy"),
            help="The share of the n words whose head is found, with its 95 % interval. The best head was chosen on "
            "all of these words.",
        ),
        _OFFSET,
        TableColumn("offset_correct", "count", "words whose syntactic head is at this distance"),
        TableColumn(
            "offset_accuracy offset_low offset_high",
            "share",
            "`offset_correct` / `total`",
            "offset",
            beside=bounds("offset"),
            help="The accuracy of the best fixed offset of the relation on the same words.",
        ),
    ),
)

PICKED = Schema(
    "dependency_picks",
    "With `--failures`. One row per relation, chosen head and kind of word that is picked. Intervals are as in "
    "`dependency_failures.csv`.",
    (
        *_HEAD,
        TableColumn("picked", "text", "what is picked", "picked"),
        TableColumn("count", "count", "words for which it is picked", "words"),
        TableColumn("total", "count", "words of the relation", "n"),
        TableColumn(
            "share share_low share_high",
            "share",
            "`count` / `total`",
            "share",
            beside=bounds("share"),
            help="The share of the n words of the relation for which the head picks such a word, with its interval.",
        ),
        _OFFSET,
        TableColumn("offset_count", "count", "words for which the best fixed offset picks it"),
        TableColumn(
            "offset_share offset_low offset_high",
            "share",
            "`offset_count` / `total`",
            "offset",
            beside=bounds("offset"),
            help="The same for the best fixed offset of the relation.",
        ),
    ),
)


def failure_tables(
    metric: DependencyFailures, best: pd.DataFrame, cells: pd.DataFrame, chosen: Sequence[str]
) -> FailureTables:
    """Make the tables of the best head of each relation (``best``), or of other heads (``8-10``)."""
    # cells: the table of all heads. A head is read in the direction in which it is better for the relation.
    counts = {name: state.numpy() for name, state in metric.compute().items()}
    failures: list[dict[str, Any]] = []
    picked: list[dict[str, Any]] = []
    groups = {str(name): table for name, table in cells.groupby("relation", sort=False)}
    for row in rows_of(best):
        group = metric.groups.index(row["relation"])
        offset = int(np.prod(metric.shape)) + OFFSETS.index(row["offset"])
        right, picks, total = (counts[name][group] for name in ("right", "picked", "total"))
        for layer, head, way in chosen_heads(row, groups[row["relation"]], chosen):
            named = {"relation": row["relation"], "layer": layer, "head": head, "direction": way}
            guesser = int(np.ravel_multi_index((READINGS.index(way), layer - 1, head - 1), metric.shape))
            for index, (by, name) in enumerate(CLASSES):
                if total[index, 0]:
                    of_head = measured("correct accuracy accuracy", right[index, :, guesser], total[index])
                    of_offset = measured("offset_correct offset_accuracy offset", right[index, :, offset], total[index])
                    n = {"by": by, "class": name, "total": int(total[index, 0])}
                    failures.append({**named, **n, **of_head, "offset": row["offset"], **of_offset})
            for index, name in enumerate(PICKS):
                if picks[index, 0, [guesser, offset]].any():
                    of_head = measured("count share share", picks[index, :, guesser], total[0])
                    of_offset = measured("offset_count offset_share offset", picks[index, :, offset], total[0])
                    n = {"picked": name, "total": int(total[0, 0])}
                    picked.append({**named, **n, **of_head, "offset": row["offset"], **of_offset})
    return FailureTables(pd.DataFrame(failures, columns=FAILURES.names), pd.DataFrame(picked, columns=PICKED.names))


def shown_failures(tables: FailureTables, min_count: int) -> tuple[ShownTable, ShownTable]:
    """Return the tables for the page and LaTeX, with the most frequent relations."""
    frequent = []
    for table in tables:
        totals = table.groupby("relation", sort=False)["total"].max()
        single = [name for name in totals.index if name not in (*TOTALS, "root")]
        kept = [name for name in single if totals[name] >= min_count][:_MOST] or single[:_MOST]
        frequent.append(table[table["relation"].isin(kept)])
    return shown_failure_tables(FailureTables(*frequent), (FAILURES, PICKED), "words", "head")


def by_relation(failures: ShownTable, picked: ShownTable) -> list[tuple[str, ShownTable, ShownTable]]:
    """Return for each relation, in the order of the tables, what is picked, and where the heads are right."""
    names = dict.fromkeys(str(row["relation"]) for row in picked.rows)
    return [(name, _of_relation(picked, name), _of_relation(failures, name)) for name in names]


def _of_relation(table: ShownTable, name: str) -> ShownTable:
    return replace(table, rows=[row for row in table.rows if row["relation"] == name])
