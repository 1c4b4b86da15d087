"""The tables of a survey: the best head of every relation in every cell, and what became of the cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ...extractors.tokens.text_fit import TextFit
from ...reports.columns import Schema
from ..comparison.results import row_of
from .columns import SURVEY, SURVEY_CELLS
from .contrasts import SurveyContrast


@dataclass(frozen=True)
class Cell:
    """One model on one treebank. All kinds of maps belong to one cell, because they are made in the same pass."""

    model: str  # the names in tables
    treebank: str


@dataclass(frozen=True)
class CellFailure:
    """The reason why a cell, or one kind of maps in it, has no numbers."""

    kind: str  # empty if all kinds of the cell failed for the same reason
    reason: str


@dataclass(frozen=True, eq=False)
class CellResult:
    """What came out of a cell."""

    cell: Cell
    # The best heads for each kind of map that could be counted, with the columns of the control if there is one.
    best: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    failures: tuple[CellFailure, ...] = ()  # why other kinds, or all of them, could not be counted
    record: Mapping[str, Any] | None = None  # the run record; None if the whole cell failed
    seconds: float = 0.0  # the time that the cell took in this run, which is short if its parts had been counted before
    reports: Mapping[str, Path] = field(default_factory=dict)  # the page of each kind of map, if it was written


_OF_BEST = {
    "total": "n",
    "accuracy_low": "low",
    "accuracy_high": "high",
    "heldout_accuracy": "heldout",
    "control_accuracy": "random",
}
"""The columns of the tables of single runs that have other names in a survey."""

_OF_COMPARISON = {"group": "relation", "run_a": "model_a", "run_b": "model_b"}
"""The columns of comparisons of runs that have other names in a survey."""

_WHOLE = ("count", "number from 1", "number, words")
"""The types of columns of whole numbers, which may be missing."""

_TEXTS = ("revision", "treebank", "map", "direction", "relation")
"""Columns of texts that may be missing."""


def survey_table(results: Iterable[CellResult]) -> pd.DataFrame:
    """Return the best head of each relation for each kind of map in each cell, one row each."""
    # A cell that failed is one row without numbers.
    frames: list[pd.DataFrame] = []
    for result in results:
        for kind, best in result.best.items():
            frames.append(best.rename(columns=_OF_BEST).assign(**_of_cell(result, kind)))
        frames += [pd.DataFrame([row]) for row in _failed(result)]
    return _table(frames, SURVEY)


def cells_table(results: Iterable[CellResult]) -> pd.DataFrame:
    """Return one row for each kind of map in each cell; if a whole cell failed, its ``map`` is empty."""
    rows: list[dict[str, Any]] = []
    for result in results:
        read = _read(result.record)
        counted = [_of_cell(result, kind) for kind in result.best]
        rows += [{**row, **read} for row in (*counted, *_failed(result))]
    return _table([pd.DataFrame(rows)] if rows else [], SURVEY_CELLS)


def rows_table(rows: Sequence[Mapping[str, Any]], schema: Schema) -> pd.DataFrame:
    """Return rows as a table with the columns of a schema."""
    return _table([pd.DataFrame(rows)] if rows else [], schema)


def contrasts_table(survey_contrasts: Sequence[SurveyContrast], schema: Schema) -> pd.DataFrame:
    """Return a row for each difference of each contrast, that is for each relation, with the columns of a schema."""
    rows = [
        {
            **row_of(survey_contrast.contrast, difference),
            "about": survey_contrast.about,
            "treebank": survey_contrast.treebank,
            "treebanks": survey_contrast.treebanks.get(difference.group),
        }
        for survey_contrast in survey_contrasts
        for difference in survey_contrast.contrast.differences
    ]
    return _table([pd.DataFrame(rows).rename(columns=_OF_COMPARISON)] if rows else [], schema)


def _read(record: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns about what was read in a cell, given its run record; almost none if the whole cell failed."""
    if record is None:
        return {"weights_sha256": "", "fits": ""}
    model, sentences = record["model"], record["sentences"]
    fit = TextFit.recorded(record["text_fit"]) if "text_fit" in record else None
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


def _of_cell(result: CellResult, kind: str, status: str = "ok", reason: str = "") -> dict[str, Any]:
    """Return the columns that say which cell and kind of map a row is about, and whether it failed."""
    revision = result.record["model"]["revision"] if result.record else None
    return {
        "model": result.cell.model,
        "revision": revision or "",
        "treebank": result.cell.treebank,
        "map": kind,
        "status": status,
        "reason": reason,
    }


def _failed(result: CellResult) -> list[dict[str, Any]]:
    return [_of_cell(result, failure.kind, "failed", failure.reason) for failure in result.failures]


def _table(frames: Sequence[pd.DataFrame], schema: Schema) -> pd.DataFrame:
    """Join frames, give the result the columns of a schema, and let missing whole numbers be empty."""
    names = schema.names
    kinds = {name: "Int64" for column in schema.columns if column.type in _WHOLE for name in column.names.split()}
    whole = [frame.reindex(columns=names).astype(kinds) for frame in frames]
    if not whole:
        return pd.DataFrame(columns=names).astype(kinds)
    table = pd.concat(whole, ignore_index=True) if len(whole) > 1 else whole[0]
    return table.fillna({column: "" for column in _TEXTS if column in table})
