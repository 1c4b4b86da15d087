"""The control with random weights, for the analyses that ask what heads know."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from tyro.conf import arg

from attentionology.scripts.errors import UsageError
from attentionology.scripts.job import Job

if TYPE_CHECKING:
    from attentionology.extractors import Encoder

Found = TypeVar("Found")

_CONTROL = re.compile(r"random-init(?::(?P<copies>[0-9]{1,9}))?")


@dataclass(frozen=True)
class ControlOptions:
    """Of the analyses dependency and coreference."""

    control: Annotated[str | None, arg(metavar="random-init[:K]")] = None
    """random-init or random-init:K repeats the run with 1 or K copies of the model that keep the embeddings and
    have random weights otherwise. What they reach, embeddings and positions alone can explain."""

    def check(self) -> None:
        """Refuse what is impossible."""
        self.copies()

    def copies(self) -> int:
        """How many randomly initialised copies of the model to run."""
        return copies_of(self.control) if self.control else 0


def copies_of(control: str) -> int:
    """K of ``random-init:K``, 1 of ``random-init``.

    Raises:
        UsageError: it is neither.
    """
    match = _CONTROL.fullmatch(control)
    copies = int(match["copies"] or 1) if match else 0
    if not copies:
        raise UsageError(f"unknown control {control!r}; choose random-init or random-init:K, K at least 1")
    return copies


def run_control(job: Job, measure: Callable[[Encoder, str], Found]) -> list[Found]:
    """What ``measure`` finds with each copy of the model; it is given the copy and a label for the progress bar."""
    copies = job.options.controls.copies()
    found = []
    for k in range(copies):
        with job.stages("control"):
            twin = job.encoder.random_init(job.options.seed + k)
            found.append(measure(twin, f"random weights {k + 1}/{copies}"))
    return found


def control_record(job: Job) -> dict[str, Any]:
    """What the run record says of the control."""
    copies = job.options.controls.copies()
    seeds = list(range(job.options.seed, job.options.seed + copies))
    return {"control": {"kind": "random-init", "copies": copies, "seeds": seeds} if copies else None}
