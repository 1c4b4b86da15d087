"""Classes of other packages, which these name as entry points. Every room has some, so this is in the lowest one."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from .errors import AttentionologyError

Base = TypeVar("Base")


class RegistryError(AttentionologyError, ValueError):
    """A class of another package cannot be loaded, or cannot be part of one toolkit together with the others."""


def added(group: str) -> list[EntryPoint]:
    """Return what other packages name under a group of entry points, in the order of the names."""
    return sorted(entry_points(group=group), key=lambda point: (point.name, point.value))


def source_of(point: EntryPoint) -> str:
    """Return where an entry point comes from, for messages."""
    package = f"the package {point.dist.name}, " if point.dist else ""
    return f"{package}{point.value}"


def located(location: str) -> Any:
    """Load the class at ``module:Class``, as an entry point names it."""
    return EntryPoint(name="", value=location, group="").load()


def loaded(what: str, point: EntryPoint) -> Any:
    """Load what an entry point names; ``what`` it is, for messages: ``"analysis"``."""
    try:
        return point.load()
    except Exception as error:  # code of another package may raise anything
        raise RegistryError(
            f"the {what} {point.name!r} of {source_of(point)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def load_added(what: str, point: EntryPoint, base: type[Base]) -> type[Base]:
    """Load the class that an entry point names; ``what`` says in messages what it is, for example an analysis."""
    return checked(what, loaded(what, point), base, source_of(point))


def checked(what: str, kind: Any, base: type[Base], source: str) -> type[Base]:
    """Return a class if it is a complete subclass whose name can be written on the command line."""
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise RegistryError(f"{source} is not a subclass of {base.__name__}")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise RegistryError(f"the {what} {source} lacks the methods: {', '.join(missing)}")
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not re.fullmatch(r"[\w+-]+", name):
        raise RegistryError(
            f"the {what} {source} has the name {name!r}; a name consists of letters, digits, +, - and _"
        )
    return kind
