"""Antecedent selection per attention head (Clark et al. 2019, §4.3), with baselines and bootstrap, and its tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders.coreference import TYPES, Mention
from ...corpora_loaders.documents import Documents
from ...extractors import MapBatch, Window
from ..counting.best_head import best_head, cells_of_groups, heldout, interval, rate, rates, sum_groups
from ..counting.held_out import heldout_gain
from ..counting.outcomes import Counts, OutcomeCounts
from .decisions import (
    ALL,
    BASELINES,
    DIRECTIONS,
    POLICIES,
    SENTENCE_BINS,
    WORD_BINS,
    Traits,
    antecedent_hits,
    baseline_picks,
    bin_name,
    bin_of,
    choices_of,
    column_name,
    distance,
    traits,
)

RULES = BASELINES.index("rule-based")
"""The index of the baseline with which heads are compared."""

Array = npt.NDArray[Any]


class CoreferenceTables(NamedTuple):
    """The tables of heads, rules and chance, whose columns `attentionology.analyses.coreference.best_heads` declares.

    ``total`` is the number of mentions that are scored, which is the same for all heads, candidates and baselines.

    Attributes:
        cells: one row per policy, type of mention, direction, layer and head.
        best: one row per policy and type. A row without mentions has no head.
        baselines: one row per baseline and type.
        distances: the accuracies by distance to the nearest antecedent in sentences or words. Rows of baselines have
            the name of the baseline as ``candidates`` and no head.
    """

    cells: pd.DataFrame
    best: pd.DataFrame
    baselines: pd.DataFrame
    distances: pd.DataFrame


class CoreferenceAccuracy(OutcomeCounts):
    """How often each attention head picks an antecedent, by type of mention and choice of candidates.

    `update` takes word-level maps of windows, and `compute` returns the tables. Parts
    of a corpus can be added up, see `OutcomeCounts`. The units of the bootstrap are documents, or families of documents
    that differ in a pronoun only. It takes ``groups × replicates × (6 · layers · heads + 5) × 4`` bytes, where groups
    are the three types of mentions, times the groups of documents that an evaluation compares.

    Args:
        corpus: the documents, or the groups to which they belong, see ``groups_of_documents``.
        n_layers, n_heads: the shape of the maps.
        singletons: whether mentions of entities that are mentioned only once are candidates.
        replicates: the number of bootstrap replicates; 0 for no bootstrap.
        seed: the seed of the bootstrap, of the splits into halves, and of the random baseline.

    Example:
        >>> from attentionology import Sentence
        >>> from attentionology.analyses import CoreferenceAccuracy
        >>> from attentionology.extractors import MapBatch
        >>> from attentionology.corpora_loaders.coreference import Document, Mention
        >>> from attentionology.corpora_loaders.documents import Documents
        >>> mentions = Mention(((0, 1),), "e1", 0, "proper"), Mention(((2, 3),), "e1", 2, "pronoun")
        >>> sentences = (Sentence("s1", ("Ann", "says", "she", "sings")),)
        >>> document = Document("d1", sentences, mentions)
        >>> window = Window(id="d1", words=sentences[0].words, source=document, start=0, seen=0)
        >>> maps = torch.zeros(1, 1, 1, 4, 4)
        >>> maps[..., 2, 0] = 1.0  # she → Ann
        >>> corpus = Documents(sentences, documents=(document,))
        >>> metric = CoreferenceAccuracy(corpus, n_layers=1, n_heads=1, replicates=0)
        >>> metric.update(MapBatch(maps, torch.tensor([4]), torch.zeros(1, 4, dtype=torch.bool), (window,)))
        >>> metric.compute().best.query("candidates == 'words'")[["type", "total", "correct"]].values.tolist()
        [['all', 1, 1], ['pronoun', 1, 1], ['proper', 0, 0], ['nominal', 0, 0]]
    """

    inventory = "corpus"
    distances: Int[Tensor, "types sentence_bins word_bins outcomes"]

    def __init__(
        self,
        corpus: Documents | Sequence[Sequence[str]],
        n_layers: int,
        n_heads: int,
        *,
        singletons: bool = False,
        replicates: int = 1000,
        seed: int = 0,
    ) -> None:
        self.labels = groups_of_documents(corpus)
        names = [group_name(labels, kind) for labels in self.labels for kind in TYPES]
        shape = (len(POLICIES), len(DIRECTIONS), n_layers, n_heads)
        super().__init__(
            names, shape, len(BASELINES), replicates=replicates, seed=seed, configuration=("coreference", singletons)
        )
        self.singletons = singletons
        outcomes = self.counts.shape[-1]
        bins = torch.zeros(len(TYPES), len(SENTENCE_BINS), len(WORD_BINS), outcomes, dtype=torch.int64)
        self.add_state("distances", bins, "sum")

    @classmethod
    def joined_arguments(cls, arguments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the arguments of `Metric.joined_arguments`, which do not depend on the order of the runs."""
        joined = super().joined_arguments(arguments)
        return {**joined, "corpus": groups_of_documents(joined["corpus"])}

    def absorb(self, other: OutcomeCounts) -> None:
        """Add counts whose groups may be fewer, see `OutcomeCounts.absorb`."""
        super().absorb(other)
        if isinstance(other, CoreferenceAccuracy):
            self.distances += other.distances

    def update(self, batch: MapBatch) -> None:
        """Count a batch of word-level maps of windows.

        Raises:
            ValueError: the maps are at token level or have another shape, an input is not a window of a document, or a
                document belongs to groups to which no document of the corpus belongs.
            TooManyDecisionsError: a group has more mentions than the bootstrap can count.
        """
        if batch.level != "word":
            raise ValueError("coreference needs word-level maps (level='word')")
        self.check_shape(batch.maps.shape[1:3])
        windows = [window for window in batch.sentences if isinstance(window, Window)]
        if len(windows) < len(batch):
            raise ValueError("coreference needs maps of windows of documents; see extractors.make_windows")
        if unknown := next((window.source for window in windows if window.source.labels not in self.labels), None):
            raise ValueError(f"document {unknown.id!r} belongs to groups that no document of the corpus does")
        choices = choices_of(batch, singletons=self.singletons)
        hits = antecedent_hits(batch, choices)
        baselines = np.zeros((len(choices), len(BASELINES)), dtype=bool)
        groups = np.zeros(len(choices), dtype=np.int64)
        bins = np.zeros((len(choices), 3), dtype=np.int64)  # type, distance in sentences, distance in words
        traits_of: dict[int, dict[Mention, Traits]] = {}  # of the mentions of each window
        for row, (index, choice) in enumerate(choices):
            document = windows[index].source
            if index not in traits_of:
                traits_of[index] = traits(document, windows[index].start, windows[index].stop)
            picked = baseline_picks(document, choice, traits_of[index], self.seed)
            baselines[row] = [candidate is not None and candidate.head in choice.gold for candidate in picked]
            kind = TYPES.index(choice.mention.type)
            groups[row] = self.labels.index(document.labels) * len(TYPES) + kind
            sentences, words = distance(document, choice)
            bins[row] = kind, bin_of(sentences, SENTENCE_BINS), bin_of(words, WORD_BINS)
        window_of_choice = np.array([index for index, _ in choices], dtype=np.int64)
        families = [window.source.family or window.source.id for window in windows]  # halved and drawn as one
        outcomes = self.add_outcomes(groups, window_of_choice, families, hits, baselines)
        self.distances.index_put_(tuple(torch.from_numpy(bins.T)), outcomes.to(self.distances), accumulate=True)

    def compute(self) -> CoreferenceTables:
        """Return the tables, see `CoreferenceTables`."""
        types, (subsets, replicates) = self.members(), self.split_counts()
        best = pd.DataFrame(
            _best(policy, name, rows, subsets, replicates)
            for policy in range(len(POLICIES))
            for name, rows in types.items()
        )
        baselines = pd.DataFrame(
            _baseline(index, name, rows, subsets, replicates)
            for index in range(len(BASELINES))
            for name, rows in types.items()
        )
        return CoreferenceTables(
            cells=self.cells_of("type", types, subsets),
            best=best.astype({"layer": "Int64", "head": "Int64", "tied": "Int64"}),
            baselines=baselines,
            distances=_distances(self.distances.cpu().numpy(), subsets.correct.shape[2:]),
        )

    @staticmethod
    def cells_of(column: str, groups: Mapping[str, list[int]], subsets: Counts) -> pd.DataFrame:
        """Return one row per policy, group of decisions, direction, layer and head; ``column`` names the group."""
        # groups: the indices of the counts of each group.
        correct = np.stack([subsets.correct[rows, 0].sum(0) for rows in groups.values()], axis=1)  # policy, group, …
        total = np.array([subsets.total[rows, 0].sum() for rows in groups.values()])  # subset 0 is the whole corpus
        names = {"candidates": np.repeat(POLICIES, len(groups)).tolist(), column: [*groups] * len(POLICIES)}
        by_group = correct.reshape(-1, *correct.shape[2:])
        return cells_of_groups(by_group, np.tile(total, len(POLICIES)), DIRECTIONS, names)

    def members(self) -> dict[str, list[int]]:
        """Return the indices of the counts of each type of mention, all types together first."""
        # Groups of documents follow each other, each with one count for each of `TYPES`.
        members: dict[str, list[int]] = {ALL: list(range(len(self.groups)))}
        for kind, name in enumerate(TYPES):
            members[name] = [group for group in members[ALL] if group % len(TYPES) == kind]
        return members

    def members_by_label(self) -> dict[str, list[int]]:
        """Return the indices of the counts of each group of documents; see `members` for their order."""
        return {
            label: [group for group in range(len(self.groups)) if label in self.labels[group // len(TYPES)]]
            for label in sorted({label for labels in self.labels for label in labels})
        }


def groups_of_documents(corpus: Documents | Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the distinct groups of documents, sorted. Each is a tuple of labels, empty for most corpora."""
    groups = corpus.facts.groups if isinstance(corpus, Documents) else {tuple(labels) for labels in corpus}
    return sorted(groups)


def mentions_by_group(corpus: Documents) -> Counter[str]:
    """Return the number of mentions to resolve in each group that is counted, of which some may not be scored."""
    mentions: Counter[str] = Counter()
    for (labels, kind), n_mentions in corpus.facts.asked.items():
        mentions[group_name(labels, kind)] += n_mentions
    return mentions


def group_name(labels: Sequence[str], kind: str) -> str:
    """Return the name of the mentions of one type in documents that belong to these groups."""
    return " + ".join((*labels, kind))


def _best(policy: int, name: str, rows: list[int], subsets: Counts, replicates: Counts) -> dict[str, Any]:
    """Return the row of the best head under a policy for mentions of a type, whose counts have these indices."""
    # Subset 0 is the whole corpus. The axes of `correct` are subset, direction, layer and head.
    correct, total = subsets.correct[rows, :, policy].sum(0), subsets.total[rows].sum(0)
    n = int(total[0])
    chosen, head_columns = best_head(correct[0], n, DIRECTIONS)  # chosen: direction, layer, head
    n_right = head_columns["correct"]
    if not n:  # no decisions that could choose a head
        head_columns |= dict.fromkeys(("layer", "head", "direction", "tied"))
    right_of_baselines = subsets.baselines[rows, 0].sum(0).tolist()
    drawn_total = sum_groups(replicates.total[rows])  # one number per replicate, as all that is drawn
    drawn_right = sum_groups(replicates.correct[(rows, slice(None), policy, *chosen)])
    low, high = interval(rates(drawn_right, drawn_total))
    baseline_columns: dict[str, float] = {}
    for baseline, right in zip(BASELINES, right_of_baselines, strict=True):
        baseline_columns[f"{column_name(baseline)}_correct"] = right
        baseline_columns[f"{column_name(baseline)}_accuracy"] = rate(right, n)
    gain_columns = {}
    for column, index in (("gain", RULES), ("gain_nearest", BASELINES.index("nearest"))):
        gain_columns[column] = rate(n_right - right_of_baselines[index], n)
        drawn_gains = rates(drawn_right - sum_groups(replicates.baselines[rows, :, index]), drawn_total)
        gain_columns[f"{column}_low"], gain_columns[f"{column}_high"] = interval(drawn_gains)
    of_policy, drawn_of_policy = (
        replace(counts, correct=counts.correct[:, :, policy]) for counts in (subsets, replicates)
    )
    return {
        "candidates": POLICIES[policy],
        "type": name,
        "total": n,
        **head_columns,
        "accuracy_low": low,
        "accuracy_high": high,
        **baseline_columns,
        **gain_columns,
        **heldout(correct, total),
        **heldout_gain(rows, of_policy, drawn_of_policy, [RULES]),
    }


def _baseline(index: int, name: str, rows: list[int], subsets: Counts, replicates: Counts) -> dict[str, Any]:
    """Return the row of a baseline for mentions of a type, whose counts have these indices."""
    right, n = int(subsets.baselines[rows, 0, index].sum()), int(subsets.total[rows, 0].sum())
    low, high = interval(rates(sum_groups(replicates.baselines[rows, :, index]), sum_groups(replicates.total[rows])))
    return {
        "baseline": BASELINES[index],
        "type": name,
        "correct": right,
        "total": n,
        "accuracy": rate(right, n),
        "accuracy_low": low,
        "accuracy_high": high,
    }


def _distances(counts: Array, shape: tuple[int, ...]) -> pd.DataFrame:
    """Return the accuracies by distance in sentences and in words, for each type and for all types together."""
    n_heads = math.prod(shape)
    frames = []
    for unit, by_bin, bins in (("sentences", counts.sum(2), SENTENCE_BINS), ("words", counts.sum(1), WORD_BINS)):
        for name, bins_of_type in zip((ALL, *TYPES), [by_bin.sum(0), *by_bin], strict=True):
            for index, outcomes in enumerate(bins_of_type):
                right_of_heads, right_of_baselines = np.split(outcomes[:-1], [n_heads])
                total = int(outcomes[-1])  # the last outcome of every decision is 1
                names = {"type": name, "unit": unit, "distance": bin_name(index, bins)}
                names_by_policy = {key: [value] * len(POLICIES) for key, value in names.items()}
                keys = {"candidates": POLICIES, **names_by_policy}
                totals = np.full(len(POLICIES), total)
                frames.append(cells_of_groups(right_of_heads.reshape(shape), totals, DIRECTIONS, keys))
                columns = {"candidates": BASELINES, **names, "correct": right_of_baselines, "total": total}
                accuracies = [rate(right, total) for right in right_of_baselines.tolist()]
                frames.append(pd.DataFrame({**columns, "accuracy": accuracies}))
    return pd.concat(frames, ignore_index=True).astype({"layer": "Int64", "head": "Int64"})
