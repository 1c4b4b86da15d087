"""The heads of two models matched by what they do.

The profile of a head is its accuracy for each relation in each direction, with its scores as a detector of copies if
they are asked for, and the similarity of two heads is the cosine of their profiles. The heads of one model are assigned
to those of the other so that the sum of similarities is as large as possible (the Hungarian algorithm). Any two models
have such an assignment, and relations that are easy for all heads make all of them similar. So a match counts only if
its similarity is above the 95th percentile of those with shuffled profiles: each entry of the profiles of one model
goes to its heads in a random order, so that each relation stays as easy or as difficult as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linear_sum_assignment

from ...reports.columns import Schema, TableColumn
from ...reports.finding import Finding
from ...reports.format import percent, rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount
from ..comparison.results import Pairing
from .collecting import CellCounts, Collector, KeptCell
from .rows import SurveyFacts, SurveyQuestion, averaged_relations, rows_table
from .seeds import counted_seeds, groups_of, name_of_seeds

Array = npt.NDArray[Any]

SURVEY_SEED_HEADS = Schema(
    "survey_seed_heads",
    "One row per head of the first seed of a group, and other seed: the head of the other seed that does the most "
    "similar, see [](definitions/dependency.md#models-that-differ-by-their-seeds).",
    (
        TableColumn("group treebank map", "text", "what was read"),
        TableColumn("seed", "text", "the first seed"),
        TableColumn("layer head", "number from 1", "one of its heads"),
        TableColumn("other_seed", "text", "another seed"),
        TableColumn("other_layer other_head", "number from 1", "its head that is matched with this one"),
        TableColumn("relations", "count", "relations in the profiles"),
        TableColumn("patterns", "count", "patterns of detectors in the profiles, 0 without `--detectors`"),
        TableColumn("similarity", "number, 0 to 1", "the cosine of the profiles of both heads"),
        TableColumn(
            "threshold", "number, 0 to 1", "the 95th percentile of the similarities of matches if profiles are shuffled"
        ),
        TableColumn("above", "count", "1 if `similarity` is above `threshold`, else 0"),
    ),
)

SHUFFLES = 20
"""How often profiles are shuffled."""


class Profiles(NamedTuple):
    """What is kept of the counts of a cell."""

    # the accuracies of each head, shape (directions, layers, heads), for each relation with enough words
    accuracies: Mapping[str, Array]
    seed: int  # of everything random
    # the scores of each head as a detector, shape (layers, heads), by text and pattern
    scores: Mapping[tuple[str, str], Array] = {}


@dataclass(frozen=True, eq=False)
class Matches:
    """The rows of ``survey_seed_heads.csv``."""

    rows: Sequence[Mapping[str, Any]] = ()


class SeedMatches(SurveyQuestion):
    """Do the heads of models that differ only by their seeds do the same?"""

    name = "seed_matches"
    tables = (SURVEY_SEED_HEADS,)
    template = Path(__file__).with_name("seed_matches.html.j2")
    collection = Matches

    def collector(self, facts: SurveyFacts) -> MatchCollector | None:
        """Return what matches the heads of seeds, if models differ by their seeds."""
        return MatchCollector(facts.seed_groups) if facts.seed_groups else None

    def find(self, counts: SurveyFacts, lookups: Matches | None, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the matches; None if no group has two seeds that were counted."""
        if not lookups or not lookups.rows:
            return None
        rows = [{"patterns": 0, **row} for row in lookups.rows]  # earlier surveys did not look for detectors
        return rows_table(rows, SURVEY_SEED_HEADS)

    def frames(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, pd.DataFrame]:
        """Return the table as it is written."""
        return {SURVEY_SEED_HEADS.name: answer}

    def show(self, answer: pd.DataFrame, results: SurveyFacts) -> Sequence[ShownTable]:
        """Return how many heads of the first seed of a group have a counterpart in each other seed."""
        return (matches_table(answer, results),)

    def findings(self, answer: pd.DataFrame, results: SurveyFacts) -> Sequence[Finding]:
        """Say for each group how many heads have a counterpart, for the first kind of map."""
        return list(_findings(answer, results))


