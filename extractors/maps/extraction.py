"""Sentences + encoder → batches of maps, in memory that does not depend on the corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attentionology.corpora_loaders import Sentence
from attentionology.extractors.kinds import get_kind
from attentionology.extractors.layers import FFBias
from attentionology.extractors.maps.batching import DEFAULT_BATCH_CELLS, ExtractionLog, TooLong
from attentionology.extractors.maps.map_batch import Level, MapBatch
from attentionology.extractors.maps.map_maker import MapMaker, Merge, Normalize, map_batches
from attentionology.extractors.maps.shared_pass import BatchMaker, SharedBatch, shared_batches
from attentionology.extractors.model.encoder import Encoder


def extract(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    kind: str = "weight",
    level: Level = "word",
    *,
    merge: Merge = "norm",
    normalize: Normalize = "none",
    ff_bias: FFBias = "input",
    batch_cells: int = DEFAULT_BATCH_CELLS,
    too_long: TooLong = "skip",
    max_length: int | None = None,
    log: ExtractionLog | None = None,
) -> Iterator[MapBatch]:
    """Yield maps of all sentences, longest first within a window of `WINDOW` sentences.

    Args:
        encoder: the model.
        sentences: read lazily, one window at a time.
        kind: a registered map kind, see `attentionology.extractors.kinds`.
        level: ``"word"`` merges pieces (sum over those attended to, mean over those attended from; Clark et
            al. 2019, §4.1), ``"token"`` keeps them.
        merge: how norms of pieces become those of words: ``"norm"``: like attention weights, as the authors of
            norm-based analysis do; ``"vector"``: the vectors are merged (sum over pieces attended to, mean over
            those attended from) and their norm is taken.
        normalize: ``"row"`` divides each row of the map by its sum.
        ff_bias: for the kinds that pass the feed-forward block, see
            `attentionology.extractors.layers.activations.activation_slopes`.
        batch_cells: bound on sentences × pieces² of a batch; a longer sentence is a batch of its own. The
            maps of a batch take about ``8 · layers · heads · batch_cells`` bytes.
        too_long: what to do with a sentence of more pieces than the model, or ``max_length``, allows:
            ``"skip"`` it and note it in the log, or raise an ``"error"``.
        max_length: a lower limit on the number of pieces, special tokens included.
        log: filled with what was skipped; without one, a warning at the end tells how many.

    Raises:
        ValueError: an unknown kind or value of an option, ``batch_cells`` or ``max_length`` below 1, or vectors to
            merge where a kind has none.
        ExtractionError: a sentence cannot be read and ``too_long`` is ``"error"``.
        ModelError: the maps are not what the kind promises (rows that do not sum to 1, mass on padding), or the kind
            needs to know the architecture better than is known here.
    """
    make = MapMaker(get_kind(kind), level, merge, normalize, ff_bias)
    if too_long not in ("skip", "error"):
        raise ValueError(f"too_long must be 'skip' or 'error', not {too_long!r}")
    if batch_cells < 1 or (max_length is not None and max_length < 1):
        raise ValueError("batch_cells and max_length must be at least 1")
    own_log = ExtractionLog() if log is None else log

    def batches() -> Iterator[MapBatch]:
        options = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": own_log}
        for (batch,) in extract_many(encoder, sentences, [make], **options):
            yield batch
        if log is None and own_log.skipped:
            warnings.warn(f"sentences without a map: {len(own_log.skipped)} ({own_log.reasons()})", stacklevel=2)

    return batches()


def extract_many(
    encoder: Encoder, sentences: Iterable[Sentence], makers: Sequence[BatchMaker[Any]], **options: Any
) -> Iterator[tuple[Any, ...]]:
    """What several makers make of the same forward passes, one tuple per batch.

    Args:
        encoder: the model.
        sentences: read lazily.
        makers: for example `attentionology.extractors.MapMaker` s of several kinds.
        options: see `attentionology.extractors.shared_batches`. The bound on ``batch_cells`` holds for all kinds of
            maps together.

    Raises:
        ModelError: as for `extract`.

    Example:
        >>> from attentionology.extractors import MapMaker, get_kind
        >>> makers = [MapMaker(get_kind(kind)) for kind in ("weight", "norm")]
        >>> for weights, norms in extract_many(encoder, treebank, makers):  # doctest: +SKIP
        ...     print(weights.maps.shape, norms.maps.shape)
    """
    options["batch_cells"] = shared_cells(makers, options.get("batch_cells", DEFAULT_BATCH_CELLS))
    hidden_states = any(maker.reads_weights for maker in makers)
    for batch in shared_batches(encoder, sentences, hidden_states=hidden_states, **options):
        yield make_batches(makers, batch)


def make_batches(makers: Sequence[BatchMaker[Any]], batch: SharedBatch) -> tuple[Any, ...]:
    """What each maker makes of a batch.

    Those of maps come last, because they give up the attention of the forward pass layer by layer.
    """
    makers_of_maps = [maker for maker in makers if isinstance(maker, MapMaker)]
    made = {id(maker): maker.of(batch) for maker in makers if not isinstance(maker, MapMaker)}
    if makers_of_maps:
        made |= zip(map(id, makers_of_maps), map_batches(makers_of_maps, batch), strict=True)
    return tuple(made[id(maker)] for maker in makers)


def shared_cells(makers: Sequence[BatchMaker[Any]], batch_cells: int) -> int:
    """The bound on the cells of a batch where the maps of several kinds are held together."""
    kinds = {maker.kind.name for maker in makers if isinstance(maker, MapMaker)}
    return max(1, batch_cells // max(1, len(kinds)))
