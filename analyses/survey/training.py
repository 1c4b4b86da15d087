"""Training curves: how the accuracy of heads changes over the checkpoints of one model.

Checkpoints are models of a survey that are revisions of one model, such as ``ID@step1000`` and ``ID@step2000``, or
folders such as ``checkpoint-500`` and ``checkpoint-1000``. Their order is that of the numbers in their names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...reports.columns import Schema, TableColumn
from ...reports.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    layer_shades,
    panels,
    series_label,
    styled,
    ticks,
)
from ..comparison.results import Pairing
from ..counting.comparable import Measured
from ..counting.held_out import HeldOutRate, heldout_by_layer, interval_around, mean_rate, standard_error
from ..counting.outcomes import Counts
from ..dependency.accuracy import TOTALS
from .collecting import CellCounts, Collector, KeptCell
from .rows import SurveyFacts, SurveyQuestion, averaged, rows_table

Array = npt.NDArray[Any]
Row = dict[str, Any]


SURVEY_TRAINING = Schema(
    "survey_training",
    "One row per model, treebank, kind of map, relation or layer, and checkpoint of the model. It is written if at "
    "least three models of the survey are revisions or checkpoints of one model.",
    (
        TableColumn("model checkpoint", "text", "the name without the step, and the whole name of the model"),
        TableColumn("step", "number", "the number in the name of the revision or folder"),
        TableColumn("treebank map", "text", "what was read"),
        TableColumn("about", "text", "`relation`, or `layer`: the mean over relations for one layer"),
        TableColumn("relation", "text", "the relation; empty for layers"),
        TableColumn("layer", "number from 1", "the layer, whose best head is chosen and scored; empty for relations"),
        TableColumn("relations n", "count", "relations in the mean, and their words"),
        TableColumn("heldout low high", "share", "the held-out accuracy"),
    ),
)


FEWEST_CHECKPOINTS = 3
"""The number of checkpoints from which on a model has a training curve."""


_STEP = re.compile(r"(?:step|checkpoint|ckpt|epoch)s?[-_=]?(\d+(?:\.\d+)?)(?:([km])(?![a-z0-9]))?", re.IGNORECASE)


_NUMBER = re.compile(r"(\d+(?:\.\d+)?)()")


_COMMIT = re.compile(r"(?=.*[a-f])[0-9a-f]{7,40}")


_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


_CURVES = 8
"""The largest number of models whose training curves are drawn."""


_MOST_PANELS = 4
"""The number of treebanks whose training curves are drawn."""


_COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows of ``survey_training.csv``."""

    rows: Sequence[Mapping[str, Any]] = ()


class Training(SurveyQuestion):
    """How does the accuracy of heads change over the checkpoints of one model?"""

    name = "training"
    collection = TrainingRows
    tables = (SURVEY_TRAINING,)
    template = Path(__file__).with_name("training.html.j2")

    def collector(self, facts: SurveyFacts) -> TrainingCurves | None:
        """Return what collects the accuracies of checkpoints, if a model has enough."""
        checkpoints = checkpoints_of(facts.models)
        return TrainingCurves(checkpoints) if checkpoints else None

    def find(
        self, counts: SurveyFacts, lookups: TrainingRows | None, earlier: Mapping[str, Any]
    ) -> pd.DataFrame | None:
        """Return the curves; None if no model has enough checkpoints."""
        return rows_table(lookups.rows, SURVEY_TRAINING) if lookups and lookups.rows else None

    def frames(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, pd.DataFrame]:
        """Return the table as it is written."""
        return {SURVEY_TRAINING.name: answer}

    def draw(self, answer: pd.DataFrame, results: SurveyFacts, title: str) -> Mapping[str, Figure]:
        """Draw the curves of the first few models; those of others are in the table only."""
        return {
            name: training_figure(answer, results, model)
            for name, model in zip(_names(answer), _models(answer), strict=False)
        }

    def values(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, Any]:
        """Return the names of the figures, and those of the models without one."""
        return {"training": _names(answer), "curves_left_out": _models(answer)[_CURVES:]}


def _models(table: pd.DataFrame) -> list[str]:
    """Return the models that have curves."""
    return list(dict.fromkeys(table["model"]))


def _names(table: pd.DataFrame) -> list[str]:
    """Return the names of the figures of the first few models."""
    numbers = range(1, len(_models(table)[:_CURVES]) + 1)
    return ["survey_training" if number == 1 else f"survey_training_{number}" for number in numbers]


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
    by_relation = [heldout_by_layer(groups[name], subsets, replicates) for name in frequent]
    layers = []
    for layer in range(subsets.correct.shape[-2]):
        rates = [of_layers[layer] for of_layers in by_relation if not math.isnan(of_layers[layer].value)]
        mean = mean_rate(rates) if rates else HeldOutRate(math.nan, np.zeros(0))
        layers.append(Measured(str(layer + 1), mean.value, sum(n_words[name] for name in frequent), mean.deviations))
    return LayerAccuracies(len(frequent), tuple(layers))


