"""Which head finds antecedents? The best head for each type of mention, beside rules (Clark et al. 2019, §4.3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import Explored, Row, Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.finding import Finding
from ...reports.format import best_direction, head_name, rare_in_parentheses, rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount, verb
from ..contract import Request
from ..counting.best_head import sum_groups
from ..counting.held_out import NO_CLAIM, side_of_baseline
from ..counting.outcomes import effective_units
from ..counting.resampling import FEWEST_UNITS
from ..shared.best_heads import best_accuracy_column, best_head_column, estimate, heldout_columns
from ..shared.head_counts import MODEL
from ..shared.measures import bounds, head_measures, points, share
from ..shared.published import published_coreference
from ..shared.references import best_rule, over_rule
from .accuracy import CoreferenceTables
from .decisions import ALL, DIRECTIONS, POLICIES, account, column_name
from .figures import best_figure, distance_figure, heads_figure
from .rows import (
    CoreferenceQuestion,
    CoreferenceResults,
    LookupContext,
    Mentions,
    PlanContext,
    address_of,
    measure_id,
    mentions_of,
    reference_id,
    reference_of,
    rules_of,
    under,
)

CELLS = Schema(
    "coreference",
    "One row per kind of candidates, type of mention, direction, layer and head.",
    (
        TableColumn("candidates", "text", "what can be chosen: `preceding` mentions, all `mentions`, or `words`"),
        TableColumn("type", "text", "`all`, `pronoun`, `proper` or `nominal` mentions"),
        TableColumn("direction", "text", "the direction in which attention is read"),
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("correct total", "count", "mentions whose antecedent is found, and all scored mentions"),
        TableColumn(
            "accuracy",
            "share",
            "`correct` / `total`",
            explored=Explored(
                "Antecedents",
                "{mentions}, {arrow}",
                "The share of mentions whose most attended candidate is an antecedent. The baseline is the rules.",
                counted="total",
            ),
        ),
    ),
)

BASELINES = Schema(
    "coreference_baselines",
    "One row per baseline and type of mention.",
    (
        TableColumn("baseline", "text", "`nearest`, `head match`, `rule-based` or `random`"),
        TableColumn("type", "text", "the type of mention"),
        TableColumn("correct total", "count", "mentions whose antecedent is found, and all scored mentions"),
        TableColumn("accuracy accuracy_low accuracy_high", "share", "`correct` / `total`"),
    ),
)

DISTANCES = Schema(
    "coreference_distances",
    "One row per kind of candidates, type, bin of distances, direction, layer and head; and one per baseline, type "
    "and bin.",
    (
        TableColumn("candidates", "text", "as in `coreference.csv`; the name of the baseline in rows of baselines"),
        TableColumn("type direction", "text", "as in `coreference.csv`"),
        TableColumn("unit", "text", "the unit of the distance to the nearest antecedent: `sentences` or `words`"),
        TableColumn("distance", "text", "the bin, such as `6–10` or `51+`"),
        TableColumn("layer head", "number from 1", "the attention head; empty for baselines"),
        TableColumn("correct total", "count", "found and scored mentions at this distance"),
        TableColumn("accuracy", "share", "`correct` / `total`"),
    ),
)

BEST = Schema(
    "coreference_best",
    "One row per kind of candidates and type of mention: the best head, baselines and controls.",
    (
        TableColumn(
            "candidates",
            "text",
            "as in `coreference.csv`",
            "candidates",
            cell=lambda row: str(row["candidates_in_words"]),
        ),
        TableColumn("type", "text", "as in `coreference.csv`", "mentions"),
        TableColumn("total", "count", "scored mentions", "n", cell=rare_in_parentheses),
        best_head_column("the best attention head", "The <i>head word</i> of a mention is its syntactic head."),
        TableColumn(
            "direction",
            "text",
            "its direction",
            "direction",
            cell=best_direction,
            help="<b>m→ante</b>: the mention attends to its antecedent. <b>ante→m</b>: the antecedent is the candidate "
            "that attends most to the mention.",
        ),
        TableColumn("tied", "count", "heads and directions with this count"),
        TableColumn("correct", "count", "mentions whose antecedent is found"),
        best_accuracy_column("the n mentions whose antecedent", "mentions", "documents"),
        *heldout_columns("found and scored mentions over all halves of all splits", "documents", room="page"),
        TableColumn(
            "nearest_correct head_match_correct rule_based_correct random_correct",
            "count",
            "mentions whose antecedent a baseline finds",
        ),
        TableColumn(
            "nearest_accuracy",
            "share",
            "the accuracy of the nearest candidate",
            "nearest",
            help="The accuracy of a guess that always picks the nearest candidate. The candidates of this and the next "
            "three columns are {preceding}.",
        ),
        TableColumn(
            "head_match_accuracy",
            "share",
            "the accuracy of the nearest candidate with the same head word",
            "same head word",
            terminal="same head",
            help="The accuracy of the nearest candidate with the same head word; the guess is wrong if there is none.",
        ),
        TableColumn(
            "rule_based_accuracy",
            "share",
            "the accuracy of the rules",
            "rules",
            help="The accuracy of the nearest candidate that meets the first of these conditions which any candidate "
            "meets: the same words; the same head word; agreement in number, gender and person; no condition.",
        ),
        TableColumn(
            "random_accuracy",
            "share",
            "the accuracy of a random candidate",
            "chance",
            room="page",
            help="The accuracy of one random candidate for every mention. Chance does well if there are few "
            "candidates.",
        ),
        estimate(
            "gain",
            "points",
            "`accuracy` − `rule_based_accuracy`",
            "gain over rules",
            "The accuracy minus that of the rules, on the mentions that chose the head. It is too high by the luck of "
            "the choice.",
            room="page",
        ),
        TableColumn("gain_nearest gain_nearest_low gain_nearest_high", "points", "`accuracy` − `nearest_accuracy`"),
        estimate(
            "heldout_gain",
            "points",
            "`heldout_accuracy` − the accuracy of the rules on the same mentions",
            "held-out gain",
            "The held-out accuracy minus that of the rules on the same mentions. If it is not above 0 with its whole "
            "interval, there is no evidence that a head does better than the rules.",
        ),
    ),
)

OVER_RULE = Schema(
    "coreference",
    "The same with the gain over the rules, which the explorer shows.",
    (
        TableColumn(
            "over_rule",
            "points",
            "the accuracy minus that of the {rule}, on the same mentions. A single head is not chosen, but whoever "
            "picks the best of all cells picks luck, too: the best head has {heldout} held out",
            explored=Explored("Held out, over the best rule", "{mentions}, {arrow}", counted="total", center=0.0),
        ),
    ),
)

_VERDICTS = {1: "more than", -1: "less than", 0: "neither clearly more nor clearly less than"}
"""How the best head compares with the rules, by `side_of_baseline`."""

_ARROWS = {"mention->antecedent": "mention → antecedent", "antecedent->mention": "antecedent → mention"}


@dataclass(frozen=True)
class Found:
    """The answer: all heads, rules and the best heads, and of which types of mentions something may be claimed."""

    tables: CoreferenceTables
    account: Mapping[str, int]  # see `attentionology.analyses.coreference.decisions.account`
    claimed: tuple[str, ...]  # types with enough mentions in enough documents
    published: Mapping[str, Mapping[str, int]] | None  # in percent by method and type, if the model is the paper's


class BestHeads(CoreferenceQuestion):
    """Which head finds an antecedent of mentions of each type?"""

    name = MODEL
    tables = (CELLS, BASELINES, DISTANCES, BEST)
    template = Path(__file__).with_name("best_heads.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the heads of the model."""
        return plan_context.accuracy_requests()[:1]

    def look(self, lookup_context: LookupContext) -> dict[str, int]:
        """Count which mentions were scored."""
        skipped = lookup_context.skipped
        read = (window for window in lookup_context.windows.sentences if window.id not in skipped)
        return account(lookup_context.windows.corpus, read, singletons=lookup_context.mentions.singletons)

    def join(self, lookups: Sequence[Mapping[str, int]]) -> dict[str, int] | None:
        """Add up the mentions of several runs."""
        if not lookups:
            return None
        total: Counter[str] = Counter()
        for counts in lookups:
            total.update(counts)
        return dict(total)

    def find(self, counts: Mentions, lookups: Mapping[str, int], earlier: Mapping[str, Any]) -> Found:
        """Return the tables of all heads and of the best ones, and of which types something may be claimed."""
        published = None if counts.facts.asked else published_coreference(counts.facts.model_name)
        return Found(counts.tables, lookups, claims(counts.tables.best, counts), published)

    def frames(self, answer: Found, results: CoreferenceResults) -> Mapping[str, pd.DataFrame]:
        """Return the tables; the one of the best heads has the numbers of the paper, in percent, if it has any."""
        tables = results.tables
        of_paper = {
            f"paper_{column_name(method)}": [by_type[kind] for kind in tables.best["type"]]
            for method, by_type in (answer.published or {}).items()
        }
        return {
            CELLS.name: tables.cells,
            BEST.name: tables.best.assign(**of_paper),
            BASELINES.name: tables.baselines,
            DISTANCES.name: tables.distances,
        }

    def show(self, answer: Found, results: CoreferenceResults) -> Sequence[ShownTable]:
        """Return the tables of the best heads, for the candidates of the report and for others, and the paper's."""
        tables = [best_table(results), _other_candidates(results)]
        if answer.published:
            columns = [TableColumn("method", "text", "", "method")]
            columns += [TableColumn(name, "count", "", name) for name in ("all", "pronoun", "proper", "nominal")]
            rows = [{"method": method, **by_type} for method, by_type in answer.published.items()]
            tables.append(ShownTable("coreference_published", "The paper’s numbers (%)", columns, rows))
        return tables

    def draw(self, answer: Found, results: CoreferenceResults, title: str) -> Mapping[str, Figure]:
        """Draw the best heads beside the baselines, every head, and both by distance."""
        best, policy = results.best, results.candidates
        if not results.best_rows:
            return {}
        return {
            "coreference_best": best_figure(best, answer.published, title=title),
            "coreference_heads": heads_figure(results.tables.cells, best, policy, title=title),
            "coreference_distances": distance_figure(results.tables.distances, best, policy, title=title),
        }

    def values(self, answer: Found, results: CoreferenceResults) -> Mapping[str, Any]:
        """Return what is said of the maps, the candidates and the scored mentions, also to other questions."""
        return {
            "candidates": results.candidates_in_words,
            "policy": results.candidates,
            "singletons": results.singletons,
            "asked": results.asked,
            "published": answer.published,
            "scored": bool(results.best_rows),
            "account": dict(results.account),
            "map_facts": list(results.map_facts),
            "notes": list(results.notes),
            "min_count": results.min_count,
        }

    def explore(self, answer: Found, counts: Mentions, results: CoreferenceResults, kind: str) -> Contribution:
        """Add the accuracies of all heads by type of mention, what heads are best for, and what was found."""
        rows, cells = results.best_rows, under(results.candidates, results.tables.cells)
        facts: dict[str, tuple[Fact, ...]] = {}
        phrases: dict[str, tuple[str, ...]] = {}
        for row in rows:
            name = head_name(row["layer"], row["head"])
            text = (
                f"{_accuracy(row)} of {amount(row['total'], 'mentions')}, rules {share(row['rule_based_accuracy'])}, "
                f"held out {share(row['heldout_accuracy'])}"
            )
            fact = Fact(f"antecedents, {mentions_of(row)}", text, measure_id(row, kind))
            facts[name] = (*facts.get(name, ()), fact)
            side = side_of_baseline(row) if row["type"] in results.claimed else 0
            if side > 0:
                phrase = f"finds the antecedents of {mentions_of(row)} better than the rules do, by {_gains(row)}"
                phrases.setdefault(name, (phrase,))
            elif row is rows[0]:  # all types together
                verdict = "clearly worse" if side < 0 else "not clearly better"
                phrase = f"is the best head for {mentions_of(row)}, but {verdict} than the rules"
                phrases[name] = (f"{phrase} ({_gains(row)})",)
        return Contribution(
            measures=tuple(measure for row in rows for measure in _measures(row, cells, counts, results, kind)),
            findings=(finding_of(rows[0], results, kind),) if rows else (),
            phrases=phrases,
            facts=facts,
            references=tuple(reference_of(row, rules_of(row, counts, results), counts, results, kind) for row in rows),
        )


