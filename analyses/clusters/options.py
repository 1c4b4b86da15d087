"""The options of the analysis ``clusters``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from attentionology.analyses.contract import OptionError


@dataclass(frozen=True)
class ClustersOptions:
    """Options of the analysis clusters."""

    n_clusters: Annotated[int, arg(metavar="N")] = 8
    """Into how many clusters to cut the tree of heads."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if self.n_clusters < 1:
            raise OptionError(f"--n-clusters must be at least 1, not {self.n_clusters}")