class TrainingCurves(Collector[LayerAccuracies, TrainingRows]):
    """Collects the rows of ``survey_training.csv``."""

    def __init__(self, checkpoints: Mapping[str, Sequence[TrainingStep]]) -> None:
        self.checkpoints = checkpoints
        self._rows: dict[tuple[str, str, str], list[Row]] = {}  # by model, treebank and kind of map

    def keep(self, counts: CellCounts) -> LayerAccuracies:
        """Return the accuracies of the layers."""
        words = counts.words
        in_means = averaged(words.members, words.facts.asked)
        return layer_accuracies(in_means, (words.subsets, words.replicates), counts.min_count)

    def add(self, treebank: str, cells: Sequence[KeptCell], pairing_of: Callable[[str, str], Pairing]) -> None:
        """Add the accuracies of relations and of layers that the models have on a treebank."""
        for cell in cells:
            for kind, layers in cell.kept.items():
                measured = cell.families[kind][0].measured
                self._rows[cell.model, treebank, kind] = [
                    *(
                        {"about": "relation", "relation": one.group, "relations": 1, **_accuracy(one)}
                        for one in measured
                    ),
                    *(
                        {"about": "layer", "layer": int(one.group), "relations": layers.relations, **_accuracy(one)}
                        for one in layers.layers
                    ),
                ]

    def collected(self) -> TrainingRows:
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
        return TrainingRows(rows)


def _accuracy(one: Measured) -> Row:
    """Return a held-out accuracy with its 95 % interval."""
    low, high = interval_around(one.value, standard_error(one.deviations), lowest=0.0)
    return {"n": one.n, "heldout": one.value, "low": low, "high": high}


@styled
def training_figure(table: pd.DataFrame, survey: SurveyFacts, model: str) -> Figure:
    """Draw held-out accuracies over the checkpoints of a model, by relation and by layer, for each treebank."""
    kind = table["map"].iloc[0]  # the curves of other kinds of maps are in the table only
    table = table[(table["model"] == model) & (table["map"] == kind)]
    treebanks = list(dict.fromkeys(table["treebank"]))[:_MOST_PANELS]
    figure, grid = panels(0.8 + 2.6 * len(treebanks), 5.0, 2, len(treebanks), sharex=True, sharey="row")
    color_of_relation = _curves_shown(survey, table[table["about"] == "relation"])
    layers = sorted({int(layer) for layer in table["layer"].dropna()})
    color_of_layer = dict(zip(layers, layer_shades(len(layers)), strict=True))
    for treebank, by_relation, by_layer in zip(treebanks, *grid, strict=True):
        rows = table[table["treebank"] == treebank]
        for relation, color in color_of_relation.items():
            _curve(by_relation, rows[rows["relation"] == relation], color, relation)
        for layer, color in color_of_layer.items():
            _curve(by_layer, rows[rows["layer"] == layer], color, f"layer {layer}")
        by_relation.set_title(survey.short_treebanks[treebank], loc="left")
        by_layer.set_xlabel("step")
        steps = np.unique(rows["step"].astype(float))
        positive = steps[steps > 0]
        if len(positive) and positive.max() > 100 * positive.min():
            # A logarithmic axis cannot show step 0. If there is one, the axis is linear from 0 to the next step.
            linear = {"linthresh": float(positive.min())} if (steps == 0).any() else {}
            by_relation.set_xscale("symlog" if linear else "log", **linear)  # both panels share the axis
        labeled = [float(steps[position]) for position in ticks(len(steps))]
        for axes in (by_relation, by_layer):
            axes.set_xticks(labeled, [f"{step:,.10g}" for step in labeled], rotation=35, ha="right")
            axes.set_xticks([], minor=True)
    for axes, about in zip(grid[:, 0], ("relation", "layer, mean over relations"), strict=True):
        axes.set_ylabel(f"held-out accuracy (%)\nby {about}")
    for axes in grid[:, -1]:
        axes.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    name = f"{model} ({kind})" if len(survey.maps) > 1 else model
    figure.suptitle(name, fontsize=8, x=0.01, ha="left")
    return figure


def _curves_shown(survey: SurveyFacts, table: pd.DataFrame) -> dict[str, str]:
    """Return the relations whose curves are drawn, with their colors: the survey's, and the most frequent ones."""
    single = table[~table["relation"].isin([*TOTALS, survey.relation, "root"]) & (table["n"] >= survey.min_count)]
    words = single.groupby("relation", sort=False)["n"].max().sort_values(ascending=False, kind="stable")
    frequent = dict(zip(words.index[: len(_COLORS)], _COLORS, strict=False))
    return {survey.relation: BLACK, **frequent} if (table["relation"] == survey.relation).any() else frequent


def _curve(axes: Axes, rows: pd.DataFrame, color: Any, label: str) -> None:
    """Draw held-out accuracies over steps, with their intervals."""
    steps = rows["step"].to_numpy(dtype=float)
    axes.vlines(steps, 100 * rows["low"], 100 * rows["high"], color=color, lw=1, alpha=0.6, zorder=2)
    axes.plot(steps, 100 * rows["heldout"], "o-", color=color, ms=3, lw=1.2, label=series_label(label), zorder=3)
