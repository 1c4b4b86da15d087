"""Results → CSV and JSON, figures, one self-contained page, provenance."""

from attentionology.reports.coreference import CoreferenceResults, write_coreference
from attentionology.reports.dependency import write_dependency
from attentionology.reports.explain import ExplainResults, write_explain
from attentionology.reports.explain_terminal import explain_table
from attentionology.reports.json_text import records, to_json
from attentionology.reports.norms import NormResults, write_norms
from attentionology.reports.page import Section, write_report
from attentionology.reports.probe import ProbeResults, write_probe
from attentionology.reports.probe_terminal import probe_table
from attentionology.reports.provenance import git_commit, versions
from attentionology.reports.run_folder import RunFolder, RunFolderError
from attentionology.reports.surface import ClusterResults, SurfaceResults, write_clusters, write_surface
from attentionology.reports.tables import write_csv
from attentionology.reports.terminal import (
    WIDE,
    best_heads_table,
    clusters_table,
    coreference_table,
    norms_table,
    surface_table,
)

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
