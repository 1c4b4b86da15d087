"""How the command line reads options that are numbers, and options that are a number or missing."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from tyro.conf import arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from ..option_groups import Bounds

_NAMES: dict[Any, str] = {int: "a whole number", float: "a number"}


def _read(kind: type[int] | type[float], word: str) -> int | float:
    """Read a number of the command line."""
    try:
        if not word.isascii() or "_" in word or word != word.strip():
            raise ValueError
        number = kind(word)
    except ValueError:
        raise ValueError(f"{word[:40]!r} is not {_NAMES[kind]}") from None
    if isinstance(number, int) and not -sys.maxsize <= number <= sys.maxsize:
        raise ValueError(f"{word[:40]} is too large")
    return number


def _specification(kind: type[int] | type[float], metavar: str) -> PrimitiveConstructorSpec[Any]:
    """Return how an option that is a number, and perhaps missing, is read and shown."""
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: _read(kind, words[0]),
        is_instance=lambda value: value is None or (isinstance(value, int | float) and not isinstance(value, bool)),
        str_from_instance=lambda value: ["none" if value is None else str(value)],
    )


NUMBERS = ConstructorRegistry()
"""The rules by which all options that are numbers are read in the same way as those that may be missing."""


@NUMBERS.primitive_rule
def _number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    kind: Any = info.type
    return _specification(kind, kind.__name__.upper()) if kind in _NAMES else None


OptionalNumber = Annotated[int | None, _specification(int, "N"), Bounds(1)]
"""The type of an option that is a whole number from 1, or None."""

OptionalCount = Annotated[int | None, _specification(int, "N"), Bounds(0)]
"""The type of an option that is a whole number from 0, or None."""

OptionalReal = Annotated[float | None, _specification(float, "X")]
"""The type of an option that is a number, or None."""

OptionalPositive = Annotated[OptionalReal, Bounds(0, strict=True)]
"""The type of an option that is a number above 0, or None."""

Number = Annotated[int, arg(metavar="N"), Bounds(1)]
"""The type of an option that is a whole number from 1."""

Count = Annotated[int, arg(metavar="N"), Bounds(0)]
"""The type of an option that is a whole number from 0, where 0 asks for nothing."""

MIN_COUNT = Bounds(1)
"""The numbers of decisions below which a group counts as rare."""

MinCount = Annotated[int, arg(metavar="N"), MIN_COUNT]
"""The type of the option ``--min-count``."""

OptionalMinCount = Annotated[int | None, _specification(int, "N"), MIN_COUNT]
"""The type of this option where None keeps the value of a run."""

Share = Annotated[float, arg(metavar="SHARE"), Bounds(0, 1)]
"""The type of an option that is a share from 0 to 1."""

SEEDS = Bounds(0, 2**32 - 1)
"""The seeds. Not all generators accept higher numbers."""

Seed = Annotated[int, arg(metavar="N"), SEEDS]
"""The type of a seed."""
