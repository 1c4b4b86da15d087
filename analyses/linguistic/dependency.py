"""Per-head dependency accuracy (Clark et al. 2019, §4.2), with what is needed to believe it.

One linear operation gives everything: each scored word is a row of 0/1 *outcomes* (is it right for each head and
direction, for each fixed offset, and a constant 1 for the total), each sentence has *weights* (which half it is
in, split by split, how often each bootstrap replicate draws it), and weights × outcomes, added up per relation, are the
counts, the held-out counts and the bootstrap counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torchmetrics import Metric

from analyses.linguistic.decisions import DIRECTIONS, ScoredWords, head_hits
from analyses.linguistic.dependency_tables import TOTALS, Counts, DependencyTables, coarse_relation, tables
from analyses.resampling import halves, poisson_weights
from extractors import MapBatch

OFFSETS = tuple(o for o in range(-5, 6) if o != 0)
"""Fixed offsets of the positional baseline: the head is the word so many places to the right (+) or left (−).

The prediction is clipped to the first and last word. The authors' code tries −3 … +2 and clips to 0, which
predicts ROOT for sentence-initial words; the baseline here, like the heads it stands beside, only predicts words.
"""

SPLITS = 10
"""Ways to cut the sentences into halves for held-out accuracy; one split alone is a matter of luck."""

_MOST_WORDS = 2**23  # of one relation; float32 holds integers exactly up to twice that


class DependencyAccuracy(Metric):
    """How often each attention head picks the head of a word, by relation and direction.

    A `torchmetrics.Metric`: `update` with word-level `MapBatch` es, `compute` the tables; `merge_state`,
    ``state_dict`` and `torch.distributed` add up parts of a corpus. All states are integer counts and the
    resampling depends on sentence ids alone, so any split of the corpus gives the same bits.

    The bootstrap takes ``relations × replicates × (2 · layers · heads + 11) × 4`` bytes.

    Args:
        relations: the inventory; every word's relation must be in it.
        n_layers, n_heads: shape of the maps.
        coarse: count universal relations (`coarse_relation`) instead of subtypes as given.
        replicates: number of bootstrap replicates; 0 for none.
        seed: of the bootstrap and of the splits into halves.

    Raises:
        ValueError: a relation is called like one of the `TOTALS`.
    """

    full_state_update = False
    counts: Int[Tensor, "relations subsets outcomes"]
    bootstrap: Float[Tensor, "relations replicates outcomes"]
    configuration: Int[Tensor, ""]

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
        super().__init__(compute_with_cache=False)
        names = sorted({coarse_relation(r) if coarse else r for r in relations})
        if clash := set(names) & set(TOTALS):
            raise ValueError(f"relation names {sorted(clash)} are reserved for totals")
        self.relations = tuple(names)
        self.n_layers, self.n_heads = n_layers, n_heads
        self.coarse, self.replicates, self.seed = coarse, replicates, seed
        index = {name: i for i, name in enumerate(names)}
        self._index = {r: index[coarse_relation(r) if coarse else r] for r in relations}
        outcomes = len(DIRECTIONS) * n_layers * n_heads + len(OFFSETS) + 1
        # Subset 0 is the whole corpus, subset k the first half of split k.
        counts = torch.zeros(len(names), 1 + SPLITS, outcomes, dtype=torch.int64)
        self.add_state("counts", counts, "sum", persistent=True)
        # Integers too, in float32 because it is added to by matrix products in place.
        self.add_state("bootstrap", torch.zeros(0), "sum", persistent=True)
        self.add_state("configuration", torch.tensor(self._hash()), _the_same, persistent=True)
        # torchmetrics keeps a copy of every initial state; of this large one a single zero will do.
        self._defaults["bootstrap"] = torch.zeros(1).expand(len(names), replicates, outcomes)
        self.reset()

    def update(self, batch: MapBatch) -> None:
        """Count a batch.

        Raises:
            ValueError: token-level maps, maps of another shape, or a relation outside the inventory.
            OverflowError: more words of one relation than the bootstrap can count.
        """
        if batch.level != "word":
            raise ValueError("dependency accuracy needs word-level maps (level='word')")
        if batch.maps.shape[1:3] != (self.n_layers, self.n_heads):
            raise ValueError(
                f"expected maps of {self.n_layers} layers × {self.n_heads} heads, "
                f"got {batch.maps.shape[1]} × {batch.maps.shape[2]}"
            )
        try:
            words = ScoredWords.of(batch.sentences, self._index)
        except KeyError as error:
            raise ValueError(f"relation {error} is not in the inventory") from None
        self._check_configuration()
        outcomes = self._outcomes(batch, words).float()
        ids = [sentence.id for sentence in batch.sentences]
        subsets = torch.from_numpy(np.concatenate([np.ones((1, len(ids)), dtype=bool), halves(ids, SPLITS, self.seed)]))
        drawn = torch.from_numpy(poisson_weights(ids, self.replicates, self.seed))
        # Products of small integers: float32 is exact.
        for r in np.unique(words.relation):
            rows = np.flatnonzero(words.relation == r)
            sentence, right = words.sentence[rows], outcomes[rows]
            self.counts[r] += (subsets[:, sentence].float() @ right).to(self.counts)
            self.bootstrap[r].addmm_(drawn[:, sentence].float(), right)
        if self.replicates and int(self.counts[:, 0, -1].max()) > _MOST_WORDS:
            raise OverflowError(f"more than {_MOST_WORDS:,} words of one relation; count without replicates")

    def compute(self) -> DependencyTables:
        """The tables, see `DependencyTables`.

        Raises:
            ValueError: counts of another configuration were merged or loaded.
        """
        self._check_configuration()
        heads = len(DIRECTIONS) * self.n_layers * self.n_heads
        shape = (len(DIRECTIONS), self.n_layers, self.n_heads)

        def split(state: Tensor) -> Counts:
            array = state.cpu().numpy()
            return Counts(
                correct=array[..., :heads].reshape(*array.shape[:2], *shape),
                by_offset=array[..., heads:-1],
                total=array[..., -1],
            )

        return tables(self.relations, split(self.counts), split(self.bootstrap), OFFSETS)

    def _outcomes(self, batch: MapBatch, words: ScoredWords) -> Tensor:
        predicted = np.clip(words.number[:, None] + np.array(OFFSETS), 1, words.length[:, None])
        return torch.cat(
            [
                head_hits(batch, words).flatten(1),
                torch.from_numpy(predicted == words.head[:, None]),
                torch.ones(len(words.head), 1, dtype=torch.bool),
            ],
            dim=1,
        )

    def _hash(self) -> int:
        described = (self.relations, self.n_layers, self.n_heads, self.coarse, self.replicates, self.seed)
        digest = hashlib.blake2b(repr(described).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1

    def _check_configuration(self) -> None:
        if int(self.configuration) != self._hash():
            raise ValueError("counts made with other relations, shapes, replicates or seeds cannot be added up")


def _the_same(configurations: Int[Tensor, " parts"]) -> Int[Tensor, ""]:
    """How the configurations of parts merge: they do not, unless they are one."""
    one = configurations[0]
    return one if bool((configurations == one).all()) else torch.tensor(-1, device=one.device)
