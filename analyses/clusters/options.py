"""The options of the clusters analysis."""

from __future__ import annotations

from dataclasses import dataclass

from ..contract import OptionGroup
from ..shared.numbers import Number


@dataclass(frozen=True)
class ClustersOptions(OptionGroup):
    """Options of the clusters analysis.

    Example:
        >>> from attentionology import ClustersOptions
        >>> ClustersOptions(n_clusters=0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --n-clusters must be at least 1, not 0
    """

    n_clusters: Number = 8
    """The number of clusters into which the tree of the heads is cut."""
