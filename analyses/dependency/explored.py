"""What the dependency analysis adds to the explorer: accuracies and gains of every head, and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...corpora_loaders import OFFSETS
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Finding, Measure
from ...reports.format import head_name, rows_of
from ..shared.best_head import drawn
from ..shared.explored import address, bounds, defined, points, share, values_of
from ..shared.failures import clear_mistake
from ..shared.held_out import side_of_baseline, side_of_zero
from ..shared.outcomes import Counts
from .accuracy import DependencyAccuracy
from .rules import FAMILIES
from .section import DependencyResults
from .spanning_tables import tree_findings
from .tables import TOTALS, Asked, members_of

ARROWS = {"dep->head": "dependent → head", "head->dep": "head → dependent", "both": "both directions"}
"""The directions of attention in words and arrows."""

_MISTAKES = {
    "punctuation": "a punctuation mark",
    "dependent": "a dependent of the word",
    "argument": "another argument of the verb",
    "sibling": "another dependent of its head",
    "grandparent": "the head of its head",
    "neighbor": "an unrelated neighbor",
    "other": "a word that is none of its relatives or neighbors",
    "out of reach": "a word although it cannot see the head",
    "none": "nothing",
}
"""What is picked by mistake, in a sentence."""

_HEAD = ["layer", "head"]
_SHOWN = 3
"""The number of relations that a finding names, and that the card of a head shows."""


def explored_dependency(
    results: DependencyResults, metric: DependencyAccuracy, kind: str, asked: Asked | None = None
) -> Contribution:
    """Return the measures of all relations and directions, the lines of the cards, and the findings."""
    subsets, replicates = metric.split_counts()
    members = members_of(metric.groups, subsets, asked)
    by_relation = {str(name): table for name, table in results.cells.groupby("relation", sort=False)}
    measures: list[tuple[Measure, Measure]] = []
    for row in _shown(results.best):
        name = row["relation"]
        measures += _measures(row, by_relation[name], members[name], replicates, kind, metric)
    single = [row for row in _shown(results.best) if row["relation"] not in TOTALS]
    frequent = [row for row in single if row["total"] >= results.min_count]
    certain = [row for row in frequent if side_of_baseline(row) > 0]
    return Contribution(
        measures=tuple(measure for pair in measures for measure in pair),
        findings=tuple(_findings(results, frequent, certain, kind)),
        phrases=_phrases(certain),
        facts=_facts(measures, certain, int(results.cells["head"].max())),
    )


def _shown(best: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the table but that of the root, which no head can find."""
    return [row for row in rows_of(best) if row["relation"] != "root" and row["total"]]


def _measures(
    row: Mapping[str, Any],
    cells: pd.DataFrame,
    members: list[int],
    replicates: Counts,
    kind: str,
    metric: DependencyAccuracy,
) -> Iterator[tuple[Measure, Measure]]:
    """Yield the accuracy and the gain of all heads for one relation, in each direction."""
    total = drawn(replicates.total[members])
    used = total > 0
    offset = drawn(replicates.baselines[members])[:, OFFSETS.index(row["offset"])]
    correct = drawn(replicates.correct[members])
    heads = "syntactic head" if metric.trees == "basic" else "syntactic head, or one of several with this relation,"
    for index, direction in enumerate(metric.directions):
        table = cells[cells["direction"] == direction]
        label = f"{row['relation']}, {ARROWS[direction]}"
        accuracy = values_of(table, "accuracy")
        low = high = gain_low = gain_high = None
        if used.any():
            rates = correct[used, index] / total[used, None, None]
            low, high = bounds(rates)
            gain_low, gain_high = bounds(rates - (offset[used] / total[used])[:, None, None])
        measure = Measure(
            id=f"dependency/{row['relation']}/{direction}/accuracy/{kind}",
            group="Dependency accuracy",
            label=label,
            kind=kind,
            unit="%",
            values=accuracy,
            low=low,
            high=high,
            n=int(row["total"]),
            baseline=float(row["offset_accuracy"]),
            relation=row["relation"],
            direction=direction,
            note=f"The share of words whose {heads} is the most attended other word.",
        )
        gain = replace(
            measure,
            id=f"dependency/{row['relation']}/{direction}/gain/{kind}",
            group="Gain over the best fixed offset",
            values=defined(value - row["offset_accuracy"] for value in table.sort_values(_HEAD)["accuracy"]),
            low=gain_low,
            high=gain_high,
            baseline=None,
            center=0.0,
            note=f"The accuracy minus that of the best fixed offset ({row['offset']:+d}).",
        )
        yield measure, gain


