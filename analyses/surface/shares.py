"""Where does attention go? The shares of classes of tokens and of neighbors, head by head (Clark et al. 2019, §3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import Explored, Row, Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact
from ...reports.finding import Finding
from ...reports.format import head_name, name_head, number, percent, ranges, rows_of
from ...reports.table import ShownTable
from ...reports.tables import records
from ..contract import Request
from ..counting.comparable import Comparable, Measured
from ..shared.measures import address, head_measures, names_of, share
from .figures import special_figure, statistics_figure
from .rows import (
    CLASSES,
    PlanContext,
    Statistics,
    SurfaceQuestion,
    SurfaceResults,
    by_share,
    find_largest,
    has,
    label_rows,
    measure_id,
    statistic_names,
    target_names,
)
from .rows import SHARES as NAME
from .statistics import LEARNED_SINK, SurfaceStatistics
from .tables import SurfaceTables

_WHERE = "Where attention goes"


def _share(name: str, meaning: str, target: str) -> TableColumn:
    """Return the column of the share of attention that goes somewhere."""
    return TableColumn(name, "share", meaning, explored=Explored(_WHERE, f"to {target}"))


SURFACE = Schema(
    "surface",
    "One row per head. Means are over inputs, each with the same weight.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        _share("self", "the share of attention to the token itself", "the token itself"),
        _share("previous", "the share of attention to the token before, if there is one", "the previous token"),
        _share("next", "the share of attention to the next token, if there is one", "the next token"),
        _share("first_special", "the share of attention to special tokens before the first word", "{first_special}"),
        _share("last_special", "the share of attention to all other special tokens", "{last_special}"),
        TableColumn("period_comma", "share", "the share of attention to periods and commas"),
        _share("punctuation", "the share of attention to all punctuation", "punctuation"),
        _share("other", "the share of attention to all remaining tokens", "other words"),
        TableColumn(
            "first_to_first last_to_last",
            "share",
            "the share of the attention of these special tokens that goes to these special tokens",
        ),
        TableColumn(
            "rest_to_first rest_to_last",
            "share",
            "the share of the attention of all other tokens that goes to these special tokens",
        ),
        TableColumn(
            "entropy", "nats", "the mean entropy of all rows", explored=Explored("How broadly", "entropy of the rows")
        ),
        TableColumn("entropy_first", "nats", "the mean entropy of the rows of the first special tokens"),
        TableColumn(
            "entropy_relative",
            "share",
            "the mean entropy of all rows, divided by that of uniform attention",
            explored=Explored("How broadly", "entropy as a share of uniform attention"),
        ),
        TableColumn("entropy_first_relative", "share", "the same of the rows of the first special tokens"),
        TableColumn(
            "learned_sink",
            "share",
            "in models with learned sinks (gpt-oss) only: the share of attention that goes to them and to no token; "
            "entropies are then those of what goes to tokens",
            explored=Explored(
                _WHERE,
                "to the learned sink",
                "The share of attention that goes to the learned sink of the head, which is no token.",
            ),
        ),
        TableColumn(
            "STATISTIC_pooled", "as above", "the mean over all rows of all inputs, for each of the statistics above"
        ),
    ),
)

SURFACE_LAYERS = Schema(
    "surface_layers",
    "One row per layer.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn(
            "STATISTIC", "as above", "the mean over the heads of the layer, for each of the statistics of `surface.csv`"
        ),
        TableColumn("STATISTIC_min STATISTIC_max", "as above", "the smallest and largest value of a head"),
        TableColumn(
            "sink", "text", "the class of special tokens that gets more attention: `first_special` or `last_special`"
        ),
        TableColumn("sink_share", "share", "the share of attention to this class"),
        TableColumn("uniform_entropy uniform_entropy_pooled", "nats", "the entropy of uniform attention"),
    ),
)

SURFACE_COUNTS = Schema(
    "surface_counts",
    "One row per statistic of `surface.csv`: the numbers of inputs and rows over which it is a mean.",
    (
        TableColumn("statistic", "text", "the column of `surface.csv`"),
        TableColumn("inputs", "count", "inputs that have a row of attention for it"),
        TableColumn("rows", "count", "rows of attention in all inputs"),
    ),
)

_IN_ORDER = ("previous", "next", "self", "first_special", "last_special", "punctuation", "other", LEARNED_SINK)
_NAMED = 8
"""The number of heads with a label that a terminal names."""

_POSITIONS = ("previous", "next", "self")

_ENTROPIES = ("entropy", "entropy_first")
"""The statistics in nats. All others are shares from 0 to 1."""

_BY_LAYER = ("self", "previous", "next", "first_special", "last_special", "punctuation", "other", "entropy_relative")
"""The statistics that are compared layer by layer."""


class Shares(SurfaceQuestion):
    """Where does attention go?"""

    name = NAME
    tables = (SURFACE, SURFACE_LAYERS, SURFACE_COUNTS)
    template = Path(__file__).with_name("shares.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the statistics of all heads."""
        return (plan_context.request,)

    def find(self, counts: Statistics, lookups: Any, earlier: Mapping[str, Any]) -> SurfaceTables:
        """Return the tables of all statistics."""
        return counts.tables

    def frames(self, answer: SurfaceTables, results: SurfaceResults) -> Mapping[str, pd.DataFrame]:
        """Return the statistics of heads and layers, and the numbers of inputs."""
        heads, layers, _, counts = results.tables
        return {SURFACE.name: heads, SURFACE_LAYERS.name: layers, SURFACE_COUNTS.name: counts}

    def summary(self, answer: SurfaceTables, results: SurfaceResults) -> Mapping[str, Any]:
        """Return the statistics of heads and layers."""
        return {SURFACE.name: records(results.tables.heads), SURFACE_LAYERS.name: records(results.tables.layers)}

    def show(self, answer: SurfaceTables, results: SurfaceResults) -> Sequence[ShownTable]:
        """Return the layers, and the heads with the largest values."""
        return layers_table(results), _strongest_heads(results.tables.heads, results.specials)

    def draw(self, answer: SurfaceTables, results: SurfaceResults, title: str) -> Mapping[str, Figure]:
        """Draw the statistics of all heads, and whence the attention to special tokens comes, if there are any."""
        heads, specials = results.tables.heads, results.specials
        figures = {"surface_statistics": statistics_figure(heads, specials, title=title)}
        if specials:
            figures["surface_special"] = special_figure(heads, specials, title=title)
        return figures

    def values(self, answer: SurfaceTables, results: SurfaceResults) -> Mapping[str, Any]:
        """Return the notes, and the special tokens with most attention."""
        return {"notes": results.notes, "sink": sinks(results.tables.layers, results.specials)}

    def explore(self, answer: SurfaceTables, counts: Statistics, results: SurfaceResults, kind: str) -> Contribution:
        """Add where each head attends, and the sink."""
        heads = results.tables.heads.sort_values(["layer", "head"])
        names, by_statistic = target_names(results.specials), results.tables.counts.set_index("statistic")["inputs"]
        inputs = {str(name): int(count) for name, count in by_statistic.items()}
        return Contribution(
            measures=tuple(head_measures(SURFACE, heads, partial(measure_id, about=kind), names, inputs, kind=kind)),
            findings=tuple(_findings(results, heads, kind)),
            facts=_facts(heads, names, kind),
        )


