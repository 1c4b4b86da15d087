"""The options of the clusters analysis."""

from __future__ import annotations

from dataclasses import dataclass

from ..contract import AnalysisRow, OptionGroup
from ..shared.numbers import Number
from ..shared.options import FeedForwardOptions, MapOptions
from ..surface.options import ReadingOptions


@dataclass(frozen=True)
class ClustersOptions(OptionGroup):
    """Options of the clusters analysis.

    Example:
        >>> from attentionology.analyses import ClustersOptions
        >>> ClustersOptions(n_clusters=0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --n-clusters must be at least 1, not 0
    """

    n_clusters: Number = 8
    """The number of clusters into which the tree of the heads is cut."""


CLUSTERS = AnalysisRow(
    name="clusters",
    location="attentionology.analyses.clusters.analysis:Clusters",
    options=(ClustersOptions, ReadingOptions, MapOptions, FeedForwardOptions),
    needs=("dependency", "surface"),
    by_default=True,
    summary="clusters: which heads attend alike (section 6).",
)
