"""The results of the analysis of norms."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ..shared.previews import Previewed
from .paper import Published


@dataclass(frozen=True, repr=False)
class NormResults(Previewed):
    """The results of the analysis ``norms``."""

    shares: pd.DataFrame  # the table of `attentionology.analyses.norms.shares.NormShares`
    mixing: pd.DataFrame  # the table of `attentionology.analyses.norms.mixing.MixingRatios`
    frequency: pd.DataFrame  # the table of `attentionology.analyses.norms.frequency.FrequencyCorrelation`
    expansion: pd.DataFrame
    # the tables of `attentionology.analyses.norms.feed_forward.FeedForwardChange`, the pairs with their pieces; None
    # if they were not asked for
    change: pd.DataFrame | None = None
    amplified: pd.DataFrame | None = None
    published: Published | None = None  # the papers' numbers of the same model, None if there are none
    notes: tuple[str, ...] = ()  # sentences about how the numbers were computed
