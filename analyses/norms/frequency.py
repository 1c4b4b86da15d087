"""The metric of how weights, norms and mixing depend on frequency (Kobayashi et al. 2020, §4.3; 2021, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from scipy.stats import spearmanr
from torch import Tensor
from torchmetrics import Metric

from attentionology.extractors import MIXING_VARIANTS, TOKEN_CLASSES, NormBatch

MEASURES = ("value_norm", "weight", "norm", *MIXING_VARIANTS)
_SPECIAL = [TOKEN_CLASSES.index(name) for name in ("[CLS]", "[SEP]")]


class FrequencyCorrelation(Metric):
    """Spearman's ρ between the frequency rank of a token (1 is the most frequent) and its measures, over a corpus.

    The measures of a token are ``value_norm``, its ‖f(x)‖ as the mean over layers and heads; ``weight`` and ``norm``,
    the attention weight and ‖αf(x)‖ that it receives as means over layers, heads and queries; and its mixing ratios as
    means over layers. The metric keeps 13 numbers per token, because ranks are known only after the whole corpus.

    Args:
        ranks: the frequency rank by vocabulary id; ids that are not in it come after all others. None to count the
            corpus itself, see `frequency_ranks`.
    """

    full_state_update = False
    ids: list[Tensor]
    special: list[Tensor]
    values: list[Tensor]

    def __init__(self, ranks: Mapping[int, int] | None = None) -> None:
        super().__init__(compute_with_cache=False)
        self.ranks = ranks
        for name in ("ids", "special", "values"):
            self.add_state(name, [], "cat", persistent=True)

    def update(self, batch: NormBatch) -> None:
        """Add a batch of norms."""
        mask = batch.mask
        measures = torch.stack(
            [
                batch.value_norms.mean((1, 2)),
                batch.received.mean((1, 2)),
                (batch.received * batch.value_norms).mean((1, 2)),
                *batch.ratios.mean(2).unbind(1),
            ],
            dim=-1,
        )
        self.ids.append(batch.ids[mask])
        self.special.append(torch.isin(batch.classes[mask], torch.tensor(_SPECIAL)))
        self.values.append(measures.cpu()[mask].double())

    def compute(self) -> pd.DataFrame:
        """Return a table with one row per measure and choice of tokens.

        The choice ``all`` is of all tokens, ``words`` of those that are neither [CLS] nor [SEP]. ρ is NaN if the ranks
        or the values do not vary.
        """
        ids, special, values = (_joined(state) for state in (self.ids, self.special, self.values))
        if self.ranks is None:
            distinct, counts = np.unique(ids, return_counts=True)
            by_id = frequency_ranks(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
        else:
            by_id = dict(self.ranks)
        last = max(by_id.values(), default=0) + 1
        ranks = np.array([by_id.get(int(token), last) for token in ids])
        rows = []
        for column, measure in enumerate(MEASURES):
            for name, included in (("all", np.ones(len(ids), dtype=bool)), ("words", ~special.astype(bool))):
                x, y = ranks[included], values[included, column]
                varied = len(np.unique(x)) > 1 and len(np.unique(y)) > 1
                # SciPy is not annotated, and the result that type checkers infer lacks the attribute.
                rho = cast(Any, spearmanr(x, y)).statistic if varied else float("nan")
                rows.append({"measure": measure, "tokens": name, "rho": float(rho), "count": int(included.sum())})
        return pd.DataFrame(rows)


def frequency_ranks(counts: Mapping[int, int]) -> dict[int, int]:
    """Return the ranks of vocabulary ids by falling count, from 1. Equally frequent ids share the best of their ranks.

    Example:
        >>> frequency_ranks({101: 5, 102: 9, 103: 5})
        {101: 2, 102: 1, 103: 2}
    """
    ordered = sorted(counts.values(), reverse=True)
    first = {count: rank for rank, count in reversed(list(enumerate(ordered, start=1)))}
    return {int(token): first[count] for token, count in counts.items()}


def _joined(state: list[Tensor] | Tensor) -> npt.NDArray[Any]:
    """Return a state as one array, which torchmetrics holds as a list or, after a reduction, as a tensor."""
    joined: npt.NDArray[Any] = (state if isinstance(state, Tensor) else torch.cat(state)).cpu().numpy()
    return joined
