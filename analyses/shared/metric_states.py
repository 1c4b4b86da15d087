"""A metric as it is stored: its class, the arguments that it was made with, and its states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor
from torchmetrics import Metric

from attentionology.corpora_loaders.errors import AttentionologyError

AnyMetric = TypeVar("AnyMetric", bound=Metric)


class StateError(AttentionologyError, ValueError):
    """Stored states are not those of the metric that they should be restored to."""


@dataclass(frozen=True)
class MetricStates:
    """Everything that a metric has counted, apart from its code.

    Attributes:
        metric: the name of the class.
        arguments: the arguments that the metric was made with, which JSON must give back unchanged or as lists.
        tensors: the states by name.

    Example:
        >>> from attentionology import SurfaceStatistics
        >>> arguments = {"n_layers": 2, "n_heads": 3}
        >>> stored = MetricStates.of(SurfaceStatistics(**arguments), arguments)
        >>> stored.restore(SurfaceStatistics).n_heads
        3
    """

    metric: str
    arguments: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    @classmethod
    def of(cls, metric: Metric, arguments: Mapping[str, Any]) -> MetricStates:
        """Return the states of a metric that was made with these arguments."""
        states = {name: torch.cat(state) if isinstance(state, list) else state for name, state in _states(metric)}
        return cls(type(metric).__name__, arguments, {name: state.cpu() for name, state in states.items()})

    def restore(self, kind: type[AnyMetric]) -> AnyMetric:
        """Make a metric with these states.

        Args:
            kind: the class of the metric.

        Raises:
            StateError: the states are those of another class, or of another version of this class.
        """
        if kind.__name__ != self.metric:
            raise StateError(f"the states are those of {self.metric}, not of {kind.__name__}")
        try:
            metric = kind(**self.arguments)
        except TypeError as error:
            raise StateError(f"{self.metric} of this version takes other arguments: {error}") from None
        expected = dict(_states(metric))
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
            loaded[name] = [stored] if isinstance(state, list) else stored.clone()
        metric.load_state_dict(loaded)
        metric._update_count = 1  # otherwise torchmetrics warns that nothing has been counted
        return metric


def _states(metric: Metric) -> list[tuple[str, Any]]:
    return list(metric.metric_state.items())
