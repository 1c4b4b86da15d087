"""The options of the dependency analysis."""

from __future__ import annotations

from dataclasses import dataclass

from ..contract import OptionGroup


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
