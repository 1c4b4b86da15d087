"""The section, the figures and the part in the explorer of what changes if heads are switched off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...corpora_loaders.describing import amount
from ...reports.columns import TableColumn
from ...reports.drawing import BLUE, COLUMN, GREEN, GREY, ORANGE, finish, number_ticks, panel, styled
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Predicted
from ...reports.finding import Finding
from ...reports.format import head_name, named_head, number, rows_of
from ...reports.page import Section
from ...reports.shapes import heatmap
from ...reports.table import ShownTable
from ...reports.tables import records
from ..comparison.differences import is_significant
from ..contract import Titles
from ..shared.explored import address, head_measures
from ..shared.previews import Previewed
from .columns import ABLATION, DIGITS, EFFECTS, FEWEST_SENTENCES, RELATIONS, effect_bounds
from .tables import AblationTables, is_enough

_LABELS = {
    "cosine": "1 − cosine of final vectors",
    "l2": "relative change of final vectors",
    "loss": "increase of −log p (nats)",
}
_ORDERS = {"effect": (BLUE, "o"), "importance": (GREEN, "s"), "random": (GREY, "^"), "reverse": (ORANGE, "v")}
_NAMES = {
    "effect": "smallest effect first",
    "importance": "smallest importance first",
    "random": "random (ten orders)",
    "reverse": "largest effect first",
}


@styled
def heads_figure(heads: pd.DataFrame, effect: str, *, title: str = "") -> Figure:
    """Draw the effect of every head as a heatmap: layers are rows, the first on top, and heads are columns."""
    values = heads.pivot_table(effect, "layer", "head", dropna=False)
    values = values.reindex(index=range(1, heads["layer"].max() + 1), columns=range(1, heads["head"].max() + 1))
    figure, axes = panel(COLUMN, 2.6)
    image = heatmap(axes, values, min(0.0, np.nanmin(values.to_numpy())), np.nanmax(values.to_numpy()))
    number_ticks(axes.xaxis, values.shape[1])
    number_ticks(axes.yaxis, values.shape[0])
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    figure.colorbar(image, ax=axes, label=_LABELS[effect])
    finish(figure, axes, title)
    return figure


@styled
def pruning_figure(pruning: pd.DataFrame, effect: str, *, title: str = "") -> Figure:
    """Draw the effect of removing heads against the share of heads that are gone, a line for each order."""
    figure, axes = panel(COLUMN, 2.8, "y")
    rows = pruning[pruning["effect"] == effect]
    for order, (color, marker) in _ORDERS.items():
        line = rows[rows["order"] == order]
        if len(line):
            axes.plot(100 * line["share"], line["value"], color=color, marker=marker, ms=3.5, label=_NAMES[order])
            if line["low"].notna().all():
                axes.fill_between(100 * line["share"], line["low"], line["high"], color=color, alpha=0.25, lw=0)
    axes.set_xlabel("heads switched off (%)")
    axes.set_ylabel(_LABELS[effect])
    finish(figure, axes, title)
    return figure


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
        min_count: relations with fewer words or masked pieces are gray and are not tested.
    """

    tables: AblationTables
    pruning: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    predictions: tuple[Predicted, ...] = ()
    min_count: int = 50

    @property
    def effect(self) -> str:
        """The effect that is shown first: that on predictions if there is one, else that on final vectors."""
        return "loss" if "loss" in self.tables.heads else "cosine"

    @property
    def summary(self) -> dict[str, Any]:
        """The row of this effect in ``tables.summary``."""
        (row,) = [row for row in rows_of(self.tables.summary) if row["effect"] == self.effect]
        return row

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and a warning if the effects were measured in too few sentences."""
        n = self.summary["sentences"]
        if n >= FEWEST_SENTENCES:
            return self.notes
        warning = (
            f"The effects were measured in {amount(n, 'sentences')}. With fewer than {FEWEST_SENTENCES}, intervals are "
            "too narrow if effects are skewed, so nothing is concluded from them."
        )
        return (*self.notes, warning)


def ablation_section(results: AblationResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    titles = titles or Titles()
    tables, pruning = results.tables, results.pruning
    has_relations = len(tables.relations) > 0
    files = {"ablation": tables.heads, "ablation_groups": tables.groups}
    if has_relations:
        files["ablation_relations"] = tables.relations
    files["ablation_summary"] = tables.summary
    figures = {"ablation_heads": heads_figure(tables.heads, results.effect, title=titles.figure)}
    pruning_total = None
    if pruning is not None:
        files["ablation_pruning"] = pruning
        pruning_total = int(pruning.loc[pruning["effect"] == results.effect, "total"].max())
        figures["ablation_pruning"] = pruning_figure(pruning, results.effect, title=titles.figure)
    return Section(
        title=f"Which attention heads of {titles.model} matter" if titles.model else "Which attention heads matter",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "notes": results.remarks,
            "conclusion": conclusion(results),
            "has_relations": has_relations,
            "too_few": _too_few(results),
            "pruning_total": pruning_total,
        },
        shown=(*([relations_table(results)] if has_relations else []), heads_table(results)),
        summary={
            "ablation": records(tables.heads),
            "ablation_relations": records(tables.relations),
            "ablation_summary": records(tables.summary),
        },
        tables=files,
        figures=figures,
    )


def shown_table(results: AblationResults) -> ShownTable:
    """Return what a terminal shows."""
    return relations_table(results) if len(results.tables.relations) else heads_table(results)


def relations_table(results: AblationResults) -> ShownTable:
    """Return whether the head that finds a relation matters for its words."""
    rows = [
        {**row, "is_frequent": is_enough(row, results.min_count)}
        for row in rows_of(results.tables.relations)
        if row["effect"] == results.effect
    ]
    columns = [column for column in RELATIONS.columns if column.heading != "effect"]
    title = f"Does the head that finds a relation matter for its words? ({EFFECTS[results.effect]}; accuracy in %)"
    few = () if all(row["is_frequent"] for row in rows) else (f"n in parentheses: {_too_few(results)}.",)
    notes = tuple(filter(None, (conclusion(results), *few, *results.remarks)))
    return ShownTable(
        "ablation_relations", title, columns, rows, notes, lambda row: "" if row["is_frequent"] else "rare"
    )


def _too_few(results: AblationResults) -> str:
    """Say from what nothing is concluded about a relation."""
    words = "masked pieces or predicted words" if results.effect == "loss" else "words"
    return f"fewer than {results.min_count:,} {words}, or fewer than {FEWEST_SENTENCES} sentences with them"


def heads_table(results: AblationResults) -> ShownTable:
    """Return the heads with the largest effects."""
    effect, heads = results.effect, results.tables.heads

    columns = [
        TableColumn("layer head", "number from 1", "", "head", cell=named_head),
        TableColumn(effect, "number", "", EFFECTS[effect], digits=DIGITS, beside=effect_bounds(effect)),
        *([TableColumn("cosine", "number", "", EFFECTS["cosine"], digits=DIGITS)] if effect != "cosine" else []),
        *([TableColumn("importance", "number", "", "importance", digits=4)] if "importance" in heads else []),
    ]
    top = heads.sort_values(effect, ascending=False, kind="stable").head(10)
    return ShownTable("ablation_heads", "The heads that matter most", columns, rows_of(top), notes=results.remarks)


def conclusion(results: AblationResults) -> str:
    """Say whether heads that find relations matter more than the others of their layers, over all relations."""
    row = results.summary
    if not len(results.tables.relations):
        return ""
    more = f"a larger effect on their words ({EFFECTS[results.effect]}) than other heads of their layers"
    if not row["relations"]:
        return (
            f"It was not tested whether heads that find relations have {more}: all relations have {_too_few(results)}."
        )
    heads = "Heads" if is_significant(row["p"]) else "It was not shown that heads"
    return (
        f"{heads} that find relations have {more}: above their mean for {row['above']} of "
        f"{amount(row['relations'], 'relations')}; mean relative rank {number(row['mean_rank'], 2)}, where 0.5 is "
        f"chance; p = {number(row['p'], 4)}."
    )


def largest_effect(results: AblationResults) -> str:
    """Say which head matters most, or that this was not shown; empty for a single head and for too few sentences."""
    row, effect = results.summary, results.effect
    if row["sentences"] < FEWEST_SENTENCES or pd.isna(row["lead"]):
        return ""
    of_heads = {(each["layer"], each["head"]): each for each in rows_of(results.tables.heads)}
    top, rival = (of_heads[int(row[f"{of}layer"]), int(row[f"{of}head"])] for of in ("", "rival_"))
    value = f"{EFFECTS[effect]} {number(top[effect], DIGITS)} {effect_bounds(effect)(top)}"
    lead = f"{number(row['lead'], DIGITS)} {effect_bounds('lead')(row)}".strip()
    doubts = []
    if top[f"{effect}_low"] <= 0:
        doubts.append("its interval contains 0")
    # Without the paired interval, that of one head has to be above that of the other.
    least_lead = row["lead_low"] if not pd.isna(row["lead_low"]) else top[f"{effect}_low"] - rival[f"{effect}_high"]
    if least_lead <= 0:
        doubts.append(f"that of {named_head(rival)} may be as large (difference {lead})")
    if doubts:
        return (
            "It was not shown which head changes most when it is switched off: the largest effect is that of "
            f"{named_head(top)} ({value}), but {', and '.join(doubts)}."
        )
    return f"Switching off {named_head(top)} changes most: {value}, {lead} more than {named_head(rival)}."


def explored_ablation(results: AblationResults, *, complete: bool) -> Contribution:
    """Return the effects as measures, unless some heads were left out, and the heads that matter most."""
    heads = results.tables.heads
    measures = tuple(head_measures(ABLATION, heads, "ablation/{}".format)) if complete else ()
    measure_id = f"ablation/{results.effect}" if complete else None
    facts = {}
    for row in rows_of(heads):
        text = f"{EFFECTS[results.effect]}: {number(row[results.effect], DIGITS)}"
        facts[head_name(row["layer"], row["head"])] = (Fact("without it", text, measure_id),)
    findings = tuple(_findings(results, complete=complete))
    return Contribution(measures, findings, facts=facts, predictions=results.predictions)


def _findings(results: AblationResults, *, complete: bool) -> Iterator[Finding]:
    """Yield which head matters most, and whether heads that find relations matter more than others."""
    measure = f"ablation/{results.effect}" if complete else None
    if text := largest_effect(results):
        yield Finding(text, address(head=named_head(results.summary), measure=measure))
    if text := conclusion(results):
        yield Finding(text, address(measure=measure))
