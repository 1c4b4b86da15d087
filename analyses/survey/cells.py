"""The cells of a survey: what one model does on one treebank, or why it could not be counted."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Cell:
    """One model on one treebank. All kinds of maps belong to one cell, because they are made in the same pass.

    Attributes:
        model: the name of the model in tables.
        treebank: the name of the treebank in tables.
    """

    model: str
    treebank: str


@dataclass(frozen=True)
class CellFailure:
    """The reason why a cell, or one kind of maps in it, has no numbers.

    Attributes:
        kind: the kind of map; empty if all kinds of the cell failed for the same reason.
        reason: what went wrong.
    """

    kind: str
    reason: str


@dataclass(frozen=True, eq=False)
class MapResult:
    """The best heads of one kind of map in a cell.

    Attributes:
        kind: the kind of map.
        best: `attentionology.analyses.dependency.tables.DependencyTables.best`, with the columns of the control if
            there is one.
    """

    kind: str
    best: pd.DataFrame


@dataclass(frozen=True)
class CellFacts:
    """What was read in a cell, and what identifies it.

    Attributes:
        revision: the commit of a model on the Hub, None for a model in a folder.
        weights_sha256: the SHA-256 of all weights.
        layers, heads: the shape of the model.
        files: the path and the SHA-256 of each corpus file.
        sentences: the number of sentences that the model read.
        skipped: the number of sentences that it did not read.
        words: the number of words that it read.
        warnings: what a reader should know before reading the numbers.
    """

    revision: str | None
    weights_sha256: str
    layers: int
    heads: int
    files: tuple[tuple[str, str], ...]
    sentences: int
    skipped: int
    words: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CellResult:
    """What came out of a cell.

    Attributes:
        cell: the cell.
        maps: the results of each kind of map that could be counted.
        failures: why other kinds, or all of them, could not be counted.
        facts: what was read; None if the whole cell failed.
        seconds: the time that the cell took in this run, which is short if its parts had been counted before.
    """

    cell: Cell
    maps: tuple[MapResult, ...] = ()
    failures: tuple[CellFailure, ...] = ()
    facts: CellFacts | None = None
    seconds: float = 0.0
