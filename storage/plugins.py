"""Classes of other packages, which these name as entry points. Every room has some, so this is in the lowest one."""

from __future__ import annotations

import functools
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from .errors import AttentionologyError

Base = TypeVar("Base")

GROUPS = {
    "analysis": "attentionology.analyses",
    "probe": "attentionology.probes",
    "explanation test": "attentionology.explanation_tests",
    "map kind": "attentionology.map_kinds",
    "corpus format": "attentionology.corpus_formats",
}
"""The group of entry points for each thing that another package can add."""


class RegistryError(AttentionologyError, ValueError):
    """A class of another package cannot be loaded, or cannot be part of one toolkit together with the others."""


@functools.cache
def points_of(what: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of other packages for a thing, in the order of their names."""
    return tuple(sorted(entry_points(group=GROUPS[what]), key=lambda point: (point.name, point.value)))


@dataclass(frozen=True)
class Plugins:
    """What can be chosen by name: what comes with the toolkit, and what other packages add.

    Attributes:
        what: what it is, as in messages: a key of `GROUPS`.
        own: returns the names of what comes with the toolkit, which no other package may use.
    """

    what: str
    own: Callable[[], Iterable[str]]

    def find_additions(self) -> dict[str, EntryPoint]:
        """Return what other packages add by the names of the entry points, without loading it."""
        own, points = set(self.own()), dict[str, EntryPoint]()
        for point in points_of(self.what):
            if point.name in own or point.name in points:
                raise RegistryError(f"the {self.what} {point.name!r} of {source_of(point)} has a name that is taken")
            points[point.name] = point
        return points

    def names(self) -> list[str]:
        """Return all names, those of the toolkit first."""
        return [*self.own(), *self.find_additions()]

    def classes(self, base: type[Base]) -> Iterator[tuple[type[Base], EntryPoint]]:
        """Load the classes that other packages add. Their own ``name`` counts, not that of the entry point."""
        for point in points_of(self.what):
            yield check_class(self.what, load_entry_point(self.what, point), base, source_of(point)), point


def package_of(what: str, name: str, module: str = "") -> dict[str, str]:
    """Return the package that adds a thing, by the name of its entry point or by its module, and the version.

    The result is empty for what comes with the toolkit or was registered by a program.
    """
    top = module.partition(".")[0]
    for point in points_of(what):
        if point.dist is not None and (point.name == name or point.module.partition(".")[0] == top):
            return {"package": point.dist.name, "version": point.dist.version}
    return {}


def extensions(used: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    """Describe those of the used things that come from other packages, given what each is, its name and its module."""
    described = [{"what": what, "name": name, **package_of(what, name, module)} for what, name, module in used]
    return [description for description in described if "package" in description]


@contextmanager
def name_extension(what: str, name: str, step: str, module: str = "") -> Iterator[None]:
    """Let errors of a block in which a step of an extension runs say whose code it is."""
    try:
        yield
    except Exception as error:
        if package := package_of(what, name, module):
            version, line = f"{package['package']} {package['version']}", _line_of(error, what, name, module)
            error.add_note(f"This happened in {step} of the {what} {name!r}, which the package {version} adds{line}.")
        raise


def _line_of(error: Exception, what: str, name: str, module: str) -> str:
    """Return the last line of the code of an extension that an error went through; empty if it went through none."""
    top = module.partition(".")[0]
    tops = {point.module.partition(".")[0] for point in points_of(what) if point.name == name} or {top}
    frames = [
        f", in line {line} of {frame.f_code.co_filename}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).partition(".")[0] in tops
    ]
    return frames[-1] if frames else ""


def source_of(point: EntryPoint) -> str:
    """Return where an entry point comes from, for messages."""
    package = f"the package {point.dist.name}, " if point.dist else ""
    return f"{package}{point.value}"


def locate_class(location: str) -> Any:
    """Load the class at ``module:Class``, as an entry point names it."""
    return EntryPoint(name="", value=location, group="").load()


def load_entry_point(what: str, point: EntryPoint) -> Any:
    """Load what an entry point names; ``what`` is the word for it in messages, such as ``"analysis"``."""
    try:
        return point.load()
    except Exception as error:  # code of another package may raise anything
        raise RegistryError(
            f"the {what} {point.name!r} of {source_of(point)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def check_class(what: str, kind: Any, base: type[Base], source: str) -> type[Base]:
    """Return a class if it is a complete subclass whose name can be written on the command line."""
    if not (isinstance(kind, type) and issubclass(kind, base)):
        names = " or ".join(each.__name__ for each in (base if isinstance(base, tuple) else (base,)))
        advice = "; give its class, and the arguments of its constructor apart" if isinstance(kind, base) else ""
        raise RegistryError(f"{source} is not a subclass of {names}{advice}")
    if missing := sorted(getattr(kind, "__abstractmethods__", ())):
        raise RegistryError(f"the {what} {source} lacks the methods: {', '.join(missing)}")
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not re.fullmatch(r"[\w+-]+", name):
        raise RegistryError(
            f"the {what} {source} has the name {name!r}; a name consists of letters, digits, +, - and _"
        )
    return kind
