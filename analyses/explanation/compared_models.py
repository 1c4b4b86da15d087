"""Rows of the tables of compared models: how good a model is, and how much it differs from the tested model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModelScore:
    """How good a model is on the tested texts; see `attentionology.analyses.explanation.summary.quality`.

    Attributes:
        model, role: the name of the model in tables, and what it was trained for.
        accuracy: the share of correct decisions.
        low, high: the 95 % interval of the accuracy.
        macro_f1, f1, auc: further measures.
    """

    model: str
    role: str
    accuracy: float
    low: float
    high: float
    macro_f1: float
    f1: float
    auc: float


@dataclass(frozen=True)
class CurvePoint:
    """How much other attention differs from the tested model's, and how much it changes the output: means over texts.

    Attributes:
        kind: ``adversary``, ``seed`` or ``per text``.
        name: the name of the model or the search.
        strength: λ of a trained adversary; NaN for others.
        jsd: the Jensen-Shannon divergence of the attention, in nats.
        tvd: the total variation distance of the output.
    """

    kind: str
    name: str
    strength: float
    jsd: float
    tvd: float

    def row(self) -> dict[str, Any]:
        """Return the row of the table ``explain_curve``."""
        return {"kind": self.kind, "name": self.name, "lambda": self.strength, "jsd": self.jsd, "tvd": self.tvd}
