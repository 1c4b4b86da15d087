"""What counts add up to over the parts of a corpus: states with a rule how two become one, in memory and stored."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders.errors import AttentionologyError

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

    def add_state(self, name: str, default: State, dist_reduce_fx: Rule = "sum", persistent: bool = True) -> None:
        """Declare a state, which becomes an attribute.

        Args:
            name: the name of the attribute.
            default: its value before anything is counted: a tensor, or an empty list for tensors that are collected.
            dist_reduce_fx: how the states of two parts become one: their sum, minimum or maximum, the tensors of both
                lists, or a function of the two stacked tensors.
            persistent: has no effect, since all states are stored. Like the name of the rule, it is here so that a
                metric that was written for ``torchmetrics`` needs no other change than its base class.
        """
        self._defaults[name] = default
        self._reductions[name] = dist_reduce_fx
        vars(self)[name] = _copied(default)

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
    def metric_state(self) -> dict[str, Any]:
        """The states by name."""
        return {name: getattr(self, name) for name in self._defaults}

    def load_state_dict(self, states: Mapping[str, Any]) -> None:
        """Replace all states by those of an equal metric."""
        for name in self._defaults:
            vars(self)[name] = _copied(states[name])

    def merge_state(self, incoming_state: Mapping[str, Any] | Metric) -> None:
        """Add what was counted in another part of the corpus.

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
            other, own = incoming_state[name], getattr(self, name)
            merged = rule(torch.stack([other, own])) if callable(rule) else _RULES[rule](other, own)
            vars(self)[name] = merged

    @classmethod
    def joined_arguments(cls, arguments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the arguments of a metric to which metrics with all of these arguments can be added."""
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
            vars(self)[name] = _copied(default)

    def clone(self) -> Any:
        """Return a copy that counts on its own."""
        return copy.deepcopy(self)


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


def _copied(state: State) -> State:
    return state.clone() if isinstance(state, Tensor) else list(state)


AnyMetric = TypeVar("AnyMetric", bound=Metric)


class StateError(AttentionologyError, ValueError):
    """Stored states are not those of the metric that they should be restored to."""


@runtime_checkable
class NamesFiles(Protocol):
    """A metric whose states name the files of the corpus."""

    def rename_files(self, moved: Mapping[str, str]) -> None:
        """Replace the paths of files that were moved after they were counted."""


@dataclass(frozen=True)
class MetricStates:
    """Everything that a metric has counted, apart from its code."""

    metric: str
    # the arguments that the metric was made with, which JSON must give back unchanged or as lists
    arguments: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    @classmethod
    def of(cls, metric: Metric, arguments: Mapping[str, Any]) -> MetricStates:
        """Return the states of a metric that was made with these arguments."""
        states = {
            name: torch.cat(state) if isinstance(state, list) else state for name, state in metric.metric_state.items()
        }
        return cls(type(metric).__name__, arguments, {name: state.cpu() for name, state in states.items()})

    def restore(self, kind: type[AnyMetric]) -> AnyMetric:
        """Make a metric with these states."""
        if kind.__name__ != self.metric:
            raise StateError(f"the states are those of {self.metric}, not of {kind.__name__}")
        try:
            metric = kind(**self.arguments)
        except TypeError as error:
            raise StateError(f"{self.metric} of this version takes other arguments: {error}") from None
        expected = metric.metric_state
        if expected.keys() != self.tensors.keys():
            raise StateError(
                f"{self.metric} of this version has the states {', '.join(expected)}, not {', '.join(self.tensors)}"
            )
        loaded: dict[str, Any] = {}
        for name, state in expected.items():
            stored = self.tensors[name]
            if isinstance(state, Tensor) and (state.shape, state.dtype) != (stored.shape, stored.dtype):
                raise StateError(
                    f"the state {name} of {self.metric} has the shape {tuple(stored.shape)} and the type "
                    f"{stored.dtype}, not {tuple(state.shape)} and {state.dtype}"
                )
            loaded[name] = [stored] if isinstance(state, list) else stored
        metric.load_state_dict(loaded)
        return metric


class StoredMetrics(Mapping[str, MetricStates]):
    """The stored metrics of one run, or of several runs whose counts are to be added up, by request."""

    # A metric is made when it is first asked for, because only the analysis that asks knows its class.

    def __init__(self, *runs: Mapping[str, MetricStates]) -> None:
        self._runs = list(runs)
        self._restored: dict[str, tuple[Metric, Mapping[str, Any]]] = {}

    def __getitem__(self, name: str) -> MetricStates:
        if name in self._restored:
            return MetricStates.of(*self._restored[name])
        if len(self._runs) > 1:
            raise StateError(f"the counts {name!r} have not been added up yet")
        return self._runs[0][name]

    def __contains__(self, name: object) -> bool:
        """Whether all runs have the counts: those of some runs alone are not the counts of all texts."""
        return all(name in run for run in self._runs)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for run in self._runs for name in run))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def metric(self, name: str, kind: type[AnyMetric]) -> AnyMetric:
        """Return the metric of a request, with the counts of all runs.

        Args:
            name: the name of the request.
            kind: the class of the metric.

        Raises:
            StateError: the counts are those of another class or another version, or cannot be added up.
        """
        if name not in self._restored:
            self._restored[name] = added_up([run[name] for run in self._runs if name in run], kind)
        metric = self._restored[name][0]
        if not isinstance(metric, kind):
            raise StateError(f"the counts {name!r} are those of {type(metric).__name__}, not of {kind.__name__}")
        return metric


def added_up(stored: Sequence[MetricStates], kind: type[AnyMetric]) -> tuple[AnyMetric, Mapping[str, Any]]:
    """Add up the counts of several runs, and return their metric with the arguments that it was made with."""
    first, *others = stored
    metric = first.restore(kind)
    if all(other.arguments == first.arguments for other in others):
        for other in others:
            metric.merge_state(other.restore(kind))
        return metric, first.arguments
    arguments = kind.joined_arguments([each.arguments for each in stored])
    total = kind(**arguments)
    for each in stored:
        total.absorb(each.restore(kind))
    return total, arguments


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
