"""What the explanation tests found: tables, and what people read about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from attentionology.analyses.shared.previews import results_html, results_line


@dataclass(frozen=True)
class Highlight:
    """Weights of the words of a text by one measure.

    Attributes:
        name: of the measure.
        weights: one per word; NaN where it has none.
        note: what a reader should know of it.
    """

    name: str
    weights: tuple[float, ...]
    note: str = ""


@dataclass(frozen=True)
class HighlightedText:
    """A text to look at.

    Attributes:
        words: its words.
        label, predicted: names of classes.
        probability: of the predicted class.
        panels: the weights of its words by several measures.
    """

    words: tuple[str, ...]
    label: str
    predicted: str
    probability: float
    panels: tuple[Highlight, ...]


class ExplainResults(NamedTuple):
    """What was found. Tests that did not run have no columns and no rows.

    Attributes:
        texts: one row per tested text, with the columns of the tests that ran.
        summary: means of these, overall and by predicted class.
        verdicts: one row per question; without columns if there is none.
        models: ``model, role, accuracy, low, high, macro_f1, f1, auc``.
        curve: ``kind, name, lambda, jsd, tvd`` of attention elsewhere, means over the texts.
        tables: further tables of single tests, by their names.
        history: ``model, epoch, loss, dev_auc`` of every training.
        classes: names, in the order of ``predicted``.
        examples: texts with the weights of their words.
        epsilon: change of the output that counts as none.
        facts: what was tested on what, a phrase each.
        notes: how the numbers came about, a sentence each.
        left_out: tests that did not run, and why.
    """

    texts: pd.DataFrame
    summary: pd.DataFrame
    verdicts: pd.DataFrame
    models: pd.DataFrame
    curve: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    history: pd.DataFrame
    classes: tuple[str, ...]
    examples: tuple[HighlightedText, ...] = ()
    epsilon: float = 0.05
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    def table(self, name: str) -> pd.DataFrame:
        """A further table of a test; empty where it was not made."""
        return self.tables.get(name, pd.DataFrame())

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)
