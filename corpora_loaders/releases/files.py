"""The files of treebanks that are given by name: in an unpacked release, in the cache, or on the network.

Nothing is fetched that was not asked for by name. If ``UD_HOME`` names an unpacked release, the network is never used.
Otherwise, a file is fetched into the cache once, from GitHub or ``UD_MIRROR``, and compared with its SHA-256 later on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from ...storage.characters import one_line
from ...storage.durable import write_durably
from ...storage.messages import MESSAGES
from ...storage.nearest import did_you_mean
from ...storage.sealed import DamagedError, read_json, write_json
from ..conllu_file import read_conllu
from ..errors import CorpusError
from ..gate import BlankWords
from ..lines import file_sha256
from .names import (
    RELEASE,
    SPLITS,
    TreebankName,
    grouped_reasons,
    is_pattern,
    is_treebank_name,
    known_treebanks,
    near_codes,
)

MIRROR = "https://raw.githubusercontent.com/UniversalDependencies"
READMES = ("README.md", "README.txt")

_FILE = re.compile(r"(?P<code>[a-z]{2,3}_[a-z0-9]+)-ud-(?P<split>train|dev|test)\.conllu")
_RELEASE = re.compile(r"ud-treebanks-v(?P<release>[0-9]+\.[0-9]+)")
_LICENSE = re.compile(r"^Licen[cs]e:[ \t]*(?P<license>\S.*?)[ \t\r]*$", re.MULTILINE)
_METADATA = "Machine-readable metadata"
_OFFLINE = ("ATTENTIONOLOGY_OFFLINE", "HF_HUB_OFFLINE")
_WITHOUT_WORDS = "released without its words: every form is '_'"
_SECONDS = 30.0  # how long to wait for a server that does not answer


class NoSuchFileError(CorpusError):
    """A release, or the cache of a machine without network, does not have a file; ``short`` says so briefly."""

    def __init__(self, message: str, short: str) -> None:
        super().__init__(message)
        self.short = short


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
    facts = {
        "name": f"ud:{match['code']}:{match['split']}",
        "release": _release_of(path.parent.parent),
        "license": _license_in(path.parent),
        "url": _origin_of(path).get("url"),
    }
    return {key: value for key, value in facts.items() if value}


def corpus_path(path: str | Path) -> str | Path:
    """Return the path of a corpus file, which may be given as the name of a treebank.

    Raises:
        CorpusError: the path is a folder, or the name of a treebank's repository; or see `treebank_path`.
    """
    if isinstance(path, str) and is_treebank_name(path):
        return treebank_path(path)
    folder = Path(path)
    if folder.is_dir():
        treebanks = ", ".join(file.name for file in sorted(folder.glob("*.conllu")))
        raise CorpusError(f"this is a folder; name the files in it: {treebanks}".removesuffix(": "), file=path)
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
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    our_cache = Path(os.environ.get("ATTENTIONOLOGY_CACHE") or Path(caches, "attentionology"))
    return _local_path(name, os.environ.get("UD_HOME"), os.environ.get("UD_MIRROR"), our_cache / "ud")


@cache  # because the content of a file is checked each time it is resolved
def _local_path(name: str, home: str | None, mirror: str | None, cache_folder: Path) -> Path:
    """Return the path of a treebank's file, which is fetched into the cache if there is no unpacked release."""
    parsed = TreebankName.parse(name)
    if is_pattern(name):
        advice = "name one, or let survey --treebanks read each of them by itself"
        raise CorpusError(f"{name!r} may name several treebanks, which are not read as one corpus; {advice}")
    if home:
        return _in_home(parsed, Path(home))
    known = known_treebanks().get(parsed.code)
    if known is None:
        raise CorpusError(f"unknown treebank {parsed.code!r}; {near_codes(parsed.code)}")
    path = cache_folder / f"ud-treebanks-v{parsed.release or RELEASE}" / known.repository / parsed.file
    if path.exists() and file_sha256(path) != _origin_of(path).get("sha256"):
        MESSAGES.warning("%s is damaged and is downloaded again.", one_line(str(path)))
        path.unlink()
    if not path.exists():
        _download(parsed, path, mirror or MIRROR)
    return path


def _in_home(name: TreebankName, home: Path) -> Path:
    """Return the path of a file in an unpacked release; the message of an error says what is there instead."""
    files = files_in_home(home, str(name), name.release)
    if name.file in files:
        return files[name.file]
    codes = sorted({file.split("-ud-")[0] for file in files})
    of_treebank = sorted(file for file in files if file.startswith(f"{name.code}-ud-"))
    of_language = [code for code in codes if code.split("_")[0] == name.code.split("_")[0]]
    instead = of_treebank or of_language or codes
    there = f"there are: {', '.join(instead[:20])}" if instead else "it has no treebanks"
    raise CorpusError(f"there is no {name.file} in UD_HOME={home}; {there}{did_you_mean(name.code, codes)}")


def files_in_home(home: Path, name: str, release: str | None) -> dict[str, Path]:
    """Return the files of an unpacked release by their names; ``name`` is what was asked for, of this release."""
    if not home.is_dir():
        raise CorpusError(f"UD_HOME={home} is not a folder")
    release_there = _release_of(home.resolve())
    if release and release_there and release != release_there:
        raise CorpusError(f"{name.split('@')[0]}@{release}: UD_HOME={home} is release {release_there}")
    # If two folders have files of one name, the first folder counts, because it comes last here.
    return {path.name: path for path in sorted(home.glob("*/*-ud-*.conllu"), reverse=True)}


