"""The options of the dependency analysis."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DependencyOptions:
    """Options of the dependency analysis.

    Example:
        >>> from attentionology import DependencyOptions
        >>> DependencyOptions(coarse=True)
        DependencyOptions(coarse=True)
    """

    coarse: bool = False
    """Count universal relations (nsubj) instead of the subtypes that the treebank has (nsubj:pass)."""

    def check(self) -> None:
        """Every value can be used."""