def layers_table(results: SurfaceResults) -> ShownTable:
    """Return where attention goes, layer by layer."""
    layers, names = results.tables.layers, statistic_names(results.specials)
    columns = [
        TableColumn("layer", "number from 1", "", "layer"),
        *(TableColumn(name, "share", "", names[name]) for name in _IN_ORDER if has(layers, name)),
        TableColumn("entropy", "nats", "", "entropy, nats", terminal="entropy"),
        TableColumn("entropy_relative", "share", "", "of uniform entropy", terminal="rel. entropy"),
    ]
    uniform = number(layers["uniform_entropy"].iloc[0], 2)
    notes = [f"Entropy is in nats; that of attention to all tokens alike is {uniform}."]
    labeled = []
    heads = results.tables.heads
    for row in label_rows(heads, results.specials) if "label" in heads else ():
        if row["heads"] and row["name"] != "other":
            more = " …" if len(row["heads"]) > _NAMED else ""
            labeled.append(f"{row['label']}: {' '.join(row['heads'][:_NAMED])}{more}")
    if labeled:
        notes += ["Heads with a label:", *labeled]
    notes += results.notes
    if "gradients" in results.answers:
        notes.append("The gradients are in the report.")
    title = "Where attention goes by layer (mean over heads, %)"
    return ShownTable("surface_layers", title, columns, rows_of(layers), notes=tuple(notes))


