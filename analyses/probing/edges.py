"""Which edges and heads are found? Scores by the length, the direction and the relation of an arc."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from ...corpora_loaders import is_punct
from ...corpora_loaders.tree import plain_relation
from ...probes.registry import RANDOM
from ...probes.states.annotation import tree_distances
from ...probes.states.tree_scores import tree_edges
from ...reports.columns import Schema, TableColumn, bounds
from ...reports.format import rare_in_parentheses, rows_of
from ...reports.table import ShownTable
from ..counting.best_head import interval, rate
from .rows import NO_LAYER, ROOT_LENGTH, Key, ProbeQuestion, ProbeResults, Tested, TestedSentence, place_in_table
from .trainings.state_folds import MODEL
from .trainings.training import Kept

EDGES = Schema(
    "probe_edges",
    "With probes of hidden states. One row per group of arcs and whatever finds edges (`uuas`) or heads (`uas`), "
    "without punctuation.",
    (
        TableColumn("score", "text", "`uuas`: edges of trees, in no direction; `uas`: heads of words, without roots"),
        TableColumn("probe", "text", "the probe that finds edges, or the method of `probe.csv` that finds heads"),
        TableColumn("layer source", "text", "as in `probe_states.csv`; `source` is empty for `uas`"),
        TableColumn(
            "by", "text", "`all`; `length`; `direction`; `chain`: whether the edge is in the chain of neighboring "
            "words; or `relation`. `uas` has `all` and `direction`",
        ),
        TableColumn(
            "group", "text", "the length in words, the side of the head, the relation, and so on; `through "
            "punctuation` for edges that are no arcs, because punctuation stood between the words", "arcs",
        ),
        TableColumn("runs", "count", "training runs"),
        TableColumn("found", "count", "found edges or heads, added up over all runs"),
        TableColumn("total", "count", "edges or heads of the group, of each run", "n", cell=rare_in_parentheses),
        TableColumn(
            "share share_low share_high", "share",
            "the mean over runs: `found` / (`total` × `runs`); intervals over sentences",
        ),
    ),
)  # fmt: skip

LENGTHS = (("1", 1, 1), ("2", 2, 2), ("3-5", 3, 5), ("6+", 6, 10**9))
"""Ranges of lengths: their names, and the first and the last length of each."""

NO_ARC = "through punctuation"
LEFT, RIGHT = "head on the left", "head on the right"
IN_CHAIN, NOT_IN_CHAIN = "in the chain", "not in the chain"


@dataclass(frozen=True)
class Arcs:
    """Edges or heads of all tested sentences, with the groups that they belong to."""

    sentence: Int[ndarray, " arcs"]  # the index of its sentence
    groups: tuple[tuple[str, str, Bool[ndarray, " arcs"]], ...]  # by what, the name, and the arcs of each group

    @classmethod
    def of_trees(cls, sentences: Sequence[TestedSentence]) -> Arcs:
        """Return the edges of all trees, in the order in which they are counted."""
        rows = [(index, *edge) for index, sentence in enumerate(sentences) for edge in _edges(sentence)]
        sentence, length, direction, relation, chain = zip(*rows, strict=True) if rows else ([], [], [], [], [])
        lengths, directions = np.array(length, dtype=np.int64), np.array(direction, dtype=object)
        relations, in_chain = np.array(relation, dtype=object), np.array(chain, dtype=bool)
        frequent = sorted(Counter(relation).items(), key=lambda item: (item[0] == NO_ARC, -item[1], item[0]))
        groups = [
            ("all", "all", np.ones(len(rows), dtype=bool)),
            *(("length", name, (lengths >= low) & (lengths <= high)) for name, low, high in LENGTHS),
            *(("direction", name, directions == name) for name in (LEFT, RIGHT, NO_ARC)),
            *(("chain", name, in_chain == inside) for name, inside in ((IN_CHAIN, True), (NOT_IN_CHAIN, False))),
            *(("relation", name, relations == name) for name, _ in frequent),
        ]
        return cls(np.array(sentence, dtype=np.int64), tuple(group for group in groups if group[2].any()))

    @classmethod
    def of_heads(cls, counts: Tested) -> Arcs:
        """Return all words of the tested sentences, of which those with a head word are in groups."""
        heads = [(head or 0) - word for each in counts.sentences for word, head in enumerate(each.heads, start=1)]
        has_head = counts.words.scored & (counts.words.length != ROOT_LENGTH)
        is_right = np.array(heads, dtype=np.int64) > 0
        sides = (("direction", LEFT, has_head & ~is_right), ("direction", RIGHT, has_head & is_right))
        return cls(
            counts.words.sentence, tuple(group for group in (("all", "all", has_head), *sides) if group[2].any())
        )

    def scores(
        self, found: Bool[ndarray, "runs arcs"], weights: Float[ndarray, "replicates sentences"]
    ) -> Iterator[dict[str, Any]]:
        """Yield the score of each group with its interval, given what each run has found."""
        runs, sentences = len(found), weights.shape[1]
        times = found.sum(0)
        for by, name, of_group in self.groups:
            in_sentence = self.sentence[of_group]
            total = weights @ np.bincount(in_sentence, minlength=sentences)
            right = weights @ np.bincount(in_sentence, weights=times[of_group], minlength=sentences)
            low, high = interval(right[total > 0] / total[total > 0] / runs)
            n_found, n = int(times[of_group].sum()), int(of_group.sum())
            value = rate(n_found, n * runs)
            yield {
                "by": by, "group": name, "runs": runs, "found": n_found, "total": n, "share": value, "share_low": low,
                "share_high": high,
            }  # fmt: skip


def _edges(sentence: TestedSentence) -> Iterator[tuple[int, str, str, bool]]:
    """Yield the length, the direction and the relation of each edge of a tree, and whether the chain has it."""
    kept = np.array([not is_punct(relation) for relation in sentence.relations], dtype=bool)
    words = np.flatnonzero(kept).tolist()
    chain = {*pairwise(words)}
    for first, second in sorted(tree_edges(tree_distances(sentence.heads), kept)):
        direction, relation = NO_ARC, NO_ARC
        if sentence.heads[first] == second + 1:
            direction, relation = RIGHT, plain_relation(sentence.relations[first])
        elif sentence.heads[second] == first + 1:
            direction, relation = LEFT, plain_relation(sentence.relations[second])
        yield second - first, direction, relation, (first, second) in chain


@dataclass(frozen=True)
class EdgeTable:
    """The answer: the table, and the layer of each probe that the dev sentences chose."""

    edges: pd.DataFrame
    chosen: Mapping[str, int]


class Edges(ProbeQuestion):
    """Which edges and heads are found?"""

    name = "edges"
    tables = (EDGES,)
    template = Path(__file__).with_name("edges.html.j2")

    def look(self, lookup_context: Kept) -> dict[str, Any] | None:
        """Keep what has predicted each column of edges, and which layers were chosen."""
        states = lookup_context.trained.states
        if not states.outcomes:
            return None
        of_edges = [outcome.tried[0] for outcome in states.outcomes if outcome.edges is not None]
        tried = [[each.probe, each.layer, each.source] for each in of_edges]
        return {"tried": tried, "chosen": dict(states.chosen)}

    def join(self, lookups: Sequence[Any]) -> Any:
        """Return what the first of merged runs knows, if all have trained the same and chosen the same layers."""
        return lookups[0] if lookups and all(each == lookups[0] for each in lookups) else None

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> EdgeTable | None:
        """Return the scores of all groups; None without probes of hidden states."""
        if lookups is None or counts.edges is None:
            return None
        columns: dict[tuple[str, int, str], list[int]] = {}
        for column, (probe, layer, source) in enumerate(lookups["tried"]):
            columns.setdefault((probe, layer, source), []).append(column)
        rows = []
        if columns:
            of_trees = Arcs.of_trees(counts.sentences)
            if len(of_trees.sentence) != len(counts.edges):
                raise ValueError(f"{len(counts.edges)} edges were counted, and the trees have {len(of_trees.sentence)}")
            for (probe, layer, source), of_runs in columns.items():
                of_layer, named = place_in_table(layer, source)
                key = {"score": "uuas", "probe": probe, "layer": of_layer, "source": named}
                rows += [key | row for row in of_trees.scores(counts.edges[:, of_runs].T, counts.weights)]
        of_heads = Arcs.of_heads(counts)
        for method, found in _found_heads(counts).items():
            layer, _ = place_in_table(lookups["chosen"].get(method.removesuffix(RANDOM), NO_LAYER), "")
            key = {"score": "uas", "probe": method, "layer": layer, "source": ""}
            rows += [key | row for row in of_heads.scores(found, counts.weights)]
        return EdgeTable(pd.DataFrame(rows, columns=EDGES.names), lookups["chosen"])

    def frames(self, answer: EdgeTable, results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {EDGES.name: answer.edges}

    def show(self, answer: EdgeTable, results: ProbeResults) -> Sequence[ShownTable]:
        """Return the scores of all groups: of edges at the chosen layers, and of heads."""
        edges = answer.edges
        of_layer = edges["layer"].isna() | (edges["layer"] == edges["probe"].map(dict(answer.chosen)))
        shown = []
        for score, name, title in (
            ("uuas", "probe_edges", "Edges found (UUAS in %)"), ("uas", "probe_directions", "Heads found (UAS in %)"),
        ):  # fmt: skip
            rows = edges[(edges["score"] == score) & of_layer]
            if len(rows):
                shown.append(_shown_table(rows, name, title, results.min_count))
        return shown

    def values(self, answer: EdgeTable, results: ProbeResults) -> Mapping[str, Any]:
        """Return which of the two tables there are, and the least number of edges of a row that is not gray."""
        return {"edge_scores": set(answer.edges["score"]), "least_edges": results.min_count}


def _found_heads(counts: Tested) -> dict[str, Bool[ndarray, "runs words"]]:
    """Return which words get their head by the best candidate, by method and run."""
    argmax: list[tuple[Key, Any]] = [(key, attempts) for key, attempts in counts.groups.items() if key[1] == "argmax"]
    return {method: np.stack([attempt.right for attempt in attempts]) for (method, _), attempts in argmax}


def _shown_table(rows: pd.DataFrame, name: str, title: str, min_count: int) -> ShownTable:
    """Return a table with a row for each group and a column for whatever finds edges or heads."""
    headings: dict[str, str] = {}
    by_group: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows_of(rows):
        of_probe = f"{row['probe']}, layer {row['layer']:.0f}" if not pd.isna(row["layer"]) else row["probe"]
        heading = of_probe if row["source"] in ("", MODEL) else row["source"]
        if row["source"] and row["source"] != MODEL and not pd.isna(row["layer"]):
            heading = f"{of_probe}, {row['source']}"
        key = f"{row['probe']} {row['source']}"
        headings[key] = heading
        group = by_group.setdefault(
            (row["by"], row["group"]),
            {name: row[name] for name in ("by", "group", "total")} | {"is_frequent": row["total"] >= min_count},
        )
        group |= {f"{part} {key}": row[f"share{part}"] for part in ("", "_low", "_high")}
    columns = [*EDGES.only("arcs", "n"), *(_score_column(key, heading) for key, heading in headings.items())]
    return ShownTable(
        name, title, columns, list(by_group.values()), style=lambda row: "" if row["is_frequent"] else "rare"
    )


def _score_column(key: str, heading: str) -> TableColumn:
    """Return the column of whatever finds edges or heads, whose name may hold spaces."""
    share, write = TableColumn("value", "share", ""), bounds()
    return replace(
        share, names="", heading=heading, cell=lambda row: share.text({"value": row[f" {key}"]}),
        beside=lambda row: write({"low": row[f"_low {key}"], "high": row[f"_high {key}"]}),
    )  # fmt: skip
