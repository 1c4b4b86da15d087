"""Several models on the same texts: other seeds, adversaries, and attention that was fixed in training.

Wiegreffe & Pinter (2019) ask whether a model would learn an alternative attention, and how much models differ that were
trained in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from ....extractors.replaceable.attention_model import Attend, AttentionModel, TextState, Words
from .batch import Values, generator
from .interventions import CELLS
from .measures import jsd, tvd, uniform_weights


@dataclass(frozen=True, eq=False)
class ModelReading:
    """The attention and the output of a model on some texts."""

    attention: list[Float[ndarray, "_ _"]]  # to each text, shape (rows, words)
    probabilities: Float[ndarray, "texts classes"]


def reading(model: AttentionModel, texts: Sequence[Words], attend: Attend | None = None) -> ModelReading:
    """Compute the attention and the output of a model on texts; ``attend`` replaces its own attention."""
    attention: list[Float[ndarray, "_ _"]] = [np.zeros((0, 0), dtype=np.float32)] * len(texts)  # filled below
    probabilities = np.zeros((len(texts), len(model.classes)))
    with torch.no_grad():
        for indices in model.batches(texts):
            state = model.encode([texts[i] for i in indices])
            alpha = model.attention(state)[0] if attend is None else attend(state)  # the mask, [1], is not needed
            probabilities[indices] = model.decode(state, alpha[:, None])[:, 0].double().softmax(-1).numpy()
            for index, row in zip(indices, alpha.numpy(), strict=True):
                attention[index] = row[:, : len(texts[index])]
    return ModelReading(attention, probabilities)


def uniform_rows(state: TextState) -> Float[Tensor, "batch rows n"]:
    """Return the same weight for every word, in every row."""
    return uniform_weights(state.mask, state.alpha.dtype)[:, None].expand_as(state.alpha)


class Given:
    """The attention of another model, of shape (rows, words), looked up by text."""

    def __init__(self, texts: Sequence[Words], attention: Sequence[Float[ndarray, "_ _"]]) -> None:
        self._attention_to = dict(zip(texts, attention, strict=True))

    def __call__(self, state: TextState) -> Float[Tensor, "batch rows n"]:
        """Return the attention of a batch of these texts."""
        return pad([self._attention_to[text] for text in state.texts], state.alpha.shape[-1]).to(state.alpha)


def pad(attention: Sequence[Float[ndarray, "_ _"]], n: int) -> Float[Tensor, "batch rows n"]:
    """Stack the attention of several texts, padded with zeros to n words."""
    rows = torch.zeros(len(attention), len(attention[0]), n)
    for index, rows_of_text in enumerate(attention):
        rows[index, :, : rows_of_text.shape[1]] = torch.from_numpy(rows_of_text)
    return rows


def divergences(first: ModelReading, second: ModelReading) -> tuple[Values, Values]:
    """Compute the JSD of the attention (mean over rows) and the TVD of the output for each text."""
    # The JSD is NaN for texts with fewer than two words.
    if [alpha.shape for alpha in first.attention] != [alpha.shape for alpha in second.attention]:
        raise ValueError("two readings can be compared if they are of the same texts and rows of attention")
    attention_jsd = np.full(len(first.attention), np.nan)
    for i, (alpha, other_alpha) in enumerate(zip(first.attention, second.attention, strict=True)):
        if alpha.shape[1] > 1:
            by_row = jsd(torch.from_numpy(alpha).double(), torch.from_numpy(other_alpha).double())
            attention_jsd[i] = by_row.mean().item()
    output_tvd: Values = tvd(torch.from_numpy(first.probabilities), torch.from_numpy(second.probabilities)).numpy()
    return attention_jsd, output_tvd


def chance(
    base: ModelReading, others: Sequence[ModelReading], texts: Sequence[Words], *, draws: int = 100, seed: int = 0
) -> Values:
    """Return the JSD that models would have if they weighed words independently, one for each text: the floor."""
    # The weights of the others are shuffled among the words, alike in all of them and in all rows. (Here those of the
    # base are shuffled instead, which comes to the same and takes less.) The measured number is a median over the
    # others; the floor is its expectation, the mean of this median over shuffles. A median over shuffles would be
    # another number where these are skewed. Texts of fewer than two words have no value.
    expected = np.full(len(texts), np.nan)
    for i, text in enumerate(texts):
        if len(text) > 1:
            rng = generator(" ".join(text), "attention of others shuffled", seed)
            orders = torch.from_numpy(rng.permuted(np.tile(np.arange(len(text)), (draws, 1)), axis=1))
            base_alpha = torch.from_numpy(base.attention[i]).double()  # (rows, words)
            other_alphas = [torch.from_numpy(other.attention[i]).double()[:, None] for other in others]
            jsd_of_parts = []  # each (others, shuffles)
            for part in torch.split(orders, max(CELLS // base_alpha.numel(), 1)):  # shuffles that fit into memory
                shuffled = base_alpha[:, part]  # (rows, shuffles, words)
                jsd_of_others = [jsd(shuffled, other_alpha).mean(0) for other_alpha in other_alphas]
                jsd_of_parts.append(torch.stack(jsd_of_others))
            expected[i] = np.median(torch.cat(jsd_of_parts, dim=1).numpy(), axis=0).mean()
    return expected


def curve_points(
    kind: str, name: str, strength: float, jsd: Values | pd.Series[Any], tvd: Values | pd.Series[Any] | float
) -> pd.DataFrame:
    """Return how much other attention differs from the tested model's and changes the output, a row for each text."""
    # jsd: the divergence of the attention, in nats; NaN where there is none.
    return pd.DataFrame({"kind": kind, "name": name, "lambda": strength, "jsd": jsd, "tvd": tvd})
