"""The bodies of requests: JSON of a few known fields, each of which is checked before it is used."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from ...reports.explorer.names import HeadNameError, head_place
from .errors import RequestError

T = TypeVar("T")

_MOST_ITEMS = 10_000  # of a list, such as the heads that are off


def read_body(body: bytes) -> Mapping[str, Any]:
    """Return the object that a body holds.

    Raises:
        RequestError: it is no JSON, or no object.
    """
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise RequestError("The request is not JSON that this server reads.") from None
    if not isinstance(value, dict):
        raise RequestError("The request is a JSON object.")
    return value


def field(body: Mapping[str, Any], name: str, type_: type[T]) -> T:
    """Return a field of a body.

    Raises:
        RequestError: it is missing, or of another type.
    """
    value = body.get(name)
    if not isinstance(value, type_) or isinstance(value, bool):
        raise RequestError(f"The request needs “{name}” ({_TYPES[type_]}).")
    return value


def optional(body: Mapping[str, Any], name: str, type_: type[T]) -> T | None:
    """Return a field of a body that may be missing or null."""
    return None if body.get(name) is None else field(body, name, type_)


def texts(body: Mapping[str, Any], name: str) -> list[str]:
    """Return a field that is a list of different texts; it may be missing."""
    values = optional(body, name, list) or []
    if len(values) > _MOST_ITEMS or not all(isinstance(value, str) for value in values):
        raise RequestError(f"“{name}” is a list of texts.")
    return list(dict.fromkeys(values))


def choice(body: Mapping[str, Any], name: str, choices: Collection[str]) -> str:
    """Return a field that is one of some texts."""
    value = field(body, name, str)
    if value not in choices:
        raise RequestError(f"“{name}” is one of {', '.join(choices)}.")
    return value


def place(name: str, shape: tuple[int, int]) -> tuple[int, int]:
    """Return the layer and the number of a head, both from 0, given its name."""
    try:
        return head_place(name, shape)
    except HeadNameError as error:
        raise RequestError(str(error)) from None


def _refuse_constant(name: str) -> None:
    """Refuse NaN and infinite numbers, which JSON does not have."""
    raise ValueError(name)


_TYPES: Mapping[type[Any], str] = {str: "text", int: "a whole number", list: "a list", dict: "an object"}
