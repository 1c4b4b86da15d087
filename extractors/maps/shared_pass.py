"""One forward pass per batch, from which any number of makers take what they need.

The batch runs the model when its ``forward`` is first read, so a maker that runs the model itself, for gradients, costs
no second pass. Hidden states are kept only if some maker needs them.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from ...corpora_loaders import Sentence
from ...corpora_loaders.describing import amount
from ..errors import ModelError
from ..layers import TextLoss
from ..model.encoder import Encoder
from ..model.forward_pass import Forward
from ..tokens.pieces import Pieces
from .batching import DEFAULT_BATCH_CELLS, ExtractionLog, TooLong, most_pieces, plan

Made = TypeVar("Made", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class SharedBatch:
    """A batch that several makers read.

    Attributes:
        encoder: the model.
        sentences: the sentences, in batch order.
        pieces: the pieces of each sentence, some of which may be masked.
        hidden_states: whether the forward pass keeps hidden states and reads weights, because some maker needs them.
        states: whether it keeps hidden states, because some maker needs them without weights.
        losses: the losses whose gradients some maker needs.
        indices: the position of each sentence among all that were given, from 0; empty if it is not known.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import shared_batches
        >>> [batch] = shared_batches(load_encoder("demo"), [Sentence.from_text("Cats sleep.")])
        >>> batch.forward
        Forward(1 input, 5 pieces, 6 layers)
    """

    encoder: Encoder
    sentences: tuple[Sentence, ...]
    pieces: list[Pieces]
    hidden_states: bool = False
    states: bool = False
    losses: tuple[TextLoss, ...] = ()
    indices: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        return f"SharedBatch({amount(len(self), 'sentences')} for {self.encoder!r})"

    @functools.cached_property
    def forward(self) -> Forward:
        """The forward pass, which is made when it is first read and then kept."""
        kept = {"hidden_states": self.hidden_states, "states": self.states}
        return self.encoder.forward(self.pieces, **kept, losses=self.losses)


@runtime_checkable
class BatchMaker(Protocol[Made]):
    """Makes one kind of batch of a forward pass, for example a `attentionology.extractors.MapMaker`.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import extract_many
        >>> class Peaks:
        ...     reads_weights = False
        ...
        ...     def of(self, batch):
        ...         return [float(alpha.max()) for alpha in batch.forward.attentions]
        >>> sentences = [Sentence.from_text("Cats sleep.")]
        >>> [(peaks,)] = extract_many(load_encoder("demo"), sentences, [Peaks()])
        >>> len(peaks)  # the largest weight of each layer
        6
    """

    @property
    def reads_weights(self) -> bool:
        """Whether the maker needs hidden states and the layers' weights."""
        ...

    def of(self, batch: SharedBatch) -> Made:
        """Make its result of a batch."""
        ...


def shared_batches(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    *,
    hidden_states: bool = False,
    states: bool = False,
    losses: tuple[TextLoss, ...] = (),
    mask_rate: float = 0.0,
    seed: int = 0,
    batch_cells: int = DEFAULT_BATCH_CELLS,
    too_long: TooLong = "skip",
    max_length: int | None = None,
    log: ExtractionLog | None = None,
) -> Iterator[SharedBatch]:
    """Yield batches of sentences, longest first within a window; the model has not read them yet.

    Args:
        encoder: the model.
        sentences: read lazily, one window at a time; on a GPU, the next one while the model reads.
        hidden_states: whether forward passes keep hidden states and read the layers' weights.
        states: whether they keep hidden states, of any architecture.
        losses: the losses whose gradients with respect to attention are computed.
        mask_rate: the probability that a piece of a word is replaced by the mask token. The generator depends on the
            sentence's id and the seed alone.
        seed: the seed of the masking.
        batch_cells, too_long, max_length, log: see `attentionology.extractors.extract`.

    Raises:
        ValueError: an option has a value that cannot be used.
        ExtractionError: a sentence cannot be read and ``too_long`` is ``"error"``.
        ModelError: the tokenizer has no mask token.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import shared_batches
        >>> sentences = [Sentence.from_text("Cats sleep."), Sentence.from_text("The old dog barks.")]
        >>> for batch in shared_batches(load_encoder("demo"), sentences, mask_rate=1.0):
        ...     print(batch.pieces[1].tokens)
        ['[CLS]', '[MASK]', '[MASK]', '[MASK]', '[SEP]']
    """
    check_masking(encoder, mask_rate)
    limits: dict[str, Any] = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": log}
    for batch, pieces, indices in plan(encoder, sentences, most_pieces(encoder.device), **limits):
        if mask_rate:
            aligned = zip(batch, pieces, strict=True)
            pieces = [mask_pieces(encoder, p, mask_rate, f"{seed} {s.id}")[0] for s, p in aligned]
        yield SharedBatch(encoder, batch, pieces, hidden_states, states, losses, indices)


def needs_of(makers: Iterable[Any]) -> dict[str, Any]:
    """Return what a forward pass has to keep besides attention for some makers: hidden states, gradients of losses."""
    makers = list(makers)
    losses = [getattr(maker, "gradient_of", None) for maker in makers]  # makers of other packages need not have it
    return {
        "hidden_states": any(maker.reads_weights for maker in makers),
        "states": any(getattr(maker, "reads_states", False) for maker in makers),
        "losses": tuple(dict.fromkeys(loss for loss in losses if loss is not None)),
    }


def check_masking(encoder: Encoder, rate: float) -> None:
    """Check that pieces can be masked at a rate."""
    if not 0 <= rate <= 1:
        raise ValueError(f"mask_rate must be from 0 to 1, not {rate}")
    if rate and encoder.tokenizer.mask_token_id is None:
        raise ModelError(f"{encoder.label}: its tokenizer has no mask token, so nothing can be masked")


def mask_batch(batch: SharedBatch, rate: float, seed: int) -> list[tuple[Pieces, list[int]]]:
    """Mask pieces of each sentence of a batch, at least one, and return which; see `mask_pieces`."""
    return [
        mask_pieces(batch.encoder, pieces, rate, f"{seed} {sentence.id}", one_at_least=True)
        for sentence, pieces in zip(batch.sentences, batch.pieces, strict=True)
    ]


def mask_pieces(
    encoder: Encoder, pieces: Pieces, rate: float, key: str, *, one_at_least: bool = False
) -> tuple[Pieces, list[int]]:
    """Replace pieces of words by the mask token, each with probability ``rate``, and return which were replaced.

    The key seeds the generator. With ``one_at_least``, the piece with the smallest draw is masked if no other is.
    """
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    draws = np.random.default_rng(seed).random(len(pieces))
    maskable = [i for i, position in enumerate(pieces.positions) if not pieces.special[position]]
    masked = [i for i in maskable if draws[i] < rate]
    if one_at_least and maskable and not masked:
        masked = [min(maskable, key=lambda i: float(draws[i]))]
    ids, tokens = list(pieces.ids), list(pieces.tokens)
    for i in masked:
        ids[i], tokens[i] = encoder.tokenizer.mask_token_id, encoder.tokenizer.mask_token
    return replace(pieces, ids=ids, tokens=tokens), masked
