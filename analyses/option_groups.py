"""The options of analyses: groups of them, and all groups of a run looked up by their class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from attentionology.corpora_loaders.errors import AttentionologyError

Options = TypeVar("Options")  # no bound: a protocol with fields cannot be checked for classes while the tests run


class OptionError(AttentionologyError, ValueError):
    """An option has a value that cannot be used, or contradicts another one."""


@runtime_checkable
class OptionGroup(Protocol):
    """A frozen dataclass of options. The docstrings of its fields are the help of the command line."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""


class OptionSet:
    """The option groups of a run, looked up by their class.

    Args:
        groups: at most one instance of each class. Groups that are not given have their defaults.

    Example:
        >>> from attentionology.analyses.dependency.options import DependencyOptions
        >>> OptionSet([DependencyOptions(coarse=True)])[DependencyOptions].coarse
        True
        >>> OptionSet()[DependencyOptions].coarse
        False
    """

    def __init__(self, groups: Sequence[OptionGroup] = ()) -> None:
        self._groups: dict[type[Any], OptionGroup] = {type(group): group for group in groups}

    def __getitem__(self, group: type[Options]) -> Options:
        chosen = self._groups.get(group)
        return chosen if isinstance(chosen, group) else group()

    def __iter__(self) -> Iterator[OptionGroup]:
        return iter(self._groups.values())
