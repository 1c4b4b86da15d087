"""The tables of the surface statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

SPECIALS = ("first_special", "last_special")


class SurfaceTables(NamedTuple):
    """The tables of the surface statistics. Layers and heads are 1-based."""

    # one row per layer and head, with each of `STATISTICS` as the mean over inputs (every input has the same weight)
    # and, with `_pooled` appended to its name, as the mean over all rows of all inputs
    heads: pd.DataFrame
    # one row per layer, with the mean, smallest and largest value over heads; `uniform_entropy`, the entropy of
    # attention to all tokens alike; and `sink`, the special token that gets more attention than the other, with its
    # `sink_share`
    layers: pd.DataFrame
    # one row per layer, head and offset (+1 is the next token), with the attention, the pooled attention, and the
    # number of rows that have such a token
    offsets: pd.DataFrame
    counts: pd.DataFrame  # one row per statistic, with the numbers of inputs and rows that it is a mean over


def by_layer(heads: pd.DataFrame, statistics: Sequence[str]) -> pd.DataFrame:
    """Return the mean, smallest and largest value of each statistic over the heads of a layer, and the sink."""
    grouped = heads.groupby("layer")[[*statistics]]
    spread = [grouped.mean(), grouped.min().add_suffix("_min"), grouped.max().add_suffix("_max")]
    columns = [name + suffix for name in statistics for suffix in ("", "_min", "_max")]
    layers = pd.concat(spread, axis=1)[columns].reset_index()
    specials = layers[[*SPECIALS]]
    layers["sink"] = ["" if row.isna().all() else str(row.idxmax()) for _, row in specials.iterrows()]
    layers["sink_share"] = specials.max(axis=1)
    return layers