def claims(best: pd.DataFrame, counts: Mentions) -> tuple[str, ...]:
    """Return the types with enough mentions in enough documents for a claim."""
    members = counts.metric.members()
    return tuple(
        row["type"]
        for row in rows_of(under(counts.candidates, best))
        if row["total"] >= max(counts.min_count, 1)
        and effective_units(members[row["type"]], counts.subsets, counts.replicates) >= FEWEST_UNITS
    )


def best_table(results: CoreferenceResults) -> ShownTable:
    """Return the table of the best head of each type of mention, beside the baselines."""
    best, account, words = results.best, results.account, results.candidates_in_words
    has_intervals = bool((best["accuracy_low"] < best["accuracy_high"]).any())
    scored = f"{account['scored']:,} of {account['anaphors']:,} mentions that have an antecedent"
    no_answer = f" Asked for, but with no right candidate: {account['no answer']:,}." if account["no answer"] else ""
    contrasts = results.answers.get("contrasts")
    notes = (
        f"Candidates are {words[results.candidates]}.",
        f"Scored: {scored}.{no_answer}",
        *results.notes,
        *(() if contrasts is None else contrasts.notes(results.candidates)),
        *(f"{fact[0].upper()}{fact[1:]}." for fact in results.map_facts),
    )
    return ShownTable(
        "coreference_best",
        f"Best attention head per type of mention ({scored}; antecedents found in %)",
        (*BEST.columns[1:], *results.added),
        _rows(best, results),
        notes=notes,
        rare=f"fewer than {amount(results.min_count, 'mentions')}",
        style=_style,
        facts={
            "choices": f"{results.n_choices:,}",
            "copies": len(results.answers.get("control", ())),
            "interval": ", with a 95 % bootstrap interval over documents" if has_intervals else "",
            "preceding": words["preceding"],
        },
    )