class MatchCollector(Collector[Profiles, Matches]):
    """Matches the heads of the first seed of each group with those of each other seed, treebank by treebank."""

    def __init__(self, groups: Mapping[str, Mapping[str, str]]) -> None:
        self.groups = groups
        self._rows: list[dict[str, Any]] = []

    def keep(self, counts: CellCounts) -> Profiles:
        """Return the accuracies of all heads."""
        words, accuracies = counts.words, {}
        for name, rows in averaged_relations(words.members, words.facts.asked).items():
            n = int(words.subsets.total[rows, 0].sum())  # subset 0 is the whole corpus
            if n >= max(1, counts.min_count):
                accuracies[name] = words.subsets.correct[rows, 0].sum(0) / n
        return Profiles(accuracies, counts.families[0].seed, _scores_of(counts.detectors))

    def add(self, treebank: str, cells: Sequence[KeptCell], pairing_of: Callable[[str, str], Pairing]) -> None:
        """Match the heads of the seeds that were counted on a treebank."""
        for kind, groups in counted_seeds(cells, self.groups).items():
            for group, seeds in groups.items():
                names = {"group": group, "treebank": treebank, "map": kind}
                profiles = {seed: cell.kept[kind] for seed, cell in seeds.items()}
                self._rows += [{**names, **row} for row in match_rows(profiles)]

    def collect(self) -> Matches:
        """Return the matches on all treebanks."""
        return Matches(self._rows)


def match_rows(seeds: Mapping[str, Profiles]) -> Iterator[dict[str, Any]]:
    """Yield a row for each head of the first seed and each other seed, with the head that is matched with it."""
    (first_seed, first), *others = seeds.items()
    for other_seed, other in others:
        relations = [name for name in first.accuracies if name in other.accuracies]
        if not relations:
            continue
        accuracies = [np.stack([each.accuracies[name] for name in relations]) for each in (first, other)]
        patterns = [name for name in first.scores if name in other.scores]
        of_detectors = [[each.scores[name].reshape(-1, 1) for name in patterns] for each in (first, other)]
        profiles, other_profiles = (
            np.hstack([profiles_of(rates), *columns]) for rates, columns in zip(accuracies, of_detectors, strict=True)
        )
        threshold = chance_similarity(profiles, other_profiles, first.seed)
        n_heads, other_n_heads = (rates.shape[-1] for rates in accuracies)
        for index, other_index, similarity in zip(*matches(profiles, other_profiles), strict=True):
            yield {
                "seed": first_seed,
                "layer": int(index) // n_heads + 1,
                "head": int(index) % n_heads + 1,
                "other_seed": other_seed,
                "other_layer": int(other_index) // other_n_heads + 1,
                "other_head": int(other_index) % other_n_heads + 1,
                "relations": len(relations),
                "patterns": len(patterns),
                "similarity": float(similarity),
                "threshold": threshold,
                "above": int(similarity > threshold),
            }


def _scores_of(detectors: pd.DataFrame | None) -> dict[tuple[str, str], Array]:
    """Return the scores of detectors by text and pattern, shape (layers, heads); nothing without detectors."""
    if detectors is None:
        return {}
    by_pattern = detectors.sort_values(["layer", "head"]).groupby(["text", "pattern"], sort=False)
    shape = int(detectors["layer"].max()), int(detectors["head"].max())
    return {(str(text), str(pattern)): rows["score"].to_numpy().reshape(shape) for (text, pattern), rows in by_pattern}


def profiles_of(rates: Array) -> Array:
    """Return the profile of each head, shape (layers × heads, relations × directions).

    The accuracies have the shape (relations, directions, layers, heads).
    """
    return np.moveaxis(rates, (2, 3), (0, 1)).reshape(rates.shape[2] * rates.shape[3], -1)


