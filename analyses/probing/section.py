"""Trained probes on disk and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from attentionology.analyses.probing.attachment import AttachmentTables
from attentionology.analyses.probing.figures import lengths_figure, methods_figure, training_figure, weights_figure
from attentionology.analyses.probing.head_weights import HeadWeights
from attentionology.analyses.shared.previews import results_html, results_line
from attentionology.reports.format import rows_of
from attentionology.reports.json_text import records
from attentionology.reports.page import Section, save_figures
from attentionology.reports.tables import write_csv

MEANINGS = {
    "right-branching": "always the next word",
    "best offset": "always so many words to one side; how many is chosen on the training sentences",
    "best offset of the gold relation": "the same, chosen for each relation; it is told the relation of every word, so "
    "it is a ceiling for what distance can give and no parser",
    "best single head": "the word that one attention head points to most; head and direction chosen on the training "
    "sentences",
    "attention": "one learned weight per attention head and direction",
    "attention+words": "weights of the heads that depend on the vectors of the two words",
    "words+distances": "a network that sees the vectors and the distance of two words, and no attention",
    "attention, random weights": "the same on a network with random weights and the trained embeddings",
    "attention+words, random weights": "the same on a network with random weights and the trained embeddings",
}
"""What each method is, for a reader."""


class ProbeResults(NamedTuple):
    """What was found.

    Attributes:
        tables: scores of all methods.
        weights: which heads each attention probe uses.
        history: of every training, epoch by epoch.
        published: the paper's scores in percent if the model is the paper's, by method.
        min_count: relations with fewer words are greyed.
        facts: what was trained on what, a phrase each.
        notes: how the numbers came about, a sentence each.
    """

    tables: AttachmentTables
    weights: Mapping[str, HeadWeights]
    history: pd.DataFrame
    published: Mapping[str, int] | None = None
    min_count: int = 50
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)


def write_probe(folder: Path, results: ProbeResults, *, model: str = "", corpus: str = "") -> Section:
    """Write tables and figures; returns the section of the report.

    Args:
        folder: an existing folder.
        results: what was found.
        model, corpus: names for the titles.
    """
    found, tables = results.tables, folder / "tables"
    title = f"{model} on {corpus}" if model else ""
    methods = beside_paper(results)
    write_csv(methods, tables / "probe.csv")
    write_csv(found.runs, tables / "probe_runs.csv")
    write_csv(found.relations, tables / "probe_by_relation.csv")
    write_csv(found.lengths, tables / "probe_by_length.csv")
    write_csv(found.contrasts, tables / "probe_contrasts.csv")
    write_csv(results.history, tables / "probe_training.csv")
    figures = {
        "probe": methods_figure(methods, title=title),
        "probe_lengths": lengths_figure(found.lengths, title=title),
        "probe_training": training_figure(results.history, title=title),
    }
    used = {name: w for name, w in results.weights.items() if len(w.relations)}  # no arc, no weights
    if used:
        figures["probe_weights"] = weights_figure({name: w.heads for name, w in used.items()}, title=title)
        for part in ("heads", "relations", "correlations"):
            together = pd.concat([getattr(w, part).assign(probe=name) for name, w in used.items()])
            own = "probe_weights" + {"heads": "", "relations": "_by_relation", "correlations": "_correlation"}[part]
            write_csv(together[["probe", *together.columns.drop("probe")]], tables / f"{own}.csv")
    svgs = save_figures(folder, figures)
    argmax = methods[methods["decoding"] == "argmax"]
    tree = methods[methods["decoding"] == "tree"].set_index("method")
    return Section(
        title=f"What the attention heads of {model} together know of syntax",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "rows": rows_of(argmax),
            "tree": {str(name): row for name, row in tree.to_dict("index").items()},
            "meanings": {name: MEANINGS.get(name, "") for name in argmax["method"]},
            "contrasts": rows_of(found.contrasts),
            "relations": _relation_rows(found.relations, results.min_count),
            "columns": list(argmax["method"]),
            "weights": {
                name: {"relations": rows_of(w.relations), "correlations": rows_of(w.correlations), "top": _top(w.heads)}
                for name, w in used.items()
            },
            "published": results.published,
            "has_control": bool(argmax["control_accuracy"].notna().any()),
            "has_sd": bool(argmax["uas_sd"].notna().any()),
            "has_intervals": bool((argmax["uas_low"] < argmax["uas_high"]).any()),
            # Where they differ, those on random weights are more: so many for each copy of the network.
            "runs": int(argmax.loc[argmax["method"].isin(results.history["method"]), "runs"].min()),
            "facts": list(results.facts),
            "notes": list(results.notes),
            "min_count": results.min_count,
            "svgs": svgs,
        },
        summary={
            "probe": records(methods),
            "probe_contrasts": records(found.contrasts),
            "probe_weights": {name: records(w.correlations) for name, w in used.items()},
            "probe_notes": list(results.notes),
        },
    )


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
