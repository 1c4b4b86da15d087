"""The options of the analysis ``dependency``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DependencyOptions:
    """Options of the dependency analysis."""

    coarse: bool = False
    """Count universal relations (nsubj) instead of subtypes as given (nsubj:pass)."""

    def check(self) -> None:
        """Every value can be used."""
