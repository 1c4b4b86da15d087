"""The methods that one table compares: baselines, probes, and probes on random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...probes import FixedOffset, HeadPredictor, RelationOffset, SingleHead, registered_probes, registered_state_probes
from ...probes.registry import RANDOM
from ...reports.drawing import PALETTE


@dataclass(frozen=True)
class Baseline:
    """One baseline: what it is, for a program and for a reader, and its color in figures."""

    name: str
    make: Callable[[], HeadPredictor]
    meaning: str
    color: str = "grey"


BEST_HEAD = "best single head"

BASELINES = (
    Baseline("right-branching", lambda: FixedOffset(1), "always the next word"),
    Baseline(
        "best offset",
        FixedOffset,
        "always the same number of words to one side; the number is chosen on the training sentences",
    ),
    Baseline(
        "best offset of the gold relation",
        RelationOffset,
        "the same, chosen for each relation. This baseline is not a parser, because it needs the gold relation of "
        "every word. No parser that knows only distances can score higher",
        "yellow",
    ),
    Baseline(
        BEST_HEAD,
        SingleHead,
        "the word that one attention head points to most; head and direction chosen on the training sentences",
        "green",
    ),
)
"""The baselines, in the order of the table."""

_OF_RANDOM = "the same on a network with random weights and the trained embeddings", "sky"
"""What is said of probes on random weights, and their color."""


def meaning(method: str) -> str:
    """Return what a method is, as a phrase for a reader; empty if it is not known."""
    return _describe(method)[0]


def color(method: str) -> str:
    """Return the color of a method in figures; black if the method is not known."""
    return str(PALETTE["named"][_describe(method)[1]][0]).upper()


def _describe(method: str) -> tuple[str, str]:
    """Return what a method is, and the name of its color."""
    if method.endswith(RANDOM):
        return _OF_RANDOM
    baselines = {each.name: (each.meaning, each.color) for each in BASELINES}
    known: dict[str, Any] = {**registered_probes(), **registered_state_probes()}
    probes = {name: (probe.meaning, probe.color) for name, probe in known.items()}
    return {**baselines, **probes}.get(method, ("", "black"))
