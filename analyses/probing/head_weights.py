"""Which attention heads does a probe use, and are they the ones that know most by themselves?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from numpy import ndarray

from ...extractors import DIRECTIONS
from ...probes import ArcWeights, added_up, registered_probes
from ...reports.columns import Explored, Schema, TableColumn
from ...reports.drawing import TEXT, finish, number_ticks, panels, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.finding import Finding
from ...reports.format import ARROWS, head_name, rows_of, shown_head
from ...reports.format import direction as shown_direction
from ...reports.shapes import signed_heatmap
from ...reports.table import ShownTable
from ..shared.correlation import CORRELATIONS, correlation
from ..shared.measures import address, head_measures, share
from .rows import ProbeQuestion, ProbeResults, Tested
from .scores import score_texts

if TYPE_CHECKING:
    from .trainings.training import Kept

_LABEL = "{probe}, {arrow}"
"""The name of the measure of a column in the explorer."""

WEIGHTS = Schema(
    "probe_weights",
    "One row per probe that reads attention, direction, layer and head.",
    (
        TableColumn("probe", "text", "the probe"),
        TableColumn("layer head", "number from 1", "the attention head", "head", cell=shown_head),
        TableColumn(
            "direction", "text", "the direction to which the weight belongs", "direction", cell=shown_direction
        ),
        TableColumn(
            "weight",
            "number",
            "the weight of the head, as a mean over runs and arcs",
            "weight",
            digits=2,
            explored=Explored("Weight in the probe", _LABEL, center=0),
        ),
        TableColumn(
            "weight_sd",
            "number",
            "its standard deviation over runs; empty with one run",
            "sd over runs",
            digits=2,
            optional=True,
        ),
        TableColumn(
            "contribution",
            "number",
            "the mean of weight times attention on the tested arcs",
            "weight × attention",
            digits=2,
            explored=Explored("Contribution to the probe", _LABEL, center=0),
        ),
        TableColumn(
            "correct total", "count", "training words whose syntactic head this head finds by itself, and all of them"
        ),
        TableColumn(
            "accuracy",
            "share",
            "`correct` / `total`",
            "accuracy of the head alone",
            explored=Explored(
                "Accuracy alone",
                _LABEL,
                "The share of words of the training sentences whose syntactic head this head alone finds.",
                counted="total",
            ),
        ),
    ),
)

BY_RELATION = Schema(
    "probe_weights_by_relation",
    "One row per probe and relation: the heads that matter most to it.",
    (
        TableColumn("probe", "text", "the probe"),
        TableColumn("relation", "text", "the relation", "relation"),
        TableColumn("arcs", "count", "tested arcs of the relation", "arcs"),
        TableColumn(
            "weight_layer weight_head",
            "number from 1",
            "the head with the largest mean weight",
            "largest weight",
            cell=lambda row: head_name(row["weight_layer"], row["weight_head"]),
        ),
        TableColumn(
            "weight_direction", "text", "its direction", "direction", cell=lambda row: ARROWS[row["weight_direction"]]
        ),
        TableColumn("weight", "number", "its weight", "weight", digits=2),
        TableColumn(
            "contribution_layer contribution_head",
            "number from 1",
            "the head with the largest contribution",
            "largest weight × attention",
            cell=lambda row: head_name(row["contribution_layer"], row["contribution_head"]),
        ),
        TableColumn(
            "contribution_direction",
            "text",
            "its direction",
            "direction of this head",
            cell=lambda row: ARROWS[row["contribution_direction"]],
        ),
        TableColumn("contribution", "number", "its contribution", "weight × attention", digits=2),
    ),
)

CORRELATION = Schema(
    "probe_weights_correlation",
    "One row per probe and measure: whether the heads that a probe uses are those that know most by themselves.",
    (
        TableColumn("probe", "text", "the probe"),
        TableColumn("of", "text", "what is correlated with the accuracy of the head alone: `weight` or `contribution`"),
        TableColumn("heads", "count", "heads and directions"),
        TableColumn(
            "spearman pearson", "number, −1 to 1", "the correlations; empty for fewer than five heads and directions"
        ),
    ),
)

IMPORTANCES = ("weight", "contribution")
"""The numbers by which the most important head of a relation is chosen."""


class HeadWeights(NamedTuple):
    """Tables of the weights of the attention heads. Layers and heads are 1-based."""

    # one row per direction, layer and head: `weight` (mean over runs and arcs), `weight_sd` (over runs), `contribution`
    # (weight times attention, mean over runs and arcs), and how often the head alone is right on the training sentences
    # (of all folds together), `correct, total, accuracy`
    heads: pd.DataFrame
    # one row per relation, frequent ones first: `relation, arcs`, and the head with the largest mean weight and the one
    # with the largest mean contribution: `weight_direction, weight_layer, weight_head, weight` and the same for
    # `contribution`
    relations: pd.DataFrame
    # of weight and of contribution with accuracy over all heads and directions: `of, heads, spearman, pearson`
    correlations: pd.DataFrame


_SHOWN_HEADS = 10


class UsedHeads(ProbeQuestion):
    """Which attention heads does a probe use?"""

    name = "head_weights"
    tables = (WEIGHTS, BY_RELATION, CORRELATION)
    template = Path(__file__).with_name("head_weights.html.j2")

    def look(self, lookup_context: Kept) -> dict[str, list[Any]] | None:
        """Keep the sums over the tested arcs of each probe that gives heads weights, as columns, which add up."""
        columns: dict[str, list[Any]] = {name: [] for name in ("probe", "run", "relation", "arcs", *IMPORTANCES)}
        for probe, runs in lookup_context.trained.arcs.items():
            for run, arcs in enumerate(runs):
                for relation, (count, weight, contribution) in arcs.items():
                    row = (probe, run, relation, count, weight.tolist(), contribution.tolist())
                    for values, value in zip(columns.values(), row, strict=True):
                        values.append(value)
        return columns if columns["probe"] else None

    def join(self, lookups: Sequence[Mapping[str, Sequence[Any]]]) -> dict[str, list[Any]]:
        """Return the columns of merged runs one after the other."""
        together: dict[str, list[Any]] = {}
        for columns in lookups:
            for name, values in columns.items():
                together.setdefault(name, []).extend(values)
        return together

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> dict[str, HeadWeights] | None:
        """Return the weights in each probe that has any; without an arc there are no weights."""
        if not lookups:
            return None
        facts = counts.facts
        correct = np.asarray(facts.alone)  # (directions, layers, heads)
        return {name: head_weights(runs, correct, facts.alone_of) for name, runs in _by_probe(lookups).items()}

    def frames(self, answer: dict[str, HeadWeights], results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return the tables of all probes together."""
        parts = zip(self.tables, HeadWeights._fields, strict=True)
        return {schema.name: _of_all_probes(answer, part) for schema, part in parts}

    def show(self, answer: dict[str, HeadWeights], results: ProbeResults) -> Sequence[ShownTable]:
        """Return the largest weights of each probe, and the most weighted heads by relation."""
        tables = []
        for number, (name, weights) in enumerate(answer.items(), start=1):
            top = weights.heads.sort_values("weight", ascending=False, kind="stable").head(_SHOWN_HEADS)
            columns = BY_RELATION.columns
            if is_fixed(name):
                columns = tuple(column for column in columns if not column.names.startswith("weight"))
            tables += [
                ShownTable(f"probe_weights_{number}", f"The largest weights of {name}", WEIGHTS.columns, rows_of(top)),
                ShownTable(
                    f"probe_weights_by_relation_{number}",
                    f"The most weighted heads of {name} by relation",
                    columns,
                    rows_of(weights.relations),
                    style=lambda row: "" if row["arcs"] >= results.min_count else "rare",
                ),
            ]
        return tables

    def draw(self, answer: dict[str, HeadWeights], results: ProbeResults, title: str) -> Mapping[str, Figure]:
        """Draw the weights of all heads."""
        heads = {probe: weights.heads for probe, weights in answer.items()}
        return {"probe_weights": weights_figure(heads, title=title)}

    def values(self, answer: dict[str, HeadWeights], results: ProbeResults) -> Mapping[str, Any]:
        """Return the correlations, and which probes weigh a head alike for all relations."""
        return {
            "weights": {name: rows_of(weights.correlations) for name, weights in answer.items()},
            "fixed": list(filter(is_fixed, answer)),
        }

    def explore(self, answer: dict[str, HeadWeights], counts: Tested, results: ProbeResults, kind: str) -> Contribution:
        """Add the weights of all heads, and what was found of the probes and of their weights."""
        measures: list[Measure] = []
        facts: dict[str, tuple[Fact, ...]] = {}  # by the name of the head, as are phrases
        phrases: dict[str, tuple[str, ...]] = {}
        for probe, weights in answer.items():
            measures += _measures(probe, weights.heads)
            for head, fact, phrase in _facts(probe, weights.heads):
                facts[head] = (*facts.get(head, ()), fact)
                phrases[head] = (*phrases.get(head, ()), phrase)
        findings = (*_findings_of_scores(results, answer), *findings_of_weights(answer))
        return Contribution(tuple(measures), findings, phrases, facts)


