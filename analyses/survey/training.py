"""Training curves: how the accuracy of heads changes over the checkpoints of one model.

Checkpoints are models of a survey that are revisions of one model, such as ``ID@step1000`` and ``ID@step2000``, or
folders such as ``checkpoint-500`` and ``checkpoint-1000``. Their order is that of the numbers in their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
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
    LAYER_LOOKS,
    MARKERS,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    panels,
    series_label,
    ticks,
    with_style,
)
from ...reports.finding import Finding
from ...storage.writing import amount, verb
from ..comparison.results import Pairing
from ..counting.comparable import Measured
from ..counting.held_out import HeldOutRate, heldout_by_layer, interval_around, mean_rate, standard_error
from ..counting.outcomes import Counts
from ..dependency.accuracy import TOTALS
from ..dependency.findings import strongest_rule
from ..shared.measures import share
from .checkpoints import TrainingStep, checkpoints_of, half_gain_step
from .collecting import CellCounts, Collector, KeptCell
from .rows import SurveyFacts, SurveyQuestion, averaged_relations, rows_table

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


_NAMED = 3
"""The number of relations that a finding names."""


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

    def findings(self, answer: pd.DataFrame, results: SurveyFacts) -> Sequence[Finding]:
        """Say by which step relations reach half of what they gain from the first to the last checkpoint."""
        return list(training_findings(answer, results))

    def draw(self, answer: pd.DataFrame, results: SurveyFacts, title: str) -> Mapping[str, Figure]:
        """Draw the curves of the first few models; those of others are in the table only."""
        return {
            name: training_figure(answer, results, model)
            for name, model in zip(_names(answer), _models(answer), strict=False)
        }

    def values(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, Any]:
        """Return the names of the figures, and those of the models without one."""
        return {"training": _names(answer), "curves_left_out": _models(answer)[_CURVES:]}


def training_findings(table: pd.DataFrame, survey: SurveyFacts) -> Iterator[Finding]:
    """Yield for each model and treebank by which step relations reach half of their final gain, for the first map.

    A relation gains if the interval of the last checkpoint lies above that of the first one.
    """
    table = table[(table["about"] == "relation") & ~table["relation"].isin([*TOTALS, "root"])]
    table = table[(table["map"] == survey.maps[0]) & (table["n"] >= survey.min_count)]
    for (model, name_of_treebank), rows in table.groupby(["model", "treebank"], sort=False):
        treebank = str(name_of_treebank)
        n_checkpoints = int(rows.groupby("relation").size().max())
        curves = {name: curve for name, curve in rows.groupby("relation", sort=False) if len(curve) == n_checkpoints}
        gaining = {name: curve for name, curve in curves.items() if curve["low"].iloc[-1] > curve["high"].iloc[0]}
        where = f"of {survey.short_treebanks[treebank]}" + (f" in {model}" if len(_models(table)) > 1 else "")
        if not gaining:
            relations, are = amount(len(curves), "relations"), verb(0, "are", "is", of=len(curves))
            yield Finding(f"0 of {relations} {where} {are} clearly found better by the last step.", "#training")
            continue
        by_step: dict[float, list[str]] = {}
        for name, curve in gaining.items():
            step = half_gain_step(curve["step"].tolist(), curve["heldout"].tolist())
            by_step.setdefault(step, []).append(str(name))
        (first, names), *later = sorted(by_step.items())
        reach, their = (verb(len(names), *forms, of=len(curves)) for forms in (("reach", "reaches"), ("their", "its")))
        text = (
            f"{len(names)} of {amount(len(curves), 'relations')} {where} {reach} half of {their} final gain by step "
            f"{first:,.10g}: "
            f"{_final(gaining, names, treebank, survey)}"
        )
        others = "; ".join(f"{len(of_step)} by step {step:,.10g} ({', '.join(of_step)})" for step, of_step in later)
        never = [str(name) for name in curves if name not in gaining]
        more = f"{others}." if later else ""
        if never:
            more += f" No clear gain from the first to the last step: {', '.join(never)}."
        yield Finding(text, "#training", more.strip())


def _final(gaining: Mapping[Any, pd.DataFrame], names: Sequence[str], treebank: str, survey: SurveyFacts) -> str:
    """Name those of some relations that gain most, each with its first and last accuracy and the strongest rule."""
    gains = {name: float(gaining[name]["heldout"].iloc[-1] - gaining[name]["heldout"].iloc[0]) for name in names}
    texts = []
    for name in sorted(names, key=lambda name: -gains[name])[:_NAMED]:
        curve = gaining[name]
        row = survey.best_row(curve["checkpoint"].iloc[-1], treebank, survey.maps[0], name)
        rule = "" if row is None else f", strongest rule {share(strongest_rule(row, pd.DataFrame()).rate)}"
        texts.append(f"{name} ({share(curve['heldout'].iloc[0])} to {share(curve['heldout'].iloc[-1])}{rule})")
    return "; ".join(texts) + ("; …" if len(names) > _NAMED else ".")


def _models(table: pd.DataFrame) -> list[str]:
    """Return the models that have curves."""
    return list(dict.fromkeys(table["model"]))


def _names(table: pd.DataFrame) -> list[str]:
    """Return the names of the figures of the first few models."""
    numbers = range(1, len(_models(table)[:_CURVES]) + 1)
    return ["survey_training" if number == 1 else f"survey_training_{number}" for number in numbers]


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
        in_means = averaged_relations(words.members, words.facts.asked)
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

    def collect(self) -> TrainingRows:
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


@with_style
def training_figure(table: pd.DataFrame, survey: SurveyFacts, model: str) -> Figure:
    """Draw held-out accuracies over the checkpoints of a model, by relation and by layer, for each treebank."""
    kind = table["map"].iloc[0]  # the curves of other kinds of maps are in the table only
    table = table[(table["model"] == model) & (table["map"] == kind)]
    treebanks = list(dict.fromkeys(table["treebank"]))[:_MOST_PANELS]
    figure, grid = panels(0.8 + 2.6 * len(treebanks), 5.0, 2, len(treebanks), sharex=True, sharey="row")
    color_of_relation = _curves_shown(survey, table[table["about"] == "relation"])
    layers = sorted({int(layer) for layer in table["layer"].dropna()})
    every = max(1, -(-len(layers) // len(LAYER_LOOKS)))  # of many layers, one in so many has a line
    look_of_layer = dict(zip(layers[::-1][::every][::-1], LAYER_LOOKS, strict=False))
    for treebank, by_relation, by_layer in zip(treebanks, *grid, strict=True):
        rows = table[table["treebank"] == treebank]
        for marker, (relation, color) in zip(cycle(MARKERS), color_of_relation.items(), strict=False):
            _curve(by_relation, rows[rows["relation"] == relation], color, marker, relation)
        for layer, look in look_of_layer.items():
            _curve(by_layer, rows[rows["layer"] == layer], *look, f"layer {layer}")
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
    by_layers = "layer, mean over relations" + (f"\n(one layer in {every})" if every > 1 else "")
    for axes, about in zip(grid[:, 0], ("relation", by_layers), strict=True):
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


def _curve(axes: Axes, rows: pd.DataFrame, color: Any, marker: str, label: str) -> None:
    """Draw held-out accuracies over steps, with their intervals."""
    steps = rows["step"].to_numpy(dtype=float)
    axes.vlines(steps, 100 * rows["low"], 100 * rows["high"], color=color, lw=1, alpha=0.6, zorder=2)
    axes.plot(
        steps, 100 * rows["heldout"], "-", marker=marker, color=color, ms=3, lw=1.2, label=series_label(label), zorder=3
    )
