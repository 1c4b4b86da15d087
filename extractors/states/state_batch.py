"""Hidden states of the words of a batch, and the maker that takes them from a forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag

from ...corpora_loaders import Sentence
from ...storage.nearest import check_choice
from ..errors import ModelError
from ..maps.map_batch import batch_line
from ..maps.shared_pass import SharedBatch
from ..model.encoder import Encoder
from ..tokens.pieces import Pieces
from ..tokens.word_merging import word_means

Pooling = Literal["mean", "first", "last"]
"""How the pieces of a word become one state: their mean, or the state of the first or of the last piece."""


@dataclass(frozen=True, eq=False, repr=False)
class StateBatch:
    """The hidden states of the words of a batch of sentences, padded to the longest.

    A word has one state for each layer. Layer 0 is the output of the embedding block, which contains positions; layer L
    is what follows the last of the L layers of the model. Special tokens have no state here. A word for which the
    tokenizer has no piece is read as the unknown token, and has its state.

    Attributes:
        states: shape (batch, layers, words, dim), in the type that the model computes in; 0 outside the sentence.
        lengths: the number of words of each sentence; shape (batch,).
        layers: the layers, which count from 0 as said above.
        sentences: the sentences, in batch order.
        pooling: how the pieces of a word were merged.
        indices: the position of each sentence among all that were given, from 0; empty if it is not known.

    Example:
        >>> import torch
        >>> from attentionology import Sentence
        >>> from attentionology.extractors import StateBatch
        >>> states = torch.tensor([[[[0.5, -1.0], [2.0, 0.0]]]])  # one sentence, one layer, two words, two dimensions
        >>> batch = StateBatch(states, torch.tensor([2]), (0,), (Sentence("s1", ("Cats", "sleep")),))
        >>> batch
        StateBatch('mean' of pieces, 1 sentence, shape (1, 1, 2, 2))
        >>> batch.layer(0)[0, 1].tolist()  # of "sleep"
        [2.0, 0.0]
    """

    states: Float[Tensor, "batch layers words dim"]
    lengths: Int[Tensor, " batch"]
    layers: tuple[int, ...]
    sentences: tuple[Sentence, ...]
    pooling: Pooling = "mean"
    indices: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        return batch_line(self, [f"{self.pooling!r} of pieces"], self.sentences, self.states)

    @property
    def words(self) -> Bool[Tensor, "batch words"]:
        """True at words, False on padding."""
        return torch.arange(self.states.shape[2]) < self.lengths[:, None]

    def layer(self, layer: int) -> Float[Tensor, "batch words dim"]:
        """Return the states of one layer, which must be one of `layers`."""
        return self.states[:, self.layers.index(layer)]

    def unpadded(self) -> Iterator[tuple[Sentence, npt.NDArray[np.float32]]]:
        """Yield ``(sentence, array)`` with the array cut to the sentence: shape (layers, words, dim)."""
        for states, length, sentence in zip(self.states, self.lengths.tolist(), self.sentences, strict=True):
            yield sentence, states[:, :length].cpu().numpy()


@dataclass(frozen=True)
class StateMaker:
    """Takes the states of words from a forward pass, which may be shared with makers of maps.

    Attributes:
        layers: the layers that are wanted, from 0 to the number of layers of the model; None for all.
        pooling: how the pieces of a word are merged.

    Raises:
        ValueError: the pooling is unknown.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import StateMaker, extract_many
        >>> for maps, states in extract_many(load_encoder("demo"), ["Cats sleep."], ["weight", StateMaker((0, 6))]):
        ...     print(maps.maps.shape, states.states.shape)
        torch.Size([1, 6, 12, 5, 5]) torch.Size([1, 2, 3, 384])
    """

    reads_weights: ClassVar[bool] = False
    reads_states: ClassVar[bool] = True

    layers: tuple[int, ...] | None = None
    pooling: Pooling = "mean"

    def __post_init__(self) -> None:
        check_choice("pooling", self.pooling, Pooling)

    @torch.inference_mode()
    def of(self, batch: SharedBatch) -> StateBatch:
        """Return the states of the words of a batch.

        Raises:
            ModelError: the model has no such layer, a state is not a finite number, or layers differ in width.
        """
        layers, hidden = self.hidden_states(batch)
        words = max(pieces.words for pieces in batch.pieces)
        pooled = hidden[0].new_zeros(len(hidden), len(batch), words, hidden[0].shape[-1])
        starts = range(0, len(batch) * words, words)
        for of_layer, (places, rows) in zip(pooled, pool(batch.pieces, hidden, self.pooling, starts), strict=True):
            of_layer.flatten(0, 1).index_copy_(0, places.to(rows.device), rows)
        check_finite(batch.encoder, pooled)
        lengths = torch.tensor([pieces.words for pieces in batch.pieces])
        return StateBatch(pooled.transpose(0, 1), lengths, layers, batch.sentences, self.pooling, batch.indices)

    def hidden_states(self, batch: SharedBatch) -> tuple[tuple[int, ...], list[Float[Tensor, "batch n dim"]]]:
        """Return the layers that are wanted, and the states of all pieces of each.

        Raises:
            ModelError: the model has no such layer, or layers differ in width.
        """
        hidden = batch.forward.hidden_states or ()
        layers = chosen_layers(batch.encoder, self.layers, len(hidden))
        widths = {hidden[layer].shape[-1] for layer in layers}
        if len(widths) > 1:  # OPT projects what follows the last layer
            raise ModelError(f"{batch.encoder.label}: its layers differ in width, so they cannot be read together")
        return layers, [hidden[layer] for layer in layers]


def check_finite(encoder: Encoder, states: Tensor) -> None:
    """Raise `ModelError` if a state is not a finite number."""
    # The sum is not finite if a state is not, and takes a fraction of the time. It may also be too large by itself.
    if not states.sum().isfinite() and not states.isfinite().all():
        raise ModelError(f"{encoder.label}: a hidden state is not a finite number")


def chosen_layers(encoder: Encoder, layers: Sequence[int] | None, available: int) -> tuple[int, ...]:
    """Return the layers that are wanted, without repetition and in order.

    Raises:
        ModelError: there are no layers to choose from, or not the one that is wanted.
    """
    for layer in layers or ():
        if not 0 <= layer < available:
            raise ModelError(f"{encoder.label}: layers of states are 0 to {available - 1}; there is no layer {layer}")
    return tuple(range(available)) if layers is None else tuple(sorted(set(layers)))


def pool(
    batch: Sequence[Pieces], hidden: Sequence[Float[Tensor, "batch n dim"]], pooling: Pooling, starts: Sequence[int]
) -> Iterator[tuple[Int[Tensor, " rows"], Float[Tensor, "rows dim"]]]:
    """Merge the states of the pieces of each word, and yield them layer by layer: one row per word, and its place.

    Args:
        batch: the pieces of each sentence.
        hidden: the states of the pieces, of each layer.
        pooling: how they are merged.
        starts: the place of the first word of each sentence. Its other words follow.
    """
    n, device = hidden[0].shape[1], hidden[0].device
    # The pieces of a word stand together. All pieces of the batch are numbered in a row.
    word_of = torch.tensor([pieces.word_of + [-1] * (n - len(pieces)) for pieces in batch])
    of_words = torch.nonzero(word_of.flatten() >= 0).flatten()
    place_of = (word_of + torch.tensor(starts)[:, None]).flatten()[of_words]
    places, sizes = torch.unique_consecutive(place_of, return_counts=True)
    if pooling == "mean" and device.type != "cpu":
        # Padding holds whatever the model computes there, even NaN, which a weight of 0 would not keep out.
        outside = (torch.arange(n) >= torch.tensor([len(pieces) for pieces in batch])[:, None]).to(device)[..., None]
        means = word_means(batch, n, hidden[0].dtype)
        are_words = torch.nonzero(means.sum(-1).flatten()).flatten().to(device)
        means = means.to(device)
        for states in hidden:
            yield places, torch.matmul(means, states.masked_fill(outside, 0)).flatten(0, 1)[are_words]
        return
    after = sizes.cumsum(0)
    starts_of_words = after - sizes
    weights = (1 / sizes.to(hidden[0].dtype)).repeat_interleave(sizes)
    chosen = of_words[starts_of_words if pooling == "first" else after - 1].to(device)
    for states in hidden:
        rows = states.flatten(0, 1)
        # A matrix product with the shares of pieces gives the same bits, and takes six times as long.
        yield (
            places,
            (
                embedding_bag(of_words, rows, starts_of_words, mode="sum", per_sample_weights=weights)
                if pooling == "mean"
                else rows[chosen]
            ),
        )
