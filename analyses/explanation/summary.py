"""Per-text numbers → means with intervals, overall and by predicted class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from jaxtyping import Float
from numpy import ndarray
from sklearn.metrics import f1_score, roc_auc_score

from attentionology.analyses.explanation.batch import Values
from attentionology.analyses.shared.resampling import poisson_weights
from attentionology.extractors.replaceable.attention_model import Words

OVERALL = "(all)"
"""In place of a predicted class: all texts."""


class Bootstrap:
    """95 % intervals of means over texts; texts with the same words are drawn together.

    A bootstrap asks how much a mean would vary if the texts had been others like these: it draws the texts again, with
    replacement, and computes the mean of each draw. Here, every text is drawn a Poisson(1) number of times instead, the
    limit of drawing with replacement from many texts. How often a text is drawn in a replicate then depends on its own
    words and the seed alone, and on no other text. Three things follow. All columns and all models are resampled with
    the same weights, so differences between them are paired, and the interval of a difference is that of a column of
    differences. The result does not depend on the order of the texts or on which others were tested. And copies of one
    text get the same weight: they are one observation, not several, so a file that repeats its texts does not get
    narrower intervals. What is undefined for a text (NaN) is left out of numerator and denominator of each mean.

    Args:
        texts: the words of each.
        replicates: how many; 0: no intervals.
        seed: of the draws.
    """

    def __init__(self, texts: Sequence[Words], replicates: int = 1000, seed: int = 0) -> None:
        self.texts = np.unique(["\x1f".join(text) for text in texts], return_inverse=True)[1]
        self.weights = poisson_weights(["\x1f".join(text) for text in texts], replicates, seed).astype(np.float64)

    def distinct(self, there: npt.NDArray[np.bool_]) -> int:
        """How many different texts are among those."""
        return len(np.unique(self.texts[there]))

    def __call__(self, values: Float[ndarray, "texts columns"]) -> tuple[Values, Values]:
        """Lower and upper bound of the mean of each column over the texts that are not NaN; NaN where there is none."""
        there = ~np.isnan(values)
        if not len(self.weights):
            unknown = np.full(values.shape[1], np.nan)
            return unknown, unknown
        with np.errstate(invalid="ignore"):
            means = (self.weights @ np.where(there, values, 0.0)) / (self.weights @ there.astype(np.float64))
        bounds = np.full((2, values.shape[1]), np.nan)
        several = np.array([self.distinct(defined) > 1 for defined in there.T], dtype=bool)
        bounds[:, several] = np.nanquantile(means[:, several], (0.025, 0.975), axis=0)
        return bounds[0], bounds[1]


def summarize(
    texts: pd.DataFrame, tests: Mapping[str, Sequence[str]], classes: Sequence[str], bootstrap: Bootstrap
) -> pd.DataFrame:
    """Means of per-text columns.

    Args:
        texts: as of `attentionology.analyses.explanation.batch.examine`, with more columns.
        tests: columns of each test.
        classes: names, in the order of ``predicted``.
        bootstrap: of these texts.

    Returns:
        ``test, measure, predicted`` (a class, or `OVERALL`), ``n`` (texts with a value), ``undefined`` (without),
        ``mean, sd, median, low, high``. One row for each column and class.
    """
    rows: list[dict[str, Any]] = []
    groups = [(OVERALL, np.ones(len(texts), dtype=bool))]
    groups += [(name, (texts["predicted"] == c).to_numpy()) for c, name in enumerate(classes)]
    for test, columns in tests.items():
        names = list(columns)
        values = texts[names].to_numpy(dtype=np.float64)
        for group, chosen in groups:
            chosen_values = np.where(chosen[:, None], values, np.nan)
            low, high = bootstrap(chosen_values)
            for c, measure in enumerate(names):
                there = chosen_values[~np.isnan(chosen_values[:, c]), c]
                rows.append(
                    {
                        "test": test,
                        "measure": measure,
                        "predicted": group,
                        "n": len(there),
                        "undefined": int(chosen.sum()) - len(there),
                        "mean": there.mean() if len(there) else np.nan,
                        "sd": there.std(ddof=1) if len(there) > 1 else np.nan,
                        "median": np.median(there) if len(there) else np.nan,
                        "low": low[c],
                        "high": high[c],
                    }
                )
    return pd.DataFrame(rows)


def quality(probabilities: Float[ndarray, "texts classes"], labels: npt.NDArray[np.int64]) -> dict[str, float]:
    """How good a classifier is.

    Returns:
        ``accuracy``; ``macro_f1``: mean over the classes; ``f1``: of the second of two classes, as the papers have it,
        NaN for more; ``auc``: area under the ROC curve, of more than two classes the mean of each against all others;
        NaN if all texts have the same label.
    """
    predicted, classes = probabilities.argmax(1), probabilities.shape[1]
    areas = [
        roc_auc_score(labels == c, probabilities[:, c])
        for c in (range(classes) if classes > 2 else (1,))
        if 0 < (labels == c).sum() < len(labels)
    ]
    undefined = cast(Any, 0.0)  # type checkers infer str from the default value of zero_division
    return {
        "accuracy": float((predicted == labels).mean()),
        "macro_f1": float(f1_score(labels, predicted, average="macro", labels=range(classes), zero_division=undefined)),
        "f1": float(f1_score(labels, predicted, zero_division=undefined)) if classes == 2 else np.nan,
        "auc": float(np.mean(areas)) if areas else np.nan,
    }
