"""How a request makes its metric once the shape of the maps is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

from torchmetrics import Metric


@dataclass(frozen=True)
class CountMaps:
    """Makes a metric of maps: ``metric(n_layers=…, n_heads=…, **arguments)``.

    Two of them are equal if they make equal metrics, so that analyses can share a request.

    Args:
        metric: the class of the metric.
        arguments: its further arguments, as pairs of name and value.
    """

    metric: Callable[..., Metric]
    arguments: tuple[tuple[str, Any], ...] = ()

    def __call__(self, first: Any) -> Metric:
        """The metric for the maps of a first batch, which tells the layers and heads."""
        n_layers, n_heads = first.maps.shape[1:3]
        return self.metric(n_layers=n_layers, n_heads=n_heads, **dict(self.arguments))

    def state_bytes(self, first: Any) -> int:
        """What the metric will hold in memory, as far as it can say so beforehand."""
        measure = getattr(self.metric, "state_bytes", None)
        if measure is None:
            return 0
        n_layers, n_heads = first.maps.shape[1:3]
        known = {"n_layers": n_layers, "n_heads": n_heads, **dict(self.arguments)}
        return int(measure(**{name: known[name] for name in signature(measure).parameters if name in known}))


@dataclass(frozen=True)
class CountWith:
    """Makes a metric whose arguments are all known beforehand: ``metric(**arguments)``.

    Args:
        metric: the class of the metric.
        arguments: its arguments, as pairs of name and value.
    """

    metric: Callable[..., Metric]
    arguments: tuple[tuple[str, Any], ...] = ()

    def __call__(self, first: Any) -> Metric:
        """The metric; the first batch does not matter."""
        return self.metric(**dict(self.arguments))
