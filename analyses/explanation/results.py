"""What the explanation tests found: tables, and what people read about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from ..shared.previews import results_html, results_line


@dataclass(frozen=True)
class Highlight:
    """Weights of the words of a text by one measure."""

    name: str
    weights: tuple[float, ...]  # one per word; NaN where it has none
    note: str = ""  # what a reader should know of it


@dataclass(frozen=True)
class HighlightedText:
    """A text to look at, with the weights of its words by several measures."""

    words: tuple[str, ...]
    label: str
    predicted: str
    probability: float  # of the predicted class
    panels: tuple[Highlight, ...]
    query: tuple[str, ...] = ()
    probability_of_label: float = math.nan
    from_word: tuple[float, ...] = ()  # probability of the label if all attention is on a word; empty if not computed


class ExplainResults(NamedTuple):
    """The results of the explanation tests. Tests that did not run have no columns and no rows."""

    texts: pd.DataFrame  # one row per tested text, with the columns of the tests that ran
    summary: pd.DataFrame  # the means of these columns, overall and by predicted class
    verdicts: pd.DataFrame  # one row per question; without columns if there is no question
    models: pd.DataFrame  # `model, role, accuracy, low, high, macro_f1, f1, auc`
    curve: pd.DataFrame  # `kind, name, lambda, jsd, tvd` of other attention, as means over the texts
    tables: Mapping[str, pd.DataFrame]  # further tables of single tests, by their names
    history: pd.DataFrame  # `model, epoch, loss, dev_auc` of every training
    classes: tuple[str, ...]  # the names of the classes, in the order of `predicted`
    examples: tuple[HighlightedText, ...] = ()  # texts with the weights of their words
    epsilon: float = 0.05  # changes of the output up to this value count as no change
    facts: tuple[str, ...] = ()  # what was tested on which texts, one phrase each
    notes: tuple[str, ...] = ()  # remarks on how the numbers were computed, one sentence each
    left_out: tuple[tuple[str, str], ...] = ()  # the tests that did not run, each with the reason
    item: str = "word"  # what attention runs over: `word`, or `sentence` for documents

    def table(self, name: str) -> pd.DataFrame:
        """Return a further table of a test; an empty one if the test did not make it."""
        return self.tables.get(name, pd.DataFrame())

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)
