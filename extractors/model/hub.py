"""Models from the Hugging Face Hub: one commit, only the files that are needed, each checked against its checksum."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import huggingface_hub
from huggingface_hub import constants
from huggingface_hub.errors import (
    HFValidationError,
    HTTPError,  # pyright: ignore[reportPrivateImportUsage]  # its origin, httpx or httpx2, depends on the version
)
from huggingface_hub.utils import tqdm, validate_repo_id

from ..errors import ModelError
from .hub_answers import (
    NoAnswerError,
    asking,
    first_line,
    refusals,
    using_cache,
    without_remarks,
)
from .hub_cache import discard, remember, sha256_if_intact

CONVERSION_HINT = (
    "Weights are only read as safetensors. To convert a pytorch_model.bin that you trust, load it once with "
    "torch.load(..., weights_only=True) and save it with safetensors.torch.save_file, as docs/how-to/hub.md shows."
)

_CONFIG = "config.json"
_WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_TOKENIZER = re.compile(
    r"tokenizer(\.\d[\d.]*)?\.json|tokenizer_config\.json|special_tokens_map\.json|added_tokens\.json|vocab\.txt"
    r"|vocab\.json|merges\.txt|entity_vocab\.json|bpe\.codes|dict\.txt|prophetnet\.tokenizer|tokenizer\.model"
    r"|spiece\.model|spm\.model|sentencepiece(\.bpe)?\.model|word_(shape|pronunciation)\.json"
)
"""Names that the tokenizers of transformers read."""

_STRANGE = "its answer is not that of a Hub"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ENDPOINT = re.compile(r"https?://([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?(/[^\s?#]*)?")


@dataclass(frozen=True)
class HubModel:
    """The files of a model at one commit, in the cache of huggingface_hub.

    Attributes:
        name: the model's name on the Hub.
        folder: the folder of the files.
        commit: the commit that the files belong to.
        revision: the branch, tag or commit that was asked for; None for the main branch.
        endpoint: the address of the Hub.
        checked: the SHA-256 of each file with weights, by its name.
        offline: whether the Hub was not asked or did not answer, so that the commit is that of an earlier run.
    """

    name: str
    folder: Path
    commit: str
    revision: str | None
    endpoint: str
    checked: dict[str, str]
    offline: bool


class _LackingError(Exception):
    """A file that a model needs is not there; its argument is the file's name."""


def hub_model(name: str, revision: str | None = None) -> HubModel:
    """Find one commit of a model on the Hub, fetch the files that are not in the cache, and check all of them.

    The name is resolved to a commit once, so that the tokenizer and every form of the model come from the same commit.
    Only the configuration, the files of the tokenizer and the weights as safetensors are fetched. Where the Hub does
    not answer a single request within `huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT` seconds (10 unless the
    environment says otherwise), or ``HF_HUB_OFFLINE`` is set, the cache is used as an earlier run left it.

    The cache names a file by its checksum: SHA-256 for large files, git's SHA-1 for others. Every file is compared with
    its name each time, because huggingface_hub itself only compares the size; this takes about a second for 400 MB. A
    damaged file is fetched again; offline it is refused. Where the cache holds no links (``HF_HUB_DISABLE_SYMLINKS``)
    the checksums are those that the Hub gives, and offline there is nothing to compare with.

    Args:
        name: such as ``google-bert/bert-base-uncased``.
        revision: a branch, tag or commit; None for the main branch.

    Raises:
        ModelError: there is no such model or revision, it may not be read, has no weights as safetensors, or could not
            be fetched intact; or the Hub does not answer and the model is not in the cache.
    """
    _check_request(name, revision)
    with without_remarks(), using_cache():
        if constants.is_offline_mode():
            return _from_cache(name, revision, "HF_HUB_OFFLINE is set")
        try:
            return _from_hub(name, revision)
        except NoAnswerError as silence:
            return _from_cache(name, revision, f"{constants.ENDPOINT} does not answer ({silence})")


def shard_names(index: Path) -> list[str]:
    """Return the names of the files in an index of sharded weights, each a safetensors file beside the index.

    Raises:
        ModelError: the index cannot be read, or names anything else.
    """
    try:
        names = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{index.name} is not an index of weights") from error
    for name in names:
        if not isinstance(name, str) or not name.endswith(".safetensors") or re.search(r"[/\\\0]", name):
            raise ModelError(f"{index.name} names {name!r}, which is not a safetensors file in the model's folder")
    if not names:
        raise ModelError(f"{index.name} names no file with weights")
    return sorted(names)


def _check_request(name: str, revision: str | None) -> None:
    """Check that a name, a revision and the address of the Hub are well formed.

    Raises:
        ModelError: one of them is not.
    """
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise ModelError(
            f"{name!r} is neither a model folder nor a name on the Hub, such as google-bert/bert-base-uncased"
        ) from error
    # Git forbids such names. The revision becomes part of a path in the cache, which it must not lead out of.
    if revision is not None and (
        not revision.strip() or not revision.isprintable() or ".." in revision or revision.startswith("/")
    ):
        raise ModelError(f"{name!r} has no branch, tag or commit {revision!r}")
    if constants.is_offline_mode():
        return
    try:
        if not _ENDPOINT.fullmatch(constants.ENDPOINT):
            raise ValueError
        _ = urlsplit(constants.ENDPOINT).port
    except ValueError:
        raise ModelError(
            f"HF_ENDPOINT is not the address of a Hub, such as https://huggingface.co: {constants.ENDPOINT!r}"
        ) from None


