"""Which head is best for each relation, for each model and kind of map on each treebank?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import Row, Schema, TableColumn
from ...reports.drawing import panel, with_style
from ...reports.format import ARROWS, head_name, interval, percent, rows_of
from ...reports.shapes import heatmap
from ...reports.table import ShownTable
from ...storage.writing import amount
from ..dependency.accuracy import TOTALS
from .rows import (
    DARK,
    MEAN,
    CellResult,
    Entry,
    SurveyFacts,
    SurveyQuestion,
    entry_column,
    failed_rows,
    join_tables,
    name_treebanks,
    of_cell,
    pair_name,
    view_of_relation,
    write_entry,
)

SURVEY = Schema(
    "survey",
    "One row per model, treebank, kind of map and relation.",
    (
        TableColumn("model revision treebank map", "text", "what was read"),
        TableColumn("relation direction", "text", "the relation, and the direction of its best head"),
        TableColumn("layer head", "number from 1", "the best head"),
        TableColumn("n correct", "count", "words of the relation, and those whose syntactic head is found"),
        TableColumn("accuracy low high", "share", "`correct` / `n`"),
        TableColumn("offset", "number, words", "the best fixed distance"),
        TableColumn("offset_accuracy", "share", "its accuracy"),
        TableColumn("gain gain_low gain_high", "points", "`accuracy` − `offset_accuracy`"),
        TableColumn("heldout", "share", "the held-out accuracy"),
        TableColumn(
            "random", "share", "with `--control`: the mean accuracy of the best heads of models with random weights"
        ),
        TableColumn("status reason", "text", "`ok`; or `failed`, and why"),
    ),
)


_OF_BEST = {
    "total": "n",
    "accuracy_low": "low",
    "accuracy_high": "high",
    "heldout_accuracy": "heldout",
    "control_accuracy": "random",
}
"""The columns of the tables of single runs that have other names in a survey."""


_MOST_ENTRIES = 60_000
"""The largest number of entries on the page. Relations beyond it are in the tables only."""


class Accuracy(SurveyQuestion):
    """Which head is best for each relation, for each model and kind of map on each treebank?

    The page shows the differences of a relation below its accuracies.
    """

    name = "accuracy"
    tables = (SURVEY,)
    template = Path(__file__).with_name("accuracy.html.j2")

    def find(self, counts: SurveyFacts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the best heads."""
        return survey_table(counts.results)

    def frames(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, pd.DataFrame]:
        """Return the table as it is written."""
        return {SURVEY.name: answer}

    def show(self, answer: pd.DataFrame, results: SurveyFacts) -> Sequence[ShownTable]:
        """Return the accuracies of the relation of the survey."""
        has_relation = results.relation in relations_of(results)
        return (accuracies_table(MatrixMaker(results), results.relation),) if has_relation else ()

    def draw(self, answer: pd.DataFrame, results: SurveyFacts, title: str) -> Mapping[str, Figure]:
        """Draw the accuracies of the relation of the survey, if there are any."""
        figure = accuracies_figure(MatrixMaker(results), results.relation)
        return {} if figure is None else {"survey_accuracy": figure}

    def values(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, Any]:
        """Return the matrices of as many relations as the page has room for, and what stands beside them."""
        maker, relations = MatrixMaker(results), relations_of(results)
        in_columns = len(results.models) * len(results.maps) + len(results.means)
        shown = relations[: max(1, _MOST_ENTRIES // (len(results.treebanks) * in_columns or 1))]
        if results.relation in relations and results.relation not in shown:
            shown[-1] = results.relation
        return {
            "matrices": [
                {
                    "relation": relation,
                    "view": view_of_relation(relation),
                    "accuracies": accuracies_table(maker, relation),
                    "differences": differences_table(maker, relation) if maker.differences(relation) else None,
                }
                for relation in shown
            ],
            "left_out": [relation for relation in relations if relation not in shown],
            "first": results.relation if results.relation in shown else next(iter(shown), ""),
            "left_out_heads": results.left_out_heads,
            "min_count": results.min_count,
            "has_reports": results.out is not None and any(result.reports for result in results.results),
        }


def survey_table(results: Iterable[CellResult]) -> pd.DataFrame:
    """Return the best head of each relation for each kind of map in each cell, one row each."""
    # A cell that failed is one row without numbers.
    frames: list[pd.DataFrame] = []
    for result in results:
        for kind, best in result.best.items():
            frames.append(best.rename(columns=_OF_BEST).assign(**of_cell(result, kind)))
        frames += [pd.DataFrame([row]) for row in failed_rows(result)]
    return join_tables(frames, SURVEY)


def relations_of(survey: SurveyFacts) -> list[str]:
    """Return all relations: first the totals, then the others by the number of treebanks and of words."""
    words: Counter[str] = Counter()
    treebanks: dict[str, set[str]] = {}
    for result in survey.results:
        if result.best:
            best = next(iter(result.best.values()))  # all kinds of maps have the same words
            for relation, total in zip(best["relation"], best["total"], strict=True):
                words[relation] += int(total)
                treebanks.setdefault(relation, set()).add(result.cell.treebank)
    others = sorted(words.keys() - set(TOTALS), key=lambda name: (-len(treebanks[name]), -words[name], name))
    return [*(name for name in TOTALS if name in words), *others]


class MatrixMaker:
    """Looks up the matrices of a survey by relation. Rows have an `Entry` for each treebank, by its name."""

    def __init__(self, survey: SurveyFacts) -> None:
        self.survey, self._models = survey, survey.short_models
        self._accuracies: dict[tuple[str, str, str, str], Entry] = {}  # by model, kind of map, treebank and relation
        self._failed: set[tuple[str, str, str]] = set()  # model, kind of map, and treebank
        for result in survey.results:
            cell = result.cell
            self._failed |= {(cell.model, failure.kind, cell.treebank) for failure in result.failures}
            for kind, best in result.best.items():
                for row in rows_of(best):
                    address = survey.view(cell, kind, row) if row["correct"] else ""
                    entry = _accuracy_entry(row, survey.min_count, address)
                    self._accuracies[cell.model, kind, cell.treebank, row["relation"]] = entry
        # By relation, by the name of the pair of models or maps, and by treebank.
        self._differences: dict[str, dict[str, dict[str, Entry]]] = {}
        for survey_contrast in (*survey.contrasts, *survey.means):
            name = pair_name(survey_contrast.contrast, self._models)
            for difference in survey_contrast.contrast.differences:
                by_treebank = self._differences.setdefault(difference.group, {}).setdefault(name, {})
                by_treebank[survey_contrast.treebank or MEAN] = Entry(
                    difference.difference,
                    percent(difference.difference, sign=True),
                    interval(difference.low, difference.high),
                    weak=not difference.tested,
                    strong=difference.significant,
                )

    def accuracies(self, relation: str) -> list[Row]:
        """Return the held-out accuracies of a relation, one row for each model and kind of map."""
        rows: list[Row] = []
        for model in self.survey.models:
            for kind in self.survey.maps:
                entries = {name: self._accuracy(model, kind, name, relation) for name in self.survey.treebanks}
                rows.append({"model": self._models[model], "map": kind, **entries})
        return rows

    def _accuracy(self, model: str, kind: str, treebank: str, relation: str) -> Entry:
        """Return an accuracy, or whether it failed. A whole cell that failed has no kind."""
        failed = (model, kind, treebank) in self._failed or (model, "", treebank) in self._failed
        missing = Entry(text="failed" if failed else "–")
        return self._accuracies.get((model, kind, treebank, relation), missing)

    def differences(self, relation: str) -> list[Row]:
        """Return the differences of a relation, one row for each contrast that has it, also for means."""
        empty = dict.fromkeys((*self.survey.treebanks, MEAN), Entry())
        by_name = self._differences.get(relation, {})
        return [{"difference": name, **empty, **entries} for name, entries in by_name.items()]


def _accuracy_entry(row: Mapping[str, Any], min_count: int, address: str) -> Entry:
    """Return the held-out accuracy of a row of the table of best heads, whose head has this address."""
    head = f"{head_name(row['layer'], row['head'])} {ARROWS[row['direction']]}, " if row["correct"] else ""
    is_rare = row["total"] < min_count
    n = f"(n = {row['total']:,})" if is_rare else f"n = {row['total']:,}"
    details = f"{head}{n}, offset {percent(row['offset_accuracy'])}"
    return Entry(row["heldout_accuracy"], percent(row["heldout_accuracy"]), details, weak=is_rare, address=address)


def accuracies_table(maker: MatrixMaker, relation: str) -> ShownTable:
    """Return the held-out accuracies of one relation: models and maps as rows, treebanks as columns."""
    survey, short = maker.survey, maker.survey.short_treebanks
    columns = [
        TableColumn("model", "text", "", "model", wraps=True),
        *([TableColumn("map", "text", "", "map")] if len(survey.maps) > 1 else []),
        *(entry_column(treebank, short[treebank], shaded=True) for treebank in survey.treebanks),
    ]
    notes = (
        "In each entry: the best head, the number of words (n), and the accuracy of the best fixed offset. n in "
        f"parentheses: fewer than {amount(survey.min_count, 'words')}, too few for reliable conclusions.",
        "All relations, intervals and contrasts are in the report and in the tables.",
    )
    title = f"{relation}: held-out accuracy of the best head, and accuracy of the best fixed offset (in %)"
    return ShownTable("survey_accuracies", title, columns, maker.accuracies(relation), notes=notes)


def differences_table(maker: MatrixMaker, relation: str) -> ShownTable:
    """Return the differences of one relation between kinds of maps, or between models, on all treebanks."""
    survey, short = maker.survey, maker.survey.short_treebanks
    columns = [
        TableColumn("difference", "text", "", "difference", wraps=True),
        *(entry_column(treebank, short[treebank]) for treebank in survey.treebanks),
        *([entry_column(MEAN, MEAN)] if survey.means else []),
    ]
    rows = maker.differences(relation)
    return ShownTable("survey_differences", f"{relation}: differences (points)", columns, rows)


@with_style
def accuracies_figure(maker: MatrixMaker, relation: str) -> Figure | None:
    """Draw the held-out accuracy of one relation for each model and map (rows) on each treebank (columns), if any."""
    survey, rows = maker.survey, maker.accuracies(relation)
    matrix: list[list[Entry]] = [[row[treebank] for treebank in survey.treebanks] for row in rows]
    values = np.array([[entry.value for entry in entries] for entries in matrix])
    if not np.isfinite(values).any():
        return None
    figure, axes = panel(2.2 + 0.55 * len(survey.treebanks), 1.3 + 0.24 * len(rows))
    image = heatmap(axes, 100 * values, 0, 100)
    title = relation
    for y, entries in enumerate(matrix):
        for x, entry in enumerate(entries):
            if entry.weak:
                title = f"{relation}\nin parentheses: fewer than {amount(survey.min_count, 'words')}"
            text = f"({entry.text})" if entry.weak else entry.text
            write_entry(axes, x, y, text, is_dark=entry.value > DARK)
    several = len(survey.maps) > 1
    labels = [f"{row['model']} ({row['map']})" if several else row["model"] for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    name_treebanks(axes, survey)
    figure.colorbar(image, ax=axes, label="held-out accuracy (%)")
    axes.set_title(title, loc="left")
    return figure
