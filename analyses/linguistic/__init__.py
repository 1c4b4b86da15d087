"""What single heads know of linguistic structure (Clark et al. 2019, §4)."""

from analyses.linguistic.baselines import BASELINES
from analyses.linguistic.best_head import with_control
from analyses.linguistic.choices import CONTEXT, POLICIES, account
from analyses.linguistic.coreference import CoreferenceAccuracy
from analyses.linguistic.coreference_tables import CoreferenceTables
from analyses.linguistic.decisions import DIRECTIONS
from analyses.linguistic.dependency import OFFSETS, DependencyAccuracy
from analyses.linguistic.dependency_tables import TOTALS, DependencyTables, coarse_relation
from analyses.linguistic.examples import Example, examples_of
from analyses.linguistic.paper import published_coreference

__all__ = [
    "BASELINES",
    "CONTEXT",
    "DIRECTIONS",
    "OFFSETS",
    "POLICIES",
    "TOTALS",
    "CoreferenceAccuracy",
    "CoreferenceTables",
    "DependencyAccuracy",
    "DependencyTables",
    "Example",
    "account",
    "coarse_relation",
    "examples_of",
    "published_coreference",
    "with_control",
]