def matches(first: Array, other: Array) -> tuple[Array, Array, Array]:
    """Match profiles so that the sum of similarities is as large as possible.

    Returns:
        the indices of the profiles on either side that are matched, and the similarity of each pair.

    Example:
        >>> import numpy as np
        >>> first, other, similarity = matches(np.array([[0.9, 0.1], [0.0, 0.5]]), np.array([[0.0, 1.0], [0.9, 0.1]]))
        >>> first.tolist(), other.tolist(), similarity.round(3).tolist()
        ([0, 1], [1, 0], [1.0, 1.0])
    """
    similarities = _of_length_1(first) @ _of_length_1(other).T
    rows, columns = linear_sum_assignment(similarities, maximize=True)
    return rows, columns, similarities[rows, columns]


def chance_similarity(first: Array, other: Array, seed: int) -> float:
    """Return the 95th percentile of the similarities of matches if the profiles of the other model are shuffled."""
    rng = np.random.default_rng(seed)
    found = [matches(first, rng.permuted(other, axis=0))[2] for _ in range(SHUFFLES)]
    return float(np.quantile(np.concatenate(found), 0.95))


def _of_length_1(profiles: Array) -> Array:
    """Return profiles divided by their lengths; those of heads that find nothing stay 0."""
    lengths = np.linalg.norm(profiles, axis=1, keepdims=True)
    divided: Array = np.divide(profiles, lengths, out=np.zeros_like(profiles), where=lengths > 0)
    return divided


def matches_table(answer: pd.DataFrame, survey: SurveyFacts) -> ShownTable:
    """Return how many heads of the first seed of a group have a counterpart in each other seed."""
    columns = [
        TableColumn("name", "text", "", "seeds", wraps=True),
        TableColumn("heads", "count", "", "heads"),
        TableColumn("above", "share", "", "above chance"),
        TableColumn("layer", "share", "", "of these, in the same layer"),
        TableColumn("similarity", "number", "", "mean similarity"),
        TableColumn("threshold", "number", "", "threshold"),
    ]
    groups, rows = groups_of(rows_of(answer)), []
    for names, of_pair in _pairs(answer):
        above = of_pair[of_pair["above"] == 1]
        rows.append(
            {
                "name": name_of_seeds(names, groups, survey, f"{names['seed']} and {names['other_seed']}"),
                "heads": len(of_pair),
                "above": len(above) / len(of_pair),
                "layer": float((above["layer"] == above["other_layer"]).astype(float).mean()),
                "similarity": float(of_pair["similarity"].mean()),
                "threshold": float(of_pair["threshold"].iloc[0]),
            }
        )
    return ShownTable("survey_seed_matches", "Heads of two seeds that do the same (in %)", columns, rows)


def _pairs(answer: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield the matches of each pair of seeds, with the names of what was read."""
    names = ["group", "treebank", "map", "seed", "other_seed"]
    for key, of_pair in answer.groupby(names, sort=False):  # a tuple of names
        yield dict(zip(names, map(str, key), strict=True)), of_pair


def _findings(answer: pd.DataFrame, survey: SurveyFacts) -> Iterator[Finding]:
    """Yield what is said of each group on each treebank."""
    groups = groups_of(rows_of(answer))
    of_first_kind = answer[answer["map"] == survey.maps[0]]
    for (group, treebank), rows in of_first_kind.groupby(["group", "treebank"], sort=False):
        above = rows[rows["above"] == 1]
        layers = float((above["layer"] == above["other_layer"]).astype(float).mean())
        where = f"{groups[str(group)]} in {survey.short_treebanks[str(treebank)]}"
        others = amount(rows["other_seed"].nunique(), "other seeds")
        yield Finding(
            f"{percent(len(above) / len(rows))} % of the heads of seed {rows['seed'].iloc[0]} of {where} find the same "
            f"relations as a head of another seed, where shuffled heads give 5.0 % ({others}; {percent(layers)} % of "
            "these pairs are in the same layer).",
            "#seed_matches",
        )
