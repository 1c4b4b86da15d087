"""Per-head dependency accuracy (Clark et al. 2019, §4.2), with what is needed to believe it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from attentionology.analyses.dependency.decisions import ScoredWords, head_hits
from attentionology.analyses.dependency.tables import TOTALS, DependencyTables, tables
from attentionology.analyses.shared.outcomes import OutcomeCounts, state_bytes
from attentionology.corpora_loaders import OFFSETS, coarse_relation
from attentionology.extractors import DIRECTIONS, MapBatch


class DependencyAccuracy(OutcomeCounts):
    """How often each attention head picks the head of a word, by relation and direction.

    A `torchmetrics.Metric`: `update` with word-level `MapBatch` es, `compute` the tables; `merge_state`,
    ``state_dict`` and `torch.distributed` add up parts of a corpus, see `OutcomeCounts`. Sentences are what is
    resampled. The bootstrap takes ``relations × replicates × (2 · layers · heads + 11) × 4`` bytes.

    Args:
        relations: the inventory; every word's relation must be in it.
        n_layers, n_heads: shape of the maps.
        coarse: count universal relations (`coarse_relation`) instead of subtypes as given.
        replicates: number of bootstrap replicates; 0 for none.
        seed: of the bootstrap and of the splits into halves.

    Raises:
        ValueError: a relation is called like one of the `TOTALS`.
    """

    def __init__(
        self,
        relations: Sequence[str],
        n_layers: int,
        n_heads: int,
        *,
        coarse: bool = False,
        replicates: int = 1000,
        seed: int = 0,
    ) -> None:
        names = check_relations(relations, coarse=coarse)
        super().__init__(
            names,
            (len(DIRECTIONS), n_layers, n_heads),
            len(OFFSETS),
            replicates=replicates,
            seed=seed,
            configuration=("dependency", coarse),
        )
        index = {name: i for i, name in enumerate(names)}
        self._index = {r: index[coarse_relation(r) if coarse else r] for r in relations}

    @staticmethod
    def state_bytes(
        relations: Sequence[str], n_layers: int, n_heads: int, *, coarse: bool = False, replicates: int = 1000
    ) -> int:
        """What the counts take in memory; arguments as those of the class."""
        groups = _groups(relations, coarse)
        return state_bytes(len(groups), (len(DIRECTIONS), n_layers, n_heads), len(OFFSETS), replicates)

    def update(self, batch: MapBatch) -> None:
        """Count a batch.

        Raises:
            ValueError: token-level maps, maps of another shape, or a relation outside the inventory.
            TooManyDecisionsError: more words of one relation than the bootstrap can count.
        """
        if batch.level != "word":
            raise ValueError("dependency accuracy needs word-level maps (level='word')")
        self.check_shape(batch.maps.shape[1:3])
        try:
            words = ScoredWords.of(batch.sentences, self._index)
        except KeyError as error:
            raise ValueError(f"relation {error} is not in the inventory") from None
        predicted = np.clip(words.number[:, None] + np.array(OFFSETS), 1, words.length[:, None])
        self.add_outcomes(
            words.relation,
            words.sentence,
            [sentence.id for sentence in batch.sentences],
            head_hits(batch, words),
            predicted == words.head[:, None],
        )

    def compute(self) -> DependencyTables:
        """The tables, see `DependencyTables`.

        Raises:
            ValueError: counts of another configuration were merged or loaded.
        """
        return tables(self.groups, *self.split_counts(), OFFSETS)


def words_by_group(relations: Mapping[str, int], *, coarse: bool = False) -> Counter[str]:
    """How many words there are of each group that is counted, from how many there are of each relation."""
    words: Counter[str] = Counter()
    for relation, number in relations.items():
        words[coarse_relation(relation) if coarse else relation] += number
    return words


def _groups(relations: Sequence[str], coarse: bool) -> list[str]:
    return sorted(words_by_group(dict.fromkeys(relations, 0), coarse=coarse))


def check_relations(relations: Sequence[str], *, coarse: bool = False) -> list[str]:
    """The relations that are counted, in alphabetical order.

    Raises:
        ValueError: a relation is called like one of the `TOTALS`.
    """
    names = _groups(relations, coarse)
    if clash := set(names) & set(TOTALS):
        raise ValueError(f"relation names {sorted(clash)} are reserved for totals")
    return names
