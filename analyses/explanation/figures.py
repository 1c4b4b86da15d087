"""Figures of tests of attention, of several models or all texts at once."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from attentionology.analyses.explanation.measures import LN2
from attentionology.analyses.explanation.plots import clipped, has_values, legend
from attentionology.reports.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, STYLE, name_rows, ticks
from attentionology.reports.format import number

SHARE, TVD, NATS, TAU, PROBABILITY = "%", "TVD, 0 to 1", "nats", "τ, −1 to 1", "probability"
ORDERS = {
    "attention": "attention",
    "gradient": "gradient",
    "attention_gradient": "attention × gradient",
    "random": "random order",
    "ascending": "least attention first",
}
"""Orders of words, as they are called in columns, and for a reader."""
BEST = {name: ORDERS[name] for name in ("attention", "gradient", "attention_gradient")}
DELETED = {name: ORDERS[name] for name in ("attention", "gradient", "attention_gradient", "random")}

MEASURES: dict[str, tuple[str, str]] = {
    "correct": ("accuracy", SHARE),
    "accuracy": ("accuracy", SHARE),
    "epsilon": ("tolerance ε", TVD),
    "uniform_retrained_correct": ("accuracy, trained with uniform attention", SHARE),
    "guided_base_correct": ("accuracy without context, guided by this attention", SHARE),
    "guided_own_correct": ("accuracy without context, with weights of its own", SHARE),
    "guided_adversary_correct": ("accuracy without context, guided by an adversary", SHARE),
    "guided_uniform_correct": ("accuracy without context, uniform weights", SHARE),
    "tau_gradient": ("τ, attention and gradient × input", TAU),
    "tau_loo": ("τ, attention and leave-one-out", TAU),
    "tau_gradient_loo": ("τ, gradient × input and leave-one-out", TAU),
    "tau_random": ("τ, attention and random scores", TAU),
    "permutation_tvd": ("median change of the output, weights shuffled", TVD),
    "permutation_mean_tvd": ("mean change of the output, weights shuffled", TVD),
    "permutation_jsd": ("JSD of shuffled weights", NATS),
    "permutation_flip": ("decisions changed, weights shuffled", SHARE),
    "uniform_tvd": ("change of the output, weights made uniform", TVD),
    "uniform_jsd": ("JSD of uniform weights", NATS),
    "uniform_flip": ("decisions changed, weights made uniform", SHARE),
    "exact_jsd": ("JSD of the farthest attention with the same output, exact", NATS),
    "adversarial_jsd": ("JSD of the farthest attention found by gradient", NATS),
    "adversarial_tvd": ("change of the output there", TVD),
    "ceiling_jsd": ("largest JSD whatever the output", NATS),
    "seed_jsd": ("JSD to other seeds", NATS),
    "seed_shuffled_jsd": ("JSD to other seeds, their weights shuffled", NATS),
    "seed_tvd": ("change of the output, other seeds", TVD),
    "seed_mean_tvd": ("mean change of the output, other seeds", TVD),
    "imitation_jsd": ("JSD of the trained adversary", NATS),
    "imitation_same_jsd": ("JSD of the trained adversary where it says the same", NATS),
    "imitation_same_shuffled_jsd": ("JSD of the trained adversary there, its weights shuffled", NATS),
    "imitation_tvd": ("change of the output, trained adversary", TVD),
    "removal_never": ("decision is the same without any weights", SHARE),
    "all_zero_tvd": ("change of the output without any weights", TVD),
    "single_token_std": ("spread over words, each in context", PROBABILITY),
    "top_token_agrees": ("same decision from the most attended word, in context", SHARE),
    "random_token_agrees": ("same decision from a random word, in context", SHARE),
    "alone_single_token_std": ("spread over words, each read alone", PROBABILITY),
    "alone_top_token_agrees": ("same decision from the most attended word, read alone", SHARE),
    "alone_random_token_agrees": ("same decision from a random word, read alone", SHARE),
    "conicity": ("conicity of the states", "cosine"),
    "null_space": ("heads whose values have fewer dimensions than there are positions", SHARE),
}
for _name, _label in BEST.items():
    MEASURES |= {
        f"single_{_name}_top_jsd": (f"JSD of the output without the best word by {_label}", NATS),
        f"single_{_name}_random_jsd": (f"JSD of the output without another word ({_label})", NATS),
        f"single_{_name}_difference": (f"best word less another, JSD of the output, by {_label}", NATS),
        f"single_{_name}_top_flip": (f"decisions changed without the best word by {_label}", SHARE),
        f"single_{_name}_random_flip": (f"decisions changed without another word ({_label})", SHARE),
        f"single_{_name}_weight_difference": (f"weight of the best word by {_label} less another's", "weight"),
    }
for _name, _label in ORDERS.items():
    MEASURES |= {
        f"removal_{_name}": (f"words removed until the decision changes, {_label}", SHARE),
        f"removal_{_name}_mass": (f"attention removed until then, {_label}", SHARE),
        f"removal_{_name}_never": (f"decision never changes, {_label}", SHARE),
    }
for _name, _label in DELETED.items():
    MEASURES |= {
        f"comprehensiveness_{_name}": (f"comprehensiveness, {_label}", PROBABILITY),
        f"sufficiency_{_name}": (f"sufficiency, {_label}", PROBABILITY),
    }
"""What is measured, by column: a label and a unit."""

_PANELS = ("accuracy", "permutation_tvd", "exact_jsd", "single_token_std", "tau_loo", "conicity")
_ROLES = {"base": BLACK, "uniform": GREY, "seed": SKY, "guided": PURPLE, "adversary": ORANGE, "regularizer": GREEN}
_FEW_EPOCHS = 20
_APART = (0.085, 0.1)  # of the axes: dots closer than this share a label


def measure_name(column: str) -> tuple[str, str]:
    """Label and unit of a column."""
    return MEASURES.get(column, (column.replace("_", " "), ""))


def with_unit(column: str) -> str:
    """Label of a column with its unit in brackets."""
    label, unit = measure_name(column)
    short = unit.partition(",")[0]
    return label if label.startswith(short) else f"{label} ({short})"


def adversarial_figure(texts: pd.DataFrame, *, title: str) -> Figure:
    """How far attention can move without moving the output: histogram over texts, with what bounds it."""
    bins = np.linspace(0, LN2, 29).tolist()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.3, 2.9), layout="constrained")
        axes = figure.subplots()
        drawn: list[tuple[str, str, dict[str, Any]]] = [
            ("exact_jsd", "exact maximum", {"color": BLUE, "alpha": 0.6}),
            ("adversarial_jsd", "found by gradient", {"histtype": "step", "color": ORANGE, "linewidth": 1.4}),
        ]
        for column, label, style in drawn:
            if has_values(texts, column):
                values = texts[column].dropna().clip(0, LN2).to_numpy()
                weights = np.full(len(values), 100 / len(values))
                axes.hist(values, bins=bins, weights=weights, label=f"{label}, n = {len(values):,}", **style)
        for column, label, dashes in (
            ("permutation_jsd", "shuffled weights", "-."),
            ("ceiling_jsd", "ceiling whatever the output", "--"),
        ):
            if has_values(texts, column):
                mean = texts[column].mean()
                axes.axvline(mean, color=BLACK, linewidth=1, linestyle=dashes, label=f"{label}, mean {number(mean)}")
        axes.axvline(LN2, color=GREY, linewidth=1.4, label="ln 2, the bound of JSD")
        axes.set_xlim(0, 0.72)
        axes.grid(axis="y", color="#eeeeee", zorder=0)
        axes.set_axisbelow(True)
        axes.set_xlabel("largest JSD to the attention of the model (nats)")
        axes.set_ylabel("texts (%)")
        legend(figure, axes, title)
    return figure


def curve_figure(curve: pd.DataFrame, *, epsilon: float, title: str) -> Figure:
    """Change of the output against difference of the attention: trained adversaries over λ, seeds, single texts."""
    own = curve.dropna(subset=["jsd", "tvd"])
    adversaries = own[own["kind"] == "adversary"].sort_values("lambda")
    top = 1.15 * max(float(own["tvd"].max()), epsilon)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.3, 3.4), layout="constrained")
        axes = figure.subplots()
        axes.axhline(epsilon, color=GREY, linewidth=0.8, linestyle=":", label=f"ε = {epsilon:g}")
        axes.plot(
            *(adversaries["jsd"], adversaries["tvd"]),
            color=ORANGE,
            marker="o",
            markersize=4,
            label="trained adversaries, by λ",
        )
        floor, alone = adversaries[adversaries["lambda"] == 0], own[own["kind"] == "per text"]
        exact = alone["name"] == "exact"
        groups: tuple[tuple[str, str, pd.DataFrame, dict[str, Any]], ...] = (
            ("floor", "λ = 0: imitation alone", floor, {"marker": "o", "facecolor": "white", "edgecolor": ORANGE}),
            ("seed", "other seeds", own[own["kind"] == "seed"], {"marker": "^", "color": BLUE, "alpha": 0.8}),
            ("per text", "text by text, exact", alone[exact], {"marker": "D", "color": GREEN}),
            ("per text", "text by text", alone[~exact], {"marker": "s", "facecolor": "white", "edgecolor": GREEN}),
        )
        for kind, label, rows, style in groups:
            if len(rows):
                axes.scatter(
                    rows["jsd"],
                    rows["tvd"],
                    s=36 if kind == "floor" else 24,
                    zorder=3,
                    label=label,
                    clip_on=False,
                    **style,
                )
        axes.set_xlim(0, 0.72)
        axes.set_ylim(0, top)
        for label, x, y in _lambda_labels(adversaries, 0.72, top):
            side = "left" if x < 0.06 else "center"  # not across the axis
            axes.annotate(label, (x, y), (0, 7), textcoords="offset points", ha=side, fontsize=7, color="#a04000")
        axes.set_xlabel("difference of the attention (mean JSD, nats)")
        axes.set_ylabel("change of the output\n(mean TVD)")
        axes.grid(color="#eeeeee", zorder=0)
        axes.set_axisbelow(True)
        legend(figure, axes, title)
    return figure


def _lambda_labels(rows: pd.DataFrame, width: float, height: float) -> list[tuple[str, float, float]]:
    """One label for each dot, or for a run of dots that lie close together."""
    runs: list[list[tuple[float, float, float]]] = []
    for value, x, y in rows[["lambda", "jsd", "tvd"]].to_numpy(dtype=np.float64).tolist():
        near = runs and abs(x - runs[-1][0][1]) < _APART[0] * width and abs(y - runs[-1][0][2]) < _APART[1] * height
        if near:
            runs[-1].append((value, x, y))
        else:
            runs.append([(value, x, y)])
    labels = [" to ".join(dict.fromkeys(f"{run[k][0]:g}" for k in (0, -1))) for run in runs]
    places = [((run[0][1] + run[-1][1]) / 2, max(y for *_, y in run)) for run in runs]
    return [(label, *place) for label, place in zip(labels, places, strict=True)]


def regularizers_figure(table: pd.DataFrame, *, title: str) -> Figure:
    """A panel for each of the measures that say most, a dot with its interval for each regularizer."""
    there = list(dict.fromkeys(table.loc[table["mean"].notna(), "measure"]))
    measures = [name for name in _PANELS if name in there] or there[: len(_PANELS)]
    names = list(dict.fromkeys(table["regularizer"]))
    columns = min(3, len(measures))
    lines = math.ceil(len(measures) / columns)
    with mpl.rc_context(STYLE):
        size = (max(1.2 + 1.7 * columns, 3.6), 0.4 + lines * (0.75 + 0.2 * len(names)))
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False)
        for place, axes in enumerate(grid.flat):
            if place >= len(measures):
                axes.axis("off")
                continue
            unit = measure_name(measures[place])[1]
            own = table[table["measure"] == measures[place]].set_index("regularizer")
            for row, name in enumerate(names):
                if name in own.index:
                    _dot(axes, own.loc[name], row, 100.0 if unit == "%" else 1.0, BLACK if name == "none" else BLUE)
            first = place % columns == 0
            name_rows(axes, [clipped(name) if first else "" for name in names], [""] * len(names))
            axes.grid(axis="x", color="#eeeeee", zorder=0)
            axes.set_axisbelow(True)
            axes.margins(x=0.12)
            axes.set_xlabel(textwrap.fill(with_unit(measures[place]), 30))
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure


def _dot(axes: Axes, row: pd.Series[Any], place: int, factor: float, colour: str) -> None:
    """A mean with its interval, if there is one."""
    mean, low, high = (factor * float(row[name]) for name in ("mean", "low", "high"))
    if not math.isnan(low):
        axes.plot([low, high], [place, place], color=colour, linewidth=1.2, zorder=2)
    axes.scatter([mean], [place], s=20, color=colour, zorder=3)


def training_figure(history: pd.DataFrame, roles: Mapping[str, str], *, title: str) -> Figure:
    """Loss and dev AUC by epoch, a line for each model; the loss of adversaries is another and has its own panel."""
    role = history["model"].map(dict(roles)).fillna("base")
    adversary = role == "adversary"
    panels = [
        (~adversary, "loss", "loss per text"),
        (adversary, "loss", "loss of adversaries"),
        (role.notna(), "dev_auc", "dev AUC"),
    ]
    panels = [panel for panel in panels if panel[0].any()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.4 + 2.1 * len(panels), 2.6), layout="constrained")
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        handles: dict[str, Line2D] = {}
        for axes, (chosen, column, label) in zip(row, panels, strict=True):
            there = history[chosen & history[column].notna()]
            last = int(there["epoch"].max()) if len(there) else 1
            for (model,), own in there.groupby(["model"], sort=False):
                kind = roles.get(str(model), "base")
                (line,) = axes.plot(
                    *(own["epoch"], own[column].astype(float)),
                    marker="o" if last <= _FEW_EPOCHS else None,
                    markersize=2.5,
                    linewidth=0.9,
                    color=_ROLES.get(kind, BLACK),
                    zorder=4 if kind == "base" else 2,
                    label=kind,
                )
                handles.setdefault(kind, line)
            axes.set_xlabel("epoch")
            axes.set_ylabel(label)
            axes.set_xticks([place + 1 for place in ticks(last)])
            axes.set_xlim(0.5, last + 0.5)
            axes.grid(axis="y", color="#eeeeee", zorder=0)
            if not len(there):
                axes.text(0.5, 0.5, "no dev texts", transform=axes.transAxes, ha="center", color=GREY)
                axes.set_yticks([])
        named = list(handles.values())
        figure.legend(handles=named, loc="outside lower center", ncols=len(named), frameon=False)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure
