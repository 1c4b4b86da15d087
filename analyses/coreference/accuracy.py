"""Per-head coreference: antecedent selection accuracy (Clark et al. 2019, §4.3), with what is needed to believe it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from attentionology.analyses.coreference.agreement import Traits, traits
from attentionology.analyses.coreference.antecedents import DIRECTIONS, antecedent_hits
from attentionology.analyses.coreference.baselines import BASELINES, baseline_hits
from attentionology.analyses.coreference.choices import POLICIES, Choice, choices_of
from attentionology.analyses.coreference.tables import (
    ALL,
    SENTENCE_BINS,
    WORD_BINS,
    CoreferenceTables,
    bin_of,
    group_name,
    tables,
)
from attentionology.analyses.shared.outcomes import OutcomeCounts, state_bytes
from attentionology.corpora_loaders.coreference import TYPES, Document, Documents, Mention
from attentionology.extractors import MapBatch, Window


class CoreferenceAccuracy(OutcomeCounts):
    """How often each attention head picks an antecedent, by type of mention and choice of candidates.

    A `torchmetrics.Metric`: `update` with word-level `MapBatch` es of `Window` s, `compute` the tables; parts of a
    corpus can be added up, see `OutcomeCounts`. Documents, or families of them, are what is resampled. The bootstrap
    takes ``groups × replicates × (6 · layers · heads + 5) × 4`` bytes; groups are three, times the groups of
    documents that an evaluation compares.

    Args:
        corpus: the documents; told are the groups they belong to.
        n_layers, n_heads: shape of the maps.
        singletons: whether mentions of entities that are mentioned only once are candidates.
        replicates: number of bootstrap replicates; 0 for none.
        seed: of the bootstrap, of the splits into halves, and of the baseline that draws.
    """

    distances: Int[Tensor, "types sentence_bins word_bins outcomes"]

    def __init__(
        self,
        corpus: Documents,
        n_layers: int,
        n_heads: int,
        *,
        singletons: bool = False,
        replicates: int = 1000,
        seed: int = 0,
    ) -> None:
        self.labels = sorted({document.labels for document in corpus.documents})
        names = [group_name(labels, kind) for labels in self.labels for kind in TYPES]
        shape = (len(POLICIES), len(DIRECTIONS), n_layers, n_heads)
        super().__init__(
            names, shape, len(BASELINES), replicates=replicates, seed=seed, configuration=("coreference", singletons)
        )
        self.singletons = singletons
        self._traits: dict[str, dict[Mention, Traits]] = {}
        outcomes = self.counts.shape[-1]
        bins = torch.zeros(len(TYPES), len(SENTENCE_BINS), len(WORD_BINS), outcomes, dtype=torch.int64)
        self.add_state("distances", bins, "sum", persistent=True)

    @staticmethod
    def state_bytes(corpus: Documents, n_layers: int, n_heads: int, *, replicates: int = 1000) -> int:
        """What the counts take in memory; arguments as those of the class."""
        shape = (len(POLICIES), len(DIRECTIONS), n_layers, n_heads)
        groups = len({document.labels for document in corpus.documents}) * len(TYPES)
        return state_bytes(groups, shape, len(BASELINES), replicates)

    def update(self, batch: MapBatch) -> None:
        """Count a batch.

        Raises:
            ValueError: token-level maps, maps of another shape, what is no window of a document, or a document of
                other groups than the corpus has.
            TooManyDecisionsError: more mentions of one group than the bootstrap can count.
        """
        if batch.level != "word":
            raise ValueError("coreference needs word-level maps (level='word')")
        self.check_shape(batch.maps.shape[1:3])
        windows = [window for window in batch.sentences if isinstance(window, Window)]
        if len(windows) < len(batch):
            raise ValueError("coreference needs maps of windows of documents; see extractors.make_windows")
        if unknown := next((w.source for w in windows if w.source.labels not in self.labels), None):
            raise ValueError(f"document {unknown.id!r} belongs to groups that no document of the corpus does")
        found = choices_of(batch, singletons=self.singletons)
        hits = antecedent_hits(batch, found)
        baselines = np.zeros((len(found), len(BASELINES)), dtype=bool)
        groups = np.zeros(len(found), dtype=np.int64)
        bins = np.zeros((len(found), 3), dtype=np.int64)
        for row, (at, choice) in enumerate(found):
            document = windows[at].source
            if document.id not in self._traits:
                self._traits[document.id] = traits(document)
            baselines[row] = baseline_hits(document, choice, self._traits[document.id], self.seed)
            kind = TYPES.index(choice.mention.type)
            groups[row] = self.labels.index(document.labels) * len(TYPES) + kind
            sentences, words = distance(document, choice)
            bins[row] = kind, bin_of(sentences, SENTENCE_BINS), bin_of(words, WORD_BINS)
        units = np.array([at for at, _ in found], dtype=np.int64)
        families = [window.source.family or window.source.id for window in windows]
        outcomes = self.add_outcomes(groups, units, families, hits, baselines)
        self.distances.index_put_(tuple(torch.from_numpy(bins.T)), outcomes.to(self.distances), accumulate=True)

    def compute(self) -> CoreferenceTables:
        """The tables, see `CoreferenceTables`.

        Raises:
            ValueError: counts of another configuration were merged or loaded.
        """
        members: dict[str, list[int]] = {ALL: list(range(len(self.groups)))}
        for kind, name in enumerate(TYPES):
            members[name] = [group for group in members[ALL] if group % len(TYPES) == kind]
        by_label = {
            label: [group for group in members[ALL] if label in self.labels[group // len(TYPES)]]
            for label in sorted({label for labels in self.labels for label in labels})
        }
        return tables(members, by_label, *self.split_counts(), self.distances.cpu().numpy())


def mentions_by_group(corpus: Documents) -> Counter[str]:
    """How many mentions there are to resolve of each group that is counted; some may turn out not to be scored."""
    mentions: Counter[str] = Counter()
    for document in corpus.documents:
        if document.questions is None:
            asked = [document.mentions[index] for index in document.anaphors]
        else:
            asked = [question.anaphor for question in document.questions if question.has_answer]
        mentions.update(group_name(document.labels, mention.type) for mention in asked if mention.head is not None)
    return mentions


def distance(document: Document, choice: Choice) -> tuple[int, int]:
    """Sentences and words from the head word of a mention to that of its nearest antecedent."""
    head = choice.head
    nearest = min(choice.gold, key=lambda word: abs(word - head))
    return abs(document.sentence_of(head) - document.sentence_of(nearest)), abs(head - nearest)
