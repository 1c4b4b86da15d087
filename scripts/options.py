"""What options of several commands have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from tyro.constructors import PrimitiveConstructorSpec

from scripts.errors import UsageError


def _whole_number(words: list[str]) -> int:
    try:
        return int(words[0])
    except ValueError:
        raise ValueError(f"{words[0]!r} is not a whole number") from None


def _real_number(words: list[str]) -> float:
    try:
        return float(words[0])
    except ValueError:
        raise ValueError(f"{words[0]!r} is not a number") from None


OptionalNumber = Annotated[
    int | None,
    PrimitiveConstructorSpec(
        nargs=1,
        metavar="N",
        instance_from_str=_whole_number,
        is_instance=lambda value: value is None or isinstance(value, int),
        str_from_instance=lambda value: ["none" if value is None else str(value)],
    ),
]
"""A whole number, or nothing."""

OptionalReal = Annotated[
    float | None,
    PrimitiveConstructorSpec(
        nargs=1,
        metavar="X",
        instance_from_str=_real_number,
        is_instance=lambda value: value is None or isinstance(value, float),
        str_from_instance=lambda value: ["none" if value is None else str(value)],
    ),
]
"""A number, or nothing."""


def check_seed(seed: int) -> None:
    """Refuse seeds that not all generators take."""
    if not 0 <= seed < 2**32:
        raise UsageError(f"--seed must be from 0 to {2**32 - 1}, not {seed}")


def default_folder(model: str, corpus: Sequence[str]) -> Path:
    """Where results go if nobody says: ``runs/MODEL-CORPUS``."""
    names = [model.rstrip("/").rsplit("/", 1)[-1], *(Path(c).name.split(".", 1)[0] for c in corpus[:1])]
    return Path("runs") / re.sub(r"[^\w.-]+", "_", "-".join(names))
