"""What single heads know of linguistic structure (Clark et al. 2019, §4)."""

from analyses.linguistic.decisions import DIRECTIONS
from analyses.linguistic.dependency import OFFSETS, DependencyAccuracy
from analyses.linguistic.dependency_tables import TOTALS, DependencyTables, coarse_relation, with_control

__all__ = [
    "DIRECTIONS",
    "OFFSETS",
    "TOTALS",
    "DependencyAccuracy",
    "DependencyTables",
    "coarse_relation",
    "with_control",
]
