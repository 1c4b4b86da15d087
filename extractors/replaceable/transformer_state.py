"""What a transformer remembers of the texts that it has read, in order to continue with other attention."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..tokens.pieces import Pieces
from .attention_model import TextState
from .attention_patch import WordRows


@dataclass(frozen=True, eq=False)
class TransformerState(TextState):
    """A batch of texts as a transformer has read them.

    Attributes:
        pieces: the pieces of each text.
        ids: the ids of the pieces, padded.
        inside: True at pieces and special tokens, False at padding.
        rows: the rows of attention that can be replaced, taken apart into words and everything else.
        first: the attention of the first position, in all heads of the layer.
        values: the value vectors of the layer.
        hidden: the inputs of the layer; None if the architecture has no row of names.
        from_embeddings: whether the computational graph begins at the embeddings.
    """

    pieces: list[Pieces]
    ids: Int[Tensor, "batch positions"]
    inside: Bool[Tensor, "batch positions"]
    rows: WordRows
    first: Float[Tensor, "batch all_heads positions"]
    values: Float[Tensor, "batch all_heads positions head_dim"]
    hidden: Float[Tensor, "batch positions size"] | None
    from_embeddings: bool
