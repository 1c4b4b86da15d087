"""The tables, the figures and the page of a survey."""

from __future__ import annotations

from pathlib import Path

from ...reports.finding import Finding
from ...reports.page import Section
from ...reports.tables import records
from ..comparison.findings import clear_first, difference_text
from ..dependency.accuracy import TOTALS
from .choosers import transfer_findings
from .figures import accuracies_figure, differences_figure, training_figure, transfer_figure
from .matrices import MatrixMaker, relations_of
from .results import Survey, grid_size
from .shown_tables import (
    accuracies_table,
    contrasts_table,
    differences_table,
    failures_table,
    fit_table,
    transfer_relation,
    transfer_relation_table,
    transfer_table,
)
from .transfer import only_in_one

_CURVES = 8
"""The largest number of models whose training curves are drawn."""

_MOST_ENTRIES = 60_000
"""The largest number of entries on the page. Relations beyond it are in the tables only."""


def survey_section(survey: Survey, folder: Path | None = None) -> Section:
    """Make the tables, the figures and the section of the page, which may be in a folder."""
    maker, fit = MatrixMaker(survey, folder), fit_table(survey)
    relations = relations_of(survey)
    entries_of_relation = len(survey.treebanks) * (len(survey.models) * len(survey.maps) + len(survey.means)) or 1
    shown = relations[: max(1, _MOST_ENTRIES // entries_of_relation)]
    if survey.relation in relations and survey.relation not in shown:
        shown[-1] = survey.relation
    figures = {
        "survey_accuracy": accuracies_figure(maker, survey.relation),
        "survey_differences": differences_figure(survey),
        "survey_transfer": transfer_figure(survey),
    }
    # Like relations, models beyond the first few have their curves in the table only.
    trained_models = list(dict.fromkeys(survey.training_table["model"]))
    training_figures = {
        "survey_training" if number == 1 else f"survey_training_{number}": training_figure(survey, model)
        for number, model in enumerate(trained_models[:_CURVES], start=1)
    }
    figures |= training_figures
    tables_if_any = {
        "survey_transfer": survey.transfer_table,
        "survey_transfer_means": survey.transfer_means_table,
        "survey_training": survey.training_table,
    }
    return Section(
        title=f"Survey of {grid_size(survey.models, survey.treebanks, survey.maps)}",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "matrices": [
                {
                    "relation": relation,
                    "accuracies": accuracies_table(maker, relation),
                    "differences": differences_table(maker, relation) if maker.differences(relation) else None,
                }
                for relation in shown
            ],
            "left_out": [relation for relation in relations if relation not in shown],
            "first": survey.relation if survey.relation in shown else next(iter(shown), ""),
            "left_out_heads": survey.left_out_heads,
            "has_means": bool(survey.means),
            "has_failures": bool(survey.failures),
            "has_fit": bool(fit.rows),
            "has_contrasts": bool(survey.contrasts or survey.means),
            "min_count": survey.min_count,
            "has_reports": folder is not None and any(result.reports for result in survey.results),
            "has_transfer": bool(survey.transfer_rows),
            "transfer_findings": list(transfer_findings(survey.choosers)),
            "transfer_relation": transfer_relation(survey),
            "only_in_one": only_in_one(survey.transfer_means_table),
            "training": list(training_figures),
            "curves_left_out": trained_models[_CURVES:],
        },
        shown=[
            failures_table(survey),
            contrasts_table(survey),
            *([fit] if fit.rows else []),
            *([accuracies_table(maker, survey.relation)] if survey.relation in relations else []),
            *([transfer_table(survey), transfer_relation_table(survey, maker.view)] if survey.transfer_rows else []),
        ],
        summary={"survey": records(survey.table), "survey_contrasts": records(survey.contrasts_table)},
        tables={
            "survey": survey.table,
            "survey_contrasts": survey.contrasts_table,
            "survey_means": survey.means_table,
            "survey_cells": survey.cells_table,
            **{name: table for name, table in tables_if_any.items() if len(table)},
        },
        figures={name: figure for name, figure in figures.items() if figure is not None},
        findings=survey_findings(survey),
    )


def survey_findings(survey: Survey) -> tuple[Finding, ...]:
    """Return for each pair of models or kinds of maps in how many relations one finds clearly more, and where most."""
    # A pair with means over treebanks is not listed by treebank again.
    pairs_with_means = {(mean.about, mean.contrast.first, mean.contrast.second) for mean in survey.means}
    findings = []
    for survey_contrast in (*survey.means, *survey.contrasts):
        about, contrast, treebank = survey_contrast.about, survey_contrast.contrast, survey_contrast.treebank
        rows = [row for row in contrast.tested if row.group not in TOTALS]
        if not rows or (treebank and (about, contrast.first, contrast.second) in pairs_with_means):
            continue
        n_treebanks = max(survey_contrast.treebanks.values(), default=1)
        where = f" of {treebank}" if treebank else f", as means over up to {n_treebanks} treebanks"
        noun, model = ("the map ", f"{contrast.first.run}: ") if about == "maps" else ("", "")
        text = difference_text(contrast, rows, heads=True, noun=noun, where=where)
        findings.append((rows, Finding(f"{model}{text}", "#contrasts")))
    return clear_first(findings)
