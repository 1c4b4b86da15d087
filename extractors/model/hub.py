"""Models from the Hugging Face Hub: one commit, only the files that are needed, each checked against its checksum."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
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
from .files import (
    CONFIG,
    INDEX,
    PICKLE_INDEX,
    TOKENIZER_FILE,
    WEIGHTS,
    WEIGHTS_HINT,
    LoadedFiles,
    main_weights,
    shard_names,
)

_REFUSALS: dict[type[Exception], str] = {
    HFValidationError: "{name!r} is neither a model folder nor a name on the Hub, such as "
    "google-bert/bert-base-uncased",
    GatedRepoError: "{name!r} asks its readers to accept terms: do so at {endpoint}/{name}, then run 'hf auth login'",
    RepositoryNotFoundError: "there is no model {name!r} on {endpoint}, or it is private: run 'hf auth login' or set "
    "HF_TOKEN",
    RevisionNotFoundError: "{name!r} has no branch, tag or commit {revision!r}",
}
"""Errors of huggingface_hub, classes before their base classes, and what is said instead."""


class _Bar(tqdm):  # type: ignore[misc]  # huggingface_hub has no types here
    """A progress bar that is only shown in a terminal."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"disable": None, **options})  # None: shown in terminals only


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
    with _explain_errors(name, revision):
        cache = Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=name, repo_type="model"))
        why_offline = ""  # why the Hub gives no answer, empty if it does
        try:
            commit, checksums = _ask(name, revision)
            folder = cache / "snapshots" / commit
        except _NoAnswerError as error:
            why_offline = str(error)
            folder = _cached_folder(name, revision, why_offline)
            checksums = dict.fromkeys((path.name for path in folder.iterdir()), "")
        get = partial(_intact, name, revision or constants.DEFAULT_REVISION, folder, checksums, why_offline)
        main = main_weights(checksums)
        if not main:
            get([WEIGHTS])  # which says that there is none, before anything is fetched
        is_sharded = main in (INDEX, PICKLE_INDEX)
        get([CONFIG, *sorted(filter(TOKENIZER_FILE.fullmatch, checksums)), *([main] if is_sharded else [])])
        # The weights come last, so that a folder with weights is complete.
        sha256 = get(shard_names(folder / main) if is_sharded else [main])
    if not why_offline and revision != folder.name:
        # Which commit a branch stands for is written where huggingface_hub looks it up offline, and only after all
        # files have been fetched, so that a model that is found offline is complete.
        with suppress(OSError, StorageError):  # a cache that cannot be written serves this run all the same
            write_durably(cache / "refs" / (revision or constants.DEFAULT_REVISION), folder.name.encode())
    return LoadedFiles(folder.name, sha256, revision, constants.ENDPOINT, bool(why_offline), folder, name)


def _ask(name: str, revision: str | None) -> tuple[str, dict[str, str]]:
    """Return the commit of a revision and the checksums of its files, after one attempt."""
    if constants.is_offline_mode():
        raise _NoAnswerError("HF_HUB_OFFLINE is set")
    try:
        with _explain_errors(name, revision):
            info = huggingface_hub.HfApi(endpoint=constants.ENDPOINT).model_info(
                name, revision=revision, timeout=constants.HF_HUB_ETAG_TIMEOUT, files_metadata=True
            )
        if not re.fullmatch("[0-9a-f]{40}", info.sha):
            raise ValueError("its answer is not that of a Hub")
        return info.sha, {file.rfilename: file.lfs["sha256"] if file.lfs else file.blob_id for file in info.siblings}
    except ModelError:
        raise
    except Exception as error:  # whatever answers at this address, perhaps a page to log in to a network
        raise _NoAnswerError(f"{constants.ENDPOINT} does not answer ({cause(error)})") from error


