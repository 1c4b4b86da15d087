"""The table and the run record of the control with random weights."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from .options import ControlOptions

RANDOM_WEIGHTS = (
    "The accuracy of the best head of a model with the same architecture, the trained embeddings and otherwise random "
    "weights, as the mean over the copies ({copies})."
)
"""What the legend says about the control."""


def control_table(controls: Sequence[pd.DataFrame], key: Sequence[str], name: str) -> dict[str, pd.DataFrame]:
    """Return the best heads of all randomly initialized copies as one table, under its name."""
    if not controls:
        return {}
    numbered = [control.assign(copy=k) for k, control in enumerate(controls, start=1)]
    return {name: pd.concat(numbered)[["copy", *key, "direction", "layer", "head", "correct", "total", "accuracy"]]}


def control_record(control: ControlOptions, seed: int) -> dict[str, object]:
    """Return the entry ``control`` of the run record; None stands for a run without a control."""
    copies = control.copies()
    seeds = list(range(seed, seed + copies))
    return {"control": {"kind": "random-init", "copies": copies, "seeds": seeds} if copies else None}
