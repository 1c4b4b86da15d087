"""Previews of results in a Python session: a line with all tables, and in a notebook the first rows of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import pandas as pd

from ...storage.characters import in_html

_ROWS, _COLUMNS = 5, 30


def tables_of(results: Any) -> dict[str, pd.DataFrame]:
    """Return the tables of a dataclass or named tuple, by the expressions that reach them from it."""
    return {path: table for name in _names(results) for path, table in _tables(name, getattr(results, name))}


def _names(value: Any) -> Sequence[str]:
    """Return the names of the fields of a dataclass or of a named tuple; none of anything else."""
    return [field.name for field in fields(value)] if is_dataclass(value) else getattr(value, "_fields", ())


def _tables(path: str, value: Any) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the tables in a value, by the expressions that reach them from ``path``."""
    if isinstance(value, pd.DataFrame):
        yield path, value
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from _tables(f"{path}[{key!r}]", member)
    elif names := _names(value):
        for name in names:
            yield from _tables(f"{path}.{name}", getattr(value, name))
    elif isinstance(value, tuple):
        for index, member in enumerate(value):
            yield from _tables(f"{path}[{index}]", member)


def results_line(results: Any) -> str:
    """Return the class and the tables of results on one line, each table with its numbers of rows and columns."""
    tables = ", ".join(f"{path}: {_shape(table)}" for path, table in tables_of(results).items())
    return f"{type(results).__name__}({tables})"


def results_html(results: Any) -> str:
    """Return the first rows of all tables as HTML, in which all text is escaped."""
    shown = ""
    for path, table in tables_of(results).items():
        rows = table.head(_ROWS).to_html(index=False, border=0, max_cols=_COLUMNS)
        shown += f"<p><b>{in_html(path)}</b>, {_shape(table)}</p>{rows}"
    return shown


def _shape(table: pd.DataFrame) -> str:
    rows, columns = table.shape
    return f"{rows:,} × {columns}"


class Previewed:
    """The base class of results that are dataclasses; these are declared with ``repr=False``."""

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)


class Answers(Previewed):
    """The base class of results of an analysis of questions: the answers are attributes by the names of the questions.

    Attributes:
        answers: the answers of all questions that the run has asked, by name.
    """

    answers: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        """Return the answer of a question that the run has asked."""
        answers = self.__dict__.get("answers", {})
        if name not in answers:
            raise AttributeError(f"the results have no {name!r}; the run has asked {', '.join(answers)}")
        return answers[name]
