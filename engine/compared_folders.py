"""The comparison of finished runs, from their folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analyses.comparison.results import Comparison
from ..analyses.comparison.section import comparison_section
from ..analyses.shared.record import describe_command
from ..reports.page import Section, write_report
from ..reports.progress import Stages
from ..reports.run_folder import RunFolder
from .compare import compare, names_of
from .compared_run import ComparedRun, load_compared_run

TABLE = "comparison"
"""The name of the table of differences."""


def compare_folders(
    folders: Sequence[Path],
    out: Path,
    *,
    names: Sequence[str] = (),
    min_count: int,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> tuple[Comparison, Section]:
    """Compare finished runs, and write the table, the figures and the page."""
    stages = Stages()
    with RunFolder(out, overwrite=overwrite, reads=folders) as target:
        with stages("read the runs"):
            runs = [load_compared_run(folder) for folder in folders]
        labels = list(names) or names_of(runs)
        with stages("compare"):
            comparison = compare(*runs, names=labels, min_count=min_count)
        with stages("tables and figures"):
            section = comparison_section(comparison, name=TABLE, title=_title(labels))
        record = describe_command(command, {**(shown_options or {}), "out": str(out)}, 0, stages)
        record |= {
            "runs": [_describe(*described) for described in zip(labels, folders, runs, strict=True)],
            "warnings": [],
        }
        write_report(target.path, run=record, sections=[section], template="comparison.html.j2")
    return comparison, section


def _title(names: Sequence[str]) -> str:
    """The title of a comparison. Names of several words, such as “weight and norm”, are quoted."""
    quoted = [f"“{name}”" if " " in name else name for name in names]
    return "Comparison of " + " and ".join([", ".join(quoted[:-1]), quoted[-1]])


def _describe(name: str, folder: Path, run: ComparedRun) -> dict[str, Any]:
    """Describe a run for the record: its folder, and what identifies its model and its corpus."""
    model, corpus = run.record["model"], run.record["corpus"]
    return {
        "name": name,
        "folder": str(folder),
        "command": run.record["command"],
        "model": model["name"],
        "revision": model["revision"],
        "weights_sha256": model["weights_sha256"],
        "corpus": run.titles.corpus,
        "files": [{"name": file["name"], "sha256": file["sha256"]} for file in corpus["files"]],
    }
