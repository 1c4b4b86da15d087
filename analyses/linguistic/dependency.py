"""Per-head dependency accuracy (Clark et al. 2019, §4.2), with what is needed to believe it.

One linear operation gives everything: each scored word is a row of 0/1 *outcomes* (is it right for each head
and direction, for each fixed offset, and a constant 1 for the total), each sentence has *weights* (which half it
is in, split by split, how often each bootstrap replicate draws it), and weights × outcomes, added up per relation, are the
counts, the held-out counts and the bootstrap counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torchmetrics import Metric

from analyses.linguistic.decisions import DIRECTIONS, ScoredWords, head_hits
from analyses.linguistic.dependency_tables import TOTALS, Counts, DependencyTables, tables
from analyses.resampling import halves, poisson_weights
from extractors import MapBatch

OFFSETS = tuple(o for o in range(-5, 6) if o != 0)
"""Fixed offsets of the positional baseline: the head is the word so many places to the right (+) or left (−).

The prediction is clipped to the first and last word. The authors' code tries −3 … +2 and clips to 0, which
predicts ROOT for sentence-initial words; the baseline here, like the heads it stands beside, only predicts words.
"""

SPLITS = 10
"""Ways to cut the sentences into halves for held-out accuracy; one split alone is a matter of luck."""

_FLUSH_WORDS = 4096


def coarse_relation(relation: str) -> str:
    """The universal part of a relation: ``nsubj`` of ``nsubj:pass``."""
    return relation.split(":", 1)[0]


class DependencyAccuracy(Metric):
    """How often each attention head picks the head of a word, by relation and direction.

    A `torchmetrics.Metric`: `update` with word-level `MapBatch` es, `compute` the tables; `merge_state`,
    ``state_dict`` and `torch.distributed` add up parts of a corpus. All states are integer counts and the
    resampling depends on sentence ids alone, so any split of the corpus gives the same bits.

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
    bootstrap: Int[Tensor, "relations replicates outcomes"]

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
        super().__init__()
        if clash := set(relations) & set(TOTALS):
            raise ValueError(f"relation names {sorted(clash)} are reserved for totals")
        names = sorted({coarse_relation(r) if coarse else r for r in relations})
        self.relations = tuple(names)
        self.n_layers, self.n_heads = n_layers, n_heads
        self.coarse, self.replicates, self.seed = coarse, replicates, seed
        index = {name: i for i, name in enumerate(names)}
        self._index = {r: index[coarse_relation(r) if coarse else r] for r in relations}
        outcomes = len(DIRECTIONS) * n_layers * n_heads + len(OFFSETS) + 1
        # Subset 0 is the whole corpus, subset k the first half of split k.
        subsets = 1 + SPLITS
        self.add_state("counts", torch.zeros(len(names), subsets, outcomes, dtype=torch.int64), "sum", persistent=True)
        self.add_state(
            "bootstrap",
            torch.zeros(len(names), replicates, outcomes, dtype=torch.int32),
            "sum",
            persistent=True,
        )
        self._pending: list[tuple[list[str], ScoredWords, Tensor]] = []

    def update(self, batch: MapBatch) -> None:
        """Count a batch.

        Raises:
            ValueError: token-level maps, maps of another shape, or a relation outside the inventory.
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
        self._pending.append(([s.id for s in batch.sentences], words, self._outcomes(batch, words)))
        if sum(len(outcomes) for *_, outcomes in self._pending) >= _FLUSH_WORDS:
            self._flush()

    def compute(self) -> DependencyTables:
        """The tables, see `DependencyTables`."""
        self._flush()
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

    def _flush(self) -> None:
        """Turn pending outcomes into counts. Products of small integers, so float32 is exact here."""
        if not self._pending:
            return
        ids = [i for batch_ids, *_ in self._pending for i in batch_ids]
        starts = np.cumsum([0, *(len(batch_ids) for batch_ids, *_ in self._pending)])
        sentence = np.concatenate([w.sentence + s for s, (_, w, _) in zip(starts, self._pending, strict=False)])
        relation = np.concatenate([words.relation for _, words, _ in self._pending])
        outcomes = torch.cat([o for *_, o in self._pending])
        everything = np.ones((1, len(ids)))
        drawn = poisson_weights(ids, self.replicates, self.seed)
        weights: Float[Tensor, "rows sentences"] = torch.from_numpy(
            np.concatenate([everything, halves(ids, SPLITS, self.seed), drawn])
        ).float()
        for r in np.unique(relation):
            rows = np.flatnonzero(relation == r)
            added = weights[:, sentence[rows]] @ outcomes[rows].float()
            self.counts[r] += added[: 1 + SPLITS].to(self.counts)
            self.bootstrap[r] += added[1 + SPLITS :].to(self.bootstrap)
        self._pending = []

    # Whatever reads the states must see the pending words too.

    def sync(self, *args: Any, **kwargs: Any) -> None:  # noqa: D102
        self._flush()
        super().sync(*args, **kwargs)

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:  # noqa: D102
        if isinstance(incoming_state, DependencyAccuracy):
            mine, other = self._configuration(), incoming_state._configuration()
            if mine != other:
                raise ValueError(f"cannot merge counts of different configurations: {mine} and {other}")
            incoming_state._flush()
        self._flush()
        super().merge_state(incoming_state)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]  # noqa: D102
        self._flush()
        return super().state_dict(*args, **kwargs)

    def reset(self) -> None:  # noqa: D102
        self._pending = []
        super().reset()

    def _configuration(self) -> tuple[Any, ...]:
        return self.relations, self.n_layers, self.n_heads, self.coarse, self.replicates, self.seed
