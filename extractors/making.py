"""One padded batch of pieces → its maps: kind, merging of pieces, normalisation, and the checks they must pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from attentionology.extractors.encoder import Encoder
from attentionology.extractors.errors import ModelError
from attentionology.extractors.forward import Forward
from attentionology.extractors.kinds import MapKind
from attentionology.extractors.kinds.rollout import roll_out
from attentionology.extractors.kinds.rows import row_normalised
from attentionology.extractors.layers import FFBias
from attentionology.extractors.map_batch import Level
from attentionology.extractors.merging import WordMerger
from attentionology.extractors.pieces import Pieces

Merge = Literal["norm", "vector"]
Normalize = Literal["none", "row"]

ROW_SUM_TOLERANCE = 1e-4
"""How far from 1 the sum of a row of attention may be."""


@dataclass(frozen=True)
class MapMaker:
    """Makes maps of one kind; the fields are the arguments of `attentionology.extractors.extract`.

    Raises:
        ValueError: an unknown value, or vectors to merge where the kind has none.
    """

    kind: MapKind
    level: Level = "word"
    merge: Merge = "norm"
    normalize: Normalize = "none"
    ff_bias: FFBias = "input"

    def __post_init__(self) -> None:
        for name, allowed in (("level", Level), ("merge", Merge), ("normalize", Normalize), ("ff_bias", FFBias)):
            if getattr(self, name) not in get_args(allowed):
                choices = " or ".join(repr(choice) for choice in get_args(allowed))
                raise ValueError(f"{name} must be {choices}, not {getattr(self, name)!r}")
        if self.merge == "vector" and not self.kind.vectors:
            raise ValueError(
                f"map kind {self.kind.name!r} is not made of vectors that could be merged; use merge='norm'"
            )

    @torch.inference_mode()
    def __call__(
        self, encoder: Encoder, pieces: Sequence[Pieces]
    ) -> tuple[Float[Tensor, "batch layers heads n n"], list[int]]:
        """Maps of one padded batch with zeros outside the sentences, and the number of positions of each.

        Raises:
            ModelError: attention that is no distribution over the sentence, a map that breaks its kind's promise.
        """
        forward = encoder.forward(pieces, hidden_states=self.kind.reads_weights)
        n = forward.mask.shape[1]
        words = WordMerger(pieces, n, dtype=encoder.dtype, device=forward.mask.device) if self.level == "word" else None
        lengths = [len(p.special) for p in pieces] if words else [len(p) for p in pieces]
        groups = words if self.merge == "vector" else None
        attention_is_map = self.kind.rows_sum_to_one and not self.kind.reads_weights
        if not attention_is_map:
            check_attention(forward, encoder)
        # From here on the attention of a layer is dropped when its map has been made: of one long sentence, each copy
        # of the maps that is alive at a time can take gigabytes.
        layers: Iterable[Tensor] = map(self.kind.layer_map, forward.layers(groups, self.ff_bias, release=True))
        if self.kind.rollout:
            layers = roll_out(layers, forward.mask, residual=self.kind.residual)
        k = words.k if words else n
        by_layer = torch.empty(0)
        for number, layer in enumerate(layers):
            if number == 0:
                by_layer = layer.new_empty(len(forward.attentions), len(pieces), layer.shape[1], k, k)
            if words and not groups:
                words(layer, out=by_layer[number])
            else:
                by_layer[number] = layer
            del layer  # or it would live on while the next is made
        inside = torch.arange(by_layer.shape[-1]) < torch.tensor(lengths)[:, None]
        if (not words or groups) and not inside.all():
            outside = ~(inside[:, None, :, None] & inside[:, None, None, :])
            by_layer.masked_fill_(outside.to(by_layer.device), 0)
        maps = by_layer.transpose(0, 1)
        if self.kind.rows_sum_to_one:
            off_by_row = (maps.sum(-1) - 1).abs().amax((1, 2)).cpu()
            what = "attention" if attention_is_map else "the map"
            _check(off_by_row[inside].max(), what, encoder, lambda: mass_on_padding(encoder.forward(pieces)))
        if self.normalize == "row":
            for layer in by_layer:
                layer.copy_(row_normalised(layer, inside.to(layer.device)))
        return maps, lengths


def check_attention(forward: Forward, encoder: Encoder) -> None:
    """What every piece pays to the pieces of its sentence must sum to 1, in every layer and head.

    Raises:
        ModelError: it does not.
    """
    inside = forward.mask.to(forward.attentions[0].dtype)[:, None, :, None]
    off = [(torch.matmul(alpha, inside).squeeze(-1) - 1).abs().amax(1) for alpha in forward.attentions]
    off_by_row = torch.stack(off).amax(0)
    _check(off_by_row[forward.mask].max(), "attention", encoder, lambda: mass_on_padding(forward))


def mass_on_padding(forward: Forward) -> float:
    """The most attention that a piece pays to padding, in any layer and head."""
    onto_padding = forward.mask[:, None, :, None] & ~forward.mask[:, None, None, :]
    return max(float((alpha * onto_padding).sum(-1).max()) for alpha in forward.attentions)


def _check(off: Float[Tensor, ""], what: str, encoder: Encoder, mass: Callable[[], float]) -> None:
    """Every row inside a sentence is a distribution over that sentence, or nothing computed from it counts.

    ``mass`` gives the most attention on padding, asked for only where something is wrong.
    """
    if float(off) <= ROW_SUM_TOLERANCE:
        return
    on_padding = mass()
    why = (
        f"up to {on_padding:.2g} of a row's attention falls on padding, so the attention mask is not respected"
        if on_padding > ROW_SUM_TOLERANCE
        else f"rows of {what} sum to 1 only within {float(off):.2g}"
    )
    raise ModelError(f"{encoder.name or encoder.family}: {why}; maps of this model cannot be trusted")
