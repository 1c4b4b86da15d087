"""Where a treebank comes from: its release and its license, as the folder of its file says.

A release of Universal Dependencies is a folder ``ud-treebanks-v2.17`` with a folder for each treebank, which holds its
files, its license, and a README with a block of machine-readable lines. Treebanks that are fetched by name are kept in
the same layout, so one function reads both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ...storage.sealed import DamagedError, read_json

READMES = ("README.md", "README.txt")

_FILE = re.compile(r"(?P<code>[a-z]{2,3}_[a-z0-9]+)-ud-(?P<split>train|dev|test)\.conllu")
_RELEASE = re.compile(r"ud-treebanks-v(?P<release>[0-9]+\.[0-9]+)")
_LICENSE = re.compile(r"^Licen[cs]e:[ \t]*(?P<license>\S.*?)[ \t\r]*$", re.MULTILINE)
_METADATA = "Machine-readable metadata"


@dataclass(frozen=True)
class Fetched:
    """How a file came into the cache.

    Attributes:
        url: the address that it was fetched from.
        sha256: the SHA-256 of the file.
    """

    url: str
    sha256: str


def source_of(path: str | Path) -> dict[str, str]:
    """Return what the folder of a treebank's file says about it.

    Args:
        path: the path of the file, which is looked at only if it has the name of a file of a release.

    Returns:
        ``name``, and ``release``, ``license`` and ``url`` as far as they are known; empty for all other files.

    Example:
        >>> source_of("ud-treebanks-v2.16/UD_English-EWT/en_ewt-ud-dev.conllu")
        {'name': 'ud:en_ewt:dev', 'release': '2.16'}
        >>> source_of("my_treebank.conllu")
        {}
    """
    path = Path(path)
    match = _FILE.fullmatch(path.name)
    if match is None:
        return {}
    source = {"name": f"ud:{match['code']}:{match['split']}"}
    if release := release_of(path.parent.parent):
        source["release"] = release
    if license_name := license_in(path.parent):
        source["license"] = license_name
    if fetched := fetched_from(path):
        source["url"] = fetched.url
    return source


def release_of(folder: Path) -> str | None:
    """Return the release whose treebanks a folder holds, as the folder's name says; None if it does not say so."""
    match = _RELEASE.fullmatch(folder.name)
    return match["release"] if match else None


def license_in(folder: Path) -> str | None:
    """Return the license that the README in the folder of a treebank names; None if there is none."""
    for name in READMES:
        try:
            text = (folder / name).read_text("utf-8", errors="replace")
        except OSError:
            continue
        match = _LICENSE.search(text, max(text.find(_METADATA), 0))
        if match:
            return match["license"]
    return None


def fetched_from(path: Path) -> Fetched | None:
    """Return how a file came into the cache; None if it was not fetched by this toolkit."""
    record = record_path(path)
    try:
        facts = read_json(record, record.name)
    except (FileNotFoundError, DamagedError):
        return None
    return Fetched(facts["url"], facts["sha256"])


def record_path(path: Path) -> Path:
    """Return the path of the record of how a file was fetched."""
    return path.with_suffix(".source.json")
