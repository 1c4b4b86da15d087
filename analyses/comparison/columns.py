"""The columns of the tables of comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from ...reports.columns import Row, Schema, TableColumn, bounds
from .results import Contrast

COMPARISON = Schema(
    "comparison",
    "One row per statistic and pair of runs or kinds.",
    (
        TableColumn(
            "analysis family group",
            "text",
            "the analysis, the family of statistics, and the statistic, such as a relation",
        ),
        TableColumn(
            "run_a map_a run_b map_b", "text", "the two sides: the first run or kind of the command, and another one"
        ),
        TableColumn("n_a n_b", "count", "words, mentions or inputs on each side"),
        TableColumn("value_a value_b", "as `unit` says", "the values; shares, if the unit is `%`"),
        TableColumn("difference low high", "as `unit` says", "`value_a` − `value_b`"),
        TableColumn("p p_holm", "p", "the p value, and the one that is adjusted for all tests of the family"),
        TableColumn("choice_a choice_b", "text", "the head that the value belongs to, if one was chosen"),
        TableColumn("unit", "text", "the unit of the values; `%` if they are shares"),
        TableColumn(
            "paired", "text", "whether both sides read the same inputs: `paired`, `partly paired` or `unpaired`"
        ),
        TableColumn("reason", "text", "why a number is missing"),
    ),
)

KINDS = replace(COMPARISON, name="contrasts", rows="The same for the kinds of maps of one run.")

SCHEMAS = (COMPARISON, KINDS)
"""The tables of comparisons of runs, and of kinds of maps."""


def shown_columns(contrast: Contrast) -> list[TableColumn]:
    """Return the columns in which a contrast is shown, whose values have the unit of the contrast."""
    names, is_share = (contrast.first.name, contrast.second.name), contrast.unit == "%"
    value = "share" if is_share else "number"
    has_choices = any(one.choice for row in contrast.differences for one in (row.first, row.second) if one)
    columns = [
        TableColumn("group", "text", "", "group"),
        TableColumn("n_a n_b", "count", "", "n", cell=_numbers),
        *(TableColumn(key, value, "", name) for key, name in zip(("value_a", "value_b"), names, strict=True)),
        TableColumn(
            "difference low high",
            "points" if is_share else "number",
            "",
            "difference",
            cell=None if is_share else lambda row: _signed(row["difference"]),
            beside=bounds() if is_share else _limits,
            beside_in="any",
        ),
        TableColumn("p", "p", "", "p", cell=lambda row: _p_value(row["p"]), room="page"),
    ]
    if contrast.tested:
        columns.append(TableColumn("p_holm", "p", "", "p (Holm)", cell=lambda row: _p_value(row["p_holm"])))
    for key, name in zip(("choice_a", "choice_b"), names, strict=True):
        if has_choices:
            columns.append(TableColumn(key, "text", "", f"chosen by {name}", cell=_arrow(key), room="wide", wraps=True))
    columns.append(TableColumn("reason", "text", "", "not tested because", cell=_reason, room="page", wraps=True))
    return columns


def _numbers(row: Row) -> str:
    """Write the numbers of decisions on both sides, once if they are the same."""
    return " / ".join(dict.fromkeys(f"{row[name]:,}" for name in ("n_a", "n_b") if not pd.isna(row[name])))


def _signed(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:+.3f}"


def _limits(row: Row) -> str:
    return f"[{row['low']:.3f}, {row['high']:.3f}]" if row["low"] < row["high"] else ""


def _p_value(p: float) -> str:
    if pd.isna(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _arrow(key: str) -> Callable[[Row], str]:
    return lambda row: str(row[key]).replace("->", "→")


def _reason(row: Row) -> str:
    """Write why a number is missing, without the words of the heading."""
    return str(row["reason"]).removeprefix("not tested: ").removeprefix("no interval: ")
