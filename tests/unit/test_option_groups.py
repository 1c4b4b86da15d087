"""All option groups that a call can be given fit one protocol, and every number among options has bounds."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

import pytest

import attentionology
from attentionology import OptionError, analyses
from attentionology.analyses.option_groups import Bounds, check_bounds
from attentionology.scripts.cli import COMMANDS

GROUPS = [
    getattr(room, name) for room in (attentionology, analyses) for name in room.__all__ if name.endswith("Options")
]


@pytest.mark.parametrize("kind", GROUPS)
def test_groups_are_checked_without_arguments(kind):
    required = [
        parameter.name
        for parameter in inspect.signature(kind().check).parameters.values()
        if parameter.default is inspect.Parameter.empty
    ]
    assert required == []
    kind().check()


def unbounded(kind: type[Any]) -> list[str]:
    """The options of a command that are a number, or a number or missing, without bounds in their types."""
    found = []
    for name, annotated in get_type_hints(kind, include_extras=True).items():
        plain = get_args(annotated)[0] if get_args(annotated) and hasattr(annotated, "__metadata__") else annotated
        if isinstance(plain, type) and is_dataclass(plain):
            found += unbounded(plain)
        elif {int, float} & {plain, *get_args(plain)} and plain is not bool:
            bounds = [bound for bound in getattr(annotated, "__metadata__", ()) if isinstance(bound, Bounds)]
            found += [] if bounds else [f"{kind.__name__}.{name}"]
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_every_number_on_the_command_line_has_bounds(command):
    kind = COMMANDS[command].load()
    assert unbounded(kind) == []


@dataclass(frozen=True)
class Numbers:
    count: Annotated[int, Bounds(1)] = 1
    missing: Annotated[int | None, Bounds(1)] = None
    rate: Annotated[float, Bounds(0, strict=True)] = 0.5
    decay: Annotated[float, Bounds(0)] = 0.0
    share: Annotated[float, Bounds(0, 1)] = 1.0
    tolerance: Annotated[float, Bounds(0, 1, strict=True)] = 0.5
    free: int = -3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"count": 0}, "--count must be at least 1, not 0"),
        ({"missing": -1}, "--missing must be at least 1, not -1"),
        ({"rate": 0.0}, "--rate must be finite and above 0, not 0.0"),
        ({"rate": math.inf}, "--rate must be finite and above 0, not inf"),
        ({"decay": -0.5}, "--decay must be finite and at least 0, not -0.5"),
        ({"share": 1.5}, "--share must be from 0 to 1, not 1.5"),
        ({"share": math.nan}, "--share must be from 0 to 1, not nan"),
        ({"tolerance": 1.0}, "--tolerance must be between 0 and 1, not 1.0"),
    ],
)
def test_numbers_outside_their_bounds_are_refused(values, message):
    assert unbounded(Numbers) == ["Numbers.free"]
    check_bounds(Numbers())
    with pytest.raises(OptionError) as error:
        check_bounds(Numbers(**values))
    assert str(error.value) == message
