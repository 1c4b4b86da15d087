"""Training curves: how the accuracy of heads changes over the checkpoints of one model.

Checkpoints are models of a survey that are revisions of one model, such as ``ID@step1000`` and ``ID@step2000``, or
folders such as ``checkpoint-500`` and ``checkpoint-1000``. Their order is that of the numbers in their names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..counting.comparable import Measured
from ..counting.held_out import heldout_rate, interval_around, standard_error
from ..counting.outcomes import Counts

Array = npt.NDArray[Any]
Row = dict[str, Any]

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


class LayerAccuracies(NamedTuple):
    """The held-out accuracy of the best head of each layer, as the mean over relations."""

    relations: int
    layers: tuple[Measured, ...]  # the first layer first, each with the number of words of all these relations


def layer_accuracies(groups: Mapping[str, list[int]], counts: tuple[Counts, Counts], min_count: int) -> LayerAccuracies:
    """Return the mean held-out accuracies of layers over the relations with at least ``min_count`` words.

    The groups are the rows of each relation in the counts, which are those over subsets and over replicates.
    """
    subsets, replicates = counts
    n_words = {name: int(subsets.total[rows, 0].sum()) for name, rows in groups.items()}  # subset 0 is the corpus
    frequent = [name for name in groups if n_words[name] >= max(1, min_count)]
    layers = []
    for layer in range(subsets.correct.shape[-2]):
        # A layer is treated as a model of one layer, so that its head is chosen, scored and resampled in the same way.
        layer_subsets = replace(subsets, correct=subsets.correct[..., layer : layer + 1, :])
        layer_replicates = replace(replicates, correct=replicates.correct[..., layer : layer + 1, :])
        rates = [heldout_rate(groups[name], layer_subsets, layer_replicates) for name in frequent]
        rates = [rate for rate in rates if not math.isnan(rate.value)]
        value = float(np.mean([rate.value for rate in rates])) if rates else math.nan
        deviations = np.mean([rate.deviations for rate in rates], axis=0) if rates else np.zeros(0)
        layers.append(Measured(str(layer + 1), value, sum(n_words[name] for name in frequent), deviations))
    return LayerAccuracies(len(frequent), tuple(layers))


class TrainingCurves:
    """Collects the rows of ``survey_training.csv``, one cell at a time."""

    def __init__(self, models: Sequence[str]) -> None:
        self.checkpoints = checkpoints_of(models)
        self._rows: dict[tuple[str, str, str], list[Row]] = {}  # by model, treebank and kind of map

    def add(self, model: str, treebank: str, kind: str, measured: Sequence[Measured], layers: LayerAccuracies) -> None:
        """Add what a model has on a treebank with one kind of map."""
        rows = [{"about": "relation", "relation": one.group, "relations": 1, **_accuracy(one)} for one in measured]
        rows += [
            {"about": "layer", "layer": int(one.group), "relations": layers.relations, **_accuracy(one)}
            for one in layers.layers
        ]
        self._rows[model, treebank, kind] = rows

    def rows(self) -> list[Row]:
        """Return all rows: by model, treebank, kind of map, and relation or layer, and then by step."""
        rows: list[Row] = []
        for model, checkpoints in self.checkpoints.items():
            for treebank, kind in dict.fromkeys((treebank, kind) for _, treebank, kind in self._rows):
                curves: dict[tuple[Any, ...], list[Row]] = {}
                for name, step in checkpoints:
                    for row in self._rows.get((name, treebank, kind), ()):
                        curve = curves.setdefault((row["about"], row.get("relation"), row.get("layer")), [])
                        point = {"model": model, "checkpoint": name, "step": step, "treebank": treebank, "map": kind}
                        curve.append({**point, **row})
                rows += [row for curve in curves.values() for row in curve]
        return rows


def _accuracy(one: Measured) -> Row:
    """Return a held-out accuracy with its 95 % interval."""
    low, high = interval_around(one.value, standard_error(one.deviations), lowest=0.0)
    return {"n": one.n, "heldout": one.value, "low": low, "high": high}
