"""Does a head copy? The eigenvalues of its value and output matrices (Elhage et al. 2021), and what it predicts.

The eigenvalues follow from the weights alone. If the model has a head for predictions, it also reads random pieces, and
what each head adds at a position is compared with the output embeddings: Olsson et al. (2022) ask whether it raises the
logit of the piece that is attended to more than those of the other pieces in the sequence.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from ...corpora_loaders import Sentence
from ...extractors import Encoder
from ...extractors.layers import LayerWeights
from ...extractors.tokens.pieces import Pieces
from ...reports.columns import Explored, Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ..contract import Request, Setting
from ..shared.measures import head_measures
from ..surface.detectors import whole_words
from .rows import NormCounts, NormQuestion, NormResults, PlanContext

_SEQUENCES, _LENGTH = 20, 25
"""The number of random sequences, and of the different pieces in each."""

_COPIED = "copied"

COPYING = Schema(
    "norms_copying",
    "One row per head.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn(
            "copying",
            "number, −1 to 1",
            "Σ Re λ / Σ |λ| over the eigenvalues λ of the value and output matrices together: 1 if the head writes "
            "what it reads, −1 if with the opposite sign",
            explored=Explored(
                "eigenvalues",
                "copying, Σ Re λ / Σ |λ|",
                "1 if the head writes what it reads, −1 if the opposite; layer norms after attention are ignored.",
                center=0.0,
            ),
        ),
        TableColumn(
            "copied",
            "share",
            "positions of random sequences at which the piece that is attended to most has the highest of the logits "
            "that the head adds, among the pieces of the sequence; empty without a head for predictions",
            explored=Explored(
                "eigenvalues",
                "copies what it attends to",
                f"In random sequences of {_LENGTH} pieces; by chance, it is {100 / _LENGTH:.0f} %. Layer norms after "
                "attention are ignored.",
            ),
        ),
    ),
)


class Copying(NormQuestion):
    """Does a head write what it reads?"""

    name = "copying"
    tables = (COPYING,)
    long = (COPYING.name,)

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Compute the scores, which follow from the weights of the model alone."""
        plan_context.kept[self.name] = [copying_scores(layer) for layer in plan_context.layers.weights]
        output = output_embeddings(plan_context.setting)
        if output is not None and (scores := copied_shares(plan_context.setting.encoder, output)) is not None:
            plan_context.kept[_COPIED] = scores
        return ()

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the scores of all heads."""
        scores = counts.facts.kept.get(self.name)
        if scores is None:
            return None
        by_head = np.array(scores, dtype=np.float64)  # None is NaN
        layer, head = np.indices(by_head.shape).reshape(2, -1) + 1
        copied = np.array(counts.facts.kept.get(_COPIED, np.full(by_head.shape, np.nan)), dtype=np.float64)
        return pd.DataFrame({"layer": layer, "head": head, "copying": by_head.ravel(), "copied": copied.ravel()})

    def frames(self, answer: pd.DataFrame, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {COPYING.name: answer}

    def explore(self, answer: pd.DataFrame, counts: NormCounts, results: NormResults, kind: str) -> Contribution:
        """Add the score of each head."""
        return Contribution(measures=tuple(head_measures(COPYING, answer, lambda column: f"norms/{column}")))


def output_embeddings(setting: Setting) -> Float[Tensor, "vocabulary dim"] | None:
    """Return the output embeddings of a model; None if it has no head for predictions."""
    encoder = setting.encoder
    config = encoder.model.config
    # Where the head shares the input embeddings, it need not be loaded, which for a large model would take long.
    if getattr(config, "tie_word_embeddings", False) and any("LM" in name for name in config.architectures or ()):
        return encoder.model.get_input_embeddings().weight  # type: ignore[no-any-return]
    lm = setting.load_causal_lm() if encoder.causal else setting.load_masked_lm()
    embeddings = None if lm is None else lm.get_output_embeddings()
    return None if embeddings is None else embeddings.weight


def copying_scores(weights: LayerWeights) -> list[float | None]:
    """Return the score of each head of a layer; None for a head that gives nothing.

    The linear part of a norm before attention is part of what a head reads, and that of a norm of what attention adds
    is part of what it writes. Other norms are ignored.
    """
    read, written = weights.by_head(weights.w_v).double(), weights.moving.double()
    if weights.norm_in is not None:
        written = weights.norm_in.linear(written)
    size = written.shape[0] // weights.n_heads
    heads = [slice(start, start + size) for start in range(0, written.shape[0], size)]
    scores = [copying_score(read[:, head].cpu(), written[head].cpu()) for head in heads]
    return [None if math.isnan(score) else score for score in scores]


def copying_score(w_v: Float[Tensor, "dim inner"], w_o: Float[Tensor, "inner dim"]) -> float:
    """Return ``Re Σ λ / Σ |λ|`` over the eigenvalues of ``W_V W_O``, NaN if all are 0.

    Example:
        >>> copying_score(-torch.eye(2), torch.eye(2))
        -1.0
    """
    values = torch.linalg.eigvals(w_o @ w_v)  # which has those of W_V W_O that are not 0
    size = float(values.abs().sum())
    return float(values.real.sum()) / size if size else math.nan


@torch.inference_mode()
def copied_shares(encoder: Encoder, output: Float[Tensor, "vocabulary dim"]) -> list[list[float]] | None:
    """Return at how many positions each head copies; None if the output embeddings do not read the layers' vectors.

    The model reads sequences of different random pieces that are words, between its special tokens. At each position
    but the first, the head adds ``Σ_k α_qk v_k W_O`` over the pieces k of the sequence, which is multiplied by the
    output embeddings of these pieces. Special tokens are left out, on which many heads rest.
    """
    words = whole_words(encoder)
    if len(words) < _LENGTH or output.shape[1] != encoder.layers.weights[0].moving.shape[1]:
        return None
    rng = random.Random("copying")  # noqa: S311
    drawn = [rng.sample(words, _LENGTH) for _ in range(_SEQUENCES)]
    sentences = [
        Sentence(f"random {number}", tuple(encoder.forms[piece] for piece in pieces))
        for number, pieces in enumerate(drawn, start=1)
    ]
    found, total = torch.zeros(encoder.n_layers, encoder.n_heads), 0
    for pieces in encoder.align(sentences):
        if not isinstance(pieces, Pieces):
            continue
        inside = [index for index, word in enumerate(pieces.word_of) if word >= 0]
        unembedded = output[torch.tensor([pieces.ids[index] for index in inside])].to(encoder.device).float()
        layers = encoder.forward([pieces], hidden_states=True).layers()
        for number, layer in enumerate(layers):
            alpha = layer.alpha[0][:, inside][:, :, inside]
            values = layer.v[0, inside].transpose(0, 1)  # (heads, pieces, inner)
            moving = layer.weights.moving.view(encoder.n_heads, -1, output.shape[1])
            logits = (alpha @ values) @ (moving @ unembedded.T)  # (heads, positions, pieces)
            # Where all attention goes to special tokens, so that nothing is added, all pieces are the first of equals.
            copies = (logits.argmax(-1) == alpha.argmax(-1)) & (alpha.amax(-1) > 0)
            found[number] += copies[:, 1:].sum(1).cpu()
        total += len(inside) - 1
    return (found / total).tolist() if total else None
