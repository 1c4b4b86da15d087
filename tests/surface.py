"""Results of the surface analysis that are made of tables, and what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from attentionology.analyses.contract import Titles
from attentionology.analyses.surface.analysis import Surface
from attentionology.analyses.surface.rows import SurfaceResults
from attentionology.analyses.surface.tables import SurfaceTables
from attentionology.reports.explorer.contribution import Contribution, join_contributions
from attentionology.reports.page import Section
from attentionology.reports.table import ShownTable


def made_results(
    tables: SurfaceTables,
    specials: Mapping[str, str],
    gradients: pd.DataFrame | None = None,
    notes: tuple[str, ...] = (),
) -> SurfaceResults:
    """Results of these tables; the heads have labels."""
    given = {"shares": tables, "offsets": tables.offsets, "labels": tables.heads, "entropy": tables.heads}
    answers = {**given, "gradients": gradients}
    return SurfaceResults(
        tables, specials, notes, {name: answer for name, answer in answers.items() if answer is not None}
    )


def changed_results(results: SurfaceResults, **changes: Any) -> SurfaceResults:
    """The same results with other tables or gradients, which are None if the run did not ask for them."""
    gradients = changes.pop("gradients", results.answers.get("gradients"))
    changed = replace(results, **changes)
    return made_results(changed.tables, changed.specials, gradients, changed.notes)


def surface_section(results: SurfaceResults, titles: Titles | None = None) -> Section:
    return Surface().section(results, titles or Titles())


def surface_figures(results: SurfaceResults, title: str) -> Mapping[str, Figure]:
    return {
        name: figure
        for question, answer in Surface().pair_answers(results)
        for name, figure in question.draw(answer, results, title).items()
    }


def shown_tables(results: SurfaceResults) -> list[ShownTable]:
    return [table for question, answer in Surface().pair_answers(results) for table in question.show(answer, results)]


def explored_surface(results: SurfaceResults, kind: str) -> Contribution:
    counts: Any = None  # questions about the surface explore their answers alone
    return join_contributions(
        question.explore(answer, counts, results, kind) for question, answer in Surface().pair_answers(results)
    )
