"""How much of a score has been memorized? The same probes on the control task (Hewitt & Liang 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.columns import TableColumn
from .rows import ProbeQuestion, Tested, by_method, deviation, mean, scores


class Controls(ProbeQuestion):
    """How much of a score has been memorized?"""

    name = "controls"
    added = (
        TableColumn("control_accuracy", "share", "the accuracy on the control task", "control task", optional=True),
        TableColumn("control_sd", "share", "its standard deviation over runs"),
        TableColumn("selectivity", "points", "`uas` − `control_accuracy`", "selectivity", optional=True),
    )
    needs = ("scores",)
    template = Path(__file__).with_name("controls.html.j2")

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the accuracy of each method on the control task; NaN for those that are not trained on it."""
        on_control = by_method([attempt for attempt in counts.attempts if attempt.decoding == "argmax"], "control")
        accuracies = [scores(counts.words.scored, on_control.get(key, [])) for key in counts.groups]
        of_methods = pd.DataFrame(
            {"control_accuracy": map(mean, accuracies), "control_sd": map(deviation, accuracies)}, dtype=float
        )
        return of_methods.assign(selectivity=earlier["scores"]["uas"] - of_methods["control_accuracy"])

    def columns(self, answer: pd.DataFrame) -> pd.DataFrame:
        """Return them as they are."""
        return answer
