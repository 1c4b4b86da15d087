"""What a head is for, in a word (Clark et al. 2019, §6 and the published code)."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

LABELS = ("other", "next", "previous", "self", "broad", "first-special", "last-special", "punctuation")
"""Later ones win where several apply, as in the published code."""

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
    """A head gets a label if its statistic is above the threshold.

    Attributes:
        position: of ``next``, ``previous`` and ``self``.
        target: of the special tokens and punctuation.
        broad: of the entropy relative to uniform. The paper's 3.8 nats are 0.8 of the entropy of uniform attention
            over its inputs of some 120 tokens, and mean nothing for shorter ones.
    """

    position: float = 0.5
    target: float = 0.6
    broad: float = 0.8

    def of(self, label: str) -> float:
        """The threshold of a label."""
        return {"next": self.position, "previous": self.position, "self": self.position, "broad": self.broad}.get(
            label, self.target
        )


def label_heads(
    heads: pd.DataFrame, thresholds: Thresholds | None = None, relations: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Add columns ``label`` and ``labels`` (all that apply, separated by spaces).

    Args:
        heads: `attentionology.analyses.surface.statistics.SurfaceTables.heads`.
        thresholds: the defaults if None.
        relations: from `best_relations`; adds its columns, empty where a head is the best of no relation.
    """
    chosen = thresholds or Thresholds()
    apply = {label: heads[statistic] > chosen.of(label) for label, statistic in _STATISTIC.items()}
    found = [[label for label in LABELS[1:] if apply[label].iloc[row]] for row in range(len(heads))]
    labelled = heads.assign(
        label=[labels[-1] if labels else LABELS[0] for labels in found], labels=[" ".join(labels) for labels in found]
    )
    return labelled if relations is None else labelled.merge(relations, on=["layer", "head"], how="left")


def best_relations(best: pd.DataFrame, min_count: int = 50) -> pd.DataFrame:
    """For every head that is the best of some relation the one in which it gains most.

    Only relations that say something count: with ``min_count`` words, and a gain over the best fixed offset whose
    interval lies above 0 (without intervals: that is above 0).

    Args:
        best: rows of single relations of `attentionology.analyses.dependency.tables.DependencyTables.best`.
        min_count: fewest words.

    Returns:
        columns layer, head, relation, direction, relation_accuracy, relation_gain.
    """
    sure = best["gain_low"].fillna(best["gain"]) > 0
    chosen = best[sure & (best["total"] >= min_count)].sort_values("gain", ascending=False)
    chosen = chosen.drop_duplicates(["layer", "head"]).sort_values(["layer", "head"])
    columns = ["layer", "head", "relation", "direction", "accuracy", "gain"]
    return chosen[columns].rename(columns={"accuracy": "relation_accuracy", "gain": "relation_gain"})
