"""The files of treebanks that are given by name: in an unpacked release, in the cache, or on the network.

Nothing is fetched that was not asked for by name. Three sources are tried in this order:

1. ``UD_HOME``, an unpacked release. If it is set, the network is never used.
2. The cache, ``~/.cache/attentionology/ud``, which has the layout of a release. The folder is below
   ``ATTENTIONOLOGY_CACHE`` or ``XDG_CACHE_HOME`` if one of them is set. A file is compared with the SHA-256 that it had
   when it was fetched.
3. The repository of the treebank on GitHub, at the tag of the release, or ``UD_MIRROR`` instead of GitHub.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from ...storage.durable import write_durably
from ...storage.nearest import did_you_mean
from ...storage.sealed import write_json
from ..errors import CorpusError
from ..lines import file_sha256
from .download import AbsentError, fetch
from .names import (
    RELEASE,
    SPLITS,
    TreebankName,
    is_treebank_name,
    known_treebank,
    known_treebanks,
)
from .sources import READMES, fetched_from, record_path, release_of

MIRROR = "https://raw.githubusercontent.com/UniversalDependencies"
_OFFLINE = ("ATTENTIONOLOGY_OFFLINE", "HF_HUB_OFFLINE")
_ON = ("1", "on", "true", "yes")


def corpus_path(path: str | Path) -> str | Path:
    """Return the path of a corpus file, which may be given as the name of a treebank.

    Raises:
        CorpusError: the path is a folder, or the name of a treebank's repository; or see `treebank_path`.
    """
    if isinstance(path, str) and is_treebank_name(path):
        return treebank_path(path)
    folder = Path(path)
    if folder.is_dir():
        names = [file.name for file in sorted(folder.glob("*.conllu"))]
        raise CorpusError(f"this is a folder; name the files in it{': ' if names else ''}{', '.join(names)}", file=path)
    code = next((known.code for known in known_treebanks().values() if known.repository == folder.name), None)
    if code is not None and not folder.exists():
        names = [f"ud:{code}:{split}" for split in SPLITS]
        raise CorpusError(f"there is no such file; the files of this treebank are named {', '.join(names)}", file=path)
    return path


def treebank_path(name: str) -> Path:
    """Find the file of a treebank by its name, and fetch it if it is not on this machine.

    Args:
        name: ``ud:CODE:SPLIT``, for example ``ud:en_ewt:dev``, or ``ud:CODE:SPLIT@RELEASE``. Without a release, the
            release `RELEASE` is read, or the one in ``UD_HOME``.

    Raises:
        CorpusError: there is no such treebank, split or release, or the file cannot be fetched.
        StorageError: the file cannot be written to the cache.
    """
    environment = (os.environ.get(variable) for variable in ("UD_HOME", "UD_MIRROR"))
    return _resolved(name, *environment, _cache_folder())


@cache
def _resolved(name: str, home: str | None, mirror: str | None, cached: Path) -> Path:
    """Find a file once in each process, because its content is checked each time."""
    parsed = TreebankName.parse(name)
    if home:
        return _in_home(parsed, Path(home))
    folder = cached / f"ud-treebanks-v{parsed.release or RELEASE}" / known_treebank(parsed.code).repository
    path = folder / parsed.file
    if not _intact(path):
        _fetch(parsed, path, mirror or MIRROR)
    return path


def _in_home(name: TreebankName, home: Path) -> Path:
    if not home.is_dir():
        raise CorpusError(f"UD_HOME={home} is not a folder")
    release = release_of(home.resolve())
    if name.release and release and name.release != release:
        raise CorpusError(f"{name}@{name.release}: UD_HOME={home} is release {release}")
    paths = sorted(home.glob(f"*/{name.file}"))
    if paths:
        return paths[0]
    codes = sorted({path.name.split("-ud-")[0] for path in home.glob("*/*-ud-*.conllu")})
    if name.code in codes:
        splits = [path.name for path in sorted(home.glob(f"*/{name.code}-ud-*.conllu"))]
        raise CorpusError(f"there is no {name.file} in UD_HOME={home}; there are: {', '.join(splits)}")
    same = [code for code in codes if code.split("_")[0] == name.code.split("_")[0]] or codes
    there = (
        f"there are: {', '.join(same[:20])}{did_you_mean(name.code, same)}"
        if same
        else "it has no folders with treebanks"
    )
    raise CorpusError(f"there is no */{name.file} in UD_HOME={home}; {there}")


def _intact(path: Path) -> bool:
    """Whether a file is in the cache as it was fetched. A file that is not is removed."""
    if not path.exists():
        return False
    fetched = fetched_from(path)
    if fetched is not None and file_sha256(path) == fetched.sha256:
        return True
    print(f"{path} is damaged and is downloaded again.", file=sys.stderr)
    path.unlink()
    return False


def _fetch(name: TreebankName, path: Path, mirror: str) -> None:
    """Fetch a file and the README beside it, which names the license."""
    release = name.release or RELEASE
    base = f"{mirror.rstrip('/')}/{path.parent.name}/r{release}"
    if variable := next((v for v in _OFFLINE if os.environ.get(v, "").lower() in _ON), None):
        raise CorpusError(
            f"{name} is not in the cache {path.parent}, and {variable} is set; set UD_HOME to an unpacked release, or "
            "give a file"
        )
    print(f"Downloading {name} of release {release} from {base} …", file=sys.stderr)
    try:
        content = fetch(f"{base}/{path.name}")
    except AbsentError as error:
        raise CorpusError(f"{error}; release {release} has no such file") from None
    if not content.endswith((b"\n\n", b"\n\r\n")):
        raise CorpusError(
            f"{base}/{path.name} is not complete, because it does not end with an empty line; the same command tries "
            "again"
        )
    for readme in READMES:
        try:
            write_durably(path.with_name(readme), fetch(f"{base}/{readme}"))
            break
        except AbsentError:
            continue
    write_durably(path, content)
    record = record_path(path)
    write_json(record, {"url": f"{base}/{path.name}", "sha256": file_sha256(path)}, record.name)


def _cache_folder() -> Path:
    if chosen := os.environ.get("ATTENTIONOLOGY_CACHE"):
        return Path(chosen) / "ud"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "attentionology" / "ud"
