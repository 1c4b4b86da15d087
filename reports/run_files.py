"""The files that a run has written. Only these are ever deleted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .json_text import to_json

RUN_RECORD = "run.json"
"""The name of the run record. Every finished folder holds it, and only such a folder may be overwritten."""

EVERY_RUN = ("report.html", "summary.json", RUN_RECORD)
"""The files that every run writes."""

_OF_OLD_RUNS = re.compile(
    r"report\.html|summary\.json|run\.json|classifier\.safetensors|tables/[^/]+\.csv|figures/[^/]+\.(svg|png)"
    r"|probes/[^/]+/probe\.(json|safetensors)|model/[^/]+\.(json|safetensors|txt|model|jinja)"
)
"""The files that runs wrote before run records named them."""

_OF_FILE_MANAGERS = (".DS_Store", "Thumbs.db", "desktop.ini")


def files_of_run(folder: Path) -> list[str]:
    """The files to name in a run record: those in the folder and those of every run, as sorted relative paths."""
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return sorted(present.union(EVERY_RUN))


def read_record(folder: Path) -> dict[str, Any] | None:
    """The run record in a folder; None if there is none, or if another program has written it."""
    try:
        record = json.loads((folder / RUN_RECORD).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    command, versions = record.get("command"), record.get("versions")
    is_ours = isinstance(command, str) and re.split("[ .]", command, maxsplit=1)[0] == "attentionology"
    return record if is_ours and isinstance(versions, dict) and "attentionology" in versions else None


def identity_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What tells a run from others: the digests of its model and of its corpus files, and its options."""
    identity = {
        "model": record.get("model", {}).get("weights_sha256"),
        "corpus": [file.get("sha256") for file in record.get("corpus", {}).get("files", ())],
        "options": record.get("options"),
    }
    plain: dict[str, Any] = json.loads(to_json(identity))
    return plain


def strange_file(folder: Path, record: dict[str, Any]) -> str | None:
    """A file in the folder of a run that the run has not written, as a relative path; None if there is none."""
    named = record.get("files")
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(folder).as_posix()
        is_expected = name in named if isinstance(named, list) else _OF_OLD_RUNS.fullmatch(name)
        if not is_expected and path.name not in _OF_FILE_MANAGERS:
            return name
    return None
