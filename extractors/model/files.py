"""Where a model was loaded from, and what of its files it did not use."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class UnusedWeights:
    """Tensors of a checkpoint that the model has no place for.

    Attributes:
        heads: the tensors of a head on top of the model, which attention does not need, such as a pooler.
        others: all other tensors.
    """

    heads: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


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
