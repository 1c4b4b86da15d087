"""Which head finds a relation? The best head of each, beside the best fixed offset (Clark et al. 2019, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from ...corpora_loaders import OFFSETS
from ...reports.columns import Explored, Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.explorer.references import Reference
from ...reports.format import (
    ARROWS,
    head_name,
    percent,
    rows_of,
    shown_rows,
)
from ...reports.table import ShownTable
from ...storage.writing import amount
from ..contract import Request
from ..counting.best_head import sum_groups
from ..counting.held_out import heldout_baseline, heldout_rate
from ..counting.outcomes import effective_units
from ..counting.resampling import FEWEST_UNITS
from ..shared.head_counts import MODEL
from ..shared.measures import bounds as bounds_of_heads
from ..shared.measures import head_measures, points, share
from ..shared.references import Rule, best_rule, marks_of, over_rule
from .columns import BEST, CELLS
from .findings import findings_of
from .rows import (
    MEAN,
    SHOWN,
    DependencyQuestion,
    DependencyResults,
    PlanContext,
    Words,
    is_total,
    measure_id,
    reference_id,
    style_of,
)

FOUND = {
    "basic": "syntactic head",
    "enhanced": "syntactic head, or one of several with this relation,",
    "pairs": "partner, or one of several with this label,",
}
"""What a head is asked to find, by the gold."""

DIRECTIONS_IN_WORDS = {"dep->head": "dependent → head", "head->dep": "head → dependent", "both": "both directions"}
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

OVER_RULE = Schema(
    "dependency",
    "The same with the gain over the best rule, which the explorer shows.",
    (
        TableColumn(
            "over_rule",
            "points",
            "the accuracy minus that of the best rule: the {rule}, which is chosen on one half of the text and scored "
            "on the other. A single head is not chosen, but whoever picks the best of all cells picks luck, too: the "
            "best head has {heldout} held out",
            explored=Explored("Held out, over the best rule", "{relation}, {arrow}", counted="total", center=0.0),
        ),
    ),
)

_INTERVAL = ", with a 95 % bootstrap interval over sentences"

_BOTH = Markup(" <b>both</b>: the word for which the sum of the two values is largest.")


@dataclass(frozen=True)
class Found:
    """The answer: all heads, the best ones, and of which relations something may be claimed."""

    cells: pd.DataFrame
    best: pd.DataFrame
    claimed: tuple[str, ...]  # relations with enough words in enough sentences
    unclaimed: int  # how many relations have enough words, but in too few sentences


class BestHeads(DependencyQuestion):
    """Which head finds the syntactic head of the words of each relation?"""

    name = MODEL
    tables = (CELLS, BEST)
    template = Path(__file__).with_name("best_heads.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the heads of the model."""
        return plan_context.accuracy_requests()[:1]

    def find(self, counts: Words, lookups: Any, earlier: Mapping[str, Any]) -> Found:
        """Return the tables of all heads and of the best ones, and of which relations something may be claimed."""
        tables = counts.metric.compute(counts.facts.asked)
        return Found(tables.cells, tables.best, *claims(tables.best, counts))

    def frames(self, answer: Found, results: DependencyResults) -> Mapping[str, pd.DataFrame]:
        """Return both tables."""
        return {CELLS.name: results.cells, BEST.name: results.best}

    def show(self, answer: Found, results: DependencyResults) -> Sequence[ShownTable]:
        """Return the table of the best heads."""
        return (best_table(results),)

    def draw(self, answer: Found, results: DependencyResults, title: str) -> Mapping[str, Figure]:
        """Draw the best heads against position, and every head."""
        from .figures import best_heads_figure, heads_figure

        best, min_count = results.best, results.min_count
        return {
            "dependency_best": best_heads_figure(best, min_count=min_count, title=title),
            "dependency_heads": heads_figure(results.cells, best, title=title),
        }

    def values(self, answer: Found, results: DependencyResults) -> Mapping[str, Any]:
        """Return a relation as an example, and what is said of the maps."""
        rows = [row for row in shown_rows(results.best, results.min_count) if not is_total(row["relation"])]
        relations = [row for row in rows if row["is_frequent"] and row["relation"] not in ("punct", "_")]
        return {
            "example": relations[0] if relations else None,
            "min_count": results.min_count,
            "map_facts": [*results.map_facts, *reach_facts(results.cells)],
            "gold": results.trees,
        }

    def explore(self, answer: Found, counts: Words, results: DependencyResults, kind: str) -> Contribution:
        """Add the accuracies and gains of all heads, what heads are best for, and what was found."""
        by_relation = {str(name): table for name, table in results.cells.groupby("relation", sort=False)}
        measures: list[tuple[Measure, ...]] = []
        references: list[Reference] = []
        for row in shown_relations(results.best):
            rules = _rules_of(row["relation"], counts, results)
            references.append(_reference(row, rules, counts, results, kind))
            measures += _measures(row, by_relation[row["relation"]], rules, counts, kind)
        return Contribution(
            measures=tuple(measure for several in measures for measure in several),
            references=tuple(references),
            findings=tuple(findings_of(results, kind)),
            phrases=_phrases(results.certain),
            facts=_facts(measures, results.certain, int(results.cells["head"].max())),
        )


