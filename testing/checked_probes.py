"""What the checks of probes of maps and of hidden states have in common."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from ..probes import Probe, StateProbe, register_probe, registered_probes, registered_state_probes, unregister_probe
from .failing import fail

Found = Sequence[npt.NDArray[Any]]
"""What a probe finds, sentence by sentence."""

SEEDED = "Draw initial weights with generator=self.generator(), and keep no state in the class"
"""What to do if a seed does not decide what is learned."""

_CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}


class InterruptedTrainingError(Exception):
    """Training is interrupted."""


def check_arguments(probe: Probe | StateProbe) -> None:
    """Check that the arguments of the constructor are attributes with defaults, and are saved."""
    own = inspect.signature(type(probe).__init__).parameters.values()
    given = [one.name for one in own if one.name != "self" and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    for name in given:
        if not hasattr(probe, name):
            fail(f"The argument {name!r} of the constructor is no attribute", f"Set self.{name} = {name}")
    json.dumps(probe.arguments())
    usual = {"recipe", "random_state", "vectors"}
    if missing := [name for name in given if name not in usual and name not in probe.arguments()]:
        fail(f"arguments() lacks {missing[0]!r}, so a probe that is loaded is another one", "Return it there")


def check_weights(modules: Sequence[Any]) -> None:
    """Check that initial weights are drawn, given modules that were made with different seeds."""
    first, second = ({name: one.detach().numpy() for name, one in each.named_parameters()} for each in modules)
    varied = [name for name, array in first.items() if array.size > 1 and array.std() > 0]
    if varied and all((first[name] == second[name]).all() for name in varied):
        fail("The initial weights are the same for every random_state, although they are not constant", SEEDED)


def check_equal(
    found: Found, expected: Found, when: str, advice: str, *, exact: bool = True, what: str = "scores"
) -> None:
    """Check that what is found is equal, or equal up to the rounding of float32."""
    pairs = list(zip(found, expected, strict=True))
    if exact:
        same = all(np.array_equal(one, two) for one, two in pairs)
    else:
        same = all(one.shape == two.shape and np.allclose(one, two, **_CLOSE) for one, two in pairs)
    if not same:
        fail(f"The {what} are others {when}", advice)


@contextmanager
def registration(probe: type[Probe] | type[StateProbe]) -> Iterator[None]:
    """Register a probe while the block runs, unless it is registered."""
    known: dict[str, Any] = {**registered_probes(), **registered_state_probes()}
    if known.get(probe.name) is probe:
        yield
        return
    register_probe(probe)
    try:
        yield
    finally:
        unregister_probe(probe.name)
