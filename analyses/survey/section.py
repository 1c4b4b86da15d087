"""The tables, the figures and the page of a survey."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...reports.json_text import records
from ...reports.page import Section
from .contrasts import MeanContrast, TreebankContrast
from .figures import accuracies_figure, differences_figure
from .matrices import MatrixMaker, pair_name, relations_of, short_names
from .results import Survey, grid_size

_MOST_ENTRIES = 60_000
"""The largest number of entries on the page. Relations beyond it are in the tables only."""


@dataclass(frozen=True)
class ContrastSummary:
    """One line of the list of contrasts.

    Attributes:
        name: what is compared.
        treebanks: the treebank, or the number of treebanks of a mean.
        tested: the number of tested relations.
        above, below: how many of them are significantly above and below 0.
        paired: whether both sides read the same sentences.
    """

    name: str
    treebanks: str
    tested: int
    above: int
    below: int
    paired: str


def survey_section(survey: Survey) -> Section:
    """Make the tables, the figures and the section of the page."""
    maker, relations = MatrixMaker(survey), relations_of(survey)
    entries = len(survey.treebanks) * (len(survey.models) * len(survey.maps) + len(survey.means)) or 1
    shown = relations[: max(1, _MOST_ENTRIES // entries)]
    if survey.relation in relations and survey.relation not in shown:
        shown[-1] = survey.relation
    figures = {
        "survey_accuracy": accuracies_figure(survey, maker.of(survey.relation)),
        "survey_differences": differences_figure(survey),
    }
    models = short_names(survey.models)
    return Section(
        title=f"Survey of {grid_size(survey.models, survey.treebanks, survey.maps)}",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "matrices": [maker.of(relation) for relation in shown],
            "left_out": relations[len(shown) :],
            "first": survey.relation if survey.relation in shown else next(iter(shown), ""),
            "treebanks": list(survey.treebanks),
            "several_maps": len(survey.maps) > 1,
            "maps": list(survey.maps),
            "contrasts": [
                *(_summary(one, models) for one in survey.contrasts),
                *(_summary(one, models) for one in survey.means),
            ],
            "has_means": bool(survey.means),
            "failures": survey.failures,
            "min_count": survey.min_count,
            "cells": survey.cells_table.to_dict("records"),
        },
        summary={"survey": records(survey.table), "survey_contrasts": records(survey.contrasts_table)},
        tables={
            "survey": survey.table,
            "survey_contrasts": survey.contrasts_table,
            "survey_means": survey.means_table,
            "survey_cells": survey.cells_table,
        },
        figures={name: figure for name, figure in figures.items() if figure is not None},
    )


def _summary(one: TreebankContrast | MeanContrast, models: dict[str, str]) -> ContrastSummary:
    tested = one.contrast.tested
    treebanks = one.treebank if isinstance(one, TreebankContrast) else f"mean of up to {max(one.treebanks.values())}"
    return ContrastSummary(
        pair_name(one.contrast, models),
        treebanks,
        len(tested),
        sum(row.significant and row.difference > 0 for row in tested),
        sum(row.significant and row.difference < 0 for row in tested),
        one.contrast.pairing,
    )