def _rules_of(relation: str, counts: Words, results: DependencyResults) -> list[Rule]:
    """Return the rules that heads are compared with for a row, with what they find held out."""
    offsets = sorted(range(len(OFFSETS)), key=lambda index: OFFSETS[index])
    of_offset = heldout_baseline(counts.members[relation], counts.subsets, counts.replicates, offsets)
    halves = "chosen on one half of the text and scored on the other"
    rules = [Rule("position", "fixed offset", of_offset, f"The best fixed distance, {halves}.")]
    rates = answer.rates.get(relation, {}) if (answer := results.answers.get("rules")) else {}
    names = {
        "tag_offset": "the best distance for each part of speech of the word",
        "tag_rule": "the nearest word with a part of speech on one side, such as the nearest verb before a noun",
    }
    label = "part-of-speech rule"
    if not rates:
        return [*rules, Rule("rule", label, None, "not counted: it needs basic trees and universal parts of speech")]
    family = max(rates, key=lambda name: rates[name].value)
    return [*rules, Rule("rule", label, rates[family], f"The better of two rules: {names[family]}, {halves}.")]


def _reference(
    row: Mapping[str, Any], rules: Sequence[Rule], counts: Words, results: DependencyResults, kind: str
) -> Reference:
    """Return what the measures of a relation are read beside."""
    relation, by_layer = row["relation"], results.answers.get("layers", {})
    copies = len(results.answers.get("control", ()))
    best = heldout_rate(counts.members[relation], counts.subsets, counts.replicates)
    return Reference(
        reference_id(relation, kind),
        relation,
        tuple(marks_of(row, best, rules, copies)),
        by_layer[relation].curve() if relation in by_layer and len(by_layer[relation].rates) > 1 else None,
        beside=reference_id(MEAN, kind) if len(results.claimed) > 1 else "",
    )


def claims(best: pd.DataFrame, counts: Words) -> tuple[tuple[str, ...], int]:
    """Return the relations with enough words in enough sentences, and how many others have enough words."""
    single = [row for row in shown_relations(best) if not is_total(row["relation"])]
    frequent = [row["relation"] for row in single if row["total"] >= counts.min_count]
    units = {name: effective_units(counts.members[name], counts.subsets, counts.replicates) for name in frequent}
    names = tuple(name for name in frequent if units[name] >= FEWEST_UNITS)
    return names, len(frequent) - len(names)