def _download(name: TreebankName, path: Path, mirror: str) -> None:
    """Fetch a file to this path, and the README beside it, which names the license."""
    for variable in _OFFLINE:
        if os.environ.get(variable, "").lower() in ("1", "on", "true", "yes"):
            missing = f"{name} is not in the cache {path.parent}, and {variable} is set"
            message = f"{missing}; set UD_HOME to an unpacked release, or give a file"
            raise NoSuchFileError(message, f"not in the cache, and {variable} is set")
    release = name.release or RELEASE
    base = f"{mirror.rstrip('/')}/{path.parent.name}/r{release}"
    url = f"{base}/{path.name}"
    MESSAGES.info("%s", one_line(f"Downloading {name} of release {release} from {base} …"))
    content = _fetch(url)
    if content is None:
        message = f"there is no {url}; release {release} has no such file"
        raise NoSuchFileError(message, f"no {name.split} split in release {release}")
    if not content.endswith((b"\n\n", b"\n\r\n")):  # one that was cut would otherwise be a shorter treebank
        reason = "because it does not end with an empty line"
        raise CorpusError(f"{url} is not complete, {reason}; the same command tries again")
    for readme in READMES:
        if (text := _fetch(f"{base}/{readme}")) is not None:
            write_durably(path.with_name(readme), text)
            break
    write_durably(path, content)
    record = _record_of(path)
    write_json(record, {"url": url, "sha256": file_sha256(path)}, record.name)


def _fetch(url: str) -> bytes | None:
    """Fetch a file, complete or not at all; None if the server has no such file."""
    try:
        if urlsplit(url).scheme not in ("http", "https"):  # an OSError gets the advice below
            raise OSError("UD_MIRROR is not an address of a web server, which begins with https://")
        with urlopen(url, timeout=_SECONDS) as response:  # noqa: S310  # the scheme is checked
            content: bytes = response.read()  # raises IncompleteRead if fewer bytes arrive than were announced
            return content
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError) and error.code in (404, 410):
            return None
        message = f"{url} cannot be fetched ({error})"
        raise CorpusError(f"{message}; try again, set UD_HOME to an unpacked release, or give a file") from None


def _release_of(folder: Path) -> str | None:
    """Return the release whose treebanks a folder holds, as the folder's name says."""
    match = _RELEASE.fullmatch(folder.name)
    return match["release"] if match else None


def _license_in(folder: Path) -> str | None:
    """Return the license that the README in the folder of a treebank names."""
    for readme in filter(Path.is_file, map(folder.joinpath, READMES)):
        text = readme.read_text("utf-8", errors="replace")
        start = max(text.find(_METADATA), 0)  # prose before the metadata may have such lines, too
        if match := _LICENSE.search(text, start):
            return match["license"]
    return None


def _origin_of(path: Path) -> dict[str, str]:
    """Return the address that a file in the cache was fetched from, and the SHA-256 that it had then."""
    record = _record_of(path)
    try:
        return dict(read_json(record, record.name))
    except (FileNotFoundError, DamagedError):
        return {}


def _record_of(path: Path) -> Path:
    """Return the path of the record of where a file in the cache was fetched from."""
    return path.with_suffix(".source.json")


class Matches(NamedTuple):
    """The treebanks that a pattern names."""

    names: tuple[str, ...]  # those that can be read, in the order of the table of treebanks
    left_out: Mapping[str, str]  # the others, each with the reason why it cannot be read


def matching_treebanks(pattern: str) -> Matches:
    """Find the treebanks that a pattern names, and fetch their files where `treebank_path` would.

    Args:
        pattern: ``ud:CODES:SPLIT`` or ``ud:CODES:SPLIT@RELEASE``. In ``CODES``, ``*`` stands for any characters and
            ``?`` for one. It is compared with the codes of the release `RELEASE` and with those of the files in
            ``UD_HOME``.

    Raises:
        CorpusError: the pattern has another form, no treebank matches it, none that matches can be read, or the network
            fails.

    Example:
        >>> matching_treebanks("ud:xx_*:dev")
        Traceback (most recent call last):
        attentionology.corpora_loaders.errors.CorpusError: no treebank of release 2.17 matches 'ud:xx_*:dev'; all are
        listed by: attentionology treebanks
    """
    parsed = TreebankName.parse(pattern)
    release, home = parsed.release, os.environ.get("UD_HOME")
    files = files_in_home(Path(home), pattern, release) if home else {}
    all_codes = dict.fromkeys([*known_treebanks(), *(file.split("-ud-")[0] for file in files)])
    codes = [code for code in all_codes if fnmatchcase(code, parsed.code)]
    if not codes:
        raise CorpusError(f"no treebank of release {release or RELEASE} matches {pattern!r}; {near_codes(parsed.code)}")
    names, left_out = list[str](), dict[str, str]()
    for code in codes:
        treebank = TreebankName(code, parsed.split, release)
        name = f"{treebank}@{release}" if release else str(treebank)
        if home and treebank.file not in files:
            has_other_splits = any(file.startswith(f"{code}-ud-") for file in files)
            left_out[name] = f"no {parsed.split} split" if has_other_splits else f"not in UD_HOME={home}"
        elif obstacle := _why_unusable(name):
            left_out[name] = obstacle
        else:
            names.append(name)
    if not names:
        raise CorpusError(f"no treebank that matches {pattern!r} can be read: {'; '.join(grouped_reasons(left_out))}")
    return Matches(tuple(names), left_out)


def _why_unusable(name: str) -> str:
    """Return why a treebank is of no use; empty also if it has a mistake, which is left to whoever reads it."""
    try:
        path = treebank_path(name)
    except NoSuchFileError as error:
        return error.short
    with suppress(CorpusError):
        blank = BlankWords()
        for sentence in read_conllu(path):
            blank.add(sentence)
        if blank.are_too_many:
            share = f"released without its words: {100 * blank.share:.0f} % of the forms are blank"
            return _WITHOUT_WORDS if blank.share == 1 else share
    return ""
