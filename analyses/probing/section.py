"""The fourth stage of a probing run: tables, figures and the section of the report, from results alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ...reports.format import rows_of
from ...reports.json_text import records
from ...reports.page import Section
from ..contract import Titles
from .figures import lengths_figure, methods_figure, training_figure, weights_figure
from .results import ProbeResults, beside_paper, used_heads
from .shown_tables import shown_tables


def probe_section(results: ProbeResults, titles: Titles) -> Section:
    """Return the tables, the figures and the section of the page."""
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
    used = used_heads(results)
    if used:
        figures["probe_weights"] = weights_figure({name: w.heads for name, w in used.items()}, title=title)
        tables["probe_weights"] = _of_all_probes({name: w.heads for name, w in used.items()})
        tables["probe_weights_by_relation"] = _of_all_probes({name: w.relations for name, w in used.items()})
        tables["probe_weights_correlation"] = _of_all_probes({name: w.correlations for name, w in used.items()})
    argmax = methods[methods["decoding"] == "argmax"]
    return Section(
        title=f"What the attention heads of {titles.model} together know of syntax",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "rows": rows_of(argmax),
            "tree": bool((methods["decoding"] == "tree").any()),
            "meanings": {name: results.meanings.get(name, "") for name in argmax["method"]},
            "contrasts": len(scores.contrasts),
            "weights": {name: rows_of(w.correlations) for name, w in used.items()},
            "published": results.published,
            "has_control": bool(argmax["control_accuracy"].notna().any()),
            "has_intervals": bool((argmax["uas_low"] < argmax["uas_high"]).any()),
            # Where the numbers differ, those on random weights are larger: every copy of the network has its own runs.
            "runs": int(argmax.loc[argmax["method"].isin(results.history["method"]), "runs"].min()),
            "facts": list(results.facts),
            "notes": list(results.notes),
            "min_count": results.min_count,
        },
        shown=shown_tables(results),
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
    """Return the tables of all probes as one, with the name of the probe in the first column."""
    together = pd.concat([table.assign(probe=name) for name, table in tables.items()])
    return together[["probe", *together.columns.drop("probe")]]
