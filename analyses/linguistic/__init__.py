"""What single heads know of linguistic structure (Clark et al. 2019, §4)."""

from attentionology.analyses.linguistic.attachment import ROOT_LENGTH, AttachmentTables, Attempt, Task, attachment
from attentionology.analyses.linguistic.best_head import with_control
from attentionology.analyses.linguistic.coreference import CoreferenceAccuracy, CoreferenceTables
from attentionology.analyses.linguistic.dependency import DependencyAccuracy
from attentionology.analyses.linguistic.dependency_tables import TOTALS, DependencyTables
from attentionology.analyses.linguistic.head_weights import HeadWeights, head_weights
from attentionology.analyses.linguistic.paper import published_coreference, published_probes
from attentionology.extractors import DIRECTIONS

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
