"""Results → CSV and JSON, figures, one self-contained page, provenance."""

from reports.coreference import CoreferenceResults, write_coreference
from reports.dependency import write_dependency
from reports.explain import ExplainResults, write_explain
from reports.explain_terminal import explain_table
from reports.json_text import records, to_json
from reports.norms import NormResults, write_norms
from reports.page import Section, write_report
from reports.probe import ProbeResults, write_probe
from reports.probe_terminal import probe_table
from reports.provenance import git_commit, versions
from reports.run_folder import RunFolder, RunFolderError
from reports.surface import ClusterResults, SurfaceResults, write_clusters, write_surface
from reports.tables import write_csv
from reports.terminal import WIDE, best_heads_table, clusters_table, coreference_table, norms_table, surface_table

__all__ = [
    "WIDE",
    "ClusterResults",
    "CoreferenceResults",
    "ExplainResults",
    "NormResults",
    "ProbeResults",
    "RunFolder",
    "RunFolderError",
    "Section",
    "SurfaceResults",
    "best_heads_table",
    "clusters_table",
    "coreference_table",
    "explain_table",
    "git_commit",
    "norms_table",
    "probe_table",
    "records",
    "surface_table",
    "to_json",
    "versions",
    "write_clusters",
    "write_coreference",
    "write_csv",
    "write_dependency",
    "write_explain",
    "write_norms",
    "write_probe",
    "write_report",
    "write_surface",
]
