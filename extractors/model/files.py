"""Where the files of a model are: in a folder, or at one commit of the Hugging Face Hub."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ...corpora_loaders.lines import file_sha256
from ..errors import ModelError
from .checkpoint import check_checkpoint
from .hub import hub_model
from .loaded_weights import UnusedWeights


@dataclass(frozen=True)
class LoadedFiles:
    """The origin of a model.

    Attributes:
        revision: the commit on the Hub, None for a local folder.
        sha256: the SHA-256 of each safetensors file by its name.
        requested: the branch, tag or commit that the user asked for, if any.
        endpoint: the address of the Hub, None for a local folder.
        offline: whether the Hub was not asked or did not answer; None for a local folder.
        folder: the folder of the files; None for a model that was not loaded from files.
        name: the model's name on the Hub, or its folder as the user gave it.
        unused: tensors of the files that the model has no place for.
        untrained: weights that the files lack and no map depends on, such as a pooler's. They are random numbers.
        warnings: what a user should know before reading the numbers, one sentence each.
    """

    revision: str | None = None
    sha256: dict[str, str] = field(default_factory=dict)
    requested: str | None = None
    endpoint: str | None = None
    offline: bool | None = None
    folder: Path | None = None
    name: str = ""
    unused: UnusedWeights = field(default_factory=UnusedWeights)
    untrained: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


Location = str | Path | LoadedFiles
"""A model's folder, its name on the Hub, or what `find_model` made of either."""


def find_model(location: Location, revision: str | None = None) -> LoadedFiles:
    """Find the files of a model in a folder, or fetch and check one commit of a model on the Hub.

    All functions that load take the result in place of a name, and then read the same files.

    Raises:
        ModelError: there is no such folder, or see `attentionology.extractors.model.hub.hub_model`.
    """
    if isinstance(location, LoadedFiles):
        return location
    folder = Path(location)
    _check_folder(location)
    if folder.is_dir():
        warnings = tuple(check_checkpoint(folder))
        sha256 = {file.name: file_sha256(file) for file in sorted(folder.glob("*.safetensors"))}
        return LoadedFiles(sha256=sha256, folder=folder, name=str(location), warnings=warnings)
    model = hub_model(str(location), revision)
    return LoadedFiles(
        model.commit,
        model.checked,
        model.revision,
        model.endpoint,
        model.offline,
        model.folder,
        model.name,
        warnings=tuple(check_checkpoint(model.folder)),
    )


def _check_folder(name_or_path: str | Path) -> None:
    """Raise an error that speaks of a folder, not of a malformed Hub id, if a name looks like a path."""
    name = str(name_or_path)
    looks_like_path = isinstance(name_or_path, Path) or name.startswith((".", "/", "~")) or name.endswith("/")
    if not Path(name).is_dir() and (looks_like_path or name.count("/") > 1):
        raise ModelError(f"there is no model folder {name!r}")
    if Path(name).is_file():
        raise ModelError(f"{name!r} is a file; give the folder that contains it")
    if Path(name).is_dir() and not (Path(name) / "config.json").is_file():
        raise ModelError(f"cannot load {name!r}: there is no config.json in that folder")
