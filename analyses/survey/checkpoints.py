"""Which models of a survey are checkpoints of one model, and when its heads have learned half of what they learn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

FEWEST_CHECKPOINTS = 3
"""The number of checkpoints from which on a model has a training curve."""


_STEP = re.compile(r"(?:step|checkpoint|ckpt|epoch)s?[-_=]?(\d+(?:\.\d+)?)(?:([km])(?![a-z0-9]))?", re.IGNORECASE)


_NUMBER = re.compile(r"(\d+(?:\.\d+)?)()")


_COMMIT = re.compile(r"(?=.*[a-f])[0-9a-f]{7,40}")


_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


class TrainingStep(NamedTuple):
    """A model of the survey as a point of a training curve."""

    name: str  # the name of the model in the tables
    step: float  # the number in the name of its revision or folder


def checkpoints_of(models: Sequence[str]) -> dict[str, list[TrainingStep]]:
    """Return the checkpoints of each model that has at least three, in the order of their steps.

    Names of models are ``ID@REVISION``, or those of folders that end in a word for a step and a number. Checkpoints are
    returned by the name without the step.
    """
    checkpoints_by_model: dict[str, list[TrainingStep]] = {}
    for name in models:
        model, at, revision = name.rpartition("@")
        if at and model and "/" not in revision:
            match = None if _COMMIT.fullmatch(revision) else _STEP.search(revision) or _NUMBER.search(revision)
        else:  # a folder
            at_end = (match for match in _STEP.finditer(name) if match.end() == len(name.rstrip("/")))
            match = next(at_end, None)
            model = name[: match.start()].rstrip("-_/") if match else name
        if match:
            number, unit = match.groups(default="")
            step = float(number) * _FACTORS[unit.lower()]
            checkpoint = TrainingStep(name, int(step) if step.is_integer() else step)
            checkpoints_by_model.setdefault(model, []).append(checkpoint)
    return {
        model: sorted(checkpoints, key=lambda checkpoint: checkpoint.step)
        for model, checkpoints in checkpoints_by_model.items()
        # Models with equal steps have no curve, because the order of their revisions is not known.
        if len({checkpoint.step for checkpoint in checkpoints}) == len(checkpoints) >= FEWEST_CHECKPOINTS
    }


def half_gain_step(steps: Sequence[float], values: Sequence[float]) -> float:
    """Return the first step by which half of the gain from the first to the last one is reached.

    Example:
        >>> half_gain_step([0, 1000, 2000, 3000], [0.1, 0.2, 0.55, 0.9])
        2000
        >>> half_gain_step([0, 1000, 2000, 3000], [0.1, 0.5, 0.55, 0.9])
        1000
    """
    half = (values[0] + values[-1]) / 2
    return next(step for step, value in zip(steps, values, strict=True) if value >= half)
