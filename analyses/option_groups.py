"""The options of analyses: groups of them, and all groups of a run looked up by their class."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from ..corpora_loaders.errors import AttentionologyError
from ..reports.help.options import flag

_KINDS: dict[Any, tuple[Any, str]] = {
    bool: (bool, "True or False"),
    int: (int, "a whole number"),
    float: (int | float, "a number"),
    str: (str, "a string"),
    Path: (str | Path, "a path"),
}
"""The types of options, each with the values that it takes, and what messages call them."""

_ITEMS = {str: "strings", int: "whole numbers", float: "numbers"}

Options = TypeVar("Options")  # no bound: a protocol with fields cannot be checked for classes while the tests run


class OptionError(AttentionologyError, ValueError):
    """An option has a value that cannot be used, or contradicts another option.

    Example:
        >>> from attentionology.analyses import SurfaceOptions
        >>> try:
        ...     SurfaceOptions(reach=0).check()
        ... except OptionError as error:
        ...     print(error)
        --reach must be at least 1, not 0
    """


@dataclass(frozen=True)
class Bounds:
    """The finite numbers that an option takes. It stands in the annotation of the field."""

    least: int | float  # the lowest number
    most: int | float = math.inf  # the highest number
    strict: bool = False  # whether the bounds themselves are excluded

    def check(self, name: str, value: int | float) -> None:
        """Raise `OptionError` if the option of this name does not take a value."""
        if not isinstance(value, int | float):
            raise OptionError(f"{flag(name)} must be a number, not {value!r}")
        inside = self.least < value < self.most if self.strict else self.least <= value <= self.most
        if inside and math.isfinite(value):
            return
        if self.most == math.inf:
            finite = "finite and " if isinstance(value, float) else ""
            allowed = f"{finite}{'above' if self.strict else 'at least'} {self.least}"
        elif self.strict:
            allowed = f"between {self.least} and {self.most}"
        else:
            allowed = f"from {self.least} to {self.most}"
        raise OptionError(f"{flag(name)} must be {allowed}, not {value}")


@runtime_checkable
class OptionGroup(Protocol):
    """A frozen dataclass of options. The docstrings of its fields are the help of the command line.

    Example:
        >>> from attentionology.analyses import ClustersOptions  # its field is n_clusters: Annotated[int, Bounds(1)]
        >>> ClustersOptions(n_clusters=0).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --n-clusters must be at least 1, not 0
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def check(self) -> None:
        """Raise `OptionError` if a value cannot be used: by default, one of another type, or outside its `Bounds`."""
        check_bounds(self)


def check_bounds(options: Any) -> None:
    """Raise `OptionError` if a field of a dataclass has a value of another type, or a number outside its `Bounds`.

    The command line makes only values of the types of the fields, and Python makes any.
    """
    types = get_type_hints(type(options), include_extras=True)
    for field in fields(options):
        check_value(field.name, getattr(options, field.name), types[field.name])


def check_value(name: str, value: Any, annotation: Any) -> None:
    """Raise `OptionError` if the value of an option is not what its annotation says."""
    choices = _choices(_plain_type(annotation))
    if not any(_is_of(value, choice) for choice in choices):
        if isinstance(value, str | Path) and any(get_origin(choice) is tuple for choice in choices):
            raise OptionError(f'{flag(name)} takes several names: ("{value}",)')
        expected = " or ".join(dict.fromkeys(_in_words(choice, value) for choice in choices))
        raise OptionError(f"{flag(name)} must be {expected}, not {value!r:.80}")
    for bounds in getattr(annotation, "__metadata__", ()):
        if isinstance(bounds, Bounds) and value is not None:
            bounds.check(name, value)


def _plain_type(annotation: Any) -> Any:
    """Return a type without what is annotated to it."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _choices(plain: Any) -> tuple[Any, ...]:
    """Return the types of a union, or else the only type."""
    is_union = get_origin(plain) in (Union, UnionType)
    return tuple(choice for each in get_args(plain) for choice in _choices(_plain_type(each))) if is_union else (plain,)


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type. Types that no command line has are not checked."""
    if get_origin(kind) is tuple:  # a list will do, and so will paths in place of strings
        items = _choices(_plain_type(get_args(kind)[0]))
        return isinstance(value, tuple | list) and all(
            isinstance(each, Path) or any(_is_of(each, item) for item in items) for each in value
        )
    if get_origin(kind) is Literal:  # whoever reads the option says which values there are
        return any(isinstance(value, type(each)) for each in get_args(kind))
    if kind in (None, type(None)):
        return value is None
    if kind in _KINDS:
        return isinstance(value, _KINDS[kind][0]) and (kind is bool or not isinstance(value, bool))
    return True


