"""Rows of the tables of models that are compared: how good a model is, and how far it is from the tested one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModelScore:
    """How good a model is on the tested texts; see `attentionology.analyses.explanation.summary.quality`.

    Attributes:
        model, role: what it is called in tables, and what it was trained for.
        accuracy: share of right decisions.
        low, high: its 95 % interval.
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
    """Attention elsewhere, in the plane of how far it is and how much it changes the output; means over the texts.

    Attributes:
        kind: ``adversary``, ``seed`` or ``per text``.
        name: of the model or the search.
        strength: λ of a trained adversary, NaN for others.
        jsd: difference of the attention in nats.
        tvd: difference of the output.
    """

    kind: str
    name: str
    strength: float
    jsd: float
    tvd: float

    def row(self) -> dict[str, Any]:
        """A row of the table ``explain_curve``."""
        return {"kind": self.kind, "name": self.name, "lambda": self.strength, "jsd": self.jsd, "tvd": self.tvd}
