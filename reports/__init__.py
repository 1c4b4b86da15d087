"""Results → CSV and JSON, figures, one self-contained page, provenance."""

from reports.dependency import write_dependency
from reports.json_text import records, to_json
from reports.norms import NormResults, write_norms
from reports.page import Section, write_report
from reports.provenance import git_commit, versions
from reports.run_folder import RunFolder, RunFolderError
from reports.terminal import WIDE, best_heads_table, norms_table

__all__ = [
    "WIDE",
    "NormResults",
    "RunFolder",
    "RunFolderError",
    "Section",
    "best_heads_table",
    "git_commit",
    "norms_table",
    "records",
    "to_json",
    "versions",
    "write_dependency",
    "write_norms",
    "write_report",
]
