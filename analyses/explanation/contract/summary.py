"""Means of per-text numbers with intervals, over all texts and by predicted class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from jaxtyping import Float
from numpy import ndarray
from sklearn.metrics import f1_score, roc_auc_score

from ....extractors.replaceable.attention_model import Words
from ...counting.comparable import Measured
from ...counting.resampling import sentence_keys, weights_of_keys
from ..attention.batch import Values

OVERALL = "(all)"
"""The value of ``predicted`` in rows over all texts."""


def text_keys(texts: Sequence[Words], seed: int = 0) -> npt.NDArray[np.uint64]:
    """Return a hash of the words of each text, by which it is drawn."""
    return sentence_keys(["\x1f".join(text) for text in texts], seed)


class Bootstrap:
    """Computes 95 % intervals of means over texts. Texts with the same words are drawn together."""

    # A bootstrap asks how much a mean would vary if the texts had been others like these: it draws the texts again,
    # with replacement, and computes the mean of each draw. Here, every text is drawn a Poisson(1) number of times
    # instead, the limit of drawing with replacement from many texts. How often a text is drawn in a replicate then
    # depends on its own words and the seed alone, and on no other text. Three things follow. All columns and all models
    # are resampled with the same weights, so differences between them are paired, and the interval of a difference is
    # that of a column of differences. The result does not depend on the order of the texts or on which others were
    # tested. And copies of one text get the same weight: they are one observation, not several, so a file that repeats
    # its texts does not get narrower intervals. Values that are undefined for a text (NaN) are left out of the
    # numerator and the denominator of each mean. Without replicates there are no intervals.

    def __init__(self, texts: Sequence[Words] | npt.NDArray[np.uint64], replicates: int = 1000, seed: int = 0) -> None:
        keys = texts if isinstance(texts, np.ndarray) else text_keys(texts, seed)
        self.number_of_text = np.unique(keys, return_inverse=True)[1]  # the same for texts with the same words
        self.weights = weights_of_keys(keys, replicates).astype(np.float64)  # (replicates, texts)

    def distinct(self, is_marked: npt.NDArray[np.bool_]) -> int:
        """Return the number of different texts among those that are marked."""
        return len(np.unique(self.number_of_text[is_marked]))

    def __call__(self, values: Float[ndarray, "texts columns"]) -> tuple[Values, Values]:
        """Return the lower and upper bounds of the mean of each column over the texts that are not NaN."""
        # The bounds are NaN if there are no replicates, or fewer than two different texts.
        bounds = np.full((2, values.shape[1]), np.nan)
        if len(self.weights):
            is_defined = ~np.isnan(values)
            has_several = np.array([self.distinct(of_column) > 1 for of_column in is_defined.T], dtype=bool)
            means = self._means(values, is_defined)[:, has_several]
            bounds[:, has_several] = np.nanquantile(means, (0.025, 0.975), axis=0)
        low, high = bounds
        return low, high

    def measure(self, name: str, values: Values) -> Measured:
        """Return the mean of a column over the texts that are not NaN, and how far it deviates in each replicate."""
        is_defined = ~np.isnan(values)
        mean = float(values[is_defined].mean()) if is_defined.any() else np.nan
        deviations = self._means(values, is_defined) - mean
        return Measured(name, mean, int(is_defined.sum()), deviations, units=self.distinct(is_defined))

    def _means(self, values: Values, is_defined: npt.NDArray[np.bool_]) -> Values:
        """Return the mean of the defined values in each replicate; NaN if it draws none of their texts."""
        with np.errstate(invalid="ignore"):
            sums = self.weights @ np.where(is_defined, values, 0.0)
            means: Values = sums / (self.weights @ is_defined.astype(np.float64))
        return means


def summarize(
    texts: pd.DataFrame, tests: Mapping[str, Sequence[str]], classes: Sequence[str], bootstrap: Bootstrap
) -> pd.DataFrame:
    """Compute the means of the columns of each test, for all texts and by predicted class, see `EXPLAIN_SUMMARY`."""
    rows: list[dict[str, Any]] = []
    groups = [(OVERALL, np.ones(len(texts), dtype=bool))]
    groups += [(name, (texts["predicted"] == number).to_numpy()) for number, name in enumerate(classes)]
    for test, columns in tests.items():
        values = texts[list(columns)].to_numpy(dtype=np.float64)
        for group, is_in_group in groups:
            group_values = np.where(is_in_group[:, None], values, np.nan)
            low, high = bootstrap(group_values)
            for index, measure in enumerate(columns):
                defined = group_values[~np.isnan(group_values[:, index]), index]
                rows.append(
                    {
                        "test": test,
                        "measure": measure,
                        "predicted": group,
                        "n": len(defined),
                        "undefined": int(is_in_group.sum()) - len(defined),
                        "mean": defined.mean() if len(defined) else np.nan,
                        "sd": defined.std(ddof=1) if len(defined) > 1 else np.nan,
                        "median": np.median(defined) if len(defined) else np.nan,
                        "low": low[index],
                        "high": high[index],
                    }
                )
    return pd.DataFrame(rows)


def quality(probabilities: Float[ndarray, "texts classes"], labels: npt.NDArray[np.int64]) -> dict[str, float]:
    """Measure how good a classifier is, see `EXPLAIN_MODELS`. The F1 of the second class is NaN for more than two."""
    # The area under the ROC curve is NaN if all texts have the same label.
    predicted = probabilities.argmax(1)
    classes = probabilities.shape[1]
    areas = [
        roc_auc_score(labels == c, probabilities[:, c])
        for c in (range(classes) if classes > 2 else (1,))  # of two classes, both have the same area
        if 0 < (labels == c).sum() < len(labels)
    ]
    undefined = cast(Any, 0.0)  # type checkers infer str from the default value of zero_division
    return {
        "accuracy": float((predicted == labels).mean()),
        "macro_f1": float(f1_score(labels, predicted, average="macro", labels=range(classes), zero_division=undefined)),
        "f1": float(f1_score(labels, predicted, zero_division=undefined)) if classes == 2 else np.nan,
        "auc": float(np.mean(areas)) if areas else np.nan,
    }


def mean_curve(points: pd.DataFrame) -> pd.DataFrame:
    """Return the means over texts of how much other attention differs, a row for each model or search."""
    rows = []
    for (kind, name, strength), of_texts in points.groupby(["kind", "name", "lambda"], sort=False, dropna=False):
        means = {measure: _mean(of_texts[measure].to_numpy()) for measure in ("jsd", "tvd")}
        rows.append({"kind": kind, "name": name, "lambda": strength, **means})
    return pd.DataFrame(rows)


def _mean(values: Values) -> float:
    """Return the mean of the values that are not NaN. The mean of equal values is exactly this value."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return np.nan
    return float(defined[0] if (defined == defined[0]).all() else defined.mean())
