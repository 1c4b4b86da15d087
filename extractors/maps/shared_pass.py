"""One forward pass per batch, from which any number of makers take what they need."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.describing import amount
from attentionology.extractors.maps.batching import DEFAULT_BATCH_CELLS, ExtractionLog, TooLong, plan
from attentionology.extractors.model.encoder import Encoder
from attentionology.extractors.model.forward_pass import Forward
from attentionology.extractors.tokens.masking import check_masking, mask_pieces
from attentionology.extractors.tokens.pieces import Pieces

Made = TypeVar("Made", covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class SharedBatch:
    """A batch that several makers read.

    Attributes:
        encoder: the model.
        sentences: in batch order.
        pieces: of each sentence, perhaps with some of them masked.
        hidden_states: whether the forward pass keeps hidden states, because some maker needs them.
    """

    encoder: Encoder
    sentences: tuple[Sentence, ...]
    pieces: list[Pieces]
    hidden_states: bool = False

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        return f"SharedBatch({amount(len(self), 'sentences')} for {self.encoder!r})"

    @functools.cached_property
    def forward(self) -> Forward:
        """The forward pass, made when it is first needed and then kept."""
        return self.encoder.forward(self.pieces, hidden_states=self.hidden_states)


@runtime_checkable
class BatchMaker(Protocol[Made]):
    """Makes one kind of batch of a forward pass, for example an `attentionology.extractors.MapMaker`."""

    @property
    def reads_weights(self) -> bool:
        """Whether it needs hidden states and the layers' weights."""
        ...

    def of(self, batch: SharedBatch) -> Made:
        """What it makes of a batch."""
        ...


def shared_batches(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    *,
    hidden_states: bool = False,
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
        sentences: read lazily, one window at a time.
        hidden_states: whether forward passes keep hidden states.
        mask_rate: share of the pieces of words that are replaced by the mask token, each by a draw of its own from a
            generator that the sentence's id and the seed determine.
        seed: of the masking.
        batch_cells, too_long, max_length, log: see `attentionology.extractors.extract`.

    Raises:
        ValueError: an option with a value that cannot be used.
        ExtractionError: a sentence cannot be read and ``too_long`` is ``"error"``.
        ModelError: there is nothing to mask with.
    """
    check_masking(encoder, mask_rate)
    for batch in plan(encoder, sentences, batch_cells, max_length, too_long, ExtractionLog() if log is None else log):
        pieces = [mask_pieces(encoder, p, mask_rate, f"{seed} {s.id}")[0] if mask_rate else p for s, p in batch]
        yield SharedBatch(encoder, tuple(sentence for sentence, _ in batch), pieces, hidden_states)
