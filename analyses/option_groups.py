"""The options of analyses: groups of them, and all groups of a run looked up by their class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from attentionology.corpora_loaders.errors import AttentionologyError

Options = TypeVar("Options")  # no bound: a protocol with fields cannot be checked for classes while the tests run


class OptionError(AttentionologyError, ValueError):
    """An option has a value that cannot be used, or contradicts another option.

    Example:
        >>> from attentionology import SurfaceOptions
        >>> try:
        ...     SurfaceOptions(reach=0).check()
        ... except OptionError as error:
        ...     print(error)
        --reach must be at least 1, not 0
    """


@runtime_checkable
class OptionGroup(Protocol):
    """A frozen dataclass of options. The docstrings of its fields are the help of the command line."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def check(self) -> None:
        """Raise `OptionError` if a value cannot be used."""


class OptionSet:
    """The option groups of a run, looked up by their class.

    Args:
        groups: at most one instance of each class. A group that is missing has its default values.

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
        options = self._groups.get(group)
        return options if isinstance(options, group) else group()

    def __iter__(self) -> Iterator[OptionGroup]:
        return iter(self._groups.values())
