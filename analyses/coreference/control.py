"""What do heads with random weights find? The best heads of copies of the model, beside those of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...reports.columns import Schema, TableColumn
from ..shared.control import OfCopies
from .rows import KEYS, CoreferenceQuestion, Mentions

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


class Control(OfCopies, CoreferenceQuestion):
    """What do the best heads of copies with random weights find?"""

    tables = (CONTROL,)
    keys = KEYS

    def find(self, counts: Mentions, lookups: Any, earlier: Mapping[str, Any]) -> tuple[pd.DataFrame, ...] | None:
        """Return the table of the best heads of each copy."""
        return tuple(copy.compute().best for copy in counts.copies()) or None
