"""What can be read from the hidden states of each layer, beside controls and what reads no states?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...probes import StateRecipe, make_state_probe
from ...reports.columns import Row, Schema, TableColumn, bounds
from ...reports.drawing import BLACK, PALETTE, TEXT, finish, panels, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import percent, rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount
from ..comparison.differences import LEVEL
from ..counting.held_out import NO_CLAIM
from ..counting.resampling import FEWEST_UNITS
from ..shared.measures import points, share
from .rows import MIXED, ProbeQuestion, ProbeResults, StateTried, Tested, layer_name, place_in_table
from .state_scores import OF_LAYER, StateScores, contrast_rows, first_columns, state_rows
from .trainings.state_folds import GOLD, MODEL, RANDOM_WEIGHTS
from .trainings.training import Kept

_SCORES = {"uas": "UAS", "uuas": "UUAS", "dspr": "DSpr", "root": "root", "nspr": "NSpr"}
"""How scores are called, where it is not by the name in the tables."""

_SCORE = "number, −1 to 1"
"""The type of a score, which is a share or a correlation."""

_SIGNED = ("selectivity", "over_random")


def score_name(score: str) -> str:
    """Return how a score is called."""
    return _SCORES.get(score, score)


def _writer_of(column: str) -> Callable[[Row], str]:
    """Return what writes a value of a row: a share in percent, and a correlation as it is."""

    def write(row: Row) -> str:
        value = row[column]
        if pd.isna(value):
            return "–"
        return f"{value:.3f}".replace("-", "−") if row["by_length"] else percent(value, sign=column in _SIGNED)

    return write


def _bounds(column: str) -> Callable[[Row], str]:
    """Return what writes the interval of a value."""
    of_shares = bounds(column)

    def write(row: Row) -> str:
        low, high = row[f"{column}_low"], row[f"{column}_high"]
        if not row["by_length"] or pd.isna(low):
            return of_shares(row)
        return f"[{low:.3f}, {high:.3f}]".replace("-", "−")

    return write


def _layer(row: Row) -> str:
    """Return the layer of a row, or what predicts without states."""
    name: str = str(row["source"]) if pd.isna(row["layer"]) else f"{row['layer']:.0f}"
    return f"{name} ←" if row["chosen"] else name


LAYERS = Schema(
    "probe_layers",
    "With probes of hidden states. One row per training and score, and per score of what reads no states.",
    (
        TableColumn("probe", "text", "the probe, with what it learns"),
        TableColumn("layer", "count", "the layer, 0 for the embedding block; empty for a mix and without states"),
        TableColumn(
            "source",
            "text",
            "`model`, `random weights` (in all layers), `mix of layers` (of either), or what predicts without states",
        ),
        TableColumn("task", "text", "`gold`, or the name of the control task"),
        TableColumn("run", "number from 1", "the training run"),
        TableColumn("score", "text", "the score: `uas`, `uuas`, `dspr`, `root`, `nspr`, or `accuracy`"),
        TableColumn("value", _SCORE, "its value on the tested sentences: a share, or a correlation (`dspr`, `nspr`)"),
        TableColumn("dev", _SCORE, "the first score of the probe on the dev sentences, by which layers are chosen"),
    ),
)

STATES_TABLE = Schema(
    "probe_states",
    "With probes of hidden states. One row per probe, score and layer, and per score of what reads no states.",
    (
        TableColumn("probe", "text", "the probe, with what it learns", "probe"),
        TableColumn("score", "text", "as in `probe_layers.csv`", "score", cell=lambda row: score_name(row["score"])),
        TableColumn(
            "layer", "count", "the layer; empty for a mix and for what reads no states", "layer", cell=_layer,
            help="0 is the output of the embedding block; ← marks the layer that the dev sentences chose; a mix "
            "is a learned mean of all layers; other rows predict without states",
        ),
        TableColumn("source", "text", "`model`, `mix of layers`, or the name of what predicts without states"),
        TableColumn("runs", "count", "training runs"),
        TableColumn(
            "value value_low value_high", _SCORE,
            "the mean over runs, with the interval over sentences: a share, or a correlation (`dspr`, `nspr`)", "found",
            cell=_writer_of("value"), beside=_bounds("value"),
            help="the share of heads (UAS), edges (UUAS), labels or roots that are right, in percent; or a mean "
            "correlation (DSpr, NSpr), as a number below 1",
        ),
        TableColumn(
            "band_low band_high", _SCORE,
            "the interval that holds for all layers of the model together, with 95 %; empty for what is no layer",
        ),
        TableColumn("value_sd", "number", "the standard deviation over runs"),
        TableColumn(
            "control", _SCORE, "the mean on the first control task", "control task", cell=_writer_of("control"),
            optional=True,
        ),
        TableColumn(
            "selectivity selectivity_low selectivity_high", "points", "`value` − `control`; the interval is paired",
            "selectivity", cell=_writer_of("selectivity"), beside=_bounds("selectivity"), optional=True, room="page",
        ),
        TableColumn(
            "random", _SCORE, "the mean on copies with random weights in their layers", "random weights",
            cell=_writer_of("random"), optional=True,
        ),
        TableColumn(
            "over_random over_random_low over_random_high", "points", "`value` − `random`; the interval is paired",
            "over random", cell=_writer_of("over_random"), beside=_bounds("over_random"), optional=True,
        ),
        TableColumn("dev", _SCORE, "the mean on the dev sentences"),
        TableColumn("chosen", "`True` or `False`", "whether the dev sentences chose the layer"),
        TableColumn("by_length", "`True` or `False`", "whether it is a correlation, averaged by sentence length"),
    ),
)  # fmt: skip

CONTRASTS = Schema(
    "probe_state_contrasts",
    "With probes of hidden states. One row per difference of the first score of a probe.",
    (
        TableColumn("probe", "text", "the probe", "probe"),
        TableColumn(
            "layer", "count", "its layer; empty for a mix", "layer",
            cell=lambda row: "mix" if pd.isna(row["layer"]) else f"{row['layer']:.0f}",
        ),
        TableColumn("second", "text", "what it is compared with", "minus"),
        TableColumn(
            "difference low high", "points", "its score minus that of the other; the interval is paired", "points",
            beside=bounds(),
        ),
        TableColumn(
            "band_low band_high", "points",
            "of another layer, the interval of the difference that holds for all other layers together, with 95 %",
            "together", cell=lambda row: bounds("band")(row) or "–", room="page",
            help="the interval of the difference that holds for all other layers together",
        ),
        TableColumn("p", "p", "the two-sided p value"),
        TableColumn("p_holm", "p", "adjusted for all differences of the probe (Holm 1979)", "adjusted p"),
    ),
)  # fmt: skip

TRAINING = Schema(
    "probe_state_training",
    "With probes of hidden states. One row per training, fold and epoch.",
    (
        TableColumn("probe layer source task", "text", "as in `probe_layers.csv`"),
        TableColumn("run fold epoch", "number from 1", "the training run, the fold and the epoch"),
        TableColumn("loss dev_loss", "number", "the mean loss of a training and of a dev sentence"),
        TableColumn("rate", "number", "the learning rate"),
        TableColumn(
            "dev_score", "share", "the first score of the probe on dev sentences, if it decides which epoch is kept"
        ),
    ),
)


@dataclass(frozen=True)
class LayerTables:
    """The answer: the four tables, and the effective number of sentences that have what each probe finds."""

    layers: pd.DataFrame
    states: pd.DataFrame
    contrasts: pd.DataFrame
    training: pd.DataFrame
    units: dict[str, float]
    recipes: tuple[str, ...]
    parameters: dict[str, int]


class Layers(ProbeQuestion):
    """What can be read from the hidden states of each layer?"""

    name = "layers"
    tables = (LAYERS, STATES_TABLE, CONTRASTS, TRAINING)
    template = Path(__file__).with_name("layers.html.j2")

    def look(self, lookup_context: Kept) -> dict[str, Any] | None:
        """Keep what each column of the counts is, which layers were chosen, and how training went."""
        outcomes = lookup_context.trained.states.outcomes
        if not outcomes:
            return None
        chosen = lookup_context.trained.states.chosen
        return {
            "tried": [asdict(tried) for outcome in outcomes for tried in outcome.tried],
            "chosen": dict(chosen),
            "parameters": {
                # Of the task itself, as a control task may have fewer classes.
                outcome.tried[0].probe: outcome.parameters
                for outcome in outcomes
                if (outcome.tried[0].source, outcome.tried[0].task) == (MODEL, GOLD)
            },
            "recipes": [f"{name}: {recipe_phrase(make_state_probe(name).usual)}" for name in chosen],
            "history": [asdict(epoch) for outcome in outcomes for epoch in outcome.history],
        }

    def join(self, lookups: Sequence[Any]) -> Any:
        """Return what the first of merged runs knows, if all have trained the same probes on the same sentences."""
        if not lookups or any(each["tried"] != lookups[0]["tried"] for each in lookups):
            return None
        return lookups[0]

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> LayerTables | None:
        """Return the tables; None without probes of hidden states."""
        if lookups is None or counts.states is None:
            return None
        chosen, tried = lookups["chosen"], [StateTried(**each) for each in lookups["tried"]]
        scored = StateScores(counts, counts.states, tried)
        return LayerTables(
            layers=pd.DataFrame([scored.row(column) for column in range(len(tried))]),
            states=pd.DataFrame(list(state_rows(scored, chosen))),
            contrasts=pd.DataFrame(
                list(contrast_rows(scored, chosen)),
                columns=CONTRASTS.names,
            ),
            training=_history(lookups["history"]),
            units={probe: scored.units(first_columns(scored, probe, layer)) for probe, layer in chosen.items()},
            recipes=tuple(lookups["recipes"]),
            parameters=lookups["parameters"],
        )

    def frames(self, answer: LayerTables, results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return the tables."""
        return {
            LAYERS.name: answer.layers,
            STATES_TABLE.name: answer.states,
            CONTRASTS.name: answer.contrasts,
            TRAINING.name: answer.training,
        }

    def show(self, answer: LayerTables, results: ProbeResults) -> Sequence[ShownTable]:
        """Return the scores by layer, and the differences."""
        return (
            states_table(answer),
            ShownTable(CONTRASTS.name, "Differences (points)", CONTRASTS.columns, rows_of(answer.contrasts)),
        )

    def draw(self, answer: LayerTables, results: ProbeResults, title: str) -> Mapping[str, Figure]:
        """Draw the scores by layer."""
        if answer.states["layer"].isna().all():  # a mix alone has no curve
            return {}
        return {"probe_layers": layers_figure(answer.states, results.argmax, title=title)}

    def values(self, answer: LayerTables, results: ProbeResults) -> Mapping[str, Any]:
        """Return what the probes are, and how they are trained."""
        names = list(dict.fromkeys(answer.states["probe"]))
        return {
            "state_meanings": {name: make_state_probe(name).meaning for name in names},
            "state_recipes": list(answer.recipes),
            "state_parameters": [f"{name} {answer.parameters[name]:,}" for name in names],
            "layer_contrasts": len(answer.contrasts),
        }

    def findings(self, answer: LayerTables, results: ProbeResults) -> Sequence[Finding]:
        """Say which layer is best, and what it is not told apart from."""
        return [Finding(text, "#layers") for text in layer_texts(answer)]

    def explore(self, answer: LayerTables, counts: Tested, results: ProbeResults, kind: str) -> Contribution | None:
        """Return what was found, for the explorer, if probes of maps have something to show there."""
        if not results.answers.get("head_weights"):
            return None
        return Contribution(findings=tuple(self.findings(answer, results)))


