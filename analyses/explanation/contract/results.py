"""What the explanation tests found: tables, and what people read about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from ...shared.previews import results_html, results_line


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
    """The results of the explanation tests. Tests that did not run have no columns and no rows.

    Attributes:
        texts: one row per tested text: ``id``, ``words``, ``label``, the ``predicted`` class with its ``probability``,
            and the columns of the tests that ran, such as ``tau_gradient``, ``adversarial_jsd`` or ``uniform_flip``.
        summary: the ``mean``, ``sd`` and ``median`` of each ``measure`` of a ``test``, over all texts and by
            ``predicted`` class. ``n`` counts the texts, ``low`` and ``high`` are 95 % intervals of the mean.
        verdicts: one row per ``test`` and ``question``: ``compared`` says what is compared with what, ``difference``
            is the mean difference with its interval from ``low`` to ``high``, and ``verdict`` is ``"passes"``,
            ``"fails"`` or ``"undecided"``. Without columns if there is no question.
        models: one row per ``model`` and ``role``: ``accuracy`` with its interval, ``macro_f1``, ``f1`` and ``auc``.
        curve: means over the texts of the change of the output (``tvd``) and of attention (``jsd``), by ``kind``,
            ``name`` and ``lambda`` of the other attention.
        tables: further tables of single tests by name, such as ``tables["regularizers"]``.
        history: one row per ``model``, ``role`` and ``epoch`` of a training, with ``loss`` and ``dev_auc``.
        classes: the names of the classes, in the order of ``predicted``.
        examples: texts with the weights of their words.
        epsilon: changes of the output up to this value count as no change.
        facts: what was tested on which texts, one phrase each.
        notes: remarks on how the numbers were computed, one sentence each.
        left_out: the tests that did not run, each with the reason.
        item: what attention runs over, ``"word"``, or ``"sentence"`` for documents.
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
    item: str = "word"

    def table(self, name: str) -> pd.DataFrame:
        """Return a further table of a test; an empty one if the test did not make it."""
        return self.tables.get(name, pd.DataFrame())

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)