def is_fixed(probe: str) -> bool:
    """Whether the weights of a probe are the same for all words, and so for all relations."""
    kind = registered_probes().get(probe)
    return kind is not None and not kind.reads_words


def _of_all_probes(used: Mapping[str, HeadWeights], table: str) -> pd.DataFrame:
    """Return a table of `HeadWeights` of all probes, with the name of the probe in the first column."""
    together: pd.DataFrame = pd.concat([getattr(of_probe, table).assign(probe=name) for name, of_probe in used.items()])
    return together[["probe", *together.columns.drop("probe")]]


def head_weights(
    runs: Sequence[Mapping[str, tuple[int, ndarray, ndarray]]], correct: Int[ndarray, "2 layers heads"], total: int
) -> HeadWeights:
    """Return the weights as tables. Without any arc there are no weights, and the table of relations is empty.

    Each run has for each relation the number of arcs, and the sums over them of weight and contribution. The single
    heads are right for some of a total number of words. The directions of all arrays begin with ``dep->head``.
    """
    no_arcs = 0, np.zeros(correct.shape), np.zeros(correct.shape)
    weights, contributions = zip(*(_means([no_arcs, *run.values()]) for run in runs), strict=True)  # run by run
    weight, contribution = np.mean(weights, axis=0), np.mean(contributions, axis=0)
    spread = np.std(weights, axis=0, ddof=1) if len(runs) > 1 else np.full(weight.shape, np.nan)
    direction, layer, head = np.indices(correct.shape).reshape(3, -1)  # 0-based, of each row
    heads = pd.DataFrame(
        {
            "direction": np.array(DIRECTIONS, dtype=object)[direction],
            "layer": layer + 1,
            "head": head + 1,
            "weight": weight.ravel(),
            "weight_sd": spread.ravel(),
            "contribution": contribution.ravel(),
            "correct": correct.ravel(),
            "total": total,
            "accuracy": correct.ravel() / total if total else np.nan,
        }
    )
    return HeadWeights(heads, _relations(runs), _correlations(heads))


