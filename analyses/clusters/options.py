"""The options of the clusters analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from ..contract import OptionError


@dataclass(frozen=True)
class ClustersOptions:
    """Options of the clusters analysis.

    Example:
        >>> from attentionology import ClustersOptions
        >>> ClustersOptions(n_clusters=0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --n-clusters must be at least 1, not 0
    """

    n_clusters: Annotated[int, arg(metavar="N")] = 8
    """The number of clusters into which the tree of the heads is cut."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if self.n_clusters < 1:
            raise OptionError(f"--n-clusters must be at least 1, not {self.n_clusters}")
