"""Which files a run has written, so that only these are ever deleted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

RUN_RECORD = "run.json"
"""Every finished folder holds this file; only a folder that does may be overwritten."""

_EVERY_RUN = ("report.html", "summary.json", RUN_RECORD)
_OF_OLD_RUNS = re.compile(
    r"report\.html|summary\.json|run\.json|classifier\.safetensors|tables/[^/]+\.csv|figures/[^/]+\.(svg|png)"
    r"|probes/[^/]+/probe\.(json|safetensors)|model/[^/]+\.(json|safetensors|txt|model|jinja)"
)
"""What runs wrote before their records named the files."""

_OF_FILE_MANAGERS = (".DS_Store", "Thumbs.db", "desktop.ini")


def files_of_run(folder: Path) -> list[str]:
    """What to name in the record of a run: all files that are there and those that every run has, relative, sorted."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return sorted(there.union(_EVERY_RUN))


def read_record(folder: Path) -> dict[str, Any] | None:
    """The record of a run; None if the folder has none, or one that another program wrote."""
    try:
        record = json.loads((folder / RUN_RECORD).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    command, versions = record.get("command"), record.get("versions")
    is_ours = isinstance(command, str) and re.split("[ .]", command, maxsplit=1)[0] == "attentionology"
    return record if is_ours and isinstance(versions, dict) and "attentionology" in versions else None


def strange_file(folder: Path, record: dict[str, Any]) -> str | None:
    """Something in the folder of a run that the run has not written, relative to it; None if there is nothing.

    Args:
        folder: of the run.
        record: its record. Those of the first versions do not name files; then names that runs use are not strange.
    """
    named = record.get("files")
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(folder).as_posix()
        known = name in named if isinstance(named, list) else _OF_OLD_RUNS.fullmatch(name)
        if not known and path.name not in _OF_FILE_MANAGERS:
            return name
    return None
