"""The tables of probing that people read."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from ...reports.columns import Row, TableColumn
from ...reports.format import interval, percent, rare_in_parentheses, rows_of
from ...reports.table import ShownTable
from .columns import PROBE, PROBE_CONTRASTS, PROBE_WEIGHTS, PROBE_WEIGHTS_BY_RELATION
from .results import ProbeResults, beside_paper, used_heads

_WIDE = 110
_MOST_WEIGHTED = 10
_TREE = TableColumn("tree_uas", "share", "", "as a tree", terminal="tree", optional=True)


def shown_tables(results: ProbeResults) -> list[ShownTable]:
    """Return the tables of the page: methods, their differences, relations, and the heads that each probe uses."""
    contrasts = rows_of(results.tables.contrasts)
    tables = [
        methods_table(results),
        ShownTable("probe_contrasts", "What each adds (points of UAS)", PROBE_CONTRASTS.columns, contrasts),
        _relations(results.tables.relations, results.min_count),
    ]
    for number, (name, weights) in enumerate(used_heads(results).items(), start=1):
        top = weights.heads.sort_values("weight", ascending=False, kind="stable").head(_MOST_WEIGHTED)
        columns = PROBE_WEIGHTS_BY_RELATION.columns
        if name == "attention":  # whose weights are the same for all relations
            columns = tuple(each for each in columns if not each.names.startswith("weight"))
        tables += [
            ShownTable(
                f"probe_weights_{number}", f"The largest weights of {name}", PROBE_WEIGHTS.columns, rows_of(top)
            ),
            ShownTable(
                f"probe_weights_by_relation_{number}",
                f"The most weighted heads of {name} by relation",
                columns,
                rows_of(weights.relations),
                style=lambda row: "" if row["arcs"] >= results.min_count else "rare",
            ),
        ]
    return tables


def methods_table(results: ProbeResults) -> ShownTable:
    """Return the scores of all methods, and in a terminal their differences below them."""
    methods = beside_paper(results)
    by_tree = methods[methods["decoding"] == "tree"].set_index("method")["uas"].to_dict()
    argmax = rows_of(methods[methods["decoding"] == "argmax"])
    rows: list[Row] = [{**row, "tree_uas": by_tree.get(row["method"], float("nan"))} for row in argmax]
    notes = [f"{fact[0].upper()}{fact[1:]}." for fact in results.facts]
    notes += results.notes
    for row in rows_of(results.tables.contrasts):
        difference = f"{percent(row['difference'], sign=True)} {interval(row['low'], row['high'])}".rstrip()
        notes.append(f"{row['first']} − {row['second']}: {difference}")
    return ShownTable(
        "probe",
        "Syntactic heads found (UAS in %, without punctuation)",
        (*PROBE.columns, _TREE),
        rows,
        notes=notes,
        wide=_WIDE,
    )


def _relations(relations: pd.DataFrame, min_count: int) -> ShownTable:
    """Return the scores of all methods for each relation, the best of each relation in bold."""
    argmax = relations[relations["decoding"] == "argmax"]
    methods = list(dict.fromkeys(argmax["method"]))
    table = argmax.pivot_table(index=["relation", "total"], columns="method", values="uas", sort=False)
    rows = [
        {
            "relation": relation,
            "total": total,
            "is_frequent": total >= min_count,
            "best": max(scores.values()),
            **{f"uas {name}": score for name, score in scores.items()},
        }
        for (relation, total), scores in zip(table.index, rows_of(table), strict=True)
    ]
    columns = [
        TableColumn("relation", "text", "", "relation"),
        TableColumn("total", "count", "", "n", cell=rare_in_parentheses),
        *map(_score_of, methods),
    ]
    style = {True: "", False: "rare"}
    title = "UAS by relation (%)"
    return ShownTable("probe_relations", title, columns, rows, style=lambda row: style[row["is_frequent"]])


def _score_of(method: str) -> TableColumn:
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
