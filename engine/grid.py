"""``grid``: one command for every combination of some options, with one table of all runs.

Each combination is a cell: a run like any other, in a folder of its own, which `report`, `compare` and `merge` read.
A cell that has been run by the same command line is not run again, so a grid that was interrupted goes on where it
stopped. A cell that fails is named, and the others are run.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from ..analyses.contract import OptionError
from ..corpora_loaders import AttentionologyError
from ..reports.columns import Row, TableColumn
from ..reports.format import number, rows_of
from ..reports.progress import progress_bar
from ..reports.table import ShownTable
from ..storage.durable import write_durably
from ..storage.paths import check_kept_folder, find_repetition, read_record
from ..storage.short_names import distinguishing

Run = Callable[[Sequence[str]], None]
"""A function that runs a command line and raises the errors of the toolkit."""

DONE = "done"

_NUMBERS: Mapping[str, tuple[tuple[str, tuple[str, ...], str, str], ...]] = {
    "analyze": (
        ("dependency_best", ("relation",), "heldout_accuracy", ""),
        ("coreference_best", ("candidates", "type"), "heldout_accuracy", ""),
    ),
    "align": (
        ("alignment_best", ("setting", "measure", "heads"), "error_rate", ""),
        ("alignment_best", ("setting", "measure", "heads"), "mean_error_rate", "mean"),
    ),
    "probe": (("probe", ("method", "decoding"), "uas", ""),),
    "explain": (
        ("explain_models", (), "accuracy", "accuracy"),
        ("explain_models", (), "macro_f1", "macro_f1"),
        ("explain_models", (), "f1", "f1"),
        ("explain_summary", ("measure",), "mean", ""),
        ("explain_verdicts", ("question",), "verdict", ""),
    ),
}
"""The numbers of a run by command: a table, the columns that name its rows, the column with the value, and a word that
is added to the name."""

_ROWS: Mapping[str, tuple[str, str]] = {"explain_models": ("role", "base"), "explain_summary": ("predicted", "(all)")}
"""The rows of a table that are meant, if it has others, too: a column and its value there."""


@dataclass(frozen=True)
class Grid:
    """The cells of a grid."""

    command: str
    varied: Mapping[str, tuple[str, ...]]  # the values of each varied option; the last one varies fastest
    arguments: tuple[str, ...]  # the options that all cells have
    folder: Path  # where the results are

    def __post_init__(self) -> None:
        if self.command not in _NUMBERS:
            raise OptionError(f"grid runs {', '.join(_NUMBERS)}, not {self.command}")
        flags = {word.partition("=")[0] for word in self.arguments if word.startswith("--")}
        for name, values in self.varied.items():
            if f"--{name}" in flags:
                raise OptionError(f"--{name} is varied, so it cannot be among the options of all cells")
            if find_repetition(values):
                raise OptionError(f"--vary {name}: a value is given twice")
        if {"--out", "--overwrite", "--json"} & flags:
            raise OptionError("--out, --overwrite and --json are options of the grid, not of its cells")
        check_kept_folder(self.folder)

    def cells(self) -> list[dict[str, str]]:
        """Return the values of the varied options in each cell."""
        names = list(self.varied)
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*self.varied.values())]

    def folder_of(self, cell: Mapping[str, str]) -> Path:
        """Return the folder of a cell, whose name has its values."""
        number = self.cells().index(dict(cell)) + 1
        values = "-".join(re.sub(r"[^\w.+]+", "_", Path(value).name) for value in cell.values())
        return self.folder / "cells" / f"{number:03d}-{values[:80]}"

    def words_of(self, cell: Mapping[str, str]) -> list[str]:
        """Return the command line of a cell, without the name of the program. A plus sign joins several words."""
        varied = [word for name, value in cell.items() for word in (f"--{name}", *value.split("+"))]
        return [self.command, *self.arguments, *varied, "--out", str(self.folder_of(cell)), "--overwrite"]

    def is_done(self, cell: Mapping[str, str]) -> bool:
        """Whether a cell has been run by the command line that it has now."""
        # A results folder appears whole or not at all, so a record means that the cell was finished. The name of the
        # folder has the values that vary, but only the command line has the options of all cells, too.
        record = read_record(self.folder_of(cell))
        return record is not None and bool(record["command"] == shlex.join(["attentionology", *self.words_of(cell)]))


def check_cells(grid: Grid, checks: Sequence[Callable[[], None]]) -> None:
    """Raise the first error if every cell refuses its options, so that none is begun.

    Cells that refuse theirs beside others are named in the table, as cells that fail later are.

    Args:
        grid: the cells.
        checks: for each cell, what checks its options without reading anything.
    """
    first: AttentionologyError | None = None
    for cell, check in zip(grid.cells(), checks, strict=True):
        if grid.is_done(cell):
            return
        try:
            check()
            return
        except AttentionologyError as error:
            first = first or error
    if first is not None:
        raise first


def in_short(table: pd.DataFrame, grid: Grid) -> pd.DataFrame:
    """Return a table of `run_grid` as people read it: files have the names that tell them apart, without folders."""
    shown = table.copy()
    paths = {word.partition("=")[2] or word for word in grid.arguments}
    for option, values in grid.varied.items():
        parts = list(dict.fromkeys(part for value in values for part in value.split("+")))
        if any("/" in part for part in parts):
            short = distinguishing(parts)
            paths |= {*parts}
            shown[option] = ["+".join(short[part] for part in value.split("+")) for value in shown[option]]
    # A path may begin with another one.
    for path in sorted((path for path in paths if "/" in path), key=len, reverse=True):
        shown["status"] = [status.replace(path, Path(path).name) for status in shown["status"]]
    return shown


def run_grid(grid: Grid, run: Run) -> pd.DataFrame:
    """Run the cells that are not there yet, and return the table of the grid.

    The table has a row for each cell: the varied values, ``status`` (`DONE`, or why it failed), ``folder``, and the
    most important numbers of the run.
    """
    rows, cells = [], grid.cells()
    with progress_bar("cells", len(cells), unit="cells", remarks=True) as advance:
        for cell in cells:
            folder, status = grid.folder_of(cell), DONE
            if not grid.is_done(cell):
                try:
                    run(grid.words_of(cell))
                except (AttentionologyError, OSError) as error:
                    status = str(error)
            numbers = numbers_of(grid.command, folder) if status == DONE else {}
            rows.append({**cell, "status": status, "folder": str(folder.relative_to(grid.folder)), **numbers})
            advance(1, ", ".join(cell.values()))
    table = pd.DataFrame(rows)
    _write(grid.folder / "grid.csv", table)
    return table


def numbers_of(command: str, folder: Path) -> dict[str, Any]:
    """Return the most important numbers of a run by their names."""
    numbers: dict[str, Any] = {}
    for name, naming_columns, column, suffix in _NUMBERS[command]:
        path = folder / "tables" / f"{name}.csv"
        if not path.exists():
            continue
        table = pd.read_csv(path)
        if column not in table:
            continue
        if name in _ROWS:
            selecting_column, value = _ROWS[name]
            table = table[table[selecting_column] == value]
        # Tables of several kinds of maps or corpora say which one in a column of their own.
        all_naming = [*naming_columns, *(extra for extra in ("map", "corpus") if extra in table)]
        for row in table.to_dict("records"):
            words = [*(str(row[key]) for key in all_naming), suffix]
            numbers[" ".join(filter(None, words))] = row[column]
    return numbers


def spread(table: pd.DataFrame, varied: Sequence[str], over: str) -> pd.DataFrame:
    """Return mean, standard deviation and number of each numeric column over the values of one varied option.

    Cells that failed are left out. The standard deviation is that of a sample (n − 1), as in the tables of papers over
    training seeds; of a single cell it is NaN.
    """
    other_options = [name for name in varied if name != over]
    done = table[table["status"] == DONE]
    quantities = numeric(done, varied)
    rows = []
    groups = done.groupby(other_options, sort=False, dropna=False) if other_options else [((), done)]
    for values, group in groups:
        for quantity in quantities:
            column = group[quantity].dropna()
            if len(column):
                statistics = {"quantity": quantity, "mean": column.mean(), "sd": column.std(ddof=1), "n": len(column)}
                rows.append({**dict(zip(other_options, values, strict=True)), **statistics})
    return pd.DataFrame(rows, columns=[*other_options, "quantity", "mean", "sd", "n"])


def numeric(table: pd.DataFrame, varied: Sequence[str]) -> list[str]:
    """Return the columns of a table that are numbers of runs."""
    return [str(name) for name in table.select_dtypes("number") if name not in varied]


def shown_grid(table: pd.DataFrame, varied: Sequence[str], over: pd.DataFrame | None, name: str) -> list[ShownTable]:
    """Return the tables that people read: the cells, and means ± standard deviations over one option, if there is one.

    They have the first numbers of each cell; the CSV files have all of them. ``table`` is that of `run_grid`, ``over``
    that of `spread`, and ``name`` the option that `spread` is over.
    """
    all_numbers = numeric(table, varied)
    numbers = all_numbers[:_SHOWN]
    cells = _shown_table("grid", "Cells of the grid", table, varied, numbers, number)
    tables = [replace(cells, notes=_notes(len(all_numbers)) if (table["status"] == DONE).any() else ())]
    if over is not None:
        other_options = [option for option in varied if option != name]
        # `over` has a row for each quantity; people read a row for all quantities of the same other options.
        merged_rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in rows_of(over):
            values = {option: row[option] for option in other_options}
            merged_row = merged_rows.setdefault(tuple(values.values()), {**values, "n": 0})
            merged_row["n"] = max(merged_row["n"], row["n"])
        for row in rows_of(over):  # some quantities are those of fewer cells, such as the F1 of two classes
            merged_row = merged_rows[tuple(row[option] for option in other_options)]
            few = f" (n = {row['n']:,})" if row["n"] < merged_row["n"] else ""
            merged_row[row["quantity"]] = f"{number(row['mean'])} ± {number(row['sd'])}{few}"
        means = pd.DataFrame(list(merged_rows.values()))
        title = f"Means ± standard deviations over {name}"
        tables.append(_shown_table(f"grid_over_{name}", title, means, [*other_options, "n"], numbers, str))
    return tables


def _notes(numbers: int) -> tuple[str, ...]:
    """Say what the table of cells leaves out, if a cell has so many numbers."""
    if not numbers:
        return (
            "A grid has no numbers of these analyses: there is none that says how good a run is. Their tables are in "
            "the folders of the cells; attentionology compare tests how two of them differ.",
        )
    return (f"The first {_SHOWN} of {numbers:,} numbers; grid.csv has all.",) if numbers > _SHOWN else ()


def _shown_table(
    name: str,
    title: str,
    table: pd.DataFrame,
    options: Sequence[str],
    numbers: Sequence[str],
    text_of: Callable[[Any], str],
) -> ShownTable:
    """Return a table with options in its first columns and numbers in the others, which ``text_of`` writes."""
    # Keys of columns are separated by spaces, which the names of numbers can have.
    keys = {column: f"number_{index}" for index, column in enumerate(numbers)}
    columns = [
        *(TableColumn(option, "text", "", option) for option in options),
        *([TableColumn("status", "text", "", "status", wraps=True)] if "status" in table else []),
        *(TableColumn(key, "number", "", column, cell=partial(_cell, key, text_of)) for column, key in keys.items()),
    ]
    return ShownTable(name, title, columns, rows_of(table.rename(columns=keys)))


def _cell(key: str, text_of: Callable[[Any], str], row: Row) -> str:
    """Return how a row shows its number under a key: a dash if it is missing (NaN)."""
    return "–" if isinstance(row[key], float) and math.isnan(row[key]) else text_of(row[key])


_SHOWN = 5
"""How many numbers of each cell people see at once."""


def _write(path: Path, table: pd.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(path, table.to_csv(index=False, lineterminator="\n").encode())


def write_tables(folder: Path, tables: Sequence[ShownTable], over: pd.DataFrame | None, name: str) -> None:
    """Write the means ``over`` the varied option of this name, if they are given, and all tables as LaTeX."""
    if over is not None:
        _write(folder / f"grid_over_{name}.csv", over)
    for table in tables:
        write_durably(folder / f"{table.name}.tex", table.latex().encode())
