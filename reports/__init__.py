"""Results → CSV and JSON, figures, one self-contained page, provenance."""

from reports.dependency import write_dependency_record, write_dependency_tables
from reports.json_text import records, to_json
from reports.provenance import git_commit, versions
from reports.run_folder import RunFolder, RunFolderError
from reports.terminal import WIDE, best_heads_table

__all__ = [
    "WIDE",
    "RunFolder",
    "RunFolderError",
    "best_heads_table",
    "git_commit",
    "records",
    "to_json",
    "versions",
    "write_dependency_record",
    "write_dependency_tables",
]
