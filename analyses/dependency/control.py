"""What do heads with random weights find? The best heads of copies of the model, beside those of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...reports.columns import Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ..shared.control import OfCopies
from ..shared.measures import share
from .findings import strongest_rule
from .rows import DependencyQuestion, DependencyResults, Words, address_of, count_claims

CONTROL = Schema(
    "dependency_control",
    "With `--control`. One row per copy with random weights and relation: the best head of the copy.",
    (
        TableColumn("copy", "number from 1", "the copy"),
        TableColumn("relation", "text", "the relation"),
        TableColumn("direction", "text", "the direction of the best head"),
        TableColumn("layer head", "number from 1", "the best head"),
        TableColumn("correct total", "count", "words whose syntactic head is found, and all words of the relation"),
        TableColumn("accuracy", "share", "`correct` / `total`"),
    ),
)


class Control(OfCopies, DependencyQuestion):
    """What do the best heads of copies with random weights find?"""

    tables = (CONTROL,)
    keys = ("relation",)

    def find(self, counts: Words, lookups: Any, earlier: Mapping[str, Any]) -> tuple[pd.DataFrame, ...] | None:
        """Return the table of the best heads of each copy."""
        return tuple(copy.compute(counts.facts.asked).best for copy in counts.copies()) or None

    def explore(
        self, answer: tuple[pd.DataFrame, ...], counts: Words, results: DependencyResults, kind: str
    ) -> Contribution | None:
        """Compare the best heads of some relations with those of the copies."""
        if not (rows := results.largest_gains or results.frequent):
            return None
        which = f"the {count_claims(results)}"
        if results.certain:
            beaten = f"{len(rows)} relations" if len(rows) > 1 else "one relation"
            which = f"the {beaten} in which one head beats the offset"
        copies = "a copy" if len(answer) == 1 else f"{len(answer)} copies"
        random, trained = (float(np.mean([row[name] for row in rows])) for name in ("control_accuracy", "accuracy"))
        rules = results.answers.get("rules")
        strongest = [strongest_rule(row, None if rules is None else rules.best).rate for row in rows]
        heldout = float(np.mean([row["heldout_accuracy"] for row in rows]))
        text = (
            f"{share(random)} on average is what the best heads of {copies} of the model with random weights reach for "
            f"{which}, where those of the model reach {share(trained)} on the same text; {share(heldout)} held out, "
            f"and {share(float(np.mean(strongest)))} by the strongest rules."
        )
        # The explorer has the heads of the model alone, whose cards show what those of the copies find beside them.
        return Contribution(findings=(Finding(text, address_of(rows[0], kind)),))
