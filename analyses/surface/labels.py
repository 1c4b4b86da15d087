"""Labels of heads, which say in a word what a head attends to (Clark et al. 2019, §6 and the published code)."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

LABELS = ("other", "next", "previous", "self", "broad", "first-special", "last-special", "punctuation")
"""The labels. If several apply to a head, the last of them wins, as in the published code."""

_STATISTIC = {
    "next": "next",
    "previous": "previous",
    "self": "self",
    "broad": "entropy_relative",
    "first-special": "first_special",
    "last-special": "last_special",
    "punctuation": "punctuation",
}


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of the labels. A head gets a label if its statistic is above the threshold."""

    position: float = 0.5  # the threshold of `next`, `previous` and `self`
    target: float = 0.6  # the threshold of the special tokens and punctuation
    # the threshold of the entropy, as a share of the entropy of uniform attention. The paper's 3.8 nats are 0.8 of
    # the entropy of uniform attention over its inputs of some 120 tokens; shorter inputs never reach them
    broad: float = 0.8

    def of(self, label: str) -> float:
        """Return the threshold of a label."""
        if label in ("next", "previous", "self"):
            return self.position
        return self.broad if label == "broad" else self.target


def label_heads(
    heads: pd.DataFrame, thresholds: Thresholds | None = None, relations: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Add the columns ``label`` and ``labels`` (all labels that apply, separated by spaces)."""
    thresholds = thresholds or Thresholds()
    has_label = {label: heads[statistic] > thresholds.of(label) for label, statistic in _STATISTIC.items()}
    labels_of_heads = [[label for label in LABELS[1:] if has_label[label].iloc[row]] for row in range(len(heads))]
    labeled = heads.assign(
        label=[labels[-1] if labels else "other" for labels in labels_of_heads],  # the last one wins, see `LABELS`
        labels=[" ".join(labels) for labels in labels_of_heads],
    )
    return labeled if relations is None else labeled.merge(relations, on=["layer", "head"], how="left")


def best_relations(best: pd.DataFrame, min_count: int = 50) -> pd.DataFrame:
    """Return, for every head that is the best of any relation, the relation in which it gains most."""
    # A relation counts only if it has at least `min_count` words, and if the interval of its gain over the best fixed
    # offset lies above 0. Without intervals the gain itself must be above 0.
    certain = best["gain_low"].fillna(best["gain"]) > 0
    by_gain = best[certain & (best["total"] >= min_count)].sort_values("gain", ascending=False)
    largest = by_gain.drop_duplicates(["layer", "head"]).sort_values(["layer", "head"])
    columns = ["layer", "head", "relation", "direction", "accuracy", "gain"]
    return largest[columns].rename(columns={"accuracy": "relation_accuracy", "gain": "relation_gain"})
