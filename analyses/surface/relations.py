"""Of which relation is a head the best? This is known if dependencies are part of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...reports.columns import TableColumn
from ..dependency.accuracy import TOTALS
from .rows import Statistics, SurfaceQuestion


class Relations(SurfaceQuestion):
    """Of which relation is each head the best?"""

    name = "relations"
    added = (
        TableColumn(
            "relation direction",
            "text",
            "if `dependency` is part of the run: the relation in which this head is the best and gains most, and its "
            "direction",
        ),
        TableColumn("relation_accuracy", "share", "its accuracy for this relation"),
        TableColumn("relation_gain", "points", "its gain over the best offset"),
    )

    def find(self, counts: Statistics, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the relation of each head that is the best of any."""
        return relations_of(earlier)

    def columns(self, answer: pd.DataFrame) -> pd.DataFrame:
        """Return the relations by layer and head."""
        return answer.set_index(["layer", "head"])


def relations_of(needed: Mapping[str, Any]) -> pd.DataFrame | None:
    """Return the relation of each head that is the best of any; None if dependencies are not part of the run."""
    if "dependency" not in needed:
        return None
    dependency = needed["dependency"]
    is_relation = ~dependency.best["relation"].isin([*TOTALS, "root"])
    return best_relations(dependency.best[is_relation], dependency.min_count)


def best_relations(best: pd.DataFrame, min_count: int = 50) -> pd.DataFrame:
    """Return, for every head that is the best of any relation, the relation in which it gains most."""
    # A relation counts only if it has at least `min_count` words, and if the interval of its gain over the best fixed
    # offset lies above 0. Without intervals the gain itself must be above 0.
    certain = best["gain_low"].fillna(best["gain"]) > 0
    by_gain = best[certain & (best["total"] >= min_count)].sort_values("gain", ascending=False)
    largest = by_gain.drop_duplicates(["layer", "head"]).sort_values(["layer", "head"])
    columns = ["layer", "head", "relation", "direction", "accuracy", "gain"]
    return largest[columns].rename(columns={"accuracy": "relation_accuracy", "gain": "relation_gain"})
