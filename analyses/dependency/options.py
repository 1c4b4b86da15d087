"""The options of the dependency analysis."""

from __future__ import annotations

from dataclasses import dataclass

from ..contract import AnalysisRow, OptionGroup
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
