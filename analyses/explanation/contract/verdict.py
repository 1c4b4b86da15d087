"""The verdicts: which tests the attention of a model passes on some data.

Every question compares two numbers of the same texts. One of them is a floor: the value that chance, another seed, or
another measure gives. The mean difference has a bootstrap interval, and the question is decided only if the interval
excludes 0. There is no correction for the number of questions, because the verdict on a question would then depend on
which other questions were asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..attention.exact_adversary import EPSILON
from .explanation_test import Question
from .registry import in_order_of_report
from .summary import Bootstrap

Verdict = Literal["passes", "fails", "undecided"]

FEWEST = 30
"""The least number of different texts for a verdict. With fewer texts, bootstrap intervals are not reliable."""

ROUNDING = 2e-7
"""The largest difference of a text that counts as 0, because it may come from rounding in float32. Otherwise the sign
of a rounding error that all texts share would decide. In a text of one word, for example, the best word and a random
word are the same."""


def all_questions() -> list[tuple[str, Question]]:
    """Return the questions of all tests, each with the name of its test, in the order of the report."""
    return [(test.name, question) for test in in_order_of_report() for question in test.questions]


def verdicts(
    texts: pd.DataFrame,
    bootstrap: Bootstrap,
    *,
    epsilon: float = EPSILON,
    questions: Sequence[tuple[str, Question]] | None = None,
) -> pd.DataFrame:
    """Decide the questions whose columns are in the per-text table, see `EXPLAIN_VERDICTS`."""
    table = texts.assign(epsilon=epsilon)
    rows: list[dict[str, Any]] = []
    for test, question in all_questions() if questions is None else questions:
        smaller = next((name for name in (question.smaller, *question.searches) if name in table), None)
        if question.larger not in table or smaller is None:
            continue
        pairs = table[[question.larger, smaller]].to_numpy(dtype=np.float64)
        difference = pairs[:, 0] - pairs[:, 1]
        defined = ~np.isnan(difference)
        (low,), (high,) = bootstrap(np.where(np.abs(difference) <= ROUNDING, 0.0, difference)[:, None])
        larger_mean, smaller_mean = pairs[defined].mean(axis=0) if defined.any() else (np.nan, np.nan)
        n_texts = bootstrap.distinct(defined)
        verdict, meaning = _judge(float(low), float(high), n_texts, question)
        if verdict == "passes" and smaller in question.searches:
            verdict, meaning = "undecided", "A search found no such attention, which does not prove that there is none."
        rows.append(
            {
                "test": test,
                "question": question.question,
                "compared": question.compared,
                "larger": question.larger,
                "larger_mean": larger_mean,
                "smaller": smaller,
                "smaller_mean": smaller_mean,
                "n": n_texts,
                "difference": difference[defined].mean() if defined.any() else np.nan,
                "low": low,
                "high": high,
                "verdict": verdict,
                "meaning": meaning,
            }
        )
    return pd.DataFrame(rows)


def _judge(low: float, high: float, n_texts: int, question: Question) -> tuple[Verdict, str]:
    """Return the verdict and its meaning, given the interval of the difference and the number of different texts."""
    if not n_texts:
        return "undecided", "No text has both values."
    if n_texts < FEWEST:
        subject = "texts have" if n_texts > 1 else "text has"
        return "undecided", f"Only {n_texts} different {subject} both values, which is too few."
    if np.isnan(low):
        return "undecided", "There is no interval, so the question is not decided."
    if low > 0:
        return "passes", question.passed
    if high < 0:
        return "fails", question.failed
    return "undecided", "The interval includes 0, so there is no evidence either way."