def _phrases(certain: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return a phrase for each head that is the best of a relation."""
    phrases: dict[str, list[str]] = {}
    for row in sorted(certain, key=lambda row: -row["heldout_gain"]):
        phrase = (
            f"is the best head for {row['relation']} ({ARROWS[row['direction']]}), with "
            f"{share(row['accuracy'], row['accuracy_low'], row['accuracy_high'])} of {row['total']:,} words, "
            f"{points(row['gain'], row['gain_low'], row['gain_high'])} over the best fixed offset "
            f"({_held_out(row)} held out)"
        )
        phrases.setdefault(head_name(row["layer"], row["head"]), []).append(phrase)
    return {head: tuple(each[:2]) for head, each in phrases.items()}


def _held_out(row: Mapping[str, Any]) -> str:
    """Return the held-out gain of the best head with its interval."""
    return points(row["heldout_gain"], row["heldout_gain_low"], row["heldout_gain_high"])


def _facts(
    measures: Sequence[tuple[Measure, Measure]], certain: Sequence[Mapping[str, Any]], n_heads: int
) -> dict[str, tuple[Fact, ...]]:
    """Return, for each head, the relations in which it gains most, if the interval of its gain lies above 0."""
    # Relations whose best head gains nothing on other text are left out: what their other heads gain may be luck,
    # too.
    rows = {row["relation"]: row for row in certain}
    facts: dict[str, list[tuple[float, Fact]]] = {}
    for accuracy, gains in measures:
        row = rows.get(accuracy.relation or "")
        if row is None:  # no head gains anything on other text
            continue
        for index, (gain, low) in enumerate(zip(gains.values, gains.low or gains.values, strict=True)):  # noqa: PD011  # no table
            if gain is None or low is None or low <= 0:
                continue
            head = head_name(index // n_heads + 1, index % n_heads + 1)
            text = f"{_interval(accuracy, index)} of {row['total']:,} words, {points(gain)} over a fixed offset"
            if head == head_name(row["layer"], row["head"]) and row["direction"] == accuracy.direction:
                text += f"; it is the best head; held out, the best heads gain {_held_out(row)}"
            facts.setdefault(head, []).append((gain, Fact(accuracy.label, text, accuracy.id)))
    return {
        head: tuple(fact for _, fact in sorted(lines, key=lambda line: -line[0])[:_SHOWN])
        for head, lines in facts.items()
    }


def _interval(measure: Measure, index: int) -> str:
    """Return the value of one head with its interval."""
    value = measure.values[index]  # noqa: PD011  # no table
    bounds_of_head = [values[index] if values else None for values in (measure.low, measure.high)]
    low, high = (float("nan") if bound is None else float(bound) for bound in bounds_of_head)
    return share(float("nan") if value is None else float(value), low, high)


def _findings(
    results: DependencyResults, frequent: Sequence[Mapping[str, Any]], certain: Sequence[Mapping[str, Any]], kind: str
) -> Iterator[Finding]:
    """Yield what was found: heads that beat position, relations without such a head, and the random copies."""
    if not frequent:
        return
    counted = f"{len(frequent)} relation{'s' if len(frequent) > 1 else ''} with at least {results.min_count} words"
    by_gain = sorted(certain, key=lambda row: -row["heldout_gain"])
    if by_gain:
        named = "; ".join(
            f"{row['relation']} by head {head_name(row['layer'], row['head'])} "
            f"({share(row['accuracy'], row['accuracy_low'], row['accuracy_high'])}, fixed offset "
            f"{share(row['offset_accuracy'])}; held out {_held_out(row)})"
            for row in by_gain[:_SHOWN]
        )
        text = (
            f"For {len(by_gain)} of {counted}, one head finds the other word more often than the best fixed offset, "
            f"and heads that were chosen on one half of the text still do on the other. The largest held-out gains: "
            f"{named}."
        )
        yield Finding(text, _address(by_gain[0], kind))
    if missed := [row for row in frequent if row not in certain]:
        rows = sorted(missed, key=lambda row: -row["total"])
        named = ", ".join(row["relation"] for row in rows[:6]) + (", …" if len(rows) > 6 else "")
        text = f"For {len(rows)} of {counted}, no head is clearly better than the best fixed offset: {named}."
        yield Finding(text, _address(rows[0], kind))
    yield from _beyond_tags(by_gain, kind)
    yield from _together(results, kind)
    if results.spanning_trees:
        yield from (
            Finding(text, address(head=head, kind=kind)) for text, head in tree_findings(results.spanning_trees)
        )
    yield from _failing(results, frequent, kind)
    if "control_accuracy" in results.best:
        rows = list(by_gain or frequent)
        which = f"the {len(by_gain)} relations in which one head beats the offset" if by_gain else f"the {counted}"
        copies = "a copy" if len(results.controls) == 1 else f"{len(results.controls)} copies"
        random, trained = (float(np.mean([row[name] for row in rows])) for name in ("control_accuracy", "accuracy"))
        text = (
            f"In {copies} of the model with random weights, the best heads for {which} reach {share(random)} on "
            f"average, where those of the model reach {share(trained)}."
        )
        largest = max(rows, key=lambda row: float(row["accuracy"] - row["control_accuracy"]))
        yield Finding(text, _address(largest, kind))


def beyond_tags(row: Mapping[str, Any]) -> int:
    """Return 1 if a head finds more than both rules that know parts of speech, −1 if it finds less than one of them."""
    sides = [side_of_zero(row, f"{name}_gain") for name in FAMILIES]
    return -1 if -1 in sides else min(sides)


def _beyond_tags(certain: Sequence[Mapping[str, Any]], kind: str) -> Iterator[Finding]:
    """Yield which of the heads that beat every fixed offset know more than parts of speech."""
    if not certain or "tag_rule_gain" not in certain[0]:
        return

    def named(rows: Sequence[Mapping[str, Any]]) -> str:
        texts = []
        for row in rows[:_SHOWN]:
            rule = min(FAMILIES, key=lambda family: float(row[f"{family}_gain"]))  # the better one of the two
            gain, low, high = (row[f"{rule}_gain{end}"] for end in ("", "_low", "_high"))
            head = f"head {head_name(row['layer'], row['head'])} {share(row['heldout_accuracy'])}"
            texts.append(f"{row['relation']} ({head}, rule {share(row[f'{rule}_heldout'])}; {points(gain, low, high)})")
        return "; ".join(texts) + ("; …" if len(rows) > _SHOWN else ".")

    more = [row for row in certain if beyond_tags(row) > 0]
    less = [row for row in certain if beyond_tags(row) < 0]
    counted = f"{len(certain)} relation{'s' if len(certain) > 1 else ''} in which a head beats the fixed offset"
    text = (
        f"In {len(more) or 'none'} of the {counted}, it also finds more than rules that know parts of speech, such as “"
        "the nearest verb before a noun” (all chosen on one half and scored on the other)"
    )
    text += f": {named(more)}" if more else "."
    if less:
        text += f" In {len(less)}, such a rule finds more than the head: {named(less)}"
    yield Finding(text, _address((more or less or certain)[0], kind))


def _together(results: DependencyResults, kind: str) -> Iterator[Finding]:
    """Yield for which relations several heads find more than one, on sentences that did not choose them."""
    if results.ensembles is None or not len(results.ensembles):
        return
    rows = rows_of(results.ensembles)
    better = sorted((row for row in rows if row["gain_low"] > 0), key=lambda row: -row["gain"])
    counted = f"{len(rows)} relation{'s' if len(rows) > 1 else ''} with at least {results.min_count} words"
    best = {row["relation"]: row for row in rows_of(results.best)}
    if not better:
        text = f"For none of {counted}, averaged maps of several heads clearly find more words than one head."
        yield Finding(text, _address(best[rows[0]["relation"]], kind))
        return
    named = "; ".join(
        f"{row['relation']} by {row['heads']} ({share(row['heldout_accuracy'])} of {row['total']:,} words, one head "
        f"{share(row['single_accuracy'])}; {points(row['gain'], row['gain_low'], row['gain_high'])})"
        for row in better[:_SHOWN]
    )
    text = (
        f"For {len(better)} of {counted}, averaged maps of several heads find more words than one head, where both are "
        f"chosen on one half of the sentences and scored on the other. The largest gains: {named}."
    )
    yield Finding(text, _address(best[better[0]["relation"]], kind))


def _failing(results: DependencyResults, frequent: Sequence[Mapping[str, Any]], kind: str) -> Iterator[Finding]:
    """Yield what the best heads pick most often instead of the syntactic head, where one mistake is clearly first."""
    if results.failures is None:
        return
    picked = rows_of(results.failures.picked)
    named: list[str] = []
    found = ""
    for row in frequent:
        first = clear_mistake(picked, row, "relation", "head")
        if first is None:
            continue
        of_head = share(first["share"], first["share_low"], first["share_high"])
        of_offset = share(first["offset_share"], first["offset_low"], first["offset_high"])
        named.append(
            f"for {row['relation']}, head {head_name(row['layer'], row['head'])} picks {_MISTAKES[first['picked']]} "
            f"for {of_head} of {row['total']:,} words (the best fixed offset: {of_offset})"
        )
        # The explorer does not know what is out of reach.
        shown = "wrong" if first["picked"] in ("out of reach", "none") else f"wrong:{first['picked']}"
        found = found or f"{_address(row, kind)}&show={shown}"
    if named:
        yield Finding(f"The most frequent mistakes of the best heads: {'; '.join(named[:_SHOWN])}.", found)


def _address(row: Mapping[str, Any], kind: str) -> str:
    """Return the address of the best head for a relation."""
    measure = f"dependency/{row['relation']}/{row['direction']}/accuracy/{kind}"
    head = head_name(row["layer"], row["head"])
    return address(head=head, measure=measure, kind=kind, relation=row["relation"], direction=row["direction"])
