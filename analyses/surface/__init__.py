"""What heads do on the surface of the text, and which of them do alike (Clark et al. 2019, §3 and §6)."""

from analyses.surface.distances import HeadDistances, HeadDistanceTables
from analyses.surface.geography import Geography, geography
from analyses.surface.gradients import GradientImportance
from analyses.surface.labels import LABELS, Thresholds, best_relations, label_heads
from analyses.surface.statistics import STATISTICS, SurfaceStatistics, SurfaceTables

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
