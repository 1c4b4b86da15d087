"""The fourth stage of a probing run: tables, figures and the section of the report, from results alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from ...reports.format import rows_of
from ...reports.json_text import records
from ...reports.page import Section
from ..contract import Titles
from ..shared.previews import results_html, results_line
from .attachment import AttachmentTables
from .figures import lengths_figure, methods_figure, training_figure, weights_figure
from .head_weights import HeadWeights


class ProbeResults(NamedTuple):
    """The results of probing.

    Attributes:
        tables: the scores of all methods.
        weights: which heads each attention probe uses.
        history: one row per training, split and epoch.
        published: the paper's scores in percent by method, if the model is the paper's.
        min_count: relations with fewer words are grayed.
        facts: what was trained on what, a phrase each.
        notes: how the numbers came about, a sentence each.
        meanings: what each method is, a phrase each.
    """

    tables: AttachmentTables
    weights: Mapping[str, HeadWeights]
    history: pd.DataFrame
    published: Mapping[str, int] | None = None
    min_count: int = 50
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    meanings: Mapping[str, str] = MappingProxyType({})

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)


def probe_section(results: ProbeResults, titles: Titles) -> Section:
    """The tables, the figures and the section of the page."""
    scores, title = results.tables, titles.figure
    methods = beside_paper(results)
    tables = {
        "probe": methods,
        "probe_runs": scores.runs,
        "probe_by_relation": scores.relations,
        "probe_by_length": scores.lengths,
        "probe_contrasts": scores.contrasts,
        "probe_training": results.history,
    }
    figures = {
        "probe": methods_figure(methods, title=title),
        "probe_lengths": lengths_figure(scores.lengths, title=title),
        "probe_training": training_figure(results.history, title=title),
    }
    used = {name: w for name, w in results.weights.items() if len(w.relations)}  # without an arc there are no weights
    if used:
        figures["probe_weights"] = weights_figure({name: w.heads for name, w in used.items()}, title=title)
        tables["probe_weights"] = _of_all_probes({name: w.heads for name, w in used.items()})
        tables["probe_weights_by_relation"] = _of_all_probes({name: w.relations for name, w in used.items()})
        tables["probe_weights_correlation"] = _of_all_probes({name: w.correlations for name, w in used.items()})
    argmax = methods[methods["decoding"] == "argmax"]
    tree = methods[methods["decoding"] == "tree"].set_index("method")
    return Section(
        title=f"What the attention heads of {titles.model} together know of syntax",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "rows": rows_of(argmax),
            "tree": {str(name): row for name, row in tree.to_dict("index").items()},
            "meanings": {name: results.meanings.get(name, "") for name in argmax["method"]},
            "contrasts": rows_of(scores.contrasts),
            "relations": _relation_rows(scores.relations, results.min_count),
            "columns": list(argmax["method"]),
            "weights": {
                name: {"relations": rows_of(w.relations), "correlations": rows_of(w.correlations), "top": _top(w.heads)}
                for name, w in used.items()
            },
            "published": results.published,
            "has_control": bool(argmax["control_accuracy"].notna().any()),
            "has_sd": bool(argmax["uas_sd"].notna().any()),
            "has_intervals": bool((argmax["uas_low"] < argmax["uas_high"]).any()),
            # Where the numbers differ, those on random weights are larger: every copy of the network has its own runs.
            "runs": int(argmax.loc[argmax["method"].isin(results.history["method"]), "runs"].min()),
            "facts": list(results.facts),
            "notes": list(results.notes),
            "min_count": results.min_count,
        },
        summary={
            "probe": records(methods),
            "probe_contrasts": records(scores.contrasts),
            "probe_weights": {name: records(w.correlations) for name, w in used.items()},
            "probe_notes": list(results.notes),
        },
        tables=tables,
        figures=figures,
    )


def _of_all_probes(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The tables of all probes as one, with the name of the probe in the first column."""
    together = pd.concat([table.assign(probe=name) for name, table in tables.items()])
    return together[["probe", *together.columns.drop("probe")]]


def beside_paper(results: ProbeResults) -> pd.DataFrame:
    """The methods, with the paper's scores as a rate in ``paper_uas`` if the model is the paper's."""
    methods = results.tables.methods
    if results.published is None:
        return methods
    percent = methods["method"].map(dict(results.published))
    return methods.assign(paper_uas=percent.where(methods["decoding"] == "argmax") / 100)


def _relation_rows(relations: pd.DataFrame, min_count: int) -> list[dict[str, Any]]:
    """One row per relation, a score per method."""
    argmax = relations[relations["decoding"] == "argmax"]
    wide = argmax.pivot_table(index=["relation", "total"], columns="method", values="uas", sort=False)
    return [
        {
            "relation": name,
            "total": total,
            "frequent": total >= min_count,
            "scores": dict(row),
            "best": max(row.values()),
        }
        for (name, total), row in zip(wide.index, wide.to_dict("records"), strict=True)
    ]


def _top(heads: pd.DataFrame, n: int = 10) -> list[dict[str, Any]]:
    """The heads with the largest weights."""
    return rows_of(heads.sort_values("weight", ascending=False, kind="stable").head(n))
