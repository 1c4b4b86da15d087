"""What the tables of where heads fail have in common: which heads they show, and shares with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Int

from ...reports.columns import HEAD, Row, Schema, TableColumn
from ...reports.format import direction, head_name, rows_of
from ...reports.table import ShownTable
from ..counting.best_head import STANDARD_ERRORS, rate
from .best_heads import accuracy_column, estimate
from .measures import address


class FailureTables(NamedTuple):
    """The tables of where heads fail."""

    failures: pd.DataFrame  # the accuracy by class of words or mentions
    picked: pd.DataFrame  # what is picked


def failures_schema(
    name: str,
    rows: str,
    key: TableColumn,
    *,
    counted: str,
    found: str,
    total: str,
    correct: str,
    baselines: Iterable[TableColumn],
) -> Schema:
    """Return the columns of the table of accuracies by class.

    Args:
        name, rows: those of the schema.
        key: the column that names the relation or type.
        counted: what is counted, such as “words”.
        found: what is found of each, such as “head”.
        total, correct: what these columns hold.
        baselines: the columns of what is picked without heads.
    """
    return Schema(
        name,
        rows,
        (
            *_head_columns(key),
            TableColumn("by", "text", f"the property of the {counted}", "by"),
            TableColumn("class", "text", f"the class of {counted}", "class"),
            TableColumn("total", "count", total, "n"),
            TableColumn("correct", "count", correct),
            accuracy_column(
                f"The share of the n {counted} whose {found} is found, with its 95 % interval. The best head was "
                f"chosen on all of these {counted}."
            ),
            *baselines,
        ),
    )


def picks_schema(
    name: str,
    rows: str,
    key: TableColumn,
    *,
    counted: str,
    heading: str,
    total: str,
    share_of: str,
    baselines: Iterable[TableColumn],
) -> Schema:
    """Return the columns of the table of what is picked.

    The arguments are those of `failures_schema`, and the heading of the picks, and what their share is one of, such as
    “the n words of the relation”.
    """
    return Schema(
        name,
        rows,
        (
            *_head_columns(key),
            TableColumn("picked", "text", "what is picked", "picked"),
            TableColumn("count", "count", f"{counted} for which it is picked", heading),
            TableColumn("total", "count", total, "n"),
            estimate(
                "share",
                "share",
                "`count` / `total`",
                "share",
                f"The share of {share_of} for which the head picks such a word, with its interval.",
            ),
            *baselines,
        ),
    )


def _head_columns(key: TableColumn) -> tuple[TableColumn, ...]:
    """Return the columns that name a chosen head."""
    meaning = "the direction in which attention is read"
    return key, HEAD, TableColumn("direction", "text", meaning, "direction", cell=direction)


def chosen_heads(row: Mapping[str, Any], cells: pd.DataFrame, chosen: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the chosen heads with their directions, each once."""
    # cells: the rows of the table of all heads that are about the same words or mentions as ``row``.
    # chosen: ``best`` and names such as ``8-10``. Such a head is read in the direction in which it is better.
    if not row["total"]:
        return
    seen = set()
    for name in chosen:
        if name == "best":
            head_read = int(row["layer"]), int(row["head"]), str(row["direction"])
        else:
            layer, head = map(int, name.split("-"))
            both_directions = rows_of(cells[(cells["layer"] == layer) & (cells["head"] == head)])
            better = max(both_directions, key=lambda cell: (cell["correct"], cell["direction"]))
            head_read = layer, head, better["direction"]
        if head_read not in seen:
            seen.add(head_read)
            yield head_read


Sums = tuple[Int[np.ndarray, "3 guessers"], Int[np.ndarray, " 2"]]
"""Counts of words or mentions by cluster, added up: x, x² and x · n of each guesser, and n and n², see
`cluster_interval`. Each n counts those of a cluster, and x those of them that are right or picked."""


class ChosenHead(NamedTuple):
    """What is counted of a chosen head and of the baselines beside it."""

    columns: Mapping[str, Any]  # that name the head
    guessers: Mapping[str, int]  # the index of each guesser by what its columns begin with; for a head, this is nothing
    classes: Mapping[tuple[str, str], Sums]  # of right decisions, by the property and its class
    picks: Mapping[str, Sums]  # by what is picked