def _means(
    sums: Sequence[tuple[int, ndarray, ndarray]],
) -> tuple[Float[ndarray, "2 layers heads"], Float[ndarray, "2 layers heads"]]:
    """Return the mean weight and the mean contribution over all arcs, given `ArcWeights`; NaN if there are none."""
    arcs, weights, contributions = zip(*sums, strict=True)
    n_arcs = sum(arcs) or np.nan
    return np.asarray(sum(weights)) / n_arcs, np.asarray(sum(contributions)) / n_arcs


def _relations(runs: Sequence[Mapping[str, tuple[int, ndarray, ndarray]]]) -> pd.DataFrame:
    """Return the head with the largest mean weight, and that with the largest mean contribution, by relation."""
    rows: list[dict[str, Any]] = []
    n_arcs = {relation: arcs for relation, (arcs, _, _) in runs[0].items()}  # the same in all runs
    for relation in sorted(n_arcs, key=lambda name: (-n_arcs[name], name)):
        row: dict[str, Any] = {"relation": relation, "arcs": n_arcs[relation]}
        for name, mean in zip(IMPORTANCES, _means([run[relation] for run in runs]), strict=True):
            direction, layer, head = np.unravel_index(int(mean.argmax()), mean.shape)
            row |= {
                f"{name}_direction": DIRECTIONS[int(direction)],
                f"{name}_layer": int(layer) + 1,
                f"{name}_head": int(head) + 1,
                name: float(mean.max()),
            }
        rows.append(row)
    columns = [f"{name}{part}" for name in IMPORTANCES for part in ("_direction", "_layer", "_head", "")]
    return pd.DataFrame(rows, columns=["relation", "arcs", *columns])


def _correlations(heads: pd.DataFrame) -> pd.DataFrame:
    """Return the correlations of weight and of contribution with accuracy."""
    rows = []
    for name in IMPORTANCES:
        values, accuracy = heads[name].to_numpy(float), heads["accuracy"].to_numpy(float)
        by_kind: dict[str, float] = {kind: correlation(kind, values, accuracy) for kind in CORRELATIONS}
        rows.append({"of": name, "heads": len(heads), **by_kind})
    return pd.DataFrame(rows)


def _by_probe(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[dict[str, ArcWeights]]]:
    """Return the sums over tested arcs of each probe, run by run, with those of runs that were merged added up."""
    by_probe: dict[str, list[dict[str, ArcWeights]]] = {}
    for (probe, _), table in pd.DataFrame(columns).groupby(["probe", "run"], sort=False):
        parts = [
            {row["relation"]: ArcWeights(row["arcs"], np.array(row["weight"]), np.array(row["contribution"]))}
            for row in table.to_dict("records")
        ]
        by_probe.setdefault(str(probe), []).append(added_up(parts))
    return by_probe


