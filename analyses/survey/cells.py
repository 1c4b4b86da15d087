"""The cells of a survey: what one model does on one treebank, or why it could not be counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd


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
    # `attentionology.analyses.dependency.tables.DependencyTables.best` of each kind of map that could be counted, with
    # the columns of the control if there is one
    best: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    failures: tuple[CellFailure, ...] = ()  # why other kinds, or all of them, could not be counted
    record: Mapping[str, Any] | None = None  # the run record; None if the whole cell failed
    seconds: float = 0.0  # the time that the cell took in this run, which is short if its parts had been counted before
