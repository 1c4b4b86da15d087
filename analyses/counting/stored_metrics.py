"""Counts as they are stored: the states of metrics apart from their code, restored and added up over runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from .metric import Metric, StateError

AnyMetric = TypeVar("AnyMetric", bound=Metric)


@dataclass(frozen=True)
class MetricStates:
    """Everything that a metric has counted, apart from its code."""

    metric: str
    # the arguments that the metric was made with, which JSON must give back unchanged or as lists
    arguments: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    # the versions of packages that counted, by the names of the packages, of each run that was merged into this one
    versions: Sequence[Mapping[str, str]] = ()
    file: str = ""  # where they are stored, for messages

    @classmethod
    def of(cls, metric: Metric, arguments: Mapping[str, Any]) -> MetricStates:
        """Return the states of a metric that was made with these arguments."""
        states = {
            name: torch.cat(state) if isinstance(state, list) else state for name, state in metric.metric_state.items()
        }
        return cls(type(metric).__name__, arguments, {name: state.cpu() for name, state in states.items()})

    def restore(self, kind: type[AnyMetric]) -> AnyMetric:
        """Make a metric with these states."""
        in_file = f"{self.file}: " if self.file else ""
        if kind.__name__ != self.metric:
            raise StateError(f"{in_file}the states are those of {self.metric}, not of {kind.__name__}")
        try:
            metric = kind(**self.arguments)
        except TypeError as error:
            raise StateError(f"{in_file}{self.metric} of this version takes other arguments: {error}") from None
        expected = metric.metric_state
        if not expected.keys() - metric.since.keys() <= self.tensors.keys() <= expected.keys():
            raise StateError(
                f"{in_file}{self.metric} of this version has the states {', '.join(expected)}, not "
                f"{', '.join(self.tensors)}"
            )
        for name in expected.keys() - self.tensors.keys():
            first = metric.since[name]
            if not any(map(first.may_come_after, self.versions)):
                counted_by = " and ".join(dict.fromkeys(of_run[first.package] for of_run in self.versions))
                raise StateError(
                    f"{in_file}the state {name} of {self.metric} is missing. Versions from {first} on count it, and "
                    f"this run was counted by version {counted_by or 'of today'}; count again"
                )
        loaded: dict[str, Any] = {}
        for name, stored in self.tensors.items():
            state = expected[name]
            if isinstance(state, Tensor) and (state.shape, state.dtype) != (stored.shape, stored.dtype):
                raise StateError(
                    f"{in_file}the state {name} of {self.metric} has the shape {tuple(stored.shape)} and the type "
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
            versions = [of_run for run in self._runs if name in run for of_run in run[name].versions]
            return replace(MetricStates.of(*self._restored[name]), versions=versions)
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
            self._restored[name] = add_up([run[name] for run in self._runs if name in run], kind)
        metric, _ = self._restored[name]
        if not isinstance(metric, kind):
            raise StateError(f"the counts {name!r} are those of {type(metric).__name__}, not of {kind.__name__}")
        return metric

    def not_counted(self) -> dict[str, list[str]]:
        """Return the states that were not counted in all runs, by the requests of the metrics that were asked for."""
        missing = {
            name: [state for state in metric.since if not metric.was_counted(state)]
            for name, (metric, _) in self._restored.items()
        }
        return {name: states for name, states in missing.items() if states}


def add_up(stored: Sequence[MetricStates], kind: type[AnyMetric]) -> tuple[AnyMetric, Mapping[str, Any]]:
    """Add up the counts of several runs, and return their metric with the arguments that it was made with."""
    first, *others = stored
    metric = first.restore(kind)
    if all(other.arguments == first.arguments for other in others):
        for other in others:
            metric.merge_state(other.restore(kind))
        return metric, first.arguments
    arguments = kind.joined_arguments([states.arguments for states in stored])
    total, not_counted = kind(**arguments), set[str]()
    for states in stored:
        part = states.restore(kind)
        not_counted |= part.begin()  # because `absorb` of most classes reads all states
        total.absorb(part)
    for name in not_counted:
        delattr(total, name)
    return total, arguments