def _strongest_heads(heads: pd.DataFrame, specials: Mapping[str, str]) -> ShownTable:
    """Return the head with the largest value of each statistic."""
    rows: list[Row] = []
    for statistic, name in statistic_names(specials).items():
        if has(heads, statistic):
            values = heads[statistic]
            top = heads.iloc[int(values.argmax())]
            head = head_name(int(top["layer"]), int(top["head"]))
            value, mean = float(top[statistic]), float(values.mean())
            in_nats = statistic in ("entropy", "entropy_first")
            rows.append({"name": name, "head": head, "value": value, "mean": mean, "in_nats": in_nats})
    columns = [
        TableColumn("name", "text", "", "attention"),
        TableColumn("head", "number", "", "head with most", cell=lambda row: str(row["head"])),
        TableColumn("value", "number", "", "its value", cell=lambda row: _in_unit(row, "value")),
        TableColumn("mean", "number", "", "mean of all heads", cell=lambda row: _in_unit(row, "mean")),
    ]
    return ShownTable("surface_strongest", "The heads with the largest values (%)", columns, rows)


def _in_unit(row: Row, name: str) -> str:
    return f"{number(row[name], 2)} nats" if row["in_nats"] else percent(row[name])


def sinks(layers: pd.DataFrame, specials: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the special tokens that get the most attention in any layer, with these layers and the range of shares."""
    return [
        {
            "column": str(name),
            "name": specials.get(str(name), str(name)),
            "layers": ranges(group["layer"].tolist()),
            "low": group["sink_share"].min(),
            "high": group["sink_share"].max(),
        }
        for name, group in layers[layers["sink"] != ""].groupby("sink", sort=False)
    ]


def _facts(heads: pd.DataFrame, names: Mapping[str, str], kind: str) -> dict[str, tuple[Fact, ...]]:
    """Return, for each head, where its attention goes by class and by position."""
    facts = {}
    for name, row in zip(names_of(heads), heads.to_dict("records"), strict=True):
        lines = []
        for label, group in (("by class of token", CLASSES), ("by position", _POSITIONS)):
            targets = by_share(row, group)
            shares = "; ".join(f"{names[target]} {share(float(row[target]))}" for target in targets)
            lines.append(Fact(f"attention {label}", shares, measure_id(targets[0], kind) if targets else None))
        facts[name] = tuple(lines)
    return facts


def _findings(results: SurfaceResults, heads: pd.DataFrame, kind: str) -> Iterator[Finding]:
    """Yield the special token that gets the most attention."""
    if all_sinks := sinks(results.tables.layers, results.specials):
        sink = max(all_sinks, key=itemgetter("high"))
        column = sink["column"]
        top = find_largest(heads, column)
        # Several layers are written as ranges.
        layers = f"layer{'' if sink['layers'].isdecimal() else 's'} {sink['layers']}"
        shares = " to ".join(dict.fromkeys(map(percent, (sink["low"], sink["high"]))))
        text = (
            f"{shares} % of the attention goes to {sink['name']} in {layers}, on average over the heads of a layer, "
            f"more than to any other special token; in head {name_head(top)}, {percent(float(top[column]))} %."
        )
        yield Finding(text, address(head=name_head(top), measure=measure_id(column, kind), kind=kind))


def comparable_statistics(metric: SurfaceStatistics) -> tuple[Comparable, ...]:
    """Return the statistics that can be compared: means over all heads, entropies, and shares layer by layer."""
    tables = metric.compute()
    inputs = dict(zip(tables.counts["statistic"], map(int, tables.counts["inputs"]), strict=True))

    def mean_of_layers(statistic: str, group: str, layers: slice) -> Measured:
        """Return the mean of a statistic over some layers, and how far that of each replicate deviates from it."""
        values = tables.layers[statistic].to_numpy()
        deviations = metric.layer_replicates(statistic) - values[:, None]  # (layers, replicates)
        n = inputs[statistic]
        return Measured(group, float(values[layers].mean()), n, deviations[layers].mean(0), units=n)

    def layer_by_layer(statistic: str, prefix: str = "") -> list[Measured]:
        """Return the mean of a statistic for each layer alone."""
        return [
            mean_of_layers(statistic, f"{prefix}layer {index + 1}", slice(index, index + 1))
            for index in range(metric.n_layers)
        ]

    all_layers = slice(None)
    shares = [mean_of_layers(name, name, all_layers) for name in metric.statistics if name not in _ENTROPIES]
    entropies = [mean_of_layers("entropy", "all layers", all_layers), *layer_by_layer("entropy")]
    shares_by_layer = chain.from_iterable(layer_by_layer(name, f"{name}, ") for name in _BY_LAYER)
    quantity = "mean share over heads and inputs"
    return (
        Comparable("all layers", tuple(shares), quantity, "inputs", metric.seed),
        Comparable("layer by layer", tuple(shares_by_layer), quantity, "inputs", metric.seed),
        Comparable(
            "entropy", tuple(entropies), "mean entropy over heads and inputs", "inputs", metric.seed, unit="nats"
        ),
    )
