"""The metric of antecedent selection per attention head (Clark et al. 2019, §4.3), with baselines and bootstrap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders.coreference import TYPES, Document, Mention
from ...corpora_loaders.documents import Documents
from ...extractors import MapBatch, Window
from ..counting.outcomes import OutcomeCounts
from .decisions import (
    BASELINES,
    DIRECTIONS,
    POLICIES,
    Choice,
    Traits,
    antecedent_hits,
    baseline_picks,
    choices_of,
    traits,
)
from .tables import ALL, SENTENCE_BINS, WORD_BINS, CoreferenceTables, bin_of, group_name, tables


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
        return tables(self.members(), self.members_by_label(), *self.split_counts(), self.distances.cpu().numpy())

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


def distance(document: Document, choice: Choice) -> tuple[int, int]:
    """Return the numbers of sentences and words from the head word of a mention to that of its nearest antecedent."""
    head = choice.head
    nearest = min(choice.gold, key=lambda word: abs(word - head))
    return abs(document.sentence_of(head) - document.sentence_of(nearest)), abs(head - nearest)
