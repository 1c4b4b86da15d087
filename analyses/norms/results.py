"""The results of the analysis of norms."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ..shared.previews import Previewed
from .paper import Published


@dataclass(frozen=True, repr=False)
class NormResults(Previewed):
    """The results of the analysis ``norms``.

    Attributes:
        shares: the table of `attentionology.analyses.norms.shares.NormShares`.
        mixing: the table of `attentionology.analyses.norms.mixing.MixingRatios`.
        frequency: the table of `attentionology.analyses.norms.frequency.FrequencyCorrelation`.
        expansion: a table with the columns layer, expansion.
        change, amplified: the tables of `attentionology.analyses.norms.feed_forward.FeedForwardChange`, the pairs with
            their pieces; None if they were not asked for.
        published: the papers' numbers of the same model, None if there are none.
        notes: sentences about how the numbers were computed.
    """

    shares: pd.DataFrame
    mixing: pd.DataFrame
    frequency: pd.DataFrame
    expansion: pd.DataFrame
    change: pd.DataFrame | None = None
    amplified: pd.DataFrame | None = None
    published: Published | None = None
    notes: tuple[str, ...] = ()
