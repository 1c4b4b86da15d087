"""Compared models, text by text: what they predict, and how much they differ from the tested model."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from .batch import Values


@dataclass(frozen=True, eq=False)
class ModelPredictions:
    """What a model predicts for the tested texts.

    Attributes:
        model, role: the name of the model in tables, and what it was trained for.
        probabilities: the probabilities of the classes, shape (texts, classes).
    """

    model: str
    role: str
    probabilities: Values

    def rows(self) -> pd.DataFrame:
        """Return one row per text: ``model, role`` and the probability of each class."""
        names = [f"p{index}" for index in range(self.probabilities.shape[1])]
        return pd.DataFrame(self.probabilities, columns=names).assign(model=self.model, role=self.role)


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """How much other attention differs from the tested model's, and how much it changes the output, text by text.

    Attributes:
        kind: ``adversary``, ``seed`` or ``per text``.
        name: the name of the model or the search.
        strength: λ of a trained adversary; NaN for others.
        jsd: the Jensen-Shannon divergence of the attention, in nats, shape (texts,); NaN where there is none.
        tvd: the total variation distance of the output, shape (texts,); NaN where there is none.
    """

    kind: str
    name: str
    strength: float
    jsd: Values
    tvd: Values

    def rows(self) -> pd.DataFrame:
        """Return one row per text, with the columns of the table ``explain_curve``."""
        values = {"kind": self.kind, "name": self.name, "lambda": self.strength, "jsd": self.jsd, "tvd": self.tvd}
        return pd.DataFrame(values)
