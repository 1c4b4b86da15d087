"""Option types that say plainly what they take."""

from __future__ import annotations

from typing import Annotated

from tyro.constructors import PrimitiveConstructorSpec


def _whole_number(words: list[str]) -> int:
    try:
        return int(words[0])
    except ValueError:
        raise ValueError(f"{words[0]!r} is not a whole number") from None


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
