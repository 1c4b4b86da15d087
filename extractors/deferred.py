"""Values that a device computes, read together.

The host waits for a GPU whenever it reads a value, and the GPU then has nothing to do until it gets more work. What a
batch is checked for is seldom wrong, and sums over a batch are needed when all are there. So inside of `read_together`,
values on a device other than the CPU are kept there and read in one copy; on a CPU, where reading costs nothing, and
outside of it, a value is read at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Shaped
from torch import Tensor

_MOST_CHECKS = 1000
"""How many values are kept for checks until they are read, each of which takes half a kilobyte on a device."""

_MOST_VALUES = 2**24
"""How many values are kept for functions that use them, 64 MiB in float32. A single tensor may have more."""


class _Check(NamedTuple):
    """A value that may be no more than a limit, and the error if it is."""

    value: Shaped[Tensor, ""]
    limit: float
    error: Callable[[float], Exception]


class _Use(NamedTuple):
    """Values, and the function that uses them."""

    values: Shaped[Tensor, " values"]
    function: Callable[[Tensor], None]


@dataclass
class _Kept:
    """What waits on a device to be read."""

    checks: list[_Check] = field(default_factory=list)
    uses: list[_Use] = field(default_factory=list)

    def read(self) -> None:
        """Read everything, and raise the error of the first check whose value is too large."""
        checks, uses, self.checks, self.uses = self.checks, self.uses, [], []
        if checks:
            values = torch.stack([check.value.double() for check in checks]).tolist()
            for check, value in zip(checks, values, strict=True):
                if not value <= check.limit:
                    raise check.error(value)
        if uses:
            on_host = torch.cat([use.values for use in uses]).cpu()
            for use, part in zip(uses, torch.split(on_host, [len(use.values) for use in uses]), strict=True):
                use.function(part)


_KEPT: ContextVar[_Kept | None] = ContextVar("kept values", default=None)


def check_at_most(value: Shaped[Tensor, ""], limit: float, error: Callable[[float], Exception]) -> None:
    """Raise the error for a value unless it is at most the limit, now or at the end of `read_together`.

    A value that is not a number is refused. The function ``error`` must not hold large tensors.
    """
    kept = _KEPT.get()
    if kept is None or value.device.type == "cpu":
        _Kept([_Check(value, limit, error)]).read()
        return
    kept.checks.append(_Check(value, limit, error))
    if len(kept.checks) >= _MOST_CHECKS:
        kept.read()


def use_values(values: Shaped[Tensor, " values"], function: Callable[[Tensor], None]) -> None:
    """Call a function with values in the memory of the host, now or at the end of `read_together`.

    Functions are called in the order in which they were given, and all values must have one type. The function must not
    hold large tensors.
    """
    kept = _KEPT.get()
    if kept is None or values.device.type == "cpu":
        _Kept(uses=[_Use(values, function)]).read()
        return
    kept.uses.append(_Use(values, function))
    if sum(len(use.values) for use in kept.uses) >= _MOST_VALUES:
        kept.read()


@contextmanager
def read_together() -> Iterator[None]:
    """Read all values that wait inside the context in one copy, at its end unless an error ends it."""
    kept = _Kept()
    token = _KEPT.set(kept)
    try:
        yield
        kept.read()
    finally:
        _KEPT.reset(token)
