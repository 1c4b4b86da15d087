"""The contract of a kind of map: what `check_kind` checks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from ..corpora_loaders import Sentence
from ..extractors import Encoder, ExtractionLog, Level, MapBatch, MapKind, Merge, ModelError, extract, get_kind
from ..extractors.checks.precision import Precision
from ..extractors.kinds.rollout import AGGREGATIONS
from ..storage.errors import AttentionologyError
from .failing import allow_own_errors, fail
from .models import small_encoder

Array = npt.NDArray[np.float64]

SENTENCES = tuple(
    Sentence(f"s{number}", tuple(text.split()))
    for number, text in enumerate(
        ("The retired lighthouse keeper noticed an unbelievably long letter .", "the of a , .", "Go", "שלום {x}")
    )
)
"""Sentences of several lengths, with words of one and of several pieces; those of the second have one piece each."""

_ALONE, _TOGETHER = 1, 2**20
_ROUNDING = 1e-9
"""The relative error of float64 in a few layers, with room."""


def check_kind(kind: str | MapKind) -> None:
    """Check that a kind of map keeps its contract.

    The maps have the shape that they must have, and are finite. They are the same in batches of any size, up to the
    noise that the kind declares, and agree with those of float64 up to this noise. In a causal model, nothing above the
    diagonal is attended to. Maps of words are those of pieces, summed over the pieces attended to and averaged over
    those attended from. Models with one head can be read.

    Args:
        kind: a registered kind, or its name.

    Raises:
        AssertionError: the kind does not keep the contract. The message says what is wrong, and what to do.
        UnknownNameError: there is no kind of this name.

    Example:
        >>> check_kind("rollout:norm")
    """
    kind = get_kind(kind)
    for encoder in (small_encoder(), small_encoder(layers=1, heads=1), small_encoder(causal=True)):
        where = f"for a model of {encoder.n_layers} × {encoder.n_heads} heads{' that is causal' * encoder.causal}"
        try:
            with allow_own_errors(where, refuses=encoder.causal):  # not all kinds are defined for decoders
                alone = _maps(encoder, kind, cells=_ALONE)
        except ModelError:
            continue
        with allow_own_errors(where, refuses=False):
            together = _maps(encoder, kind, cells=_TOGETHER)
            again = _maps(encoder, kind, cells=_ALONE)
        _check_shapes(alone, encoder, where)
        if any((one != two).any() for one, two in zip(alone, again, strict=True)):
            fail(f"Two calls give other maps {where}", "Compute the same map every time")
        for one, two in zip(alone, together, strict=True):
            _check_close(one, two, kind.noise, f"in larger batches {where}", "Let nothing depend on padding")
        if encoder.causal and any(np.triu(array, 1).any() for array in alone):
            fail(f"Something above the diagonal is not 0 {where}", "A piece cannot attend to those after it")
        _check_float64(encoder, kind, alone, where)
        _check_words(encoder, kind, alone, where)
    if not kind.aggregation:
        _check_aggregations(kind)


def _maps(
    encoder: Encoder,
    kind: MapKind,
    level: Level = "token",
    merge: Merge = "norm",
    *,
    cells: int = _ALONE,
    sentences: Sequence[Sentence] = SENTENCES,
) -> list[Array]:
    """Return the map of each sentence in the order given, in the precision in which it was computed."""
    by_id: dict[str, Array] = {}
    for batch in _batches(encoder, kind, level, merge, cells=cells, sentences=sentences):
        by_id |= {sentence.id: array.astype(np.float64) for sentence, array in batch.unpadded()}
    return [by_id[sentence.id] for sentence in sentences]


def _batches(
    encoder: Encoder, kind: MapKind, level: Level, merge: Merge, *, cells: int, sentences: Sequence[Sentence]
) -> list[MapBatch]:
    # The name is enough for the toolkit, but a kind may be one that is not registered.
    options = {"merge": merge, "batch_cells": cells, "log": ExtractionLog(), "progress": False}
    return list(extract(encoder, sentences, kind, level, **options))  # type: ignore[arg-type]


def _check_shapes(maps: list[Array], encoder: Encoder, where: str) -> None:
    for sentence, array in zip(SENTENCES, maps, strict=True):
        n = array.shape[-1]
        if (
            array.shape[-2:] != (n, n)
            or array.shape[0] != encoder.n_layers
            or array.shape[1] not in (1, encoder.n_heads)
        ):
            fail(
                f"The maps of {sentence.id!r} have the shape {array.shape} (layers, heads, pieces, pieces) {where}",
                "Return a map of shape (batch, heads, n, n), or (batch, 1, n, n) for one map of all heads",
            )
        if not np.isfinite(array).all():
            fail(f"The maps of {sentence.id!r} are NaN or infinite {where}", "Let every cell be a number")


def _check_close(found: Array, expected: Array, noise: float, when: str, advice: str) -> None:
    """Check that two maps differ by no more than the noise of the largest value of each row."""
    largest = np.abs(expected).max(-1, keepdims=True)
    off = (np.abs(found - expected) / np.where(largest, largest, 1)).max()
    if off > noise:
        fail(f"The maps differ by {off:.1e} of the largest value of a row {when}, and the noise is {noise:.1e}", advice)


def _check_float64(encoder: Encoder, kind: MapKind, alone: list[Array], where: str) -> None:
    """Check what is computed again in float64: it agrees with float32, and depends on no batch."""
    declare = "Declare a larger noise, or compute without differences of large numbers"
    exact: dict[int, dict[str, Array]] = {}
    for cells in (_ALONE, _TOGETHER):
        exact[cells] = {}
        for batch in _batches(encoder, kind, "token", "norm", cells=cells, sentences=SENTENCES):
            with allow_own_errors(f"in float64 {where}", refuses=False):
                found = batch.exact(range(len(batch)))
            for sentence, array in zip(batch.sentences, found, strict=True):
                if str(array.dtype) != "torch.float64":
                    fail(
                        f"The maps are of {array.dtype} in float64 {where}", "Compute in the type of what the layer has"
                    )
                exact[cells][sentence.id] = array.numpy()
    for sentence, rounded in zip(SENTENCES, alone, strict=True):
        one, two = exact[_ALONE][sentence.id], exact[_TOGETHER][sentence.id]
        _check_close(one, two, _ROUNDING, f"in float64 in larger batches {where}", "Let nothing depend on padding")
        _check_close(rounded, one, kind.noise, f"from those of float64 {where}", declare)
    with allow_own_errors(f"if words are compared {where}", refuses=False):
        precision = Precision.of(encoder, SENTENCES, kind)  # type: ignore[arg-type]
    if precision.differing:
        fail(f"Decisions are others in float64, which is not noticed {where}: {precision}", declare)


def _check_words(encoder: Encoder, kind: MapKind, pieces: list[Array], where: str) -> None:
    """Check that maps of words are those of pieces, merged as attention weights are."""
    with allow_own_errors(f"at the level of words {where}", refuses=False):
        words = _maps(encoder, kind, "word")
        merged = _maps(encoder, kind, "word", "vector") if kind.vectors else words
    lengths = {
        sentence.id: (special, of_words)
        for batch in _batches(encoder, kind, "word", "norm", cells=_ALONE, sentences=SENTENCES)
        for sentence, special, of_words in zip(batch.sentences, batch.special.tolist(), batch.word_lengths, strict=True)
    }
    for sentence, array, of_words, of_vectors in zip(SENTENCES, pieces, words, merged, strict=True):
        special, word_lengths = lengths[sentence.id]
        sizes, remaining = [], list(word_lengths)
        for is_special in special:
            sizes.append(1 if is_special else remaining.pop(0))
        starts = np.cumsum([0, *sizes[:-1]])
        expected = np.add.reduceat(array, starts, axis=-1)
        expected = np.add.reduceat(expected, starts, axis=-2) / np.array(sizes)[:, None]
        advice = "Let the function return the map of pieces, which the toolkit merges"
        _check_close(of_words, expected, 2 * kind.noise, f"from those of pieces that are merged {where}", advice)
        if set(word_lengths) == {1}:
            advice = "vectors=True is for maps that are made of vectors, which the toolkit can add up"
            _check_close(of_vectors, of_words, 2 * kind.noise, f"if vectors of one piece are merged {where}", advice)


def _check_aggregations(kind: MapKind) -> None:
    """Check that the maps of all layers can be put together, unless they have negative cells or empty rows."""
    for rule in AGGREGATIONS:
        try:
            together = get_kind(f"{rule}:{kind.name}")
        except AttentionologyError:
            return  # it is not registered
        with suppress(AttentionologyError), allow_own_errors(f"if the maps of all layers are put together ({rule})"):
            _maps(small_encoder(), together)  # users are told of an own error
