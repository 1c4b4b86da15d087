"""What the dependency analysis adds to the explorer: accuracies and gains of every head, and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from ...corpora_loaders import OFFSETS
from ...reports.columns import Explored, Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Ensemble, Fact, Measure, ReadHead
from ...reports.format import head_name, rows_of
from ...storage.writing import amount
from ..counting.best_head import drawn
from ..counting.held_out import side_of_baseline
from ..counting.outcomes import Counts, effective_units
from ..counting.resampling import FEWEST_UNITS
from ..shared.ensembles import heads_of
from ..shared.explored import bounds, head_measures, points, share
from .accuracy import DependencyAccuracy
from .columns import CELLS
from .findings import SHOWN, findings_of, held_out, measure_id
from .section import DependencyResults
from .tables import TOTALS, Asked, members_of

ARROWS = {"dep->head": "dependent → head", "head->dep": "head → dependent", "both": "both directions"}
"""The directions of attention in words and arrows."""

GAINS = Schema(
    "dependency",
    "The same with the gain over the best fixed offset of the relation, which the explorer shows.",
    (
        TableColumn(
            "gain",
            "points",
            "the accuracy minus that of the best fixed offset ({offset})",
            explored=Explored("Gain over the best fixed offset", "{relation}, {arrow}", counted="total", center=0.0),
        ),
    ),
)


def explored_dependency(
    results: DependencyResults, metric: DependencyAccuracy, kind: str, asked: Asked | None = None
) -> Contribution:
    """Return the measures of all relations and directions, the lines of the cards, and the findings."""
    subsets, replicates = metric.split_counts()
    members = members_of(metric.groups, subsets, asked)
    by_relation = {str(name): table for name, table in results.cells.groupby("relation", sort=False)}
    # No head can find the root.
    shown = [row for row in rows_of(results.best) if row["relation"] != "root" and row["total"]]
    measures: list[tuple[Measure, Measure]] = []
    for row in shown:
        name = row["relation"]
        measures += _measures(row, by_relation[name], members[name], replicates, kind, metric)
    single = [row for row in shown if row["relation"] not in TOTALS]
    units = {row["relation"]: effective_units(members[row["relation"]], subsets, replicates) for row in single}
    frequent = [row for row in single if row["total"] >= results.min_count]
    spread = [row for row in frequent if units[row["relation"]] >= FEWEST_UNITS]
    certain = [row for row in spread if side_of_baseline(row) > 0]
    return Contribution(
        measures=tuple(measure for pair in measures for measure in pair),
        findings=tuple(findings_of(results, spread, certain, kind, left_out=len(frequent) - len(spread))),
        phrases=_phrases(certain),
        facts=_facts(measures, certain, int(results.cells["head"].max())),
        ensembles=tuple(_ensembles(results.ensembles, kind, metric.directions)),
    )


def _ensembles(table: pd.DataFrame | None, kind: str, directions: Sequence[str]) -> Iterator[Ensemble]:
    """Yield the ensembles of several heads. One of a single head is that head."""
    rows = [] if table is None else rows_of(table)
    for row in rows:
        heads = heads_of(row["heads"])
        if len(heads) > 1:
            yield Ensemble(row["relation"], kind, tuple(ReadHead(head, directions[reading]) for head, reading in heads))


def _measures(
    row: Mapping[str, Any],
    cells: pd.DataFrame,
    members: list[int],
    replicates: Counts,
    kind: str,
    metric: DependencyAccuracy,
) -> Iterator[tuple[Measure, Measure]]:
    """Yield the accuracy and the gain of all heads for one relation, in each direction."""
    # members: the indices of the counts of the relation, over which `drawn` adds up what each replicate draws.
    drawn_total = drawn(replicates.total[members])
    is_drawn = drawn_total > 0  # whether a replicate draws the relation
    total = drawn_total[is_drawn, None, None]  # (replicates, 1, 1), as is what the best offset has right
    offset_correct = drawn(replicates.baselines[members])[is_drawn, OFFSETS.index(row["offset"]), None, None]
    correct = drawn(replicates.correct[members])[is_drawn]  # replicate, direction, layer, head
    heads = "syntactic head" if metric.trees == "basic" else "syntactic head, or one of several with this relation,"
    facts = {"relation": row["relation"], "heads": heads, "offset": f"{row['offset']:+d}"}
    for index, direction in enumerate(metric.directions):
        table = cells[cells["direction"] == direction]
        low = high = gain_low = gain_high = None
        if is_drawn.any():
            rates = correct[:, index] / total  # replicate, layer, head
            low, high = bounds(rates)
            gain_low, gain_high = bounds(rates - offset_correct / total)
        measures_of = partial(
            head_measures,
            id_of=partial(measure_id, relation=row["relation"], direction=direction, kind=kind),
            facts={**facts, "arrow": ARROWS[direction]},
            kind=kind,
            relation=row["relation"],
            direction=direction,
        )
        with_gain = table.assign(gain=table["accuracy"] - row["offset_accuracy"])
        (accuracy,) = measures_of(CELLS, table, low=low, high=high, baseline=float(row["offset_accuracy"]))
        (gain,) = measures_of(GAINS, with_gain, low=gain_low, high=gain_high)
        yield accuracy, gain


def _phrases(certain: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return phrases for each head that is the best of a relation, about two relations at most."""
    phrases: dict[str, list[str]] = {}
    for row in sorted(certain, key=lambda row: -row["heldout_gain"]):
        phrase = (
            f"is the best head for {row['relation']} ({ARROWS[row['direction']]}), with "
            f"{share(row['accuracy'], row['accuracy_low'], row['accuracy_high'])} of {amount(row['total'], 'words')}, "
            f"{points(row['gain'], row['gain_low'], row['gain_high'])} over the best fixed offset "
            f"({held_out(row)} held out)"
        )
        phrases.setdefault(head_name(row["layer"], row["head"]), []).append(phrase)
    return {head: tuple(each[:2]) for head, each in phrases.items()}


