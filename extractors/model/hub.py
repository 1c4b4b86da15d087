"""Models from the Hugging Face Hub: one commit, only the files that are needed, each checked against its checksum."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import constants
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    HTTPError,  # pyright: ignore[reportPrivateImportUsage]  # its origin, httpx or httpx2, depends on the version
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import repo_folder_name
from huggingface_hub.utils import tqdm

from ...corpora_loaders.lines import file_sha256
from ...storage.durable import StorageError, write_durably
from ..errors import ModelError, cause
from .files import CONFIG, CONVERSION_HINT, INDEX, TOKENIZER_FILE, WEIGHTS, LoadedFiles, shard_names

_STRANGE = "its answer is not that of a Hub"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_BUSY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_REFUSALS: tuple[tuple[type[Exception], str], ...] = (
    (
        HFValidationError,
        "{name!r} is neither a model folder nor a name on the Hub, such as google-bert/bert-base-uncased",
    ),
    (
        GatedRepoError,  # before its base class
        "{name!r} asks its readers to accept terms: do so at {endpoint}/{name}, then run 'hf auth login'",
    ),
    (
        RepositoryNotFoundError,
        "there is no model {name!r} on {endpoint}, or it is private: run 'hf auth login' or set HF_TOKEN",
    ),
    (RevisionNotFoundError, "{name!r} has no branch, tag or commit {revision!r}"),
)
"""Errors of huggingface_hub, and what is said instead."""

_SILENCE = (HTTPError, ConnectionError, TimeoutError)
_Get = Callable[[Sequence[str]], dict[str, str]]
"""A function that finds files of a commit and returns their SHA-256."""


class _Bar(tqdm):  # type: ignore[misc]  # huggingface_hub has no types here
    """A progress bar that is only shown in a terminal."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"disable": None, **options})


class _NoAnswerError(Exception):
    """The Hub is not asked, or does not answer as a Hub does. The message says which."""


