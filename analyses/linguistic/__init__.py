"""What single heads know of linguistic structure (Clark et al. 2019, §4)."""

from analyses.linguistic.attachment import ROOT_LENGTH, AttachmentTables, Attempt, Task, attachment
from analyses.linguistic.best_head import with_control
from analyses.linguistic.coreference import CoreferenceAccuracy, CoreferenceTables
from analyses.linguistic.dependency import DependencyAccuracy
from analyses.linguistic.dependency_tables import TOTALS, DependencyTables
from analyses.linguistic.head_weights import HeadWeights, head_weights
from analyses.linguistic.paper import published_coreference, published_probes
from extractors import DIRECTIONS

__all__ = [
    "DIRECTIONS",
    "ROOT_LENGTH",
    "TOTALS",
    "AttachmentTables",
    "Attempt",
    "CoreferenceAccuracy",
    "CoreferenceTables",
    "DependencyAccuracy",
    "DependencyTables",
    "HeadWeights",
    "Task",
    "attachment",
    "head_weights",
    "published_coreference",
    "published_probes",
    "with_control",
]