def tables_of_heads(heads: Iterable[ChosenHead], schemas: tuple[Schema, Schema]) -> FailureTables:
    """Make the tables, without classes that have no words and without what no guesser picks."""
    failures: list[dict[str, Any]] = []
    picked: list[dict[str, Any]] = []
    for columns, guessers, classes, picks in heads:
        for (aspect, name), (sums, total) in classes.items():
            if total[0]:
                of_class = {**columns, "by": aspect, "class": name, "total": int(total[0])}
                failures.append(of_class | _share_columns(guessers, "correct", "accuracy", sums, total))
        for name, (sums, total) in picks.items():
            if sums[0, list(guessers.values())].any():
                of_pick = {**columns, "picked": name, "total": int(total[0])}
                picked.append(of_pick | _share_columns(guessers, "count", "share", sums, total))
    of_failures, of_picks = schemas
    return FailureTables(
        pd.DataFrame(failures, columns=of_failures.names), pd.DataFrame(picked, columns=of_picks.names)
    )


def _share_columns(
    guessers: Mapping[str, int],
    count: str,
    share: str,
    sums: Int[np.ndarray, "3 guessers"],
    total: Int[np.ndarray, " 2"],
) -> dict[str, Any]:
    """Return the count of each guesser, its share and the interval of the share as columns."""
    columns: dict[str, Any] = {}
    n, n_squares = map(int, total)
    for prefix, guesser in guessers.items():
        x, squares, products = map(int, sums[:, guesser])
        bounds = prefix.rstrip("_") or share  # those of a head are named after its share
        low, high = cluster_interval(x, squares, products, n, n_squares)
        columns |= {f"{prefix}{count}": x, f"{prefix}{share}": rate(x, n), f"{bounds}_low": low, f"{bounds}_high": high}
    return columns


def cluster_interval(x: int, squares: int, products: int, n: int, n_squares: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of words that were sampled by cluster (sentence); NaN if it has none."""
    # x, n: how many words there are in the share, and in all.
    # squares, products, n_squares: the sums over clusters of x², of x · n and of n², where x and n are those of one
    # cluster.
    if not 0 < x < n:
        return math.nan, math.nan
    # n² times the linearized variance of the ratio of two totals (Cochran 1977, section 6.4), in whole numbers until
    # the last division. With independent words it is p(1 − p)/n, and the effective number of words below is n.
    spread = (squares * n * n - 2 * x * products * n + x * x * n_squares) / (n * n)
    p = x / n
    if spread <= 0:
        return math.nan, math.nan
    effective = min(p * (1 - p) * n * n / spread, n)
    # Wilson's interval with the effective number of words (Korn & Graubard 1998) stays between 0 and 1.
    z = STANDARD_ERRORS**2 / effective
    middle, margin = p + z / 2, STANDARD_ERRORS * math.sqrt(p * (1 - p) / effective + z / (4 * effective))
    return (middle - margin) / (1 + z), (middle + margin) / (1 + z)


def shown_failure_tables(
    tables: FailureTables, schemas: tuple[Schema, Schema], everything: str, right: str
) -> tuple[ShownTable, ShownTable]:
    """Return the tables for LaTeX, in which the rows of all words and of right picks stand out."""
    # everything: the property whose only class has all words. right: what is picked where the head is right.
    titles = "Where the heads are right (accuracy in %)", "What the heads pick (%)"

    def style(row: Mapping[str, Any]) -> str:
        return "total" if row.get("by") == everything or row.get("picked") == right else ""

    failures, picked = (
        ShownTable(schema.name, title, schema.columns, rows_of(table), style=style)
        for schema, title, table in zip(schemas, titles, tables, strict=True)
    )
    return failures, picked


def links_to_mistakes(
    rows: Iterable[Row], key: str, asked: Callable[[str], Mapping[str, str | None]]
) -> list[tuple[str, str, str]]:
    """Return a relation or type, a head, and the address of all of its wrong picks, for each chosen head.

    Args:
        rows: those of what is picked, of which each head has several.
        key: the column that names the relation or type.
        asked: what an address says of a relation or type.
    """
    links = {}
    for row in rows:
        name, head = str(row[key]), head_name(row["layer"], row["head"])
        links[name, head] = address(head=head, **asked(name), direction=row["direction"], show="wrong")
    return [(*name_and_head, link) for name_and_head, link in links.items()]


def clear_mistake(
    picked: Sequence[Mapping[str, Any]], row: Mapping[str, Any], name: str, right: str
) -> Mapping[str, Any] | None:
    """Return the most frequent mistake of the best head of a row, if it is clearly first."""
    # name: the column that names the relation or type of mention. right: what is picked where the head is right.
    keys = (name, "layer", "head", "direction")
    of_head = [pick for pick in picked if all(pick[key] == row[key] for key in keys)]
    mistakes = sorted((pick for pick in of_head if pick["picked"] != right), key=lambda pick: -pick["count"])
    if not mistakes:
        return None
    # The first is clear if its interval lies above that of the second, which is stricter than a test of both.
    is_clear = len(mistakes) == 1 or mistakes[1]["share_high"] < mistakes[0]["share_low"]
    return mistakes[0] if is_clear else None