def _other_candidates(results: CoreferenceResults) -> ShownTable:
    """Return the best heads for the other choices of candidates."""
    best = results.tables.best
    other = best[best["candidates"] != results.candidates]
    if results.asked:  # the policies "preceding" and "mentions" have the same candidates
        other = under("words" if results.candidates != "words" else "preceding", other)
    headings = ("candidates", "mentions", "n", "attention head", "direction", "accuracy", "held-out")
    columns = (*BEST.only(*headings), *results.added)
    return ShownTable("coreference_others", "Other candidates (%)", columns, _rows(other, results), style=_style)


def _rows(best: pd.DataFrame, results: CoreferenceResults) -> list[Row]:
    """Return the rows that have any mentions, in the order of `POLICIES`."""
    words = results.candidates_in_words
    rows: Iterable[dict[str, Any]] = sorted(rows_of(best), key=lambda row: POLICIES.index(row["candidates"]))
    return [
        {**row, "is_frequent": row["total"] >= results.min_count, "candidates_in_words": words[row["candidates"]]}
        for row in rows
        if row["total"]
    ]


def _style(row: Row) -> str:
    """Return how a row is shown: ``rare``, ``total``, both or neither."""
    return f"{'' if row['is_frequent'] else 'rare'} {'total' if row['type'] == ALL else ''}".strip()