def _facts(
    measures: Sequence[tuple[Measure, Measure]], certain: Sequence[Mapping[str, Any]], n_heads: int
) -> dict[str, tuple[Fact, ...]]:
    """Return, for each head, the relations in which it gains most, if the interval of its gain lies above 0."""
    # measures: pairs of accuracies and gains. certain: the best heads that gain on other text. Relations without one
    # are left out: what their other heads gain may be luck, too.
    best_by_relation = {row["relation"]: row for row in certain}
    facts_by_gain: dict[str, list[tuple[float, Fact]]] = {}
    for accuracy, gains in measures:
        if (best := best_by_relation.get(accuracy.relation or "")) is None:
            continue
        best_head = head_name(best["layer"], best["head"]) if best["direction"] == accuracy.direction else None
        values = gains.values  # noqa: PD011  # no table
        for index, (gain, low) in enumerate(zip(values, gains.low or [None] * len(values), strict=True)):
            if gain is not None and low is not None and low > 0:
                head = head_name(index // n_heads + 1, index % n_heads + 1)
                of_words = f"{_interval(accuracy, index)} of {amount(best['total'], 'words')}"
                text = f"{of_words}, {points(gain)} over a fixed offset"
                if head == best_head:
                    text += f"; it is the best head; held out, the best heads gain {held_out(best)}"
                facts_by_gain.setdefault(head, []).append((gain, Fact(accuracy.label, text, accuracy.id)))
    for gains_and_facts in facts_by_gain.values():
        gains_and_facts.sort(key=lambda gain_and_fact: -gain_and_fact[0])
    return {head: tuple(fact for _, fact in largest_first[:SHOWN]) for head, largest_first in facts_by_gain.items()}


def _interval(measure: Measure, index: int) -> str:
    """Return the value of one head with its interval."""
    of_all_heads = measure.values, measure.low, measure.high  # noqa: PD011  # no table
    of_head = [values[index] if values else None for values in of_all_heads]
    value, low, high = (float("nan") if number is None else float(number) for number in of_head)
    return share(value, low, high)
