"""What is said of the heads of the dependency analysis, each finding under its condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ...storage.writing import amount
from ..counting.held_out import NO_CLAIM, side_of_zero
from ..counting.resampling import FEWEST_UNITS
from ..shared.ensembles import finds_more, found_together, with_intervals
from ..shared.explored import address, points, share
from ..shared.failures import clear_mistake
from .rules import FAMILIES
from .section import DependencyResults
from .spanning_tables import tree_findings

SHOWN = 3
"""The number of relations that a finding names, and that the card of a head shows."""

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


def findings_of(
    results: DependencyResults,
    frequent: Sequence[Mapping[str, Any]],
    certain: Sequence[Mapping[str, Any]],
    kind: str,
    *,
    left_out: int = 0,
) -> Iterator[Finding]:
    """Yield what was found: heads that beat position, relations without such a head, and the random copies."""
    # frequent: the rows of the best heads of relations with enough words in enough sentences. certain: those that beat
    # every fixed offset. left_out: how many relations have enough words, but in too few sentences.
    if not frequent:
        if left_out:
            text = (
                f"Nothing is said of the {amount(left_out, 'relations')} with at least "
                f"{amount(results.min_count, 'words')}: {NO_CLAIM.format(units='sentences')}."
            )
            yield Finding(text, "")
        return
    enough = f" in at least {FEWEST_UNITS} sentences" if left_out else ""
    relations = f"{amount(len(frequent), 'relations')} with at least {amount(results.min_count, 'words')}{enough}"
    by_gain = sorted(certain, key=lambda row: -row["heldout_gain"])
    if by_gain:
        gains = "; ".join(map(_accuracy_and_gain, by_gain[:SHOWN]))
        text = (
            f"For {len(by_gain)} of {relations}, one head finds the other word more often than the best fixed offset, "
            f"and heads that were chosen on one half of the text still do on the other. The largest held-out gains: "
            f"{gains}."
        )
        yield Finding(text, _address(by_gain[0], kind))
    if missed := sorted((row for row in frequent if row not in certain), key=lambda row: -row["total"]):
        names = ", ".join(row["relation"] for row in missed[:6]) + (", …" if len(missed) > 6 else "")
        text = f"For {len(missed)} of {relations}, no head is clearly better than the best fixed offset: {names}."
        yield Finding(text, _address(missed[0], kind))
    yield from _beyond_tags(by_gain, kind)
    yield from _together(results, kind)
    for text, head in tree_findings(results.spanning_trees) if results.spanning_trees else ():
        yield Finding(text, address(head=head, kind=kind))
    yield from _failing(results, frequent, kind)
    if "control_accuracy" in results.best:
        compared = f"the {relations}"
        if by_gain:
            beaten = f"{len(by_gain)} relations" if len(by_gain) > 1 else "one relation"
            compared = f"the {beaten} in which one head beats the offset"
        yield _control(results, by_gain or frequent, compared)


def _accuracy_and_gain(row: Mapping[str, Any]) -> str:
    """Say how much the best head of a relation finds, and how much more than the best fixed offset."""
    accuracy = share(row["accuracy"], row["accuracy_low"], row["accuracy_high"])
    return (
        f"{row['relation']} by head {head_name(row['layer'], row['head'])} ({accuracy}, fixed offset "
        f"{share(row['offset_accuracy'])}; held out {held_out(row)})"
    )


def _control(results: DependencyResults, rows: Sequence[Mapping[str, Any]], which: str) -> Finding:
    """Compare the best heads of some relations, called ``which``, with those of the random copies."""
    copies = "a copy" if len(results.controls) == 1 else f"{len(results.controls)} copies"
    random, trained = (float(np.mean([row[name] for row in rows])) for name in ("control_accuracy", "accuracy"))
    text = (
        f"In {copies} of the model with random weights, the best heads for {which} reach {share(random)} on average, "
        f"where those of the model reach {share(trained)}."
    )
    return Finding(text, "")  # the explorer has the heads of the model alone


def beyond_tags(row: Mapping[str, Any]) -> int:
    """Return 1 if a head finds more than both rules that know parts of speech, −1 if it finds less than one of them."""
    sides = [side_of_zero(row, f"{name}_gain") for name in FAMILIES]
    return -1 if -1 in sides else min(sides)


def _beyond_tags(certain: Sequence[Mapping[str, Any]], kind: str) -> Iterator[Finding]:
    """Yield which of the heads that beat every fixed offset know more than parts of speech."""
    if not certain or "tag_rule_gain" not in certain[0]:
        return

    def listed(rows: Sequence[Mapping[str, Any]]) -> str:
        texts = []
        for row in rows[:SHOWN]:
            rule = min(FAMILIES, key=lambda family: float(row[f"{family}_gain"]))  # the better one of the two
            gain, low, high = (row[f"{rule}_gain{end}"] for end in ("", "_low", "_high"))
            head = f"head {head_name(row['layer'], row['head'])} {share(row['heldout_accuracy'])}"
            texts.append(f"{row['relation']} ({head}, rule {share(row[f'{rule}_heldout'])}; {points(gain, low, high)})")
        return "; ".join(texts) + ("; …" if len(rows) > SHOWN else ".")

    heads_better = [row for row in certain if beyond_tags(row) > 0]
    rules_better = [row for row in certain if beyond_tags(row) < 0]
    where = f"In {len(heads_better) or 'none'} of the {len(certain)} relations"
    finds = "it also clearly finds"
    if len(certain) == 1:
        where = "In the one relation"
        finds = "it also clearly finds" if heads_better else "it does not clearly find"
    text = (
        f"{where} in which a head beats the fixed offset, {finds} more than rules that know parts of speech, such as "
        "“the nearest verb before a noun” (all chosen on one half and scored on the other)"
    )
    text += f": {listed(heads_better)}" if heads_better else "."
    if rules_better:
        text += f" In {len(rules_better)}, such a rule finds more than the head: {listed(rules_better)}"
    yield Finding(text, _address((heads_better or rules_better or certain)[0], kind))


def _together(results: DependencyResults, kind: str) -> Iterator[Finding]:
    """Yield for which relations several heads find more than one, on sentences that did not choose them."""
    rows = with_intervals(results.ensembles)
    if results.ensembles is None or not rows:
        return
    better = sorted(filter(finds_more, rows), key=lambda row: -row["gain"])
    enough = f" in at least {FEWEST_UNITS} sentences" if len(rows) < len(results.ensembles) else ""
    counted = f"{amount(len(rows), 'relations')} with at least {amount(results.min_count, 'words')}{enough}"
    best = {row["relation"]: row for row in rows_of(results.best)}
    if not better:
        text = f"For none of {counted}, averaged maps of several heads clearly find more words than one head."
        yield Finding(text, _address(best[rows[0]["relation"]], kind))
        return
    gains = "; ".join(found_together(row["relation"], row, " words") for row in better[:SHOWN])
    text = (
        f"For {len(better)} of {counted}, averaged maps of several heads find more words than one head, where both are "
        f"chosen on one half of the sentences and scored on the other. The largest gains: {gains}."
    )
    yield Finding(text, _address(best[better[0]["relation"]], kind))


def _failing(results: DependencyResults, frequent: Sequence[Mapping[str, Any]], kind: str) -> Iterator[Finding]:
    """Yield what the best heads pick most often instead of the syntactic head, where one mistake is clearly first."""
    if results.failures is None:
        return
    picked = rows_of(results.failures.picked)
    mistakes = [(row, clear_mistake(picked, row, "relation", "head")) for row in frequent]
    clear_mistakes = [(row, mistake) for row, mistake in mistakes if mistake is not None]
    if not clear_mistakes:
        return
    texts = []
    for row, mistake in clear_mistakes[:SHOWN]:
        of_head = share(mistake["share"], mistake["share_low"], mistake["share_high"])
        of_offset = share(mistake["offset_share"], mistake["offset_low"], mistake["offset_high"])
        texts.append(
            f"for {row['relation']}, head {head_name(row['layer'], row['head'])} picks {_MISTAKES[mistake['picked']]} "
            f"for {of_head} of {amount(row['total'], 'words')} (the best fixed offset: {of_offset})"
        )
    row, mistake = clear_mistakes[0]
    # The explorer does not know what is out of reach.
    shown = "wrong" if mistake["picked"] in ("out of reach", "none") else f"wrong:{mistake['picked']}"
    text = f"The most frequent mistakes of the best heads: {'; '.join(texts)}."
    yield Finding(text, f"{_address(row, kind)}&show={shown}")


def _address(row: Mapping[str, Any], kind: str) -> str:
    """Return the address of the best head for a relation."""
    head, measure = (
        head_name(row["layer"], row["head"]),
        measure_id("accuracy", row["relation"], row["direction"], kind),
    )
    return address(head=head, measure=measure, kind=kind, relation=row["relation"], direction=row["direction"])


def measure_id(column: str, relation: str, direction: str, kind: str) -> str:
    """Return the id of a measure of the explorer."""
    return f"dependency/{relation}/{direction}/{column}/{kind}"


def held_out(row: Mapping[str, Any]) -> str:
    """Return the held-out gain of the best head with its interval."""
    return points(row["heldout_gain"], row["heldout_gain_low"], row["heldout_gain_high"])
