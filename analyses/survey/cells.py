"""What was read in each cell of a survey, does the model fit the treebank, and what failed?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ...extractors.tokens.text_fit import HARDLY_PIECES, MOST_PIECES, MOST_UNKNOWN, TextFit
from ...reports.columns import Schema, TableColumn
from ...reports.format import rows_of
from ...reports.table import ShownTable
from .rows import CellResult, SurveyFacts, SurveyQuestion, failed_rows, join_tables, of_cell

_VERDICTS = {"yes": "fits", "poorly": "fits poorly", "no": "hardly made for this language"}


SURVEY_CELLS = Schema(
    "survey_cells",
    "One row per model, treebank and kind of map.",
    (
        TableColumn("model revision treebank map", "text", "what was read"),
        TableColumn("status reason", "text", "as in `survey.csv`"),
        TableColumn("sentences skipped words", "count", "what was read, and sentences that were skipped"),
        TableColumn("layers heads", "count", "layers of the model, and heads in each"),
        TableColumn("weights_sha256", "text", "the SHA-256 of the weights"),
        TableColumn(
            "pieces_per_word",
            "number",
            "the mean number of pieces of the words with a letter, in which an ideograph counts as a word",
            "pieces per word",
            digits=2,
        ),
        TableColumn("split_words", "share", "words that are cut into several pieces", "split words"),
        TableColumn("unknown_words", "share", "words with a piece that is the unknown token", "unknown words"),
        TableColumn("unknown_pieces", "share", "pieces of words that are the unknown token", "unknown pieces"),
        TableColumn(
            "lost_characters",
            "share",
            "characters of words, without white space, that are in unknown pieces or in none",
            "lost characters",
        ),
        TableColumn(
            "fits",
            "text",
            f"`no` if more than {100 * MOST_UNKNOWN:.0f} % of the words are unknown or words have more than "
            f"{HARDLY_PIECES:g} pieces: the model was hardly made for this language; `poorly` if they have more than "
            f"{MOST_PIECES:g}; otherwise `yes`",
            "verdict",
            cell=lambda row: _VERDICTS.get(row["fits"], "–"),
            look=lambda row: "strong" if row["fits"] == "no" else "",
            wraps=True,
        ),
    ),
)


class Cells(SurveyQuestion):
    """What was read in each cell, does the model fit the treebank, and what failed?"""

    name = "cells"
    tables = (SURVEY_CELLS,)
    template = Path(__file__).with_name("cells.html.j2")

    def find(self, counts: SurveyFacts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return what was read in each cell."""
        return cells_table(counts.results)

    def frames(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, pd.DataFrame]:
        """Return the table as it is written."""
        return {SURVEY_CELLS.name: answer}

    def show(self, answer: pd.DataFrame, results: SurveyFacts) -> Sequence[ShownTable]:
        """Return what failed, and whether the models fit the treebanks, if that is known."""
        fit = fit_table(results)
        return (failures_table(results), *([fit] if fit.rows else []))

    def values(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, Any]:
        """Return which tables the page has."""
        return {"has_failures": bool(results.failures), "has_fit": bool(fit_table(results).rows)}


def cells_table(results: Iterable[CellResult]) -> pd.DataFrame:
    """Return one row for each kind of map in each cell; if a whole cell failed, its ``map`` is empty."""
    rows: list[dict[str, Any]] = []
    for result in results:
        read = _describe_reading(result.record)
        counted = [of_cell(result, kind) for kind in result.best]
        rows += [{**row, **read} for row in (*counted, *failed_rows(result))]
    return join_tables([pd.DataFrame(rows)] if rows else [], SURVEY_CELLS)


def _describe_reading(record: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns about what was read in a cell, given its run record; almost none if the whole cell failed."""
    if record is None:
        return {"weights_sha256": "", "fits": ""}
    model, sentences = record["model"], record["sentences"]
    fit = TextFit.read_record(record["text_fit"]) if "text_fit" in record else None
    return {
        "sentences": sentences["read"],
        "skipped": len(sentences["skipped"]),
        "words": sentences["words"],
        "layers": model["layers"],
        "heads": model["heads"],
        "weights_sha256": model["weights_sha256"],
        **(fit.shares if fit else {}),
        "fits": fit.fits if fit else "",
    }


def failures_table(survey: SurveyFacts) -> ShownTable:
    """Return the cells that could not be counted, with the reasons."""
    names = ("model", "treebank", "map", "reason")
    columns = [TableColumn(name, "text", "", name, wraps=name == "reason") for name in names]
    rows = [
        {**vars(result.cell), "map": failure.kind or "all", "reason": failure.reason}
        for result, failure in survey.failures
    ]
    return ShownTable("survey_failures", "What failed", columns, rows)


def fit_table(survey: SurveyFacts) -> ShownTable:
    """Return how much of each treebank each model can read, whatever the kind of map."""
    headings = "pieces per word", "split words", "unknown words", "unknown pieces", "lost characters", "verdict"
    columns = [
        TableColumn("model", "text", "", "model", wraps=True),
        TableColumn("treebank", "text", "", "treebank"),
        *SURVEY_CELLS.only(*headings),
    ]
    cells = cells_table(survey.results)
    counted = cells[cells["pieces_per_word"].notna()]
    models, treebanks = survey.short_models, survey.short_treebanks
    rows = [
        {**row, "model": models[row["model"]], "treebank": treebanks[row["treebank"]]}
        for row in rows_of(counted.drop_duplicates(["model", "treebank"]))
    ]
    return ShownTable("survey_fit", "Whether the models fit the treebanks (shares in %)", columns, rows)
