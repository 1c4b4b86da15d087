"""What heads do on the surface of the text, and which of them do alike (Clark et al. 2019, §3 and §6)."""

from attentionology.analyses.surface.distances import HeadDistances, HeadDistanceTables
from attentionology.analyses.surface.geography import Geography, geography
from attentionology.analyses.surface.gradients import GradientImportance
from attentionology.analyses.surface.labels import LABELS, Thresholds, best_relations, label_heads
from attentionology.analyses.surface.statistics import STATISTICS, SurfaceStatistics, SurfaceTables

__all__ = [
    "LABELS",
    "STATISTICS",
    "Geography",
    "GradientImportance",
    "HeadDistanceTables",
    "HeadDistances",
    "SurfaceStatistics",
    "SurfaceTables",
    "Thresholds",
    "best_relations",
    "geography",
    "label_heads",
]
