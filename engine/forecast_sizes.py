"""How large the counts of a whole corpus will be, extrapolated from the counts of a few inputs.

The states of most metrics have a fixed size in memory. Their files grow slowly, because packed integers take more bytes
only when they become larger or fewer of them are 0. Other metrics keep something of every input, up to a bound that the
attribute ``most_bytes`` of the metric tells. These grow in proportion to the inputs until they reach it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor

from ..analyses.shared.metric import Metric
from ..analyses.shared.metric_states import MetricStates
from .parts import packed_bytes
from .pass_counts import PassCounts


@dataclass(frozen=True)
class CountSizes:
    """The sizes of the counts of one metric after a few inputs.

    Attributes:
        inputs: the number of inputs.
        fixed: the bytes in memory that do not depend on the number of inputs.
        growing: the bytes in memory that grow with it.
        bound: the largest number of growing bytes.
        packed: the bytes in a file.
        doubling: by how many bytes the file has grown when the number of inputs was doubled.
    """

    inputs: int
    fixed: int
    growing: int
    bound: float
    packed: int
    doubling: float

    def memory(self, inputs: int) -> int:
        """Return the bytes in memory after a number of inputs."""
        return round(self.fixed + self.growing * self._times(inputs))

    def disk(self, inputs: int) -> int:
        """Return the bytes in a file after a number of inputs."""
        if self.growing:
            return round(self.packed * self._times(inputs))
        return round(self.packed + self.doubling * math.log2(max(inputs, self.inputs) / self.inputs))

    def _times(self, inputs: int) -> float:
        """Return by what factor growing states will be larger."""
        if not self.growing:
            return 1.0
        return min(inputs / self.inputs, self.bound / self.growing)


def sizes_of_counts(half: tuple[int, PassCounts], whole: tuple[int, PassCounts]) -> list[CountSizes]:
    """Return the sizes of the counts of all metrics of a pass.

    Args:
        half: the number of some inputs, and their counts.
        whole: the number of these and further inputs, and the counts of all of them.
    """
    stored, stored_half = whole[1].states(), half[1].states()
    return [
        _sizes(metric, whole[0], stored[name], half[0], stored_half.get(name))
        for name, metric in whole[1].metrics.items()
    ]


def _sizes(metric: Metric, inputs: int, stored: MetricStates, fewer: int, half: MetricStates | None) -> CountSizes:
    states = metric.metric_state.values()
    growing = sum(_bytes(state) for state in states if not isinstance(state, Tensor))
    packed = packed_bytes(stored)
    doubling = 0.0
    if half is not None and 0 < fewer < inputs:
        doubling = max(0.0, (packed - packed_bytes(half)) / math.log2(inputs / fewer))
    return CountSizes(
        inputs=inputs,
        fixed=_bytes(state for state in states if isinstance(state, Tensor)),
        growing=growing,
        bound=getattr(metric, "most_bytes", math.inf),
        packed=packed,
        doubling=doubling,
    )


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)
