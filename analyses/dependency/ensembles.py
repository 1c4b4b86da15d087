"""Do several heads find a relation together? Ensembles, chosen on half of the sentences and scored on the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Ensemble, ReadHead
from ...reports.finding import Finding
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount, verb
from ..contract import Request
from ..counting.outcomes import SPLITS
from ..counting.resampling import FEWEST_UNITS, halves, poisson_weights
from ..shared.ensembles import (
    describe_ensemble,
    ensemble_schema,
    ensemble_table,
    finds_more,
    heads_of,
    right_alone,
    score_ensembles,
    shown_ensembles,
    with_intervals,
)
from ..shared.measures import share
from ..shared.options import CountOptions, EnsembleMethod, EnsembleOptions
from .findings import strongest_rule
from .rows import SHOWN, DependencyQuestion, DependencyResults, LookupContext, PlanContext, Read, Words, address_of

Array = npt.NDArray[Any]

ENSEMBLES = ensemble_schema(
    "dependency_ensembles",
    "With `--ensembles`. One row per relation with `--min-count` words in the first 1,000 sentences.",
    (TableColumn("relation", "text", "the relation", "relation"),),
    of="words of the relation",
    found="words whose syntactic head these heads find together",
    units="sentences",
    arrows="An arrow ← marks heads whose map is transposed (head→dep), and ↔ those whose map and its transpose are "
    "added up (both).",
)


class Ensembles(DependencyQuestion):
    """Do several heads find more than one?"""

    name = "ensembles"
    tables = (ENSEMBLES,)
    template = Path(__file__).with_name("ensembles.html.j2")

    def requests(self, plan_context: PlanContext) -> Sequence[Request]:
        """Check that words have one head. The maps are read after counting."""
        if plan_context.options[EnsembleOptions].ensembles:
            plan_context.check_basic_trees()
        return ()

    def look(self, lookup_context: LookupContext) -> list[dict[str, Any]] | None:
        """Choose ensembles for each relation with enough words, and score them."""
        most = lookup_context.options[EnsembleOptions].ensembles
        if not most:
            return None
        rows, lookup_context.chosen = ensemble_rows(
            lookup_context.read,
            lookup_context.words.single_relations,
            lookup_context.shape,
            most=most,
            method=lookup_context.options[EnsembleOptions].ensemble_method,
            min_count=lookup_context.options[CountOptions].min_count,
            replicates=lookup_context.replicates,
            seed=lookup_context.words.facts.seed,
        )
        return rows

    def find(self, counts: Words, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the table of what was looked up."""
        return None if lookups is None else ensemble_table(lookups, ENSEMBLES)

    def frames(self, answer: pd.DataFrame, results: DependencyResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {ENSEMBLES.name: answer}

    def show(self, answer: pd.DataFrame, results: DependencyResults) -> Sequence[ShownTable]:
        """Return the table."""
        return (shown_ensembles(answer, ENSEMBLES),)

    def draw(self, answer: pd.DataFrame, results: DependencyResults, title: str) -> Mapping[str, Figure]:
        """Draw the ensembles beside single heads and rules."""
        from .figures import ensembles_figure

        figure = ensembles_figure(results.best, answer, min_count=results.min_count, title=title)
        return {ENSEMBLES.name: figure} if figure else {}

    def explore(self, answer: pd.DataFrame, counts: Words, results: DependencyResults, kind: str) -> Contribution:
        """Say for which relations several heads find more, and let the explorer draw the ensembles."""
        return Contribution(
            findings=tuple(_find_gains(answer, results, kind)) if results.frequent else (),
            ensembles=tuple(_ensembles(answer, kind, counts.metric.directions)),
        )


def ensemble_rows(
    read: Read, groups: Mapping[str, frozenset[str]], shape: tuple[int, int, int], *, most: int,
    method: EnsembleMethod, min_count: int, replicates: int, seed: int,
) -> tuple[list[dict[str, Any]], dict[str, list[tuple[int, ...]]]]:  # fmt: skip
    """Choose and score ensembles of up to ``most`` heads for each group with enough words."""
    # The shape has the numbers of layers, heads and readings.
    # Returns the counts of each group, as plain data, and by group the heads that were chosen on all sentences, then
    # those of both halves of each split in turn.
    in_first_half = halves(read.ids, SPLITS, seed).T  # sentence, split
    draws = poisson_weights(read.ids, replicates, seed).astype(np.float64)
    rows, heads_of_group = [], {}
    for name, members in groups.items():
        # The words of each sentence that belong to the group, as indices into what was read of it.
        used = [
            [word for word, relation in enumerate(relations) if relation in members] for relations in read.relations
        ]
        sentence = np.repeat(np.arange(len(used)), list(map(len, used)))  # of each word
        if len(sentence) < max(min_count, 1):
            continue
        # The candidates are the words of a sentence. No head picks a padded one, whose value is −∞.
        longest = max(values.shape[-1] for values, words in zip(read.candidates, used, strict=True) if words)
        padded = np.full((len(sentence), read.candidates[0].shape[1], longest), -np.inf, dtype=np.float32)
        alone = np.empty(padded.shape[:2], dtype=bool)
        for index in np.unique(sentence):
            values = read.candidates[index]
            is_head = read.gold[index][used[index], None] == np.arange(values.shape[-1])
            alone[sentence == index] = right_alone(values[used[index]], is_head)
            values = values if method == "raw" else read.divide(index)
            padded[sentence == index, :, : values.shape[-1]] = values[used[index]]
        gold = np.concatenate([heads[words] for heads, words in zip(read.gold, used, strict=True)])
        is_gold = gold[:, None] == np.arange(longest)  # word, candidate
        row, heads_of_group[name] = score_ensembles(
            padded, alone, is_gold, sentence, in_first_half, draws, most, shape, method
        )
        rows.append({"relation": name, **row})
    return rows, heads_of_group


def _find_gains(ensembles: pd.DataFrame, results: DependencyResults, kind: str) -> Iterator[Finding]:
    """Yield for which relations several heads find more than one, on sentences that did not choose them."""
    rows = with_intervals(ensembles)
    if not rows:
        return
    better = sorted(filter(finds_more, rows), key=lambda row: -row["gain"])
    enough = f" in at least {FEWEST_UNITS} sentences" if len(rows) < len(ensembles) else ""
    counted = f"{amount(len(rows), 'relations')} with at least {amount(results.min_count, 'words')}{enough}"
    best = {row["relation"]: row for row in rows_of(results.best)}
    if not better:
        are = verb(0, "are", "is", of=len(rows))
        text = f"0 of {counted} {are} clearly found more often by averaged maps of several heads than by one head."
        yield Finding(text, address_of(best[rows[0]["relation"]], kind))
        return
    rules = results.answers.get("rules")

    def describe_gain(row: Mapping[str, Any]) -> str:
        rule = strongest_rule(best[row["relation"]], None if rules is None else rules.best)
        return describe_ensemble(row["relation"], row, " words", f", {share(rule.rate)} by {rule.name}")

    gains = "; ".join(map(describe_gain, better[:SHOWN]))
    are = verb(len(better), "are", "is", of=len(rows))
    text = (
        f"{len(better)} of {counted} {are} found more often by averaged maps of several heads than by one head, where "
        f"both are chosen on one half of the sentences and scored on the other: {gains}"
        f"{'; …' if len(better) > SHOWN else '.'}"
    )
    yield Finding(text, address_of(best[better[0]["relation"]], kind))


def _ensembles(table: pd.DataFrame, kind: str, directions: Sequence[str]) -> Iterator[Ensemble]:
    """Yield the ensembles of several heads. One of a single head is that head."""
    for row in rows_of(table):
        heads = heads_of(row["heads"])
        if len(heads) > 1:
            read = tuple(ReadHead(head, directions[reading]) for head, reading in heads)
            yield Ensemble(row["relation"], kind, read, divided=row["method"] != "raw")
