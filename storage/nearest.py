"""Messages about names that are unknown, with the nearest ones. Every room has names, so this is in the lowest one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, get_args

from .errors import AttentionologyError


class UnknownNameError(AttentionologyError, ValueError):
    """There is nothing of a name."""


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return the end of a message, as in ``; did you mean 'weight'?``, with the nearest names; empty if none is."""
    by_folded = {each.casefold(): each for each in known}
    near = [by_folded[folded] for folded in difflib.get_close_matches(str(name).casefold(), by_folded, most)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def describe_unknown(what: str, name: str, choices: Iterable[str], near: Iterable[str] = ()) -> str:
    """Return the message about an unknown name, with the choices and with the nearest of them or of other names."""
    choices = list(choices)
    return f"unknown {what} {name!r}; choose from: {', '.join(choices)}{did_you_mean(name, (*choices, *near))}"


def check_choice(name: str, value: object, literal: Any) -> None:
    """Raise `ValueError` unless the value of this name is one of those of a ``Literal``."""
    if value not in (choices := get_args(literal)):
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")
