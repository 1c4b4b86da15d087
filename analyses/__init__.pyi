from .ablation.section import AblationResults as AblationResults
from .clusters.section import ClusterResults as ClusterResults
from .coreference.results import CoreferenceResults as CoreferenceResults
from .dependency.section import DependencyResults as DependencyResults
from .norms.shown_tables import NormResults as NormResults
from .surface.shown_tables import SurfaceResults as SurfaceResults

__all__: list[str]
