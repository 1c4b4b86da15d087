"""Factories of metrics for requests, which make the metric once the shape of the maps is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .metric import Metric


class Counting(ABC):
    """How a request is counted: the class of the metric, and its arguments once a first batch is known.

    Subclasses are frozen dataclasses, so that two of them are equal if they make equal metrics. So analyses can share a
    request.

    Attributes:
        metric: the class of the metric.
        arguments: the arguments of the metric that do not depend on the maps, as pairs of name and value.
    """

    metric: type[Metric]
    arguments: tuple[tuple[str, Any], ...]

    @abstractmethod
    def arguments_of(self, first: Any) -> dict[str, Any]:
        """Return all arguments of the metric for a first batch. They are stored with its states."""

    def __call__(self, first: Any) -> Metric:
        """Make the empty metric for a first batch."""
        return self.metric(**self.arguments_of(first))

    def state_bytes(self, first: Any) -> int:
        """Return the bytes that the states of the metric will take."""
        return self.metric.state_bytes(**self.arguments_of(first))


@dataclass(frozen=True, init=False)
class _CountWithArguments(Counting):
    """A factory whose arguments are given as pairs of name and value, or by their names."""

    metric: type[Metric]
    arguments: tuple[tuple[str, Any], ...] = ()

    def __init__(self, metric: type[Metric], arguments: Iterable[tuple[str, Any]] = (), **named: Any) -> None:
        object.__setattr__(self, "metric", metric)
        object.__setattr__(self, "arguments", (*arguments, *named.items()))


@dataclass(frozen=True, init=False)
class CountMaps(_CountWithArguments):
    """A factory of metrics of maps: it calls ``metric(n_layers=…, n_heads=…, **arguments)``.

    The layers and heads are those of the maps of a first batch, which has as many of them as all others.

    Args:
        metric: the class of the metric.
        arguments: further arguments of the metric, as pairs of name and value. They can be given by their names, too.

    Example:
        >>> from attentionology.analyses import CountMaps, SurfaceStatistics
        >>> CountMaps(SurfaceStatistics, reach=3) == CountMaps(SurfaceStatistics, (("reach", 3),))
        True
    """

    def arguments_of(self, first: Any) -> dict[str, Any]:
        """Return all arguments of the metric, which are stored with its states."""
        n_layers, n_heads = first.maps.shape[1:3]
        return {"n_layers": n_layers, "n_heads": n_heads, **dict(self.arguments)}


@dataclass(frozen=True, init=False)
class CountWith(_CountWithArguments):
    """A factory of metrics whose arguments do not depend on the maps: it calls ``metric(**arguments)``.

    Args:
        metric: the class of the metric.
        arguments: the arguments of the metric, as pairs of name and value. They can be given by their names, too.

    Example:
        >>> from attentionology.analyses import CountWith, SurfaceStatistics
        >>> count = CountWith(SurfaceStatistics, n_layers=2, n_heads=3)
        >>> count(None).n_heads, count.arguments_of(None)
        (3, {'n_layers': 2, 'n_heads': 3})
    """

    def arguments_of(self, first: Any) -> dict[str, Any]:
        """Return all arguments of the metric, which are stored with its states."""
        return dict(self.arguments)
