"""What norms of vectors say that attention weights do not (Kobayashi et al. 2020, 2021, 2024)."""

from attentionology.analyses.norms.feed_forward import FeedForwardChange, FeedForwardTables
from attentionology.analyses.norms.frequency import FrequencyCorrelation, frequency_ranks
from attentionology.analyses.norms.mixing import MixingRatios
from attentionology.analyses.norms.shares import NormShares

__all__ = [
    "FeedForwardChange",
    "FeedForwardTables",
    "FrequencyCorrelation",
    "MixingRatios",
    "NormShares",
    "frequency_ranks",
]