def finding_of(row: Mapping[str, Any], results: CoreferenceResults, kind: str) -> Finding:
    """Say how the best head of all types compares with the rules, if enough mentions and documents say so."""
    head, strongest = f"head {head_name(row['layer'], row['head'])}", _describe_strongest(row)
    is_claimed, have = row["type"] in results.claimed, verb(row["total"], "have", "has")
    if is_claimed and not math.isnan(row["heldout_gain"]):
        text = (
            f"{share(row['heldout_accuracy'])} of {amount(row['total'], 'mentions')} {have} an antecedent that the "
            f"best head ({head}) finds held out, {_VERDICTS[side_of_baseline(row)]} the rules "
            f"({_with_interval(row, 'heldout_gain')}); {strongest}."
        )
        return Finding(text, address_of(row, kind), f"On the documents that chose it, {head} finds {_accuracy(row)}.")
    text = (
        f"{_accuracy(row)} of {amount(row['total'], 'mentions')} {have} an antecedent that {head} finds on the "
        f"documents that chose it; {strongest}"
    )
    if row["total"] >= results.min_count:
        text += f". They are not compared: {NO_CLAIM.format(units='documents')}"
    return Finding(f"{text}.", address_of(row, kind))


def _describe_strongest(row: Mapping[str, Any]) -> str:
    """Say what the strongest baseline finds. None of them is chosen, so that none has to be held out."""
    names = {
        "rule_based": "the rules",
        "head_match": "the nearest candidate with the same head word",
        "nearest": "the nearest candidate",
    }
    rates = {name: float(row.get(f"{name}_accuracy", math.nan)) for name in names}
    best = max((name for name in names if not math.isnan(rates[name])), key=lambda name: rates[name])
    others = "" if best == "rule_based" else f", {share(rates['rule_based'])} by the rules"
    return f"{share(rates[best])} by {names[best]}, the strongest baseline{others}"


