"""Sentences + encoder → batches of maps, in memory that does not depend on the corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence, Sized
from typing import Any

from ...corpora_loaders import Texts, as_sentences
from ...reports.progress import with_bar
from ..kinds import get_kind
from ..layers import FFBias
from ..model.any_model import AnyModel, as_encoder
from .batching import DEFAULT_BATCH_CELLS, ExtractionLog, TooLong, check_limits
from .map_batch import Level, MapBatch
from .map_batches import MapBatches
from .map_maker import MapMaker, Merge, Normalize, map_batches
from .shared_pass import BatchMaker, needs_of, shared_batches


def extract(
    encoder: AnyModel,
    sentences: Texts,
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
    progress: bool | None = None,
) -> MapBatches:
    """Make maps of all sentences, longest first within a window of 1,024 sentences.

    Args:
        encoder: the model: a name, a folder, an encoder, or a model of transformers, see
            `attentionology.extractors.as_encoder`. Load a model once if you call this more than once.
        sentences: one input or several, see `attentionology.corpora_loaders.as_sentences`: sentences, strings, lists of
            words, pairs of texts, or objects of other libraries. A corpus and other streams are read lazily, one window
            at a time. `MapBatch.indices` says where the sentences of a batch stood.
        kind: a registered map kind, see `attentionology.extractors.kinds`.
        level: ``"word"`` merges the pieces of each word (sum over those attended to, mean over those attended from;
            Clark et al. 2019, §4.1); ``"token"`` keeps them apart.
        merge: how norms of pieces become norms of words. With ``"norm"``, they are merged like attention weights, as
            the authors of norm-based analysis do. With ``"vector"``, the vectors are merged (sum over the pieces
            attended to, mean over those attended from) before their norm is taken.
        normalize: ``"row"`` divides each row of the map by its sum.
        ff_bias: for the kinds that pass the feed-forward block, see
            `attentionology.extractors.layers.activations.activation_slopes`.
        batch_cells: the bound on sentences × pieces² of a batch; a longer sentence is a batch of its own. The
            maps of a batch take about ``8 · layers · heads · batch_cells`` bytes.
        too_long: what to do with a sentence that has more pieces than the model or ``max_length`` allows:
            ``"skip"`` it and note it in the log, or raise an ``"error"``.
        max_length: a limit on the number of pieces, special tokens included, below that of the model.
        log: is filled with what was skipped. Without a log, a warning at the end says how many sentences were skipped.
        progress: whether to show progress bars. Default: in an interactive session and in a notebook.

    Returns:
        an iterator over batches, which are made one by one. Its ``to_dataframe()`` puts all values into a table, and
        ``to_xarray()`` into arrays with names, in the order of the sentences.

    Raises:
        TypeError: the model or a sentence is something else. This error, the next one, and those of texts in lists
            are raised by the call; the others while maps are made.
        CorpusError: a text has no word in it.
        ValueError: the kind or the value of an option is unknown, ``batch_cells`` or ``max_length`` is below 1, or
            vectors are to be merged and the kind has none.
        ExtractionError: a sentence cannot be read and ``too_long`` is ``"error"``.
        ModelError: the maps are not what the kind promises (rows do not sum to 1, or there is mass on padding), or the
            kind reads weights and the architecture of the model has no row of names.

    Example:
        >>> from attentionology import extract, load_encoder
        >>> for batch in extract(load_encoder("demo"), ["Cats sleep.", "The old dog barks."]):
        ...     for sentence, array in batch.unpadded():
        ...         print(sentence.words, array.shape)
        ('The', 'old', 'dog', 'barks', '.') (6, 12, 7, 7)
        ('Cats', 'sleep', '.') (6, 12, 5, 5)
    """
    maker = MapMaker(get_kind(kind), level, merge, normalize, ff_bias)
    check_limits(batch_cells, too_long, max_length)
    used_log = ExtractionLog() if log is None else log
    options = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": used_log}
    texts = as_sentences(sentences)
    # Outside of the generator, so that the call checks the texts.
    made = extract_many(encoder, texts, [maker], **options)
    total = len(texts) if isinstance(texts, Sized) else None

    def batches() -> Iterator[MapBatch]:
        yield from with_bar((batch for (batch,) in made), total, progress)
        if log is None and used_log.skipped:
            warnings.warn(f"sentences without a map: {len(used_log.skipped)} ({used_log.reasons()})", stacklevel=2)

    return MapBatches(batches())


def extract_many(
    encoder: AnyModel, sentences: Texts, makers: Sequence[BatchMaker[Any] | str], **options: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield what several makers make of the same forward passes, one tuple per batch.

    Args:
        encoder: the model, as in `extract`.
        sentences: as in `extract`.
        makers: the names of several kinds of word maps, or for example a `MapMaker` of each.
        options: see `attentionology.extractors.shared_batches`. The bound ``batch_cells`` holds for all kinds of
            maps together.

    Raises:
        ModelError: for the same reasons as `extract`.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import extract_many
        >>> for weights, norms in extract_many(load_encoder("demo"), "Cats sleep.", ["weight", "norm"]):
        ...     print(weights.kind, norms.kind)
        weight norm
    """
    batch_makers = [MapMaker(get_kind(maker)) if isinstance(maker, str) else maker for maker in makers]
    options["batch_cells"] = shared_cells(batch_makers, options.get("batch_cells", DEFAULT_BATCH_CELLS))
    # Both are checked here, by the call, and not when the first map is asked for.
    texts = as_sentences(sentences)
    batches = shared_batches(as_encoder(encoder), texts, **needs_of(batch_makers), **options)
    return (make_batches(batch_makers, batch) for batch in batches)


def make_batches(makers: Sequence[BatchMaker[Any]], batch: Any) -> tuple[Any, ...]:
    """Return what each maker makes of a batch.

    The makers of maps work last, because they release the attention of the forward pass layer by layer.

    Args:
        makers: the makers.
        batch: what the makers read: a `SharedBatch` of sentences, or a batch of sentence pairs for makers of links.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import MapMaker, get_kind
        >>> from attentionology.extractors import make_batches, shared_batches
        >>> [batch] = shared_batches(load_encoder("demo"), [Sentence.from_text("Cats sleep.")])
        >>> make_batches([MapMaker(get_kind("weight"), "token")], batch)
        (MapBatch('weight', token level, 1 sentence, shape (1, 6, 12, 5, 5)),)
    """
    map_makers = [maker for maker in makers if isinstance(maker, MapMaker)]
    batches = {id(maker): maker.of(batch) for maker in makers if not isinstance(maker, MapMaker)}
    if map_makers:
        batches |= zip(map(id, map_makers), map_batches(map_makers, batch), strict=True)
    return tuple(batches[id(maker)] for maker in makers)


def shared_cells(makers: Sequence[BatchMaker[Any]], batch_cells: int) -> int:
    """Divide the bound on the cells of a batch by the number of kinds whose maps are held together.

    Example:
        >>> from attentionology.extractors import MapMaker, get_kind
        >>> from attentionology.extractors import shared_cells
        >>> shared_cells([MapMaker(get_kind("weight")), MapMaker(get_kind("norm"))], 2**16)
        32768
    """
    kinds = {maker.kind.name for maker in makers if isinstance(maker, MapMaker)}
    held = len(kinds) + len(needs_of(makers)["losses"])  # the gradients of a loss are as large as the maps of a kind
    return max(1, batch_cells // max(1, held))
