"""The tables of a run, and how two runs that must have the same tables differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ..reports.columns import Schema
from ..reports.tables import csv_text
from .failing import fail, quote

CLOSE, NEGLIGIBLE = 1e-3, 1e-5
"""The relative and the absolute difference up to which values agree that are computed in other batches, in which
float32 rounds otherwise."""

_PLACE = re.compile("[A-Z]{2,}")

Tables = Mapping[str, pd.DataFrame]


def check_equal(found: Tables, expected: Tables, when: str, advice: str) -> None:
    """Check that tables are equal to the last digit, row by row."""
    _check_headers(found, expected, when, advice)
    for name, table in expected.items():
        if csv_text(table) != csv_text(found[name]):
            fail(f"{_first_difference(name, found[name], table)} {when}", advice)


def check_close(found: Tables, expected: Tables, when: str, advice: str) -> None:
    """Check that tables are equal but for the rounding of float32."""
    _check_headers(found, expected, when, advice)
    for name, table in expected.items():
        other = found[name]
        if len(table) != len(other):
            fail(f"The table {name!r} has {len(other)} rows instead of {len(table)} {when}", advice)
        for column in table:
            pairs = zip(other[column], table[column], strict=True)
            for row, (one, two) in enumerate(pairs, start=1):
                if not _agree(one, two):
                    fail(f"{_cell(name, row, column, one, two)} {when}", advice)


def check_same_rows(found: Tables, expected: Tables, names: Mapping[str, str], when: str, advice: str) -> None:
    """Check that tables have the same rows in any order once the ``names`` in the expected ones are replaced."""
    _check_headers(found, expected, when, advice)
    for name, table in expected.items():
        one, two = (Counter(_rows(each, mapped)) for each, mapped in ((found[name], {}), (table, names)))
        if one != two:
            only = next(iter((one - two) or (two - one)))
            which = "has a row that it should not have" if one - two else "lacks a row"
            fail(f"The table {name!r} {which} {when}: {quote(', '.join(only))}", advice)


def check_headers(found: Tables, expected: Tables, when: str) -> None:
    """Check that each table has the columns that it has elsewhere. A run may lack whole tables."""
    for name in found.keys() & expected.keys():
        one, two = list(found[name]), list(expected[name])
        if one != two:
            differing = [str(column) for column in (*one, *two) if (column in one) != (column in two)]
            fail(
                f"The table {name!r} has other columns {when}: {quote(', '.join(differing) or 'their order differs')}",
                "Programs read columns by name, so make the same columns of every corpus, with empty cells if need be",
            )


def check_declared(found: Tables, schemas: Sequence[Schema]) -> None:
    """Check that the tables with a schema have the columns that it declares, and those of one entry in its order.

    Words in capitals, as in ``LAYER-HEAD``, stand for others.
    """
    for schema in schemas:
        columns = [str(column) for column in found.get(schema.name, ()) if column != "map"]  # which kinds of maps add
        declared = re.compile("|".join(_PLACE.sub(".+", re.escape(name)) for name in schema.names))
        if undeclared := [column for column in columns if not declared.fullmatch(column)]:
            fail(f"The schema of the table {schema.name!r} lacks {quote(undeclared[0])}", "Declare all columns")
        for entry in schema.columns:
            names = [name for name in entry.names.split() if name in columns]
            if names != [column for column in columns if column in names]:
                fail(f"The table {schema.name!r} has {' '.join(names)} in another order", "Write them as declared")


def check_finite(found: Tables, where: str) -> None:
    """Check that no number is infinite. A value that is not defined is NaN, an empty cell of the file."""
    for name, table in found.items():
        for column in table.select_dtypes("number"):
            if np.isinf(table[column].to_numpy(dtype=float)).any():
                fail(
                    f"The column {column!r} of the table {name!r} has infinite values {where}",
                    "Write NaN where a value is not defined",
                )


def _check_headers(found: Tables, expected: Tables, when: str, advice: str) -> None:
    if list(found) != list(expected):
        fail(f"The tables are {', '.join(found) or 'none'} instead of {', '.join(expected) or 'none'} {when}", advice)
    for name, table in expected.items():
        if list(found[name]) != list(table):
            fail(f"The table {name!r} has other columns {when}", advice)


def _first_difference(name: str, found: pd.DataFrame, expected: pd.DataFrame) -> str:
    """Describe the first cell in which two tables with the same columns differ."""
    if len(found) != len(expected):
        return f"The table {name!r} has {len(found)} rows instead of {len(expected)}"
    for row in range(len(found)):
        for column in found:
            one, two = found[column].iloc[row], expected[column].iloc[row]
            if (_is_missing(one) != _is_missing(two)) or (not _is_missing(one) and one != two):
                return _cell(name, row + 1, column, one, two)
    return f"The file {name}.csv is written otherwise"


def _cell(name: str, row: int, column: object, found: object, expected: object) -> str:
    return f"The table {name!r} has {quote(found)} instead of {quote(expected)} in row {row}, column {column!r},"


def _agree(one: object, two: object) -> bool:
    if _is_missing(one) or _is_missing(two):
        return _is_missing(one) and _is_missing(two)
    if isinstance(one, float | np.floating) and isinstance(two, float | np.floating):
        return bool(np.isclose(one, two, rtol=CLOSE, atol=NEGLIGIBLE))
    return bool(one == two)


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _rows(table: pd.DataFrame, names: Mapping[str, str]) -> list[tuple[str, ...]]:
    rows = []
    for row in table.itertuples(index=False):
        cells = []
        for cell in row:
            text = str(cell)
            for plain, name in names.items():
                text = text.replace(plain, name)
            cells.append(text)
        rows.append(tuple(cells))
    return rows
