"""What do heads with random weights find? The best heads of copies of the model, beside those of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ...reports.columns import Schema, TableColumn
from ..contract import Request
from ..counting.best_head import control_columns, control_table
from ..shared.control import CONTROL_COLUMNS
from .rows import CONTROL as NAME
from .rows import KEYS, CoreferenceQuestion, CoreferenceResults, Mentions, Planned

CONTROL = Schema(
    "coreference_control",
    "With `--control`. One row per copy with random weights, kind of candidates and type: the best head of the copy.",
    (
        TableColumn("copy", "number from 1", "the copy"),
        TableColumn("candidates type direction", "text", "as in `coreference.csv`"),
        TableColumn("layer head", "number from 1", "the best head"),
        TableColumn("correct total", "count", "found and scored mentions"),
        TableColumn("accuracy", "share", "`correct` / `total`"),
    ),
)


class Control(CoreferenceQuestion):
    """What do the best heads of copies with random weights find?"""

    name = NAME
    tables = (CONTROL,)
    added = CONTROL_COLUMNS

    def requests(self, planning: Planned) -> Iterable[Request]:
        """Count the heads of each copy."""
        return planning.accuracy_requests()[1:]

    def find(self, counts: Mentions, looked: Any, earlier: Mapping[str, Any]) -> tuple[pd.DataFrame, ...] | None:
        """Return the table of the best heads of each copy."""
        return tuple(copy.compute().best for copy in counts.copies()) or None

    def columns(self, answer: tuple[pd.DataFrame, ...]) -> pd.DataFrame:
        """Return the mean and the largest accuracy of the best heads of the copies."""
        return control_columns(answer, KEYS)

    def frames(self, answer: tuple[pd.DataFrame, ...], results: CoreferenceResults) -> Mapping[str, pd.DataFrame]:
        """Return the best heads of all copies as one table."""
        return control_table(answer, KEYS, CONTROL.name)
