"""Sentences + encoder → batches of hidden states, in memory that does not depend on the corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence, Sized

from ...corpora_loaders import Texts, as_sentences
from ...reports.progress import with_bar
from ..maps.batching import DEFAULT_BATCH_CELLS, ExtractionLog, TooLong
from ..maps.extraction import extract_many
from ..model.any_model import AnyModel
from .state_batch import Pooling, StateBatch, StateMaker


def extract_states(
    encoder: AnyModel,
    sentences: Texts,
    *,
    layers: Sequence[int] | None = None,
    pooling: Pooling = "mean",
    batch_cells: int = DEFAULT_BATCH_CELLS,
    too_long: TooLong = "skip",
    max_length: int | None = None,
    log: ExtractionLog | None = None,
    progress: bool | None = None,
) -> Iterator[StateBatch]:
    """Yield the hidden states of the words of all sentences, longest first within a window of 1,024 sentences.

    To get states and maps of the same forward passes, give a `attentionology.extractors.StateMaker` and kinds of maps
    to `attentionology.extractors.extract_many`.

    Args:
        encoder: the model, as in `attentionology.extract`. The states of a decoder's word have seen no later word.
        sentences: as in `attentionology.extract`.
        layers: the layers that are wanted: 0 for the output of the embedding block, up to the number of layers of the
            model; None for all. The last state of some models, such as GPT-2 and Llama, follows a final norm.
        pooling: how the pieces of a word are merged: ``"mean"`` (Hewitt & Manning 2019), ``"first"``, or ``"last"``,
            which alone has seen the whole word in a decoder.
        batch_cells, too_long, max_length, log, progress: see `attentionology.extract`.

    Raises:
        TypeError, CorpusError, ExtractionError: for the same reasons as in `attentionology.extract`.
        ValueError: the value of an option cannot be used.
        ModelError: the model gives no hidden states, or has no such layer, or a state is not a finite number.

    Example:
        >>> from attentionology import extract_states, load_encoder
        >>> for batch in extract_states(load_encoder("demo"), ["Cats sleep.", "The old dog barks."], layers=[0, 3]):
        ...     for sentence, array in batch.unpadded():
        ...         print(sentence.words, array.shape)
        ('The', 'old', 'dog', 'barks', '.') (2, 5, 384)
        ('Cats', 'sleep', '.') (2, 3, 384)
    """
    maker = StateMaker(None if layers is None else tuple(layers), pooling)
    used_log = ExtractionLog() if log is None else log
    texts = as_sentences(sentences)
    options = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": used_log}
    made = extract_many(encoder, texts, [maker], **options)  # outside of the generator, so that the call checks texts
    total = len(texts) if isinstance(texts, Sized) else None

    def batches() -> Iterator[StateBatch]:
        yield from with_bar((batch for (batch,) in made), total, progress)
        if log is None and used_log.skipped:
            warnings.warn(f"sentences without states: {len(used_log.skipped)} ({used_log.reasons()})", stacklevel=2)

    return batches()
