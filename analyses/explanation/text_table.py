"""The per-text table, to which every test adds the columns that it declares.

All columns of the table pass through this module, so a column that is in the table has a label and a unit
(`attentionology.analyses.explanation.registry.check_tests` sees to these), belongs to exactly one test, and has one
value per text.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ...storage.plugins import RegistryError
from .batch import Rows
from .contract import ExplanationTest
from .registry import BASIC_COLUMNS, owner_of
from .tested import check_declared


@dataclass(frozen=True, eq=False)
class TextTable:
    """One row per tested text, with the basic columns and those of the tests.

    Attributes:
        rows: the rows, in the order of the texts.

    Raises:
        RegistryError: a column is neither basic nor declared by a test.
    """

    rows: pd.DataFrame

    def __post_init__(self) -> None:
        names = map(str, self.rows.columns)
        if unknown := [name for name in names if name not in BASIC_COLUMNS and name not in owner_of()]:
            raise RegistryError(f"no explanation test declares the column {unknown[0]!r} of the per-text table")

    def with_columns(self, test: ExplanationTest, columns: Rows) -> TextTable:
        """Return a copy with further columns of a test."""
        check_declared(test, columns)
        for name, values in columns.items():
            if name in self.rows:
                raise RegistryError(f"the explanation test {test.name!r} gives the column {name!r} twice")
            if len(values) != len(self.rows):
                raise RegistryError(
                    f"the explanation test {test.name!r} gives {len(values)} values of the column {name!r} for "
                    f"{len(self.rows)} texts"
                )
        return TextTable(self.rows.assign(**columns))
