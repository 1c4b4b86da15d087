"""The states of metrics as the tensors of a file, which are labeled with a prefix and packed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ..analyses.shared.metric_states import MetricStates
from ..storage.packed import pack, unpack


def packed_states(states: MetricStates, prefix: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Pack the states of one metric for a file that may hold those of several metrics.

    Args:
        states: the states.
        prefix: what the names of its tensors begin with in the file, and no other names do.

    Returns:
        the tensors, and the facts that `unpacked_states` needs, which JSON can hold.
    """
    # A file gives its tensors back in another order, and what is read and written again should be the same file.
    tensors, packing = pack({f"{prefix}{name}": states.tensors[name] for name in sorted(states.tensors)})
    return tensors, {"metric": states.metric, "arguments": dict(states.arguments), "packing": packing}


def unpacked_states(tensors: Mapping[str, Tensor], facts: Mapping[str, Any], prefix: str) -> MetricStates:
    """Restore the states of one metric.

    Args:
        tensors: the tensors of the file.
        facts: the facts that `packed_states` returned.
        prefix: what the names of the tensors of this metric begin with.

    Raises:
        DamagedError: the tensors do not fit the facts.
    """
    of_metric = {name: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    unpacked = unpack(of_metric, facts["packing"])
    named = {name.removeprefix(prefix): tensor for name, tensor in unpacked.items()}
    return MetricStates(facts["metric"], facts["arguments"], named)
