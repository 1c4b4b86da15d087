"""What the coreference analysis adds to the explorer: the accuracy of every head by type of mention."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from ...corpora_loaders.describing import amount
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ..counting.best_head import drawn
from ..counting.held_out import NO_CLAIM, side_of_baseline
from ..counting.outcomes import effective_units
from ..counting.resampling import FEWEST_UNITS
from ..shared.ensembles import finds_more, found_together, with_intervals
from ..shared.explored import address, bounds, head_measures, points, share
from ..shared.failures import clear_mistake
from .accuracy import CoreferenceAccuracy
from .columns import CELLS
from .decisions import DIRECTIONS, POLICIES
from .picks import PICKS
from .shown_tables import CoreferenceResults

_VERDICTS = {1: "more than", -1: "less than", 0: "neither clearly more nor clearly less than"}
"""How the best head compares with the rules, by `side_of_baseline`."""

_MISTAKES = {
    "same entity": "a later mention of the entity",
    "inside an antecedent": "a word of an antecedent that is not its head word",
    "inside the mention": "another word of the mention itself",
    "same head word": "a mention of another entity with the same head word",
    "nearest mention": "the nearest mention",
    "agreeing mention": "another mention that agrees in number, gender and person",
    "other mention": "a mention that does not agree",
    "other word": "a word that is the head word of no mention",
    "out of reach": "a word although it cannot see an antecedent",
}
"""What is picked by mistake, in a sentence."""

_ARROWS = {"mention->antecedent": "mention → antecedent", "antecedent->mention": "antecedent → mention"}


def explored_coreference(results: CoreferenceResults, metric: CoreferenceAccuracy, kind: str) -> Contribution:
    """Return the accuracies of all heads by type of mention and direction, and what was found."""
    best, cells = (
        table[table["candidates"] == results.candidates] for table in (results.tables.best, results.tables.cells)
    )
    rows = [row for row in rows_of(best) if row["total"]]
    counts = metric.split_counts()
    claimed = {
        row["type"]
        for row in rows
        if row["total"] >= results.min_count and effective_units(metric.members()[row["type"]], *counts) >= FEWEST_UNITS
    }
    facts: dict[str, tuple[Fact, ...]] = {}
    phrases: dict[str, tuple[str, ...]] = {}
    for row in rows:
        name = head_name(row["layer"], row["head"])
        accuracy = share(row["accuracy"], row["accuracy_low"], row["accuracy_high"])
        text = (
            f"{accuracy} of {amount(row['total'], 'mentions')}, rules {share(row['rule_based_accuracy'])}, held out "
            f"{share(row['heldout_accuracy'])}"
        )
        facts[name] = (*facts.get(name, ()), Fact(f"antecedents, {_type(row)}", text, _id(row, kind)))
        if row["type"] in claimed and side_of_baseline(row) > 0:
            phrase = f"finds the antecedents of {_type(row)} better than the rules do, by {_gains(row)}"
            phrases.setdefault(name, (phrase,))
        elif row is rows[0]:  # all types together
            phrase = f"is the best head for {_type(row)}, but not clearly better than the rules ({_gains(row)})"
            phrases[name] = (phrase,)
    return Contribution(
        measures=tuple(measure for row in rows for measure in _measures(row, cells, metric, kind)),
        findings=tuple(_findings(rows, claimed, results, kind)),
        phrases=phrases,
        facts=facts,
    )


def _findings(
    rows: Sequence[Mapping[str, Any]], claimed: Collection[str], results: CoreferenceResults, kind: str
) -> Iterator[Finding]:
    """Yield what was found: how the best head compares with the rules, and which mistake is clearly first."""
    # claimed: the types with enough mentions in enough documents for a claim.
    if not rows:  # no mention was scored, so that ensembles have none either
        return
    row = rows[0]  # of all types of mentions
    yield _finding(row, results.min_count, kind, is_claimed=row["type"] in claimed)
    picked = rows_of(results.failures.picked) if results.failures else []
    mistake = clear_mistake(picked, row, "type", PICKS[0]) if row["type"] in claimed else None
    if mistake is not None:
        of_head = share(mistake["share"], mistake["share_low"], mistake["share_high"])
        of_nearest = share(mistake["nearest_share"], mistake["nearest_low"], mistake["nearest_high"])
        name = head_name(row["layer"], row["head"])
        text = (
            f"Where head {name}, the best for {_type(row)}, is wrong, it most often picks "
            f"{_MISTAKES[mistake['picked']]}: for {of_head} of {amount(row['total'], 'mentions')} (the nearest "
            f"candidate: {of_nearest})."
        )
        yield Finding(text, _address(row, kind))
    yield from _together(rows, results, kind)


def _together(rows: Sequence[Mapping[str, Any]], results: CoreferenceResults, kind: str) -> Iterator[Finding]:
    """Yield for which types of mentions several heads find more than one, on documents that did not choose them."""
    ensembles = with_intervals(results.ensembles)
    if not ensembles:
        return
    better = sorted(filter(finds_more, ensembles), key=lambda row: -row["gain"])
    types = ", ".join(_type(row) for row in ensembles)
    counted = f"{amount(len(ensembles), 'rows')} of the table of ensembles ({types})"
    if better:
        gains = "; ".join(found_together(_type(row), row) for row in better)
        text = (
            f"In {len(better)} of {counted}, averaged maps of several heads find more antecedents than one head, where "
            f"both are chosen on one half of the documents and scored on the other: {gains}."
        )
    else:
        text = (
            f"In none of {counted}, averaged maps of several heads clearly find more antecedents than one head on "
            "documents that did not choose them."
        )
    shown_type = (better or ensembles)[0]["type"]
    yield from (Finding(text, _address(row, kind)) for row in rows if row["type"] == shown_type)


def _type(row: Mapping[str, Any]) -> str:
    return "all mentions" if row["type"] == "all" else f"{row['type']} mentions"


def _gains(row: Mapping[str, Any]) -> str:
    """Return the gain over the rules on the same documents and held out, each with its interval."""
    same, held_out = (points(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in ("gain", "heldout_gain"))
    return f"{same}; held out {held_out}"


def _id(row: Mapping[str, Any], kind: str, column: str = "accuracy") -> str:
    return f"coreference/{row['type']}/{row['direction']}/{column}/{kind}"


def _measures(row: Mapping[str, Any], cells: pd.DataFrame, metric: CoreferenceAccuracy, kind: str) -> Iterator[Measure]:
    """Yield the accuracies of all heads for one type of mention, in both directions."""
    members = metric.members()[str(row["type"])]
    policy = POLICIES.index(str(cells["candidates"].iloc[0]))
    _, replicates = metric.split_counts()
    total = drawn(replicates.total[members])
    correct = drawn(replicates.correct[members, :, policy])  # replicate, direction, layer, head
    is_drawn = total > 0
    for index, direction in enumerate(DIRECTIONS):
        table = cells[(cells["type"] == row["type"]) & (cells["direction"] == direction)]
        low = high = None
        if is_drawn.any():
            low, high = bounds(correct[is_drawn, index] / total[is_drawn, None, None])
        yield from head_measures(
            CELLS,
            table,
            partial(_id, {**row, "direction": direction}, kind),
            {"mentions": _type(row), "arrow": _ARROWS[direction]},
            kind=kind,
            low=low,
            high=high,
            baseline=float(row["rule_based_accuracy"]),
            relation="coreference",
            direction=direction,
        )


def _finding(row: Mapping[str, Any], min_count: int, kind: str, *, is_claimed: bool) -> Finding:
    """Say how the best head of all types compares with the rules, if enough mentions and documents say so."""
    name = head_name(row["layer"], row["head"])
    text = (
        f"Head {name} finds an antecedent of {share(row['accuracy'], row['accuracy_low'], row['accuracy_high'])} "
        f"of {amount(row['total'], 'mentions')}, and the rules of {share(row['rule_based_accuracy'])}."
    )
    if row["total"] >= min_count and not is_claimed:
        text += f" They are not compared: {NO_CLAIM.format(units='documents')}."
    elif is_claimed and not math.isnan(row["heldout_gain"]):
        text += (
            f" Held out, the best heads have {share(row['heldout_accuracy'])}, "
            f"{_VERDICTS[side_of_baseline(row)]} the rules "
            f"({points(row['heldout_gain'], row['heldout_gain_low'], row['heldout_gain_high'])})."
        )
    return Finding(text, _address(row, kind))


def _address(row: Mapping[str, Any], kind: str) -> str:
    """Return the address of the best head for a type of mention."""
    name = head_name(row["layer"], row["head"])
    return address(head=name, measure=_id(row, kind), kind=kind, relation="coreference", direction=row["direction"])