def _intact(
    name: str, revision: str, folder: Path, checksums: dict[str, str], why_offline: str, files: Collection[str]
) -> dict[str, str]:
    """Return the SHA-256 of files of a commit. If the Hub is not silent, what is missing or damaged is fetched."""
    lacking = [file for file in files if file not in checksums]
    if lacking and not why_offline:
        hint = f". {WEIGHTS_HINT}" if WEIGHTS in lacking else ""
        raise ModelError(f"{name!r} at {folder.name} has no {lacking[0]}{hint}")
    for fetched in (False, True):
        digests = {file: _sha256_if_intact(folder / file, checksums.get(file, "")) for file in files}
        damaged = [file for file, sha256 in digests.items() if not sha256]
        if not damaged:
            return digests
        if why_offline:
            where = f"missing or damaged in the cache {constants.HF_HUB_CACHE}"
            raise ModelError(f"{why_offline}, and {damaged[0]} of {name!r} ({revision}) is {where}")
        for path in (folder / file for file in damaged):
            path.resolve().unlink(missing_ok=True)  # what the path links to
            path.unlink(missing_ok=True)
        if not fetched:
            _fetch(name, folder.name, damaged)
    raise ModelError(f"{name!r}: {damaged[0]} was damaged during the download and deleted; try again")


def _fetch(name: str, commit: str, files: Collection[str]) -> None:
    """Download files of a commit into the cache, or raise `ModelError`."""
    try:
        with _explain_errors(name, commit):
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
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        why = cause(error.__cause__ if isinstance(error.__cause__, Exception) else error)
        message = f"{name!r}: {', '.join(files)} could not be fetched: {why}"
        raise ModelError(f"{message}; the same command goes on") from error


def _cached_folder(name: str, revision: str | None, why_offline: str) -> Path:
    """Find the commit that an earlier run read, or raise `ModelError`."""
    config = None
    with suppress(UnicodeDecodeError):  # raised by a damaged file that says which commit a branch stands for
        config = huggingface_hub.try_to_load_from_cache(name, CONFIG, revision=revision)
    if not isinstance(config, str):
        what = f"{name!r} ({revision or constants.DEFAULT_REVISION})"
        raise ModelError(f"{why_offline}, and {what} is not in the cache {constants.HF_HUB_CACHE}")
    return Path(config).parent


def _sha256_if_intact(path: Path, checksum: str) -> str:
    """Return the SHA-256 of a file in the cache; an empty text if it is missing or has not the checksum it should."""
    if not path.is_file():
        return ""
    sha256 = file_sha256(path)
    # The cache names a file by its checksum and links to it. A file that is no link (HF_HUB_DISABLE_SYMLINKS) should
    # have the checksum that the Hub says, and without the Hub there is nothing to compare it with. The link is not
    # resolved, because the file that is named by its checksum may itself be a link into a store with other names.
    expected = path.readlink().name if path.is_symlink() else checksum
    if re.fullmatch(r"[0-9a-f]{64}", expected) and sha256 != expected:
        return ""
    if re.fullmatch(r"[0-9a-f]{40}", expected):  # small files have the SHA-1 of git
        content = path.read_bytes()
        header = b"blob %d\0" % len(content)
        if hashlib.sha1(header + content, usedforsecurity=False).hexdigest() != expected:
            return ""
    return sha256


@contextmanager
def _explain_errors(name: str, revision: str | None) -> Iterator[None]:
    """Turn refusals of the Hub and errors of the cache into errors that say what to do; others are passed on."""
    endpoint, revision = constants.ENDPOINT, revision or constants.DEFAULT_REVISION
    try:
        yield
    except Exception as error:
        for kind, message in _REFUSALS.items():
            if isinstance(error, kind):
                raise ModelError(message.format(name=name, endpoint=endpoint, revision=revision)) from error
        if isinstance(error, HfHubHTTPError):
            status = error.response.status_code
            busy = status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
            if status < HTTPStatus.INTERNAL_SERVER_ERROR and not busy:
                raise ModelError(f"{endpoint} refuses {name!r} or your token: {cause(error)}") from error
        elif isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError):
            file = f": {error.filename}" if error.filename else ""
            cache = f"cannot use the cache {constants.HF_HUB_CACHE} ({error.strerror}{file})"
            raise ModelError(f"{cache}; set HF_HOME to another folder") from error
        raise
