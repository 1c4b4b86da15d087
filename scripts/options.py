"""What options of several commands have in common."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from attentionology.scripts.builtin import DEMO, SAMPLE
from attentionology.scripts.errors import UsageError
from attentionology.storage.partial import sweep


def _read(kind: type[int] | type[float], name: str, word: str) -> float:
    """A number of the command line.

    Raises:
        ValueError: not a number, or one that only Python reads as such (``1_0``, digits of other scripts), or too large
            for 64 bits.
    """
    try:
        if not word.isascii() or "_" in word or word != word.strip():
            raise ValueError
        number = kind(word)
    except ValueError:
        raise ValueError(f"{word[:40]!r} is not {name}") from None
    if isinstance(number, int) and not -sys.maxsize <= number <= sys.maxsize:
        raise ValueError(f"{word[:40]} is too large")
    return number


def _optional(kind: type[int] | type[float], metavar: str, name: str) -> PrimitiveConstructorSpec[Any]:
    """How an option is read that is a number or not given."""
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: _read(kind, name, words[0]),
        is_instance=lambda value: value is None or isinstance(value, kind),
        str_from_instance=lambda value: ["none" if value is None else str(value)],
    )


NUMBERS = ConstructorRegistry()
"""Reads all options that are numbers in the same way as those that may be missing."""


@NUMBERS.primitive_rule
def _number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    kinds: dict[Any, tuple[type[int] | type[float], str]] = {
        int: (int, "a whole number"),
        float: (float, "a number"),
    }
    if info.type not in kinds:
        return None
    kind, name = kinds[info.type]
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.__name__.upper(),
        instance_from_str=lambda words: _read(kind, name, words[0]),
        is_instance=lambda value: isinstance(value, int | float) and not isinstance(value, bool),
        str_from_instance=lambda value: [str(value)],
    )


OptionalNumber = Annotated[int | None, _optional(int, "N", "a whole number")]
"""A whole number, or nothing."""

OptionalReal = Annotated[float | None, _optional(float, "X", "a number")]
"""A number, or nothing."""


def check_seed(seed: int) -> None:
    """Refuse seeds that not all generators take."""
    if not 0 <= seed < 2**32:
        raise UsageError(f"--seed must be from 0 to {2**32 - 1}, not {seed}")


def default_folder(model: str, corpus: Sequence[str]) -> Path:
    """Where results go if nobody says: ``runs/MODEL-CORPUS``."""
    names = [model.rstrip("/").rsplit("/", 1)[-1], *(Path(c).name.split(".", 1)[0] for c in corpus[:1])]
    return Path("runs") / re.sub(r"[^\w.-]+", "_", "-".join(names))


def paths_read(*given: str | Path | Sequence[str] | None) -> list[Path]:
    """Files and folders among the values of options, which may also be names of other things."""
    named = [name for value in given if value for name in ([value] if isinstance(value, str | Path) else value)]
    return [Path(name) for name in named if name not in (DEMO, SAMPLE)]


def cache_folder(cache: Path | None, out: Path) -> Path:
    """Where a command keeps what later runs may use: ``cache`` beside the results folder if nobody says.

    What processes that were killed left unfinished in it is swept.

    Raises:
        UsageError: it would be in the results folder, or cannot be made.
    """
    cache = cache or out.parent / "cache"
    if cache.resolve().is_relative_to(out.resolve()):
        raise UsageError(f"the cache {cache} would be in the results folder {out}; choose another --cache or --out")
    if cache.exists() and not cache.is_dir():
        raise UsageError(f"the cache {cache} is not a folder; choose another --cache")
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create the cache {cache} ({error.strerror}); choose another --cache") from error
    for folder in (cache, *filter(Path.is_dir, cache.iterdir())):
        sweep(folder)
    return cache
