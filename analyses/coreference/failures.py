"""Counts of where each head finds an antecedent, and of what it picks where it does not, by properties of the mention.

Every count is kept for all heads, so that those of the best head, which is known only after counting, can be read.
Intervals have to respect that the mentions of a document depend on each other. The windows of a document may be counted
in different parts of a corpus, so sums of squares by document cannot be added up. Documents are therefore dealt into
groups by a hash of their names, and the counts of each group are kept: these add up, and the groups are the clusters of
the interval (the method of random groups, Wolter 2007, chapter 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders.coreference import TYPES, Document, Mention
from ...extractors import MapBatch
from ..counting.exact_sums import ConfiguredSums
from ..counting.resampling import sentence_keys
from .accuracy import distance
from .decisions import (
    BASELINES,
    DIRECTIONS,
    POLICIES,
    Choice,
    Traits,
    baseline_picks,
    choices_of,
    nearest_first,
    traits,
)
from .picks import ANTECEDENT, NONE, PICKS, picks, relationships
from .tables import ALL, SENTENCE_BINS, WORD_BINS, bin_name, bin_of

CLUSTERS = 64
"""The number of groups into which documents are dealt."""

MENTION_BINS = (1, 2, 3, 4, 6, 11)
"""The smallest distance in mentions of each bin; 1 is the nearest candidate. The last bin has no upper end."""

GENDERS = {"Fem": "feminine", "Masc": "masculine", "Neut": "neuter"}
NUMBERS = {"Sing": "singular", "Plur": "plural"}


def _bin_names(bins: Sequence[int]) -> tuple[str, ...]:
    """Return the names of bins, such as ``6–10``, given the smallest distance of each."""
    return tuple(bin_name(index, bins) for index in range(len(bins)))


ASPECTS: Mapping[str, tuple[str, ...]] = {
    "mentions": ("all",),
    "distance in sentences": _bin_names(SENTENCE_BINS),
    "distance in words": _bin_names(WORD_BINS),
    "distance in mentions": _bin_names(MENTION_BINS),
    "type": TYPES,
    "type of the antecedent": TYPES,
    "gender": (*GENDERS.values(), "another gender", "unknown"),
    "number": (*NUMBERS.values(), "another number", "unknown"),
}
"""The properties by which mentions are counted, each with its classes. Distances are those to the nearest antecedent.
Every mention has one class of each property."""

CLASSES = tuple((aspect, name) for aspect, names in ASPECTS.items() for name in names)
"""All classes, in the order in which they are counted."""

_INDEX = {item: index for index, item in enumerate(CLASSES)}

GROUPS = (ALL, *TYPES)
"""The groups of mentions, each of which has a best head."""


class CoreferenceFailures(ConfiguredSums):
    """How often each head and each baseline finds an antecedent of mentions of each class, and what is picked else."""

    # All states are sums of whole numbers over mentions, so any split of the corpus gives the same bits. They take
    # about `42 × 4 × 64 × (2 · layers · heads + 4) × 8` bytes.
    # seed: the seed by which documents are dealt into groups, and of the random baseline.

    right: Int[Tensor, "classes groups clusters guessers+1"]
    picked: Int[Tensor, "picks groups clusters guessers"]

    def __init__(
        self, n_layers: int, n_heads: int, *, candidates: str = "preceding", singletons: bool = False, seed: int = 0
    ) -> None:
        if candidates not in POLICIES:
            raise ValueError(f"candidates must be one of {', '.join(POLICIES)}, not {candidates!r}")
        self.candidates, self.singletons, self.seed = candidates, singletons, seed
        self.shape = (len(DIRECTIONS), n_layers, n_heads)
        super().__init__(repr((self.shape, candidates, singletons, seed)))
        guessers = int(np.prod(self.shape)) + len(BASELINES)
        # Last come the numbers of all mentions, right or not.
        right = torch.zeros(len(CLASSES), len(GROUPS), CLUSTERS, guessers + 1, dtype=torch.int64)
        self.add_state("right", right, "sum")
        self.add_state("picked", torch.zeros(len(PICKS), len(GROUPS), CLUSTERS, guessers, dtype=torch.int64), "sum")

    def update(self, batch: MapBatch) -> None:
        """Count a batch of word-level maps of windows."""
        if batch.level != "word":
            raise ValueError("coreference failures need word-level maps (level='word')")
        self.check_configuration()
        choices = choices_of(batch, singletons=self.singletons)
        if not choices:
            return
        related: dict[int, Int[np.ndarray, "choices words"]] = {}
        classes, families, baselines = [], [], []
        for index in dict.fromkeys(index for index, _ in choices):
            in_window = [choice for index_of_choice, choice in choices if index_of_choice == index]
            window = in_window[0].window
            document = window.source
            by_mention = traits(document, window.start, window.stop)
            related[index] = relationships(window, in_window, by_mention)
            for kinds_of_words, choice in zip(related[index], in_window, strict=True):
                picked = baseline_picks(document, choice, by_mention, self.seed)
                heads = [None if mention is None else mention.head for mention in picked]
                baselines.append([NONE if head is None else kinds_of_words[head - window.start] for head in heads])
                classes.append(_classes(document, choice, by_mention[choice.mention]))
                families.append(document.family or document.id)
        head_picks = picks(batch, choices, related, self.candidates).reshape(len(choices), -1)
        kinds = torch.from_numpy(np.concatenate([head_picks, np.array(baselines, dtype=np.int8)], 1))
        cluster = torch.from_numpy((sentence_keys(families, self.seed) % np.uint64(CLUSTERS)).astype(np.int64))
        type_group = [GROUPS.index(choice.mention.type) for _, choice in choices]
        self._add(kinds, cluster, torch.tensor(type_group), torch.tensor(classes))

    def _add(
        self,
        kinds: Int[Tensor, "choices guessers"],
        cluster: Int[Tensor, " choices"],
        type_group: Int[Tensor, " choices"],
        classes: Int[Tensor, "choices aspects"],
    ) -> None:
        """Add decisions to the counts of all mentions and of those of their type."""
        every_mention = torch.ones(len(kinds), 1, dtype=torch.bool)
        right = torch.cat([kinds == ANTECEDENT, every_mention], 1).long()
        for group in (torch.full_like(type_group, GROUPS.index(ALL)), type_group):
            # The rows of each mention in the states, whose first dimensions are flattened.
            group_and_cluster = group * CLUSTERS + cluster
            for mention_class in classes.T:  # by each aspect
                class_group_and_cluster = mention_class * len(GROUPS) * CLUSTERS + group_and_cluster
                self.right.flatten(0, 2).index_add_(0, class_group_and_cluster, right)
            for kind in range(len(PICKS)):
                self.picked[kind].flatten(0, 1).index_add_(0, group_and_cluster, (kinds == kind).long())


def _classes(document: Document, choice: Choice, mention_traits: Traits) -> list[int]:
    """Return the class of a mention by each aspect, as an index of `CLASSES`."""
    candidates = nearest_first(document, choice)
    antecedent: Mention = next(candidate for candidate in candidates if candidate.entity == choice.mention.entity)
    # The distance to the nearest antecedent, in sentences, words and mentions.
    n_sentences, n_words = distance(document, choice)
    n_mentions = next(rank for rank, candidate in enumerate(candidates, start=1) if candidate.head in choice.gold)
    number, gender, _ = mention_traits
    class_names = (  # in the order of `ASPECTS`
        "all",
        bin_name(bin_of(n_sentences, SENTENCE_BINS), SENTENCE_BINS),
        bin_name(bin_of(n_words, WORD_BINS), WORD_BINS),
        bin_name(bin_of(n_mentions, MENTION_BINS), MENTION_BINS),
        choice.mention.type,
        antecedent.type,
        GENDERS.get(gender, "another gender") if gender else "unknown",
        NUMBERS.get(number, "another number") if number else "unknown",
    )
    return [_INDEX[aspect_and_name] for aspect_and_name in zip(ASPECTS, class_names, strict=True)]
