"""The results of the analysis of ablation, and their section of the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ...reports.columns import TableColumn
from ...reports.explorer.data import Predicted
from ...reports.format import named_head, number, rows_of
from ...reports.json_text import records
from ...reports.page import Section
from ...reports.table import ShownTable
from ..comparison.differences import LEVEL
from ..contract import Titles
from ..shared.previews import Previewed
from .columns import DIGITS, EFFECTS, RELATIONS, effect_bounds
from .figures import ablation_figures
from .tables import AblationTables

_TOP = 10


@dataclass(frozen=True, repr=False)
class AblationResults(Previewed):
    """The results of the analysis ``ablation``. Layers and heads are 1-based.

    Attributes:
        tables: four tables. ``tables.heads`` has one row per ``layer`` and ``head`` with its effects ``cosine``, ``l2``
            and, with a language-model head, ``loss`` and ``importance``; ``tables.groups`` has the effects by relation
            and part of speech; ``tables.relations`` compares the head that finds each relation with the other heads of
            its layer; and ``tables.summary`` tests all relations together. Columns that end in ``_low`` and ``_high``
            are 95 % intervals.
        pruning: the effect of switching off more and more heads, one row per ``order``, number of ``heads`` and
            ``effect``; None in merged runs and if it was not asked for.
        notes: sentences about what a head that is off gives, and what was not measured.
        predictions: what the model predicts in some sentences of the sample, with all of its heads and without a few.
    """

    tables: AblationTables
    pruning: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    predictions: tuple[Predicted, ...] = ()

    @property
    def effect(self) -> str:
        """The effect that is shown first: that on predictions if there is one, else that on final vectors."""
        return "loss" if "loss" in self.tables.heads else "cosine"


def ablation_section(results: AblationResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    titles, tables = titles or Titles(), results.tables
    files = {"ablation": tables.heads, "ablation_groups": tables.groups}
    if len(tables.relations):
        files["ablation_relations"] = tables.relations
    files["ablation_summary"] = tables.summary
    if results.pruning is not None:
        files["ablation_pruning"] = results.pruning
    return Section(
        title=f"Which attention heads of {titles.model} matter" if titles.model else "Which attention heads matter",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "notes": results.notes,
            "conclusion": conclusion(results),
            "has_relations": len(tables.relations) > 0,
            "pruning_total": None if results.pruning is None else int(results.pruning["total"].max()),
        },
        shown=(*([relations_table(results)] if len(tables.relations) else []), heads_table(results)),
        summary={
            "ablation": records(tables.heads),
            "ablation_relations": records(tables.relations),
            "ablation_summary": records(tables.summary),
        },
        tables=files,
        figures=ablation_figures(results.tables, results.pruning, results.effect, title=titles.figure),
    )


def shown_table(results: AblationResults) -> ShownTable:
    """Return what a terminal shows."""
    return relations_table(results) if len(results.tables.relations) else heads_table(results)


def relations_table(results: AblationResults) -> ShownTable:
    """Return whether the head that finds a relation matters for its words."""
    rows = [row for row in rows_of(results.tables.relations) if row["effect"] == results.effect]
    columns = [column for column in RELATIONS.columns if column.heading != "effect"]
    title = f"Does the head that finds a relation matter for its words? ({EFFECTS[results.effect]}; accuracy in %)"
    return ShownTable("ablation_relations", title, columns, rows, notes=(conclusion(results), *results.notes))


def heads_table(results: AblationResults) -> ShownTable:
    """Return the heads with the largest effects."""
    effect, heads = results.effect, results.tables.heads

    columns = [
        TableColumn("layer head", "number from 1", "", "head", cell=named_head),
        TableColumn(effect, "number", "", EFFECTS[effect], digits=DIGITS, beside=effect_bounds(effect)),
        *([TableColumn("cosine", "number", "", EFFECTS["cosine"], digits=DIGITS)] if effect != "cosine" else []),
        *([TableColumn("importance", "number", "", "importance", digits=4)] if "importance" in heads else []),
    ]
    top = heads.sort_values(effect, ascending=False, kind="stable").head(_TOP)
    return ShownTable("ablation_heads", "The heads that matter most", columns, rows_of(top), notes=results.notes)


def conclusion(results: AblationResults) -> str:
    """Say whether heads that find relations matter more than the others of their layers, over all relations."""
    (row,) = [row for row in rows_of(results.tables.summary) if row["effect"] == results.effect]
    if not row["relations"]:
        return ""
    what = f"effect on their words ({EFFECTS[results.effect]})"
    numbers = f"mean relative rank {number(row['mean_rank'], 2)}, where 0.5 is chance; p = {number(row['p'], 4)}"
    above = f"for {row['above']} of {row['relations']} relations"
    if row["p"] < LEVEL:
        return (
            f"Heads that find relations have a larger {what} than other heads of their layers: above their mean "
            f"{above}; {numbers}."
        )
    return (
        f"It was not shown that heads that find relations have a larger {what} than other heads of their layers: above "
        f"their mean {above}; {numbers}."
    )