def _from_hub(name: str, revision: str | None) -> HubModel:
    """Find and fetch a model on the Hub.

    Raises:
        ModelError: for the same reasons as `hub_model`, except that the Hub does not answer.
        NoAnswerError: the Hub does not answer.
    """
    with asking(name, revision):
        info = huggingface_hub.HfApi(endpoint=constants.ENDPOINT).model_info(
            name, revision=revision, timeout=constants.HF_HUB_ETAG_TIMEOUT, files_metadata=True
        )
        if not isinstance(info.sha, str) or not _COMMIT.fullmatch(info.sha) or info.siblings is None:
            raise NoAnswerError(_STRANGE)
        commit = info.sha
        checksums = {file.rfilename: file.lfs["sha256"] if file.lfs else file.blob_id for file in info.siblings}

    def get(file: str) -> tuple[Path, str]:
        cached = huggingface_hub.try_to_load_from_cache(name, file, revision=commit)
        if isinstance(cached, str) and (sha256 := sha256_if_intact(Path(cached), checksums[file])):
            return Path(cached), sha256
        with asking(name, revision):  # once: `hf_hub_download` would go on asking for minutes
            address = huggingface_hub.hf_hub_url(name, file, revision=commit, endpoint=constants.ENDPOINT)
            about = huggingface_hub.get_hf_file_metadata(address, timeout=constants.HF_HUB_ETAG_TIMEOUT)
            if about.commit_hash != commit:
                raise NoAnswerError(_STRANGE)
        if isinstance(cached, str):  # it is damaged
            discard(Path(cached))
        path = _download(name, revision, commit, file)
        if sha256 := sha256_if_intact(path, checksums[file]):
            return path, sha256
        discard(path)
        raise ModelError(f"{name!r}: {file} was damaged during the download and deleted; try again")

    try:
        folder, checked = _collect(checksums, get)
    except _LackingError as lacking:
        without_weights = lacking.args == (_WEIGHTS,)
        what = f"weights as safetensors. {CONVERSION_HINT}" if without_weights else str(lacking)
        raise ModelError(f"{name!r} at {commit} has no {what}") from None
    remember(folder, revision or constants.DEFAULT_REVISION, commit)
    return HubModel(name, folder, commit, revision, constants.ENDPOINT, checked, offline=False)


def _from_cache(name: str, revision: str | None, why: str) -> HubModel:
    """Find a model that an earlier run left in the cache.

    Raises:
        ModelError: the model is not in the cache, or its files are incomplete or damaged.
    """
    what, cache = f"{name!r} ({revision or constants.DEFAULT_REVISION})", constants.HF_HUB_CACHE
    config = None
    with suppress(UnicodeDecodeError):  # raised by a damaged file that says which commit a branch stands for
        config = huggingface_hub.try_to_load_from_cache(name, _CONFIG, revision=revision)
    if not isinstance(config, str):
        raise ModelError(f"{why}, and {what} is not in the cache {cache}")
    folder = Path(config).parent

    def get(file: str) -> tuple[Path, str]:
        if sha256 := sha256_if_intact(folder / file, None):
            return folder / file, sha256
        raise ModelError(f"{why}, and {file} of {what} in the cache {cache} is damaged")

    try:
        _, checked = _collect({path.name for path in folder.iterdir() if path.is_file()}, get)
    except _LackingError as lacking:
        raise ModelError(f"{why}, and {lacking} of {what} is not in the cache {cache}") from None
    return HubModel(name, folder, folder.name, revision, constants.ENDPOINT, checked, offline=True)


def _collect(there: Collection[str], get: Callable[[str], tuple[Path, str]]) -> tuple[Path, dict[str, str]]:
    """Get all files that are needed of a model. The weights come last, so that a folder with weights is complete.

    Args:
        there: the names of the files that the model has.
        get: makes sure that a file is in the folder and intact, and returns its path and SHA-256.

    Returns:
        the folder, and the SHA-256 of the files with weights.

    Raises:
        _LackingError: the model has no configuration, or no weights as safetensors.
        ModelError: the index of the weights cannot be read.
    """
    sharded = _WEIGHTS not in there
    if sharded and _INDEX not in there:
        raise _LackingError(_WEIGHTS)
    if _CONFIG not in there:
        raise _LackingError(_CONFIG)
    folder = get(_CONFIG)[0].parent
    for file in sorted(filter(_TOKENIZER.fullmatch, there)):
        get(file)
    weights = shard_names(get(_INDEX)[0]) if sharded else [_WEIGHTS]
    for file in weights:
        if file not in there:
            raise _LackingError(file)
    return folder, {file: get(file)[1] for file in weights}


def _download(name: str, revision: str | None, commit: str, file: str) -> Path:
    """Fetch one file into the cache.

    Raises:
        ModelError: the file was not received as a whole, or cannot be written.
    """
    bars: list[Any] = []

    class Bar(tqdm):  # type: ignore[misc] # without stubs
        """Shows how much was received, on a terminal, and counts it everywhere."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.expected, self.received = options.get("total"), 0
            bars.append(self)

        def update(self, n: float | None = 1) -> bool | None:
            self.received += int(n or 0)
            return bool(super().update(n))

    try:
        with using_cache(), refusals(name, revision):
            return Path(
                huggingface_hub.hf_hub_download(
                    name, file, revision=commit, endpoint=constants.ENDPOINT, tqdm_class=Bar
                )
            )
    except (HTTPError, OSError, RuntimeError) as error:
        if isinstance(error, ModelError):
            raise
        why = first_line(error)
        if bars:
            in_last_part = re.search(r"received (\d+) bytes", why)  # which was cut, and so was not counted
            received = bars[0].received + int(in_last_part[1] if in_last_part else 0)
            why = f"received {received:,} of {bars[0].expected or 0:,} bytes"
        raise ModelError(f"{name!r}: {file} could not be fetched: {why}; the same command goes on") from error
