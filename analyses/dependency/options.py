"""The options of the dependency analysis."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from ..contract import AnalysisRow, OptionError, OptionGroup
from ..shared.options import ControlOptions, CountOptions, FeedForwardOptions, MapOptions


@dataclass(frozen=True)
class DependencyOptions(OptionGroup):
    """Options of the dependency analysis.

    Example:
        >>> from attentionology import DependencyOptions
        >>> DependencyOptions(coarse=True)
        DependencyOptions(coarse=True)
    """

    coarse: bool = False
    """Count universal relations (nsubj) instead of the subtypes that the treebank has (nsubj:pass)."""

    failures: Annotated[tuple[str, ...], arg(metavar="HEAD [HEAD ...]")] = ()
    """Count where these heads fail, by distance, parts of speech, length of the sentence and pieces of the words, and
    what they pick instead: 'best' for the best head of each relation, or heads such as 8-10. By default, nothing of
    this is counted."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        for name in self.failures:
            if name != "best" and not re.fullmatch(r"[1-9][0-9]*-[1-9][0-9]*", name):
                raise OptionError(f"--failures takes 'best' or heads such as 8-10, not {name!r}")


DEPENDENCY = AnalysisRow(
    name="dependency",
    location="attentionology.analyses.dependency.analysis:Dependency",
    options=(DependencyOptions, ControlOptions, CountOptions, MapOptions, FeedForwardOptions),
    of_trees=True,
    by_default=True,
    summary=(
        "dependency: for every word the most attended other word is taken as a guess at its syntactic head (Clark et "
        "al. 2019, section 4.2)."
    ),
)
