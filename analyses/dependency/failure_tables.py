"""The tables of where heads fail: their accuracy by properties of the words, and what they pick instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ...corpora_loaders import OFFSETS
from ...reports.columns import HEAD, Schema, TableColumn, bounds
from ...reports.format import direction, rows_of
from ...reports.table import ShownTable
from ..shared.failures import ChosenHead, FailureTables, chosen_heads, shown_failure_tables, tables_of_heads
from .decisions import READINGS
from .failures import CLASSES, DependencyFailures
from .picks import PICKS
from .tables import TOTALS

_MAX_RELATIONS = 8
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
    return tables_of_heads(_chosen(metric, best, cells, chosen), (FAILURES, PICKED))


def _chosen(
    metric: DependencyFailures, best: pd.DataFrame, cells: pd.DataFrame, chosen: Sequence[str]
) -> Iterator[ChosenHead]:
    """Yield the chosen heads of each relation."""
    counts = {name: state.numpy() for name, state in metric.compute().items()}
    cells_of_relation = {str(name): table for name, table in cells.groupby("relation", sort=False)}
    for row in rows_of(best):
        relation, offset = row["relation"], row["offset"]
        group = metric.groups.index(relation)
        right_by_class, by_pick, total_by_class = (counts[name][group] for name in ("right", "picked", "total"))
        classes = dict(zip(CLASSES, zip(right_by_class, total_by_class, strict=True), strict=True))
        _, total = classes["words", "all"]
        picks = {name: (sums, total) for name, sums in zip(PICKS, by_pick, strict=True)}
        for layer, head, reading in chosen_heads(row, cells_of_relation[relation], chosen):
            columns = {"relation": relation, "layer": layer, "head": head, "direction": reading, "offset": offset}
            # The index of the head and of the offset among all that guess.
            guessers = {"": int(np.ravel_multi_index((READINGS.index(reading), layer - 1, head - 1), metric.shape))}
            guessers["offset_"] = int(np.prod(metric.shape)) + OFFSETS.index(offset)
            yield ChosenHead(columns, guessers, classes, picks)


def shown_failures(tables: FailureTables, min_count: int) -> tuple[ShownTable, ShownTable]:
    """Return the tables for the page and LaTeX, with the most frequent relations."""
    shown = []
    for table in tables:
        words = table.groupby("relation", sort=False)["total"].max()
        relations = [name for name in words.index if name not in (*TOTALS, "root")]
        frequent = [name for name in relations if words[name] >= min_count]
        shown.append(table[table["relation"].isin((frequent or relations)[:_MAX_RELATIONS])])
    return shown_failure_tables(FailureTables(*shown), (FAILURES, PICKED), "words", "head")


def by_relation(failures: ShownTable, picked: ShownTable) -> list[tuple[str, ShownTable, ShownTable]]:
    """Return each relation with its rows of both tables: what heads pick, then in which classes they are right."""
    names = dict.fromkeys(str(row["relation"]) for row in picked.rows)
    return [(name, _of_relation(picked, name), _of_relation(failures, name)) for name in names]


def _of_relation(table: ShownTable, name: str) -> ShownTable:
    return replace(table, rows=[row for row in table.rows if row["relation"] == name])