def _in_words(kind: Any, value: Any) -> str:
    """Return what a message calls a type that a value is not of."""
    if get_origin(kind) is tuple:
        return f"a tuple of {_ITEMS.get(_plain_type(get_args(kind)[0]), 'values')}"
    if kind is int and not isinstance(value, int | float):
        return "a number"
    if kind in _KINDS:
        return _KINDS[kind][1]
    return "None" if kind in (None, type(None)) else "a string"


def groups_of(command: type[Any]) -> dict[str, type[Any]]:
    """Return the classes of the option groups of a command's dataclass, by the names of their fields."""
    return {name: type(value) for name, value in vars(command()).items() if is_dataclass(value)}


def names_in(given: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
    """Return one name or several, such as those of files, as a tuple.

    Raises:
        OptionError: something is no name, for example the class of an analysis.
    """
    items = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | Path | type) else (given,)
    for item in items:
        if not isinstance(item, str | Path):
            thing = (
                f"the class {item.__name__}" if isinstance(item, type) else f"a value of the type {type(item).__name__}"
            )
            advice = "what a package or a decorator adds is given by the name under which it is registered"
            raise OptionError(f"expected a name, not {thing}; {advice}")
    return tuple(map(str, items))


class OptionSet:
    """The option groups of a run, looked up by their class.

    Args:
        groups: at most one instance of each class. A group that is missing has its default values.

    Example:
        >>> from attentionology.analyses import DependencyOptions
        >>> OptionSet([DependencyOptions(coarse=True)])[DependencyOptions].coarse
        True
        >>> OptionSet()[DependencyOptions].coarse
        False
    """

    def __init__(self, groups: Iterable[OptionGroup] = ()) -> None:
        self._groups: dict[type[Any], OptionGroup] = {type(group): group for group in groups}

    @classmethod
    def of(
        cls, given: OptionGroup | Iterable[OptionGroup], known: Collection[type[Any]] | None = None, command: str = ""
    ) -> OptionSet:
        """Return one option group or several as a set.

        Args:
            given: the groups.
            known: the classes of the groups that the command of this name has; None for all.

        Raises:
            OptionError: what is given is no group, the command does not have a group, or two groups have one class.
        """
        one_or_more: Any = [given] if is_dataclass(given) else given
        groups = list(one_or_more)
        for group in groups:
            if not is_dataclass(group) or isinstance(group, type):
                raise OptionError(f"options are given as objects such as CorpusOptions(limit=3), not as {group!r}")
            check_bounds(group)
        classes = [type(group) for group in groups]
        for class_ in classes:
            if known is not None and class_ not in known:
                choices = ", ".join(choice.__name__ for choice in known)
                raise OptionError(f"{command} has no options of the class {class_.__name__}; choose from: {choices}")
            if classes.count(class_) > 1:
                raise OptionError(f"the options contain two groups of the class {class_.__name__}")
        return cls(groups)

    def __getitem__(self, group: type[Options]) -> Options:
        options = self._groups.get(group)
        return options if isinstance(options, group) else group()

    def __iter__(self) -> Iterator[OptionGroup]:
        return iter(self._groups.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OptionSet):
            return NotImplemented
        return all(self[kind] == other[kind] for kind in {*self._groups, *other._groups})

    __hash__ = None  # type: ignore[assignment]  # a group that is missing equals one with default values

    def with_group(self, group: OptionGroup) -> OptionSet:
        """Return the same options with a group in place of the one of its class."""
        return OptionSet([*self, group])

    def with_values(self, kind: type[Any], **values: Any) -> OptionSet:
        """Return the same options with values that a function was given beside them. None stands for no value."""
        named = {name: value for name, value in values.items() if value is not None}
        self.check_once(kind, named)
        return self.with_group(replace(self[kind], **named))

    def check_once(self, kind: type[Any], names: Iterable[str]) -> None:
        """Raise `OptionError` if an option that a function was given by its name is set in the group ``kind``, too."""
        default = kind()
        for name in names:
            if getattr(self[kind], name) != getattr(default, name):
                raise OptionError(f"{name} is given twice, also in {kind.__name__}")

    def without(self, kind: type[Any]) -> OptionSet:
        """Return the options without the group of a class."""
        return OptionSet(group for group in self if type(group) is not kind)
