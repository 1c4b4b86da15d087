"""Do several heads find antecedents together? Ensembles, chosen on half of the documents and scored on the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...corpora_loaders.coreference import TYPES
from ...extractors import MapBatch
from ...reports.columns import TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.table import ShownTable
from ...storage.writing import amount, verb
from ..counting.outcomes import SPLITS
from ..counting.resampling import halves, poisson_weights
from ..dependency.decisions import word_positions
from ..shared.ensembles import (
    describe_ensemble,
    divide_rows,
    ensemble_schema,
    ensemble_table,
    finds_more,
    right_alone,
    score_ensembles,
    shown_ensembles,
    with_intervals,
)
from ..shared.measures import share
from ..shared.options import CountOptions, EnsembleMethod, EnsembleOptions
from .decisions import ALL, DIRECTIONS, choices_of
from .rows import CoreferenceQuestion, CoreferenceResults, LookupContext, Mentions, address_of, mentions_of

Array = npt.NDArray[Any]

MENTIONS = 3000
"""No further windows are read for ensembles after this number of mentions, whose values are kept."""

ENSEMBLES = ensemble_schema(
    "coreference_ensembles",
    "With `--ensembles`. One row per type with `--min-count` mentions in the first documents, up to about 3,000 "
    "mentions.",
    (
        TableColumn("candidates", "text", "the candidates of the report, see `--candidates`"),
        TableColumn("type", "text", "the type of mention, or `all`", "type"),
    ),
    of="mentions of the type",
    found="mentions of which these heads find an antecedent together",
    units="documents",
    arrows="An arrow ← marks heads whose map is transposed (antecedent→mention).",
)


class Ensembles(CoreferenceQuestion):
    """Do several heads find more than one?"""

    name = "ensembles"
    tables = (ENSEMBLES,)
    template = Path(__file__).with_name("ensembles.html.j2")

    def look(self, lookup_context: LookupContext) -> list[dict[str, Any]] | None:
        """Choose ensembles for each type with enough mentions, and score them."""
        mentions, most = lookup_context.mentions, lookup_context.options[EnsembleOptions].ensembles
        if not most or mentions.best_head is None:
            return None
        return ensemble_rows(
            lookup_context.parts(),
            mentions.candidates,
            singletons=mentions.singletons,
            most=most,
            method=lookup_context.options[EnsembleOptions].ensemble_method,
            min_count=lookup_context.options[CountOptions].min_count,
            replicates=lookup_context.options[CountOptions].replicates,
            seed=mentions.facts.seed,
        )

    def find(self, counts: Mentions, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the table of what was looked up. Merged runs have chosen on different documents, so they have none."""
        return None if lookups is None else ensemble_table(lookups, ENSEMBLES)

    def frames(self, answer: pd.DataFrame, results: CoreferenceResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {ENSEMBLES.name: answer}

    def show(self, answer: pd.DataFrame, results: CoreferenceResults) -> Sequence[ShownTable]:
        """Return the table."""
        return (shown_ensembles(answer, ENSEMBLES),)

    def explore(
        self, answer: pd.DataFrame, counts: Mentions, results: CoreferenceResults, kind: str
    ) -> Contribution | None:
        """Say for which types several heads find more than one, on documents that did not choose them."""
        ensembles = with_intervals(answer)
        if not ensembles:
            return None
        better = sorted(filter(finds_more, ensembles), key=lambda row: -row["gain"])
        types = ", ".join(map(mentions_of, ensembles))
        counted = f"{amount(len(ensembles), 'rows')} of the table of ensembles ({types})"
        have = verb(len(better), "have", "has", of=len(ensembles))
        if better:
            rules = {row["type"]: share(row["rule_based_accuracy"]) for row in results.best_rows}
            gains = "; ".join(
                describe_ensemble(mentions_of(row), row, beside=f", the rules {rules[row['type']]}") for row in better
            )
            text = (
                f"{len(better)} of {counted} {have} more antecedents that averaged maps of several heads find than one "
                f"head, where both are chosen on one half of the documents and scored on the other: {gains}."
            )
        else:
            text = (
                f"0 of {counted} {have} clearly more antecedents that averaged maps of several heads find than one "
                "head on documents that did not choose them."
            )
        shown = (better or ensembles)[0]["type"]
        rows = (row for row in results.best_rows if row["type"] == shown)
        return Contribution(findings=tuple(Finding(text, address_of(row, kind)) for row in rows))


def ensemble_rows(
    parts: Iterable[Iterable[MapBatch]], policy: str, *, singletons: bool, most: int, method: EnsembleMethod,
    min_count: int, replicates: int, seed: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Choose and score ensembles of up to ``most`` heads for each type of mention, as plain data."""
    # parts: the batches of the windows, of which no further part is read after enough mentions.
    families, types, gold, alone, values, shape = _read_mentions(parts, policy, method, singletons=singletons)
    ids = list(dict.fromkeys(families))  # of families, whose documents are halved and drawn as one
    family_index = np.array([ids.index(family) for family in families], dtype=np.int64)
    in_first_half = halves(ids, SPLITS, seed).T  # family, split
    draws = poisson_weights(ids, replicates, seed).astype(np.float64)
    rows = []
    for type_name in (ALL, *TYPES):
        used = [mention for mention, type_of_mention in enumerate(types) if type_name in (ALL, type_of_mention)]
        if len(used) < max(min_count, 1):
            continue
        # Mentions have different numbers of candidates. No head picks a padded one, whose value is −∞.
        most_candidates = max(len(gold[mention]) for mention in used)
        padded_values = np.full((len(used), len(values[0]), most_candidates), -np.inf, dtype=np.float32)
        padded_gold = np.zeros((len(used), most_candidates), dtype=bool)
        for row, mention in enumerate(used):
            n_candidates = len(gold[mention])
            padded_values[row, :, :n_candidates] = values[mention]
            padded_gold[row, :n_candidates] = gold[mention]
        alone_used = np.stack([alone[mention] for mention in used])
        counts, _ = score_ensembles(
            padded_values, alone_used, padded_gold, family_index[used], in_first_half, draws, most, shape, method
        )
        rows.append({"candidates": policy, "type": type_name, **counts})
    return rows


def _read_mentions(
    parts: Iterable[Iterable[MapBatch]], policy: str, method: EnsembleMethod, *, singletons: bool
) -> tuple[list[str], list[str], list[Array], list[Array], list[Array], tuple[int, int, int]]:
    """Return the families and types of mentions, which candidates are right, and their values, (heads, candidates)."""
    # Before the values comes which heads are right alone, and last the shape: the numbers of layers, heads and
    # directions.
    families, types, gold, alone, values = list[str](), list[str](), list[Array](), list[Array](), list[Array]()
    shape = (0, 0, len(DIRECTIONS))
    for part in parts:
        for batch in part:
            shape = (*batch.maps.shape[1:3], len(DIRECTIONS))
            position = word_positions(batch).numpy()
            index_of_maps, maps = -1, np.empty(0)  # the window that was read last, and its maps in float64
            for index, choice in choices_of(batch, singletons=singletons):
                window = choice.window
                if index != index_of_maps:  # one window at a time, because float64 takes twice the memory
                    index_of_maps, maps = index, batch.exact([index])[0].cpu().numpy()
                words = np.array(sorted(choice.candidates(policy)))  # the first of equals is that in the text
                mention, places = position[index, choice.head - window.start], position[index, words - window.start]
                by_direction = np.stack([maps[:, :, mention, places], maps[:, :, places, mention]], axis=2)
                families.append(window.source.family or window.source.id)
                types.append(choice.mention.type)
                gold.append(np.isin(words, sorted(choice.gold)))
                of_mention = by_direction.reshape(1, -1, len(words)).astype(np.float32)
                alone.append(right_alone(of_mention, gold[-1][None])[0])
                if method != "raw":
                    totals = np.abs(maps[..., position[index, : len(window)]]).sum(-1).reshape(-1, maps.shape[-1])
                    of_mention = divide_rows(of_mention, totals[:, [mention]], totals[:, places])
                values.append(of_mention[0])
        if len(types) >= MENTIONS:
            break
    return families, types, gold, alone, values, shape
