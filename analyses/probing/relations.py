"""Which relations does a method find? Scores by the relation of a word to its head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.columns import Schema, TableColumn
from ...reports.format import rare_in_parentheses, rows_of
from ...reports.table import ShownTable
from .rows import ProbeQuestion, ProbeResults, Tested

RELATIONS = Schema(
    "probe_by_relation",
    "One row per method, way of decoding and relation.",
    (
        TableColumn("method decoding", "text", "as in `probe.csv`"),
        TableColumn("relation", "text", "the relation"),
        TableColumn("runs", "count", "training runs"),
        TableColumn("correct", "count", "found words of the relation, added up over all runs"),
        TableColumn("total", "count", "scored words of the relation, of each run"),
        TableColumn("uas", "share", "the mean over runs: `correct` / (`total` × `runs`)"),
    ),
)


class Relations(ProbeQuestion):
    """Which relations does a method find?"""

    name = "relations"
    tables = (RELATIONS,)
    template = Path(__file__).with_name("relations.html.j2")

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the scores by relation, punctuation included."""
        return counts.rows_by(counts.words.relation, "relation", counts.words.known)

    def frames(self, answer: pd.DataFrame, results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {RELATIONS.name: answer}

    def show(self, answer: pd.DataFrame, results: ProbeResults) -> Sequence[ShownTable]:
        """Return the scores of all methods for each relation, the best of each relation in bold."""
        argmax = answer[answer["decoding"] == "argmax"]
        methods = list(dict.fromkeys(argmax["method"]))
        table = argmax.pivot_table(index=["relation", "total"], columns="method", values="uas", sort=False)
        rows = [
            {
                "relation": relation,
                "total": total,
                "is_frequent": total >= results.min_count,
                "best": max(of_methods.values()),
                **{f"uas {name}": score for name, score in of_methods.items()},
            }
            for (relation, total), of_methods in zip(table.index, rows_of(table), strict=True)
        ]
        columns = [
            TableColumn("relation", "text", "", "relation"),
            TableColumn("total", "count", "", "n", cell=rare_in_parentheses),
            *map(_score_column, methods),
        ]
        title = "UAS by relation (%)"
        return (
            ShownTable("probe_relations", title, columns, rows, style=lambda row: "" if row["is_frequent"] else "rare"),
        )

    def values(self, answer: pd.DataFrame, results: ProbeResults) -> Mapping[str, Any]:
        """Return the least number of words of a row that is not gray."""
        return {"min_count": results.min_count}


def _score_column(method: str) -> TableColumn:
    """Return the column of the scores of a method, whose name may hold spaces."""
    key = f"uas {method}"
    share = TableColumn("value", "share", "")
    return replace(
        share,
        names="",
        heading=method,
        cell=lambda row: share.text({"value": row[key]}),
        look=lambda row: "strong" if row[key] == row["best"] and row["best"] > 0 else "",
    )
