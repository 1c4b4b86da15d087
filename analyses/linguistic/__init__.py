"""What single heads know of linguistic structure (Clark et al. 2019, §4)."""

from analyses.linguistic.best_head import with_control
from analyses.linguistic.coreference import CoreferenceAccuracy, CoreferenceTables
from analyses.linguistic.decisions import DIRECTIONS
from analyses.linguistic.dependency import OFFSETS, DependencyAccuracy
from analyses.linguistic.dependency_tables import TOTALS, DependencyTables

__all__ = [
    "DIRECTIONS",
    "OFFSETS",
    "TOTALS",
    "CoreferenceAccuracy",
    "CoreferenceTables",
    "DependencyAccuracy",
    "DependencyTables",
    "with_control",
]