def shown_relations(best: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows with words that a head can find the head of: no head can find the root."""
    return [row for row in rows_of(best) if row["relation"] != "root" and row["total"]]


def best_table(results: DependencyResults) -> ShownTable:
    """Return the table of the best head of each relation, frequent relations first."""
    cells, best = results.cells, results.best
    has_intervals = bool(best["accuracy_low"].notna().any())
    n_choices = cells["direction"].nunique() * int(cells["layer"].max()) * int(cells["head"].max())
    return ShownTable(
        "dependency_best",
        "Best attention head per relation (accuracy in %)",
        (*BEST.columns, *results.added),
        list(shown_rows(best, results.min_count)),
        notes=tuple(f"{fact[0].upper()}{fact[1:]}." for fact in (*results.map_facts, *reach_facts(cells))),
        rare=f"fewer than {amount(results.min_count, 'words')}, too few for reliable conclusions",
        style=style_of,
        facts={
            "choices": f"{n_choices:,}",
            "both": _BOTH if "both" in set(cells["direction"]) else "",
            "copies": len(results.answers.get("control", ())),
            "interval": _INTERVAL if has_intervals else "",
        },
    )


def reach_facts(cells: pd.DataFrame) -> tuple[str, ...]:
    """Say of a causal model for which share of the words each direction can find the syntactic head at all."""
    if "reach" not in cells:
        return ()
    name = cells["relation"].iloc[0]  # that of all words, if it was not left out
    by_direction = cells[cells["relation"] == name].drop_duplicates("direction")
    shares = ", ".join(f"{ARROWS[row['direction']]} {percent(row['reach'])} %" for row in rows_of(by_direction))
    return (f"causal model, in which words see only the words before; {name} words whose head is in reach: {shares}",)


def held_out(row: Mapping[str, Any]) -> str:
    """Return the held-out gain of the best head with its interval."""
    return points(row["heldout_gain"], row["heldout_gain_low"], row["heldout_gain_high"])


def _measures(
    row: Mapping[str, Any], cells: pd.DataFrame, rules: Sequence[Rule], words: Words, kind: str
) -> Iterator[tuple[Measure, ...]]:
    """Yield the accuracy of all heads for one relation, and the gains over the offset and a rule, by direction."""
    metric, replicates, members = words.metric, words.replicates, words.members[row["relation"]]
    # members: the indices of the counts of the relation, over which `sum_groups` adds up what each replicate draws.
    drawn_total = sum_groups(replicates.total[members])
    is_drawn = drawn_total > 0  # whether a replicate draws the relation
    total = drawn_total[is_drawn, None, None]  # (replicates, 1, 1), as is what the best offset has right
    offset_correct = sum_groups(replicates.baselines[members])[is_drawn, OFFSETS.index(row["offset"]), None, None]
    correct = sum_groups(replicates.correct[members])[is_drawn]  # replicate, direction, layer, head
    heads = FOUND[metric.trees]
    facts = {"relation": row["relation"], "heads": heads, "offset": f"{row['offset']:+d}"}
    facts["heldout"] = share(row["heldout_accuracy"])
    rule = best_rule(rules)
    for index, direction in enumerate(metric.directions):
        table = cells[cells["direction"] == direction]
        low = high = gain_low = gain_high = all_drawn = None
        if is_drawn.any():
            rates = correct[:, index] / total  # replicate, layer, head
            all_drawn = np.full((len(is_drawn), rates[0].size), np.nan)
            all_drawn[is_drawn] = rates.reshape(len(rates), -1)
            low, high = bounds_of_heads(rates)
            gain_low, gain_high = bounds_of_heads(rates - offset_correct / total)
        measures_of = partial(
            head_measures,
            id_of=partial(measure_id, relation=row["relation"], direction=direction, kind=kind),
            facts={**facts, "arrow": DIRECTIONS_IN_WORDS[direction]},
            kind=kind,
            relation=row["relation"],
            direction=direction,
            reference=reference_id(row["relation"], kind),
        )
        with_gain = table.assign(gain=table["accuracy"] - row["offset_accuracy"])
        (accuracy,) = measures_of(CELLS, table, low=low, high=high, baseline=float(row["offset_accuracy"]))
        (gain,) = measures_of(GAINS, with_gain, low=gain_low, high=gain_high)
        if rule is None or rule.rate is None:
            yield accuracy, gain
            continue
        ordered = table.sort_values(["layer", "head"])
        values, low, high = over_rule(ordered["accuracy"].to_numpy(dtype=float), all_drawn, rule.rate)
        named = {**facts, "arrow": DIRECTIONS_IN_WORDS[direction], "rule": rule.label}
        yield accuracy, gain, *measures_of(OVER_RULE, ordered.assign(over_rule=values), facts=named, low=low, high=high)


def _phrases(certain: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return phrases for each head that is the best of a relation, about two relations at most."""
    phrases: dict[str, list[str]] = {}
    for row in sorted(certain, key=lambda row: -row["heldout_gain"]):
        phrase = (
            f"is the best head for {row['relation']} ({DIRECTIONS_IN_WORDS[row['direction']]}), with "
            f"{share(row['accuracy'], row['accuracy_low'], row['accuracy_high'])} of {amount(row['total'], 'words')}, "
            f"{points(row['gain'], row['gain_low'], row['gain_high'])} over the best fixed offset "
            f"({held_out(row)} held out)"
        )
        phrases.setdefault(head_name(row["layer"], row["head"]), []).append(phrase)
    return {head: tuple(each[:2]) for head, each in phrases.items()}


def _facts(
    measures: Sequence[tuple[Measure, ...]], certain: Sequence[Mapping[str, Any]], n_heads: int
) -> dict[str, tuple[Fact, ...]]:
    """Return, for each head, the relations in which it gains most, if the interval of its gain lies above 0."""
    # measures: accuracies and gains, and what else there is. certain: the best heads that gain on other text.
    # Relations without one are left out: what their other heads gain may be luck, too.
    best_by_relation = {row["relation"]: row for row in certain}
    facts_by_gain: dict[str, list[tuple[float, Fact]]] = {}
    for accuracy, gains, *_ in measures:
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
