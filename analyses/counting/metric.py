"""What counts add up to over the parts of a corpus: states with a rule how two become one."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Int
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from torch import Tensor

from ...corpora_loaders.errors import AttentionologyError


@dataclass(frozen=True)
class FirstVersion:
    """The first version of a package that counts something."""

    package: str
    version: str

    @classmethod
    def of(cls, text: str) -> FirstVersion:
        """Return what a text such as ``"attentionology 0.4"`` says."""
        package, _, version = text.partition(" ")
        Version(version)  # an error if it is none
        return cls(canonicalize_name(package), version)

    def __str__(self) -> str:
        return f"{self.package} {self.version}"

    def may_come_after(self, versions: Mapping[str, str]) -> bool:
        """Whether the package had an earlier version among these, by name. If it is unknown, it may have had one."""
        try:
            return Version(versions[self.package]) < Version(self.version)
        except (KeyError, InvalidVersion):
            return True


State: TypeAlias = Tensor | list[Tensor]
Rule: TypeAlias = Literal["sum", "min", "max", "cat"] | Callable[[Tensor], Tensor]

_RULES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": torch.add,
    "min": torch.minimum,
    "max": torch.maximum,
    "cat": lambda other, own: other + own,  # lists of tensors
}


class Metric:
    """Counts over a corpus that can be made in parts and added up.

    A subclass declares its states in ``__init__`` and changes them in `update`; `compute` is a function of the states.

    Example:
        >>> class Words(Metric):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.add_state("words", torch.tensor(0), "sum")
        ...     def update(self, batch):
        ...         self.words += len(batch)
        ...     def compute(self):
        ...         return int(self.words)
        >>> first, second = Words(), Words()
        >>> first.update(["cats", "sleep"])
        >>> second.update(["dogs"])
        >>> first.merge_state(second)
        >>> first.compute()
        3
    """

    inventory: ClassVar[str] = ""
    """The argument with what a corpus has, such as its relations; a sum over several corpora has the items of all."""

    def __init__(self) -> None:
        self._defaults: dict[str, State] = {}
        self._reductions: dict[str, Rule] = {}
        self._since: dict[str, FirstVersion] = {}

    def add_state(
        self,
        name: str,
        default: State,
        dist_reduce_fx: Rule = "sum",
        persistent: bool = True,
        *,
        since: str | None = None,
    ) -> None:
        """Declare a state, which becomes an attribute.

        Args:
            name: the name of the attribute.
            default: its value before anything is counted: a tensor, or an empty list for tensors that are collected.
            dist_reduce_fx: how the states of two parts become one: their sum, minimum or maximum, the tensors of both
                lists, or a function of the two stacked tensors.
            persistent: has no effect, since all states are stored. Like the name of the rule, it is here so that a
                metric that was written for ``torchmetrics`` needs no other change than its base class.
            since: the package that declares the state and its first version with it, as in ``"attentionology 0.4"``.
                Runs that an earlier version counted can still be read: for them, `was_counted` is False, and the
                attribute cannot be read. None if every version has the state.

        Raises:
            ValueError: there is no such rule.
        """
        if not callable(dist_reduce_fx) and dist_reduce_fx not in _RULES:
            rules = ", ".join(_RULES)
            raise ValueError(f"the state {name!r} has the unknown rule {dist_reduce_fx!r}; choose one of {rules}")
        self._defaults[name] = default
        self._reductions[name] = dist_reduce_fx
        if since is not None:
            self._since[name] = FirstVersion.of(since)
        vars(self)[name] = _copy(default)

    @classmethod
    def state_bytes(cls, **arguments: Any) -> int:
        """Return the bytes that the states of a metric with these arguments take, without taking them.

        The zeros that they begin with are counted, too, because they are kept.
        """
        with torch.device("meta"):  # where tensors have shapes and no memory
            metric = cls(**arguments)
        states = [*(getattr(metric, name) for name in metric._defaults), *metric._defaults.values()]
        return sum(state.untyped_storage().nbytes() for state in states if isinstance(state, Tensor))

    def most_bytes(self) -> float:
        """Return the bytes that the lists among the states can reach, by which ``--dry-run`` bounds their growth."""
        return math.inf

    def update(self, *arguments: Any) -> None:
        """Count a batch."""
        raise NotImplementedError

    def compute(self) -> Any:
        """Return the results of what was counted."""
        raise NotImplementedError

    @property
    def since(self) -> Mapping[str, FirstVersion]:
        """The first version with each of the states that not every version has."""
        return self._since

    def was_counted(self, name: str) -> bool:
        """Whether the state was counted. A state with ``since`` is not, if an earlier version counted the corpus."""
        if name not in self._defaults:
            raise ValueError(f"{type(self).__name__} has no state {name!r}")
        return name in vars(self)

    @property
    def metric_state(self) -> dict[str, Any]:
        """The states by name, without those that were not counted."""
        return {name: getattr(self, name) for name in self._defaults if self.was_counted(name)}

    def load_state_dict(self, states: Mapping[str, Any]) -> None:
        """Replace all states by those of an equal metric. Of those with ``since``, some may be missing."""
        for name in self._defaults:
            if name in states or name not in self._since:
                vars(self)[name] = _copy(states[name])
            else:
                vars(self).pop(name, None)

    def merge_state(self, incoming_state: Mapping[str, Any] | Metric) -> None:
        """Add what was counted in another part of the corpus.

        A state that was not counted in one of both parts was not counted in the two together.

        Args:
            incoming_state: a metric of the same class, or its `metric_state`.

        Raises:
            ValueError: the metric is of another class.
        """
        if isinstance(incoming_state, Metric):
            if type(incoming_state) is not type(self):
                raise ValueError(f"{type(incoming_state).__name__} cannot be added to {type(self).__name__}")
            incoming_state = incoming_state.metric_state
        for name, rule in self._reductions.items():
            if name in self._since and not (name in incoming_state and self.was_counted(name)):
                vars(self).pop(name, None)
                continue
            other, own = incoming_state[name], getattr(self, name)
            vars(self)[name] = rule(torch.stack([other, own])) if callable(rule) else _RULES[rule](other, own)

    @classmethod
    def joined_arguments(cls, arguments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the arguments of a metric that can `absorb` the metrics with each of these arguments."""
        if not cls.inventory:
            return equal_but(arguments)
        items = [item for each in arguments for item in each[cls.inventory]]
        # Stored arguments have been through JSON, which makes lists of tuples.
        distinct = dict.fromkeys(tuple(item) if isinstance(item, list) else item for item in items)
        return {**equal_but(arguments, cls.inventory), cls.inventory: list(distinct)}

    def absorb(self, other: Any) -> None:
        """Add what was counted with another `inventory`, all of which is part of this one's."""
        self.merge_state(other)

    def reset(self) -> None:
        """Forget what was counted."""
        for name, default in self._defaults.items():
            vars(self)[name] = _copy(default)

    def begin(self) -> set[str]:
        """Begin to count the states that were not counted, and return their names."""
        begun = {name for name in self._since if not self.was_counted(name)}
        vars(self).update({name: _copy(self._defaults[name]) for name in begun})
        return begun

    def clone(self) -> Any:
        """Return a copy that counts on its own."""
        return copy.deepcopy(self)

    if not TYPE_CHECKING:  # for which every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            """Refuse to return a state that was not counted."""
            if name in vars(self).get("_since", ()):
                raise NotCountedError(
                    f"{type(self).__name__}.{name} was not counted in this run: that began with {self._since[name]}"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class ConfiguredMetric(Metric):
    """Counts that can be added up only if they were made with the same configuration."""

    configuration: Int[Tensor, ""]

    def __init__(self, described: str) -> None:
        super().__init__()
        digest = hashlib.blake2b(described.encode(), digest_size=8).digest()
        self._hash = int.from_bytes(digest, "little") >> 1  # fits into int64
        self.add_state("configuration", torch.tensor(self._hash), _the_same)

    def check_configuration(self) -> None:
        """Check that counts which were merged or loaded are of this configuration."""
        if int(self.configuration) != self._hash:
            raise ValueError("counts made with other groups, shapes, replicates or seeds cannot be added up")


def _the_same(configurations: Int[Tensor, " parts"]) -> Int[Tensor, ""]:
    """Merge the configurations of parts: return their common value, or −1, which no configuration has."""
    first = configurations[0]
    return first if bool((configurations == first).all()) else torch.tensor(-1, device=first.device)


def _copy(state: State) -> State:
    return state.clone() if isinstance(state, Tensor) else list(state)


class StateError(AttentionologyError, ValueError):
    """Stored states are not those of the metric that they should be restored to."""


class NotCountedError(StateError, AttributeError):
    """A state is read that was not counted, because an earlier version counted the corpus."""


@runtime_checkable
class NamesFiles(Protocol):
    """A metric whose states name the files of the corpus."""

    def rename_files(self, moved: Mapping[str, str]) -> None:
        """Replace the paths of files that were moved after they were counted."""


def equal_but(arguments: Sequence[Mapping[str, Any]], *differing: str) -> dict[str, Any]:
    """Return the arguments that must be equal if counts are to be added up: all but the ``differing`` ones."""
    first, *others = ({name: value for name, value in each.items() if name not in differing} for each in arguments)
    for other in others:
        for name in dict.fromkeys([*first, *other]):
            if first.get(name) != other.get(name):
                raise StateError(
                    f"the counts cannot be added up: they were made with {name} {first.get(name)!r} and "
                    f"{other.get(name)!r}"
                )
    return first