def _accuracy(row: Mapping[str, Any]) -> str:
    return share(row["accuracy"], row["accuracy_low"], row["accuracy_high"])


def _with_interval(row: Mapping[str, Any], name: str) -> str:
    return points(row[name], row[f"{name}_low"], row[f"{name}_high"])


def _gains(row: Mapping[str, Any]) -> str:
    """Return the gain over the rules on the same documents and held out, each with its interval."""
    return f"{_with_interval(row, 'gain')}; held out {_with_interval(row, 'heldout_gain')}"


def _measures(
    row: Mapping[str, Any], cells: pd.DataFrame, counts: Mentions, results: CoreferenceResults, kind: str
) -> Iterator[Measure]:
    """Yield the accuracies of all heads for one type of mention, and the gains over rules, in both directions."""
    members, policy = counts.metric.members()[str(row["type"])], POLICIES.index(str(row["candidates"]))
    total = sum_groups(counts.replicates.total[members])
    correct = sum_groups(counts.replicates.correct[members, :, policy])  # replicate, direction, layer, head
    is_drawn = total > 0
    # Rules that choose among fewer candidates than the heads are nothing to subtract.
    rule = best_rule(rules_of(row, counts, results)) if row["candidates"] == "preceding" else None
    for index, direction in enumerate(DIRECTIONS):
        table = cells[(cells["type"] == row["type"]) & (cells["direction"] == direction)].sort_values(["layer", "head"])
        low = high = all_drawn = None
        if is_drawn.any():
            rates = correct[is_drawn, index] / total[is_drawn, None, None]
            low, high = bounds(rates)
            all_drawn = np.full((len(is_drawn), rates[0].size), np.nan)
            all_drawn[is_drawn] = rates.reshape(len(rates), -1)
        measures_of = partial(
            head_measures,
            id_of=partial(measure_id, {**row, "direction": direction}, kind),
            facts={
                "mentions": mentions_of(row),
                "arrow": _ARROWS[direction],
                "rule": rule.label if rule else "",
                "heldout": share(row["heldout_accuracy"]),
            },
            kind=kind,
            relation="coreference",
            direction=direction,
            reference=reference_id(row, kind),
            tag=None if row["type"] == ALL else row["type"],
        )
        yield from measures_of(CELLS, table, low=low, high=high, baseline=float(row["rule_based_accuracy"]))
        if rule is not None and rule.rate is not None:
            gains, low, high = over_rule(table["accuracy"].to_numpy(dtype=float), all_drawn, rule.rate)
            yield from measures_of(OVER_RULE, table.assign(over_rule=gains), low=low, high=high)