def hub_model(name: str, revision: str | None = None) -> LoadedFiles:
    """Find one commit of a model on the Hub, fetch the files that are not in the cache, and check all of them.

    The name is resolved to a commit once, so that the tokenizer and every form of the model come from the same commit.
    If the Hub does not answer that one request within ``HF_HUB_ETAG_TIMEOUT`` seconds (10 unless the environment says
    otherwise), or ``HF_HUB_OFFLINE`` is set, the cache is used as an earlier run left it.

    Every file is compared with its checksum each time, because huggingface_hub itself only compares the size; this
    takes about a second for 400 MB. A damaged file is fetched again; offline it is refused.
    """
    # Git forbids such names. The revision becomes part of a path in the cache, which it must not lead out of.
    forbidden = revision is not None and (".." in revision or revision.startswith("/") or not revision.isprintable())
    if forbidden or (revision is not None and not revision.strip()):
        raise ModelError(f"{name!r} has no branch, tag or commit {revision!r}")
    with quiet_hub(), _explained(name, revision):
        try:
            return _from_hub(name, revision, *_ask(name, revision))
        except _NoAnswerError as silence:
            return _from_cache(name, revision, str(silence))


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Keep the log of huggingface_hub off the terminal, because the errors that are raised here say the same."""
    verbosity = huggingface_hub.logging.get_verbosity()
    huggingface_hub.logging.set_verbosity_error()
    try:
        yield
    finally:
        huggingface_hub.logging.set_verbosity(verbosity)


def _ask(name: str, revision: str | None) -> tuple[str, dict[str, str]]:
    """Return the commit of a revision and the checksums of its files, after one attempt."""
    if constants.is_offline_mode():
        raise _NoAnswerError("HF_HUB_OFFLINE is set")
    with _asking(name, revision):
        info = huggingface_hub.HfApi(endpoint=constants.ENDPOINT).model_info(
            name, revision=revision, timeout=constants.HF_HUB_ETAG_TIMEOUT, files_metadata=True
        )
        if not _COMMIT.fullmatch(info.sha):
            raise ValueError(_STRANGE)
        return info.sha, {file.rfilename: file.lfs["sha256"] if file.lfs else file.blob_id for file in info.siblings}


def _from_hub(name: str, revision: str | None, commit: str, checksums: dict[str, str]) -> LoadedFiles:
    """Fetch what the cache lacks of a commit, and check it."""
    cached = Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=name, repo_type="model"))
    folder = cached / "snapshots" / commit

    def get(files: Sequence[str]) -> dict[str, str]:
        if lacking := [file for file in files if file not in checksums]:
            hint = f". {CONVERSION_HINT}" if WEIGHTS in lacking else ""
            raise ModelError(f"{name!r} at {commit} has no {lacking[0]}{hint}")
        digests = {file: _sha256_if_intact(folder / file, checksums[file]) for file in files}
        if damaged := [file for file, sha256 in digests.items() if not sha256]:
            _discard(folder, damaged)
            _fetch(name, commit, damaged)
            digests |= {file: _sha256_if_intact(folder / file, checksums[file]) for file in damaged}
        if damaged := [file for file, sha256 in digests.items() if not sha256]:
            _discard(folder, damaged)
            raise ModelError(f"{name!r}: {damaged[0]} was damaged during the download and deleted; try again")
        return digests

    sha256 = _collect(folder, checksums, get)
    # Which commit a branch stands for is written where huggingface_hub looks it up offline, and only after all files
    # have been fetched, so that a model that is found offline is complete.
    reference = cached / "refs" / (revision or constants.DEFAULT_REVISION)
    with suppress(OSError, StorageError):  # a cache that cannot be written serves this run all the same
        if revision != commit and not (reference.is_file() and reference.read_bytes() == commit.encode()):
            write_durably(reference, commit.encode())
    return LoadedFiles(commit, sha256, revision, constants.ENDPOINT, offline=False, folder=folder, name=name)


def _from_cache(name: str, revision: str | None, why: str) -> LoadedFiles:
    """Check the files of a model that an earlier run left in the cache."""
    what, cache = f"{name!r} ({revision or constants.DEFAULT_REVISION})", constants.HF_HUB_CACHE
    config = None
    with suppress(UnicodeDecodeError):  # raised by a damaged file that says which commit a branch stands for
        config = huggingface_hub.try_to_load_from_cache(name, CONFIG, revision=revision)
    if not isinstance(config, str):
        raise ModelError(f"{why}, and {what} is not in the cache {cache}")
    folder = Path(config).parent

    def get(files: Sequence[str]) -> dict[str, str]:
        digests = {file: _sha256_if_intact(folder / file, None) for file in files}
        if lacking := [file for file, sha256 in digests.items() if not sha256]:
            raise ModelError(f"{why}, and {lacking[0]} of {what} is missing or damaged in the cache {cache}")
        return digests

    sha256 = _collect(folder, [path.name for path in folder.iterdir()], get)
    return LoadedFiles(folder.name, sha256, revision, constants.ENDPOINT, offline=True, folder=folder, name=name)


def _collect(folder: Path, there: Collection[str], get: _Get) -> dict[str, str]:
    """Get the files that are needed of those that are there, and return the SHA-256 of those with weights."""
    sharded = WEIGHTS not in there and INDEX in there
    if not sharded and WEIGHTS not in there:
        return get([WEIGHTS])  # which says that there is none, before anything is fetched
    get([CONFIG, *sorted(filter(TOKENIZER_FILE.fullmatch, there)), *([INDEX] if sharded else [])])
    # The weights come last, so that a folder with weights is complete.
    return get(shard_names(folder / INDEX) if sharded else [WEIGHTS])


def _fetch(name: str, commit: str, files: Sequence[str]) -> None:
    with _asking(name, commit):  # once: `snapshot_download` would go on asking for minutes
        address = huggingface_hub.hf_hub_url(name, files[0], revision=commit, endpoint=constants.ENDPOINT)
        if huggingface_hub.get_hf_file_metadata(address, timeout=constants.HF_HUB_ETAG_TIMEOUT).commit_hash != commit:
            raise ValueError(_STRANGE)
    try:
        with _explained(name, commit):
            huggingface_hub.snapshot_download(
                name,
                revision=commit,
                allow_patterns=[glob.escape(file) for file in files],
                endpoint=constants.ENDPOINT,
                etag_timeout=constants.HF_HUB_ETAG_TIMEOUT,
                tqdm_class=_Bar,
            )
    except ModelError:
        raise
    except (HTTPError, OSError, RuntimeError) as error:
        why = cause(error.__cause__ if isinstance(error.__cause__, Exception) else error)
        message = f"{name!r}: {', '.join(files)} could not be fetched: {why}"
        raise ModelError(f"{message}; the same command goes on") from error


def _sha256_if_intact(path: Path, checksum: str | None) -> str:
    """Return the SHA-256 of a file in the cache; an empty text if there is none with the checksum that it should have.

    The cache names a file by its checksum, SHA-256 for large files and git's SHA-1 for others, and links to it. A file
    that is no link (``HF_HUB_DISABLE_SYMLINKS``) should have the given checksum; without one, there is nothing to
    compare it with.
    """
    if not path.is_file():
        return ""
    sha256 = file_sha256(path)
    # Not `resolve`: the file that is named by its checksum may itself be a link into a store with names of its own.
    expected = path.readlink().name if path.is_symlink() else checksum or ""
    actual = expected
    if re.fullmatch(r"[0-9a-f]{64}", expected):
        actual = sha256
    elif re.fullmatch(r"[0-9a-f]{40}", expected):
        content = path.read_bytes()
        actual = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    return sha256 if actual == expected else ""


def _discard(folder: Path, files: Sequence[str]) -> None:
    """Remove files from the cache if they are there, and those that they link to."""
    for path in (folder / file for file in files):
        path.resolve().unlink(missing_ok=True)
        path.unlink(missing_ok=True)


@contextmanager
def _asking(name: str, revision: str | None) -> Iterator[None]:
    """Distinguish a Hub that refuses a request from one that does not answer, or not as a Hub does."""
    try:
        with _explained(name, revision):
            yield
    except (HTTPError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _NoAnswerError(f"{constants.ENDPOINT} does not answer ({cause(error)})") from error


@contextmanager
def _explained(name: str, revision: str | None) -> Iterator[None]:
    """Turn refusals of the Hub and errors of the cache into errors that say what to do; others are passed on."""
    endpoint, revision = constants.ENDPOINT, revision or constants.DEFAULT_REVISION
    try:
        yield
    except Exception as error:
        for kind, message in _REFUSALS:
            if isinstance(error, kind):
                raise ModelError(message.format(name=name, endpoint=endpoint, revision=revision)) from error
        if isinstance(error, HfHubHTTPError):
            status = error.response.status_code
            if status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _BUSY:
                raise ModelError(f"{endpoint} refuses {name!r} or your token: {cause(error)}") from error
        elif isinstance(error, OSError) and error.errno is not None and not isinstance(error, _SILENCE):
            file = f": {error.filename}" if error.filename else ""
            cache = f"cannot use the cache {constants.HF_HUB_CACHE} ({error.strerror}{file})"
            raise ModelError(f"{cache}; set HF_HOME to another folder") from error
        raise
