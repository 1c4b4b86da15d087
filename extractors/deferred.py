"""Checks of values that a device computes, read together.

The host waits for a GPU whenever it reads a value, and the GPU then has nothing to do until it gets more work. What a
batch is checked for is seldom wrong. So inside of `checks_together`, values on a device other than the CPU are kept
there and read in one copy; on a CPU, where reading costs nothing, and outside of it, a value is checked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import torch
from jaxtyping import Shaped
from torch import Tensor

_MOST = 1000
"""How many values are kept until they are read, each of which takes half a kilobyte on a device."""


class _Check(NamedTuple):
    """A value that may be no more than a limit, and the error if it is."""

    value: Shaped[Tensor, ""]
    limit: float
    error: Callable[[float], Exception]


_KEPT: ContextVar[list[_Check] | None] = ContextVar("kept checks", default=None)


def check_at_most(value: Shaped[Tensor, ""], limit: float, error: Callable[[float], Exception]) -> None:
    """Raise the error for a value unless it is at most the limit, now or at the end of `checks_together`.

    A value that is not a number is refused. The function ``error`` must not hold large tensors.
    """
    kept = _KEPT.get()
    if kept is None or value.device.type == "cpu":
        _read([_Check(value, limit, error)])
        return
    kept.append(_Check(value, limit, error))
    if len(kept) >= _MOST:
        _read(kept)
        kept.clear()


@contextmanager
def checks_together() -> Iterator[None]:
    """Read the values of all checks inside the context in one copy, at its end unless an error ends it."""
    token = _KEPT.set([])
    try:
        yield
        _read(_KEPT.get() or [])
    finally:
        _KEPT.reset(token)


def _read(checks: list[_Check]) -> None:
    """Raise the error of the first check whose value is too large."""
    if not checks:
        return
    for check, value in zip(checks, torch.stack([check.value.double() for check in checks]).tolist(), strict=True):
        if not value <= check.limit:
            raise check.error(value)
