"""The control with random weights, beside the trained model."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from attentionology.analyses.shared.options import ControlOptions


def control_table(controls: Sequence[pd.DataFrame], key: Sequence[str], name: str) -> dict[str, pd.DataFrame]:
    """The best heads of randomly initialized copies, numbered from 1, under ``name``; empty without copies.

    Args:
        controls: the best-heads table of each copy.
        key: the columns that distinguish its rows.
        name: the name of the table.
    """
    if not controls:
        return {}
    numbered = [control.assign(copy=k) for k, control in enumerate(controls, start=1)]
    return {name: pd.concat(numbered)[["copy", *key, "direction", "layer", "head", "correct", "total", "accuracy"]]}


def control_record(control: ControlOptions, seed: int) -> dict[str, object]:
    """What the run record holds about the control."""
    copies = control.copies()
    seeds = list(range(seed, seed + copies))
    return {"control": {"kind": "random-init", "copies": copies, "seeds": seeds} if copies else None}
