"""What is said of the best heads beside the strongest rule that was counted, each sentence under its condition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from ...reports.finding import Finding
from ...reports.format import head_name
from ...storage.writing import amount, verb
from ..counting.held_out import NO_CLAIM, side_of_baseline, side_of_zero
from ..shared.measures import points, share
from .rows import SHOWN, DependencyResults, address_of, count_claims

_TAGS = {
    "ADJ": "adjective",
    "ADP": "adposition",
    "ADV": "adverb",
    "AUX": "auxiliary",
    "CCONJ": "coordinating conjunction",
    "DET": "determiner",
    "INTJ": "interjection",
    "NOUN": "noun",
    "NUM": "numeral",
    "PART": "particle",
    "PRON": "pronoun",
    "PROPN": "proper noun",
    "PUNCT": "punctuation mark",
    "SCONJ": "subordinating conjunction",
    "SYM": "symbol",
    "VERB": "verb",
    "X": "other word",
}
"""The universal parts of speech in words."""


class Strongest(NamedTuple):
    """The rule that finds most words of a relation, chosen on one half of the text and scored on the other."""

    name: str  # what it is, in words
    rate: float  # the share of words that it finds
    gain: tuple[float, float, float]  # how much more the best head finds, with the 95 % interval
    side: int  # 1 if the head clearly finds more than every rule, −1 if it clearly finds less than one of them, else 0


def strongest_rule(row: Mapping[str, Any], rules: pd.DataFrame | None) -> Strongest:
    """Return the strongest of all rules that were counted for a row of the table of best heads.

    Args:
        row: a row of `DependencyResults.best`.
        rules: the best rules by relation and part of speech, which name it; None if they were not counted.
    """
    counted = {"heldout": (row["heldout_accuracy"] - row["heldout_gain"], f"the fixed offset {row['offset']:+d}")}
    sides = [side_of_baseline(row)]
    for family in ("tag_offset", "tag_rule"):
        if rules is not None and not math.isnan(row.get(f"{family}_heldout", math.nan)):
            counted[family] = row[f"{family}_heldout"], _name_of(rules, row["relation"], family)
            sides.append(side_of_zero(row, f"{family}_gain"))
    prefix = max(counted, key=lambda name: counted[name][0])
    rate, name = counted[prefix]
    low, value, high = (float(row[f"{prefix}_gain{end}"]) for end in ("_low", "", "_high"))
    return Strongest(name, rate, (value, low, high), -1 if -1 in sides else min(sides))


def _name_of(rules: pd.DataFrame, relation: str, family: str) -> str:
    """Name the rule that most words of a relation have, given the best rules by part of speech."""
    rules = rules if rules.empty else rules[rules["relation"] == relation]
    keys = ["side", "nearest"] if family == "tag_rule" else ["offset"]
    if rules.empty:  # a group of several relations, or the rules are not stored
        return "a rule by part of speech"
    words = rules.groupby(keys, sort=False)["total"].sum()
    mostly = "" if len(words) == 1 else ", for most words"
    if family == "tag_offset":
        return f"the best distance by part of speech ({words.idxmax():+d}{mostly})"
    side, tag = words.index[int(words.argmax())]
    return f"“the nearest {_TAGS.get(tag, 'word with another tag')} {side}”{mostly.replace(', ', ' ')}"


def findings_of(results: DependencyResults, kind: str) -> Iterator[Finding]:
    """Yield for which relations a head beats the strongest rule, for which it does not, and which beat position."""
    frequent, left_out = results.frequent, results.unclaimed
    if not frequent:
        if left_out:
            text = (
                f"0 of {amount(left_out, 'relations')} with at least {amount(results.min_count, 'words')} "
                f"{verb(0, 'allow', of=left_out)} a claim: {NO_CLAIM.format(units='sentences')}."
            )
            yield Finding(text, "")
        return
    rules = results.answers.get("rules")
    beside = {row["relation"]: strongest_rule(row, None if rules is None else rules.best) for row in frequent}
    yield _compare_with_strongest(
        results, beside, kind, what="the best fixed offset" if rules is None else "every rule"
    )
    by_gain = results.largest_gains
    if by_gain and rules is not None:
        listed = "; ".join(_compare_with_offset(row, beside[row["relation"]]) for row in by_gain[:SHOWN])
        are = verb(len(by_gain), "are", "is", of=len(frequent))
        text = (
            f"{len(by_gain)} of {count_claims(results)} {are} found more often by a head than by the best fixed "
            f"offset, on the same text and held out, whatever other rules find: {listed}{_ending(by_gain)}"
        )
        yield Finding(text, address_of(by_gain[0], kind), _name_missed(results))


def _compare_with_strongest(
    results: DependencyResults, beside: Mapping[str, Strongest], kind: str, *, what: str
) -> Finding:
    """Say how many relations heads find better and worse than the strongest rule, and name the clearest ones."""
    by_gain = sorted(results.frequent, key=lambda row: -beside[row["relation"]].gain[0])
    better = [row for row in by_gain if beside[row["relation"]].side > 0]
    # Heads that gain most over an offset come first: whoever knew this alone would think that they know the relation.
    by_offset = sorted(results.frequent, key=lambda row: -row["heldout_gain"])
    worse = [row for row in by_offset if beside[row["relation"]].side < 0]
    n_shown = SHOWN if not (better and worse) else SHOWN - 1

    def list_rows(rows: Sequence[Mapping[str, Any]]) -> str:
        texts = [_compare_with_rule(row, beside[row["relation"]]) for row in rows[:n_shown]]
        return f" ({'; '.join(texts)}{'; …' if len(rows) > n_shown else ''})" if rows else ""

    are = verb(len(better), "are", "is", of=len(results.frequent))
    text = (
        f"{len(better)} of {count_claims(results)} {are} clearly found better by a head than by "
        f"{what}{list_rows(better)}, and {len(worse)} clearly worse{list_rows(worse)}; heads and rules are chosen on "
        "one half and scored on the other."
    )
    first = (better or worse or by_gain)[0]
    return Finding(text, address_of(first, kind), "" if what == "every rule" else _name_missed(results))


def _compare_with_rule(row: Mapping[str, Any], rule: Strongest) -> str:
    """Say what the best head of a relation finds held out, and what the strongest rule finds."""
    return (
        f"{row['relation']}: {share(row['heldout_accuracy'])} by head {head_name(row['layer'], row['head'])}, "
        f"{share(rule.rate)} by {rule.name}, {points(*rule.gain)}"
    )


def _compare_with_offset(row: Mapping[str, Any], rule: Strongest) -> str:
    """The same for the fixed offset, with the strongest rule after it."""
    offset = share(row["heldout_accuracy"] - row["heldout_gain"])
    gain = points(row["heldout_gain"], row["heldout_gain_low"], row["heldout_gain_high"])
    return (
        f"{row['relation']} {share(row['heldout_accuracy'])} by head {head_name(row['layer'], row['head'])} (offset "
        f"{offset}, {gain}; strongest rule {share(rule.rate)})"
    )


def _name_missed(results: DependencyResults) -> str:
    """Name the relations for which no head is clearly better than the best fixed offset; empty if there are none."""
    certain = {row["relation"] for row in results.certain}
    missed = sorted((row for row in results.frequent if row["relation"] not in certain), key=lambda row: -row["total"])
    if not missed:
        return ""
    names = ", ".join(row["relation"] for row in missed[:6]) + (", …" if len(missed) > 6 else "")
    return (
        f"For {len(missed)} of {count_claims(results)}, no head is clearly better than the best fixed offset: {names}."
    )


def _ending(rows: Sequence[Any]) -> str:
    return "; …" if len(rows) > SHOWN else "."