@with_style
def weights_figure(heads: Mapping[str, pd.DataFrame], *, title: str) -> Figure:
    """Draw the learned weight of every head in both directions, a row of heatmaps per probe."""
    first_table = next(iter(heads.values()))  # all have the same heads
    n_layers, n_heads = int(first_table["layer"].max()), int(first_table["head"].max())
    height = 0.5 + len(heads) * max(1.7, 0.6 + 0.14 * n_layers)
    figure, grid = panels(TEXT, height, len(heads), 2)
    for row, (name, table) in zip(grid, heads.items(), strict=True):
        limit = float(table["weight"].abs().max()) or 1.0
        for axes, direction in zip(row, DIRECTIONS, strict=True):
            weights = table[table["direction"] == direction].pivot_table("weight", "layer", "head")
            cells = signed_heatmap(axes, weights, limit)
            number_ticks(axes.xaxis, n_heads)
            number_ticks(axes.yaxis, n_layers)
            axes.set_title(f"{name}: {ARROWS[direction]}", loc="left")
            axes.set_xlabel("head")
        row[0].set_ylabel("layer")
        figure.colorbar(cells, ax=list(row), label="weight")  # both have the same scale
    finish(figure, grid[0, 0], title)
    return figure


def _measures(probe: str, heads: pd.DataFrame) -> Iterator[Measure]:
    """Yield the measures of a probe in each direction."""
    for name, rows in heads.groupby("direction", sort=False):
        direction = str(name)
        facts, id_of = (
            {"probe": probe, "arrow": ARROWS[direction]},
            partial(measure_id, probe=probe, direction=direction),
        )
        yield from head_measures(WEIGHTS, rows, id_of, facts, direction=direction)


def _facts(probe: str, heads: pd.DataFrame) -> Iterator[tuple[str, Fact, str]]:
    """Yield for each head its name, a line of its card and a phrase about it, both about its larger weight."""
    ranked = heads.sort_values("weight", ascending=False, kind="stable").drop_duplicates(["layer", "head"])
    ranks = ranked["weight"].rank(ascending=False, method="min").astype(int)
    best = ranked.assign(rank=ranks).sort_values(["layer", "head"])
    for row in rows_of(best):
        rank, weight, arrow = f"{row['rank']} of {len(best)}", f"{row['weight']:.3f}", ARROWS[row["direction"]]
        text = f"{rank}; weight {weight}, {arrow}; alone {share(row['accuracy'])}"
        fact = Fact(f"weight in the probe {probe}", text, measure_id("weight", probe, row["direction"]))
        phrase = f"has rank {rank} in the probe {probe}, by its weight of {weight} ({arrow})"
        yield head_name(row["layer"], row["head"]), fact, phrase


def _findings_of_scores(results: ProbeResults, probes: Mapping[str, HeadWeights]) -> Iterator[Finding]:
    """Yield how each probe does, with the view of its weights if it has any."""
    for probe, text in score_texts(results):
        view = ""
        if probe in probes:
            direction = str(rows_of(probes[probe].heads.nlargest(1, "weight"))[0]["direction"])
            view = address(measure=measure_id("weight", probe, direction))
        yield Finding(text, view)


def measure_id(column: str, probe: str, direction: str) -> str:
    """Return the id of a measure of the explorer."""
    return f"probing/{column}/{direction}/{probe}"


def findings_of_weights(probes: Mapping[str, HeadWeights]) -> Iterator[Finding]:
    """Yield the head with the largest weight, and whether heads that know more have larger weights."""
    for probe, weights in probes.items():
        row: Mapping[str, Any] = rows_of(weights.heads.nlargest(1, "weight"))[0]
        head, arrow = head_name(row["layer"], row["head"]), ARROWS[row["direction"]]
        measure = measure_id("weight", probe, row["direction"])
        text = f"{row['weight']:.3f} is the largest weight of the probe {probe}, that of head {head} ({arrow})."
        yield Finding(text, address(head=head, measure=measure))
        correlation = weights.correlations.set_index("of")["spearman"]["weight"]
        if pd.notna(correlation):
            text = (
                f"{correlation:.2f} is the rank correlation of the weights in the probe {probe} and the accuracies of "
                "single heads, over all heads and directions."
            )
            yield Finding(text, address(measure=measure_id("accuracy", probe, row["direction"])))
