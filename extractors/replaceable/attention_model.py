"""A text classifier whose attention can be looked at, taken out, and put back changed: one protocol for all of them.

What the tests of attention as an explanation need of a model (Jain & Wallace 2019; Wiegreffe & Pinter 2019; Serrano &
Smith 2019), whether it is a small network with one attention layer or a transformer. The texts that such a model reads
are sequences of words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Words = tuple[str, ...]

Special = Literal["keep", "renormalise"]
"""What becomes of the attention to special tokens when that to words is changed: ``keep``: it stays as it was, and
weights are only moved among words; ``renormalise``: all weights, also these, are scaled so that they sum to 1."""


@dataclass(frozen=True, eq=False)
class TextState:
    """A batch of texts as a model has read them, up to and without the attention in question.

    Attributes:
        texts: the words of each; a text may have none.
        alpha: the attention: per text one or more rows (heads, or heads × queries), each a distribution over the words,
            0 outside the text. A text without words has rows of zeros.
        mask: True at words.
        embeddings: what the model takes in at each input position: a word, a piece or a special token.
        word_of: 0-based word that each input position belongs to, −1 at special tokens and padding.
        memory: what else the model needs to go on from here.
    """

    texts: tuple[Words, ...]
    alpha: Float[Tensor, "batch rows n"]
    mask: Bool[Tensor, "batch n"]
    embeddings: Float[Tensor, "batch positions dim"]
    word_of: Int[Tensor, "batch positions"]
    memory: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)


@runtime_checkable
class AttentionModel(Protocol):
    """A classifier of texts with attention that can be replaced.

    Attributes:
        classes: names of the classes, in the order of the logits.
        special: what becomes of special tokens; ``keep`` where there are none.
    """

    classes: tuple[str, ...]
    special: Special

    def batches(self, texts: Sequence[Words]) -> Iterator[list[int]]:
        """Places of the texts to encode together, texts of similar length, every place once."""
        ...

    def encode(self, texts: Sequence[Words], *, gradient: bool = False) -> TextState:
        """Read texts up to the attention in question.

        Args:
            texts: at least one.
            gradient: begin the computational graph at the embeddings (they require grad and have no history), to take
                gradients with respect to them. Otherwise the graph begins at the parameters, if they require grad.

        Raises:
            ExtractionError: a text that the model cannot read (too long, or no pieces for a word).
        """
        ...

    def attention(self, state: TextState) -> tuple[Float[Tensor, "batch rows n"], Bool[Tensor, "batch n"]]:
        """The attention, differentiable as the rest of the state, and the mask of words."""
        ...

    def decode(self, state: TextState, alpha: Float[Tensor, "batch k rows n"]) -> Float[Tensor, "batch k classes"]:
        """Logits under k other attentions per text; everything before the attention stays as it was read.

        The weights are taken as they are: a row that sums to 1 gives words what they had together in the original, a
        row of zeros gives them nothing. With ``special="renormalise"`` all weights of a row, those of special tokens
        included, are then divided by their sum. ``decode(state, attention(state)[0][:, None])`` is what the model
        says. Differentiable in ``alpha`` and in the state.
        """
        ...

    def embeddings(self, state: TextState) -> Float[Tensor, "batch positions dim"]:
        """The input embeddings; with ``encode(…, gradient=True)`` gradients can be taken with respect to them."""
        ...

    def scores(self, state: TextState) -> Float[Tensor, "batch n"]:
        """What a reader is shown as the importance of each word: the mean of the rows, or another map; 0 outside."""
        ...


@runtime_checkable
class LinearAttentionModel(AttentionModel, Protocol):
    """An attention model whose logits are linear in its one row of attention: bias + Σ_t α_t · evidence_t."""

    def evidence(self, state: TextState) -> tuple[Float[Tensor, "batch n classes"], Float[Tensor, " classes"]]:
        """What full attention to each word adds to the logits, and the bias: logits without any attention."""
        ...


Attend = Callable[[TextState], Float[Tensor, "batch rows n"]]
"""Attention given from outside instead of the model's own."""


def probabilities(
    model: AttentionModel, texts: Sequence[Words], attend: Attend | None = None
) -> Float[Tensor, "texts classes"]:
    """Class probabilities of texts, in float64.

    Args:
        model: the classifier.
        texts: what to classify; what occurs twice is read once.
        attend: attention that takes the place of the model's own.
    """
    place_of = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    distinct = list(place_of)
    found = torch.zeros(len(distinct), len(model.classes), dtype=torch.float64)
    with torch.no_grad():
        for places in model.batches(distinct):
            state = model.encode([distinct[i] for i in places])
            alpha = model.attention(state)[0] if attend is None else attend(state)
            found[places] = model.decode(state, alpha[:, None])[:, 0].double().softmax(-1)
    return found[[place_of[text] for text in texts]]


def drop(words: Words, place: int) -> Words:
    """The text without one word (0-based): deleted, not masked."""
    return words[:place] + words[place + 1 :]
