"""The metric of dependency accuracy per attention head (Clark et al. 2019, §4.2), with baselines and bootstrap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...corpora_loaders import OFFSETS, coarse_relation
from ...extractors import DIRECTIONS, MapBatch
from ..shared.metric_states import equal_but
from ..shared.outcomes import OutcomeCounts, state_bytes
from .decisions import READINGS, ScoredWords, head_hits
from .tables import TOTALS, Asked, DependencyTables, tables


class DependencyAccuracy(OutcomeCounts):
    """How often each attention head picks the syntactic head of a word, by relation and direction.

    `update` takes word-level maps, and `compute` returns the tables. `merge_state`,
    ``state_dict`` and `torch.distributed` add up parts of a corpus, see `OutcomeCounts`. The units of the bootstrap are
    sentences. It takes ``relations × replicates × (2 · layers · heads + 11) × 4`` bytes.

    Args:
        relations: the inventory of relations, which must contain the relation of every word.
        n_layers, n_heads: the shape of the maps.
        coarse: whether to count universal relations (`coarse_relation`) instead of subtypes as given.
        both: whether maps are also read in both directions at once, as α_ij + α_ji.
        causal: whether words see only the words before. Maps are then read in both directions at once, too, and the
            words whose syntactic head each direction can reach are counted.
        replicates: the number of bootstrap replicates; 0 for no bootstrap.
        seed: the seed of the bootstrap and of the splits into halves.

    Raises:
        ValueError: a relation has the name of one of the `TOTALS`.

    Example:
        >>> import torch
        >>> from attentionology import DependencyAccuracy, MapBatch, Sentence
        >>> sentence = Sentence("s1", ("Birds", "sing"), heads=(2, 0), relations=("nsubj", "root"))
        >>> maps = torch.tensor([[0.1, 0.2, 0.6, 0.1]] * 4)[None, None, None]  # [CLS] Birds sing [SEP], one head
        >>> special = torch.tensor([[True, False, False, True]])
        >>> metric = DependencyAccuracy(["nsubj", "root"], n_layers=1, n_heads=1, replicates=0)
        >>> metric.update(MapBatch(maps, torch.tensor([4]), special, (sentence,)))
        >>> metric.compute().best[["relation", "total", "correct"]].query("relation == 'nsubj'").values.tolist()
        [['nsubj', 1, 1]]
    """

    def __init__(
        self,
        relations: Sequence[str],
        n_layers: int,
        n_heads: int,
        *,
        coarse: bool = False,
        both: bool = False,
        causal: bool = False,
        replicates: int = 1000,
        seed: int = 0,
    ) -> None:
        names = check_relations(relations, coarse=coarse)
        self.directions = READINGS if both or causal else DIRECTIONS
        self.causal = causal
        super().__init__(
            names,
            (len(self.directions), n_layers, n_heads),
            len(OFFSETS) + 2 * causal,
            replicates=replicates,
            seed=seed,
            configuration=("dependency", coarse),
        )
        index = {name: i for i, name in enumerate(names)}
        self._index = {relation: index[coarse_relation(relation) if coarse else relation] for relation in relations}

    @staticmethod
    def state_bytes(
        relations: Sequence[str],
        n_layers: int,
        n_heads: int,
        *,
        coarse: bool = False,
        both: bool = False,
        causal: bool = False,
        replicates: int = 1000,
    ) -> int:
        """Return the bytes that the counts take in memory. The arguments are those of the class."""
        groups = _groups(relations, coarse)
        readings = len(READINGS if both or causal else DIRECTIONS)
        return state_bytes(len(groups), (readings, n_layers, n_heads), len(OFFSETS) + 2 * causal, replicates)

    @staticmethod
    def joined_arguments(arguments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the arguments of a metric that can `absorb` metrics of other inventories of relations."""
        relations = dict.fromkeys(relation for each in arguments for relation in each["relations"])
        return {**equal_but(arguments, "relations"), "relations": list(relations)}

    def update(self, batch: MapBatch) -> None:
        """Count a batch of word-level maps.

        Raises:
            ValueError: the maps are at token level or have another shape, or a relation is not in the inventory.
            TooManyDecisionsError: a relation has more words than the bootstrap can count.
        """
        if batch.level != "word":
            raise ValueError("dependency accuracy needs word-level maps (level='word')")
        self.check_shape(batch.maps.shape[1:3])
        try:
            words = ScoredWords.of(batch.sentences, self._index)
        except KeyError as error:
            raise ValueError(f"relation {error} is not in the inventory") from None
        predicted = np.clip(words.number[:, None] + np.array(OFFSETS), 1, words.length[:, None])
        baselines = [predicted == words.head[:, None]]
        if self.causal:  # words whose head stands before them, and after them
            baselines.append(np.stack([(words.head > 0) & (words.head < words.number), words.head > words.number], 1))
        self.add_outcomes(
            words.relation,
            words.sentence,
            [sentence.id for sentence in batch.sentences],
            head_hits(batch, words, len(self.directions)),
            np.concatenate(baselines, 1),
        )

    def compute(self, asked: Asked | None = None) -> DependencyTables:
        """Return the tables, see `DependencyTables`.

        Args:
            asked: the rows; None for all relations and totals.

        Raises:
            ValueError: counts of another configuration were merged or loaded.
        """
        return tables(self.groups, *self.split_counts(), OFFSETS, asked)


def words_by_group(relations: Mapping[str, int], *, coarse: bool = False) -> Counter[str]:
    """Return the number of words in each group that is counted."""
    words: Counter[str] = Counter()
    for relation, count in relations.items():
        words[coarse_relation(relation) if coarse else relation] += count
    return words


def _groups(relations: Sequence[str], coarse: bool) -> list[str]:
    return sorted(words_by_group(dict.fromkeys(relations, 0), coarse=coarse))


def check_relations(relations: Sequence[str], *, coarse: bool = False) -> list[str]:
    """Return the relations that are counted, in alphabetical order."""
    names = _groups(relations, coarse)
    if clash := set(names) & set(TOTALS):
        raise ValueError(f"relation names {sorted(clash)} are reserved for totals")
    return names
