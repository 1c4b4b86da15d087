"""Factories of metrics for requests, which make the metric once the shape of the maps is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

from .metric import Metric


@dataclass(frozen=True)
class CountMaps:
    """A factory of metrics of maps: it calls ``metric(n_layers=…, n_heads=…, **arguments)``.

    Two factories are equal if they make equal metrics, so that analyses can share a request. A lambda or a
    `functools.partial` is equal only to itself.

    Args:
        metric: the class of the metric.
        arguments: further arguments of the metric, as pairs of name and value.

    Example:
        >>> from attentionology import CountMaps, SurfaceStatistics
        >>> CountMaps(SurfaceStatistics, (("reach", 3),)) == CountMaps(SurfaceStatistics, (("reach", 3),))
        True
    """

    metric: Callable[..., Metric]
    arguments: tuple[tuple[str, Any], ...] = ()

    def __call__(self, first: Any) -> Metric:
        """Make the metric for the maps of a first batch, which has as many layers and heads as all others."""
        return self.metric(**self.arguments_of(first))

    def arguments_of(self, first: Any) -> dict[str, Any]:
        """Return all arguments of the metric, which are stored with its states."""
        n_layers, n_heads = first.maps.shape[1:3]
        return {"n_layers": n_layers, "n_heads": n_heads, **dict(self.arguments)}

    def state_bytes(self, first: Any) -> int:
        """Return the bytes that the states of the metric will take, 0 if its class has no method ``state_bytes``."""
        measure = getattr(self.metric, "state_bytes", None)
        if measure is None:
            return 0
        arguments = self.arguments_of(first)
        return int(measure(**{name: arguments[name] for name in signature(measure).parameters if name in arguments}))


@dataclass(frozen=True)
class CountWith:
    """A factory of metrics whose arguments do not depend on the maps: it calls ``metric(**arguments)``.

    Args:
        metric: the class of the metric.
        arguments: the arguments of the metric, as pairs of name and value.

    Example:
        >>> from attentionology import CountWith, SurfaceStatistics
        >>> count = CountWith(SurfaceStatistics, (("n_layers", 2), ("n_heads", 3)))
        >>> count(None).n_heads, count.arguments_of(None)
        (3, {'n_layers': 2, 'n_heads': 3})
    """

    metric: Callable[..., Metric]
    arguments: tuple[tuple[str, Any], ...] = ()

    def __call__(self, first: Any) -> Metric:
        """Make the metric; the first batch has no effect on it."""
        return self.metric(**self.arguments_of(first))

    def arguments_of(self, first: Any) -> dict[str, Any]:
        """Return all arguments of the metric, which are stored with its states."""
        return dict(self.arguments)