def _history(epochs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return how all trainings went, with layers as tables have them."""
    layers = (place_in_table(epoch["layer"], epoch["source"]) for epoch in epochs)
    return pd.DataFrame([{**epoch, "layer": at[0], "source": at[1]} for epoch, at in zip(epochs, layers, strict=True)])


def states_table(answer: LayerTables) -> ShownTable:
    """Return the scores by layer."""
    title = "Read from hidden states (%; correlations as numbers)"
    return ShownTable(
        STATES_TABLE.name, title, STATES_TABLE.columns, rows_of(answer.states),
        style=lambda row: "strong" if row["chosen"] else "", wide=110,
    )  # fmt: skip


_BESIDE_HEADS = ("attention", "best single head", "right-branching")
"""The methods that read no states of a layer and find heads, too."""

_DASHES = ((0, (6, 2)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_PLACES: tuple[tuple[float, Literal["left", "center", "right"]], ...] = (
    (0.99, "right"), (0.01, "left"), (0.5, "center"),
)  # fmt: skip
"""Where lines are named: neighbors apart, because their values may be nearly equal."""


@with_style
def layers_figure(states: pd.DataFrame, methods: pd.DataFrame, *, title: str) -> Figure:
    """Draw the first score of each probe by layer, with its control task, random weights and what reads no states."""
    probes = list(dict.fromkeys(states["probe"]))
    columns = min(2, len(probes))
    rows = -(-len(probes) // columns)
    figure, grid = panels(TEXT, 0.7 + 2.5 * rows, rows=rows, columns=columns)
    for axes, probe in zip(grid.flat, probes, strict=False):
        of_probe = states[(states["probe"] == probe) & ~states["by_length"]]
        _draw_states(axes, of_probe[of_probe["layer"].notna()].sort_values("layer"))
        of_floors = of_probe[of_probe["layer"].isna() & (of_probe["source"] != MIXED)]
        lines = [(row["source"], row["value"]) for row in rows_of(of_floors)]
        if make_state_probe(probe).finds_heads:
            known = methods.set_index("method")["uas"]
            lines = [(name, known[name]) for name in _BESIDE_HEADS if name in known]
        lines.sort(key=lambda line: line[1])
        for (name, value), dashes, (x, side) in zip(lines, _DASHES, _PLACES, strict=False):
            axes.axhline(100 * value, color=BLACK, linewidth=0.8, linestyle=dashes)
            axes.annotate(
                f"{name} {percent(value)}", (x, 100 * value), xycoords=("axes fraction", "data"),
                xytext=(0, 2), textcoords="offset points", ha=side, fontsize=6, color=BLACK,
            )  # fmt: skip
        axes.set_ylabel(f"{score_name(str(of_probe['score'].iloc[0]))} (%)")
        axes.set_title(probe, loc="left", fontsize=8)
    for axes in list(grid.flat)[len(probes) :]:
        axes.set_axis_off()
    finish(figure, grid.flat[0], title)
    return figure


def _draw_states(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the scores of one probe by layer, with those of its control task and of random weights."""
    blue, orange, grey = (str(PALETTE["named"][name][0]).upper() for name in ("blue", "orange", "grey"))
    layers, values = rows["layer"].to_numpy(), 100 * rows["value"].to_numpy()
    axes.fill_between(layers, 100 * rows["band_low"], 100 * rows["band_high"], color=blue, alpha=0.12, linewidth=0)
    axes.fill_between(layers, 100 * rows["value_low"], 100 * rows["value_high"], color=blue, alpha=0.2, linewidth=0)
    axes.plot(layers, values, color=blue, marker="o", markerfacecolor="white", markersize=4, label="states")
    is_chosen = rows["chosen"].to_numpy(dtype=bool)
    axes.plot(layers[is_chosen], values[is_chosen], "o", color=blue, markersize=4)
    beside = (("control", "control task", orange, "--"), ("random", "random weights", grey, ":"))
    for column, label, color, style in beside:
        if rows[column].notna().any():
            axes.plot(layers, 100 * rows[column], style, color=color, label=label)
    axes.set_xticks(layers, [f"{layer:.0f}" for layer in layers])
    axes.set_xlabel("layer")
    axes.grid(visible=True, axis="y")
    axes.set_ylim(0, 100)


def layer_texts(answer: LayerTables) -> Iterator[str]:
    """Yield what the first score of each probe says of layers, each under its condition."""
    states, contrasts = answer.states, answer.contrasts
    for probe in dict.fromkeys(states["probe"]):
        of_probe = states[(states["probe"] == probe) & states["source"].isin([MODEL, MIXED]) & ~states["by_length"]]
        if of_probe["value"].isna().all():
            continue
        best = next(row for row in rows_of(of_probe) if row["chosen"])
        score = score_name(best["score"])
        found = share(best["value"], best["value_low"], best["value_high"])
        chosen = ", which the dev sentences chose" if best["layer"] >= 0 else ""
        text = f"{found} is the {score} of {probe} on test sentences in {layer_name(best['layer'])}{chosen}"
        if answer.units[probe] < FEWEST_UNITS or math.isnan(best["value_low"]):
            yield f"{text}. It is not compared: {NO_CLAIM.format(units='sentences')}."
            continue
        of_contrasts = rows_of(contrasts[contrasts["probe"] == probe])
        own = [row for row in of_contrasts if layer_name(row["layer"]) == layer_name(best["layer"])]
        for row in own:
            if row["second"].startswith(OF_LAYER):
                continue
            difference = points(row["difference"], row["low"], row["high"])
            verdict = "" if is_clear(row) else ", which is not clear,"
            text += f"; {difference}{verdict} against {row['second']}"
        yield f"{text}."
        of_layers = [row for row in own if row["second"].startswith(OF_LAYER)]
        same = [int(row["second"].removeprefix(OF_LAYER)) for row in of_layers if not is_told_apart(row)]
        if same:
            yield (
                f"{amount(len(same), 'layers')} cannot be told apart from layer {best['layer']:.0f} by {probe}, by "
                f"intervals that hold for all layers together: {_name_layers(same)}."
            )
        below = [
            row for row in of_contrasts if row["second"] == RANDOM_WEIGHTS and row["difference"] < 0 and is_clear(row)
        ]
        for row in below:
            difference = points(row["difference"], row["low"], row["high"])
            yield f"{difference} is how far {layer_name(row['layer'])} of {probe} is below random weights."


def _name_layers(layers: Sequence[int]) -> str:
    """Name layers, those that follow one another by the first and the last."""
    ranges = list[list[int]]()
    for layer in layers:
        if ranges and layer == ranges[-1][-1] + 1:
            ranges[-1].append(layer)
        else:
            ranges.append([layer])
    parts: list[str] = []
    for found in ranges:
        parts += [f"{found[0]} to {found[-1]}"] if len(found) > 2 else map(str, found)
    if len(layers) == 1:
        return f"Layer {parts[0]}"
    return f"Layers {', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else f"Layers {parts[0]}"


def recipe_phrase(recipe: StateRecipe) -> str:
    """Say how probes of hidden states are trained."""
    return (
        f"at most {recipe.epochs} epochs in batches of {recipe.batch} sentences, learning rate "
        f"{recipe.learning_rate:g}, times {recipe.factor:g} after an epoch without a lower dev loss, stopped after "
        f"{recipe.patience} of them"
    )


def is_clear(row: Mapping[str, Any]) -> bool:
    """Whether a difference excludes 0 with its whole interval, and is significant after adjustment."""
    return bool(row["p_holm"] < LEVEL and (row["low"] > 0 or row["high"] < 0))


def is_told_apart(row: Mapping[str, Any]) -> bool:
    """Whether a layer differs clearly from the chosen one, also by the interval that holds for all layers together."""
    return is_clear(row) and not row["band_low"] <= 0 <= row["band_high"]
