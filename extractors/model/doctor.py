"""Checks of whether the maps of a model can be trusted, each with its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.errors import out_of_memory
from attentionology.extractors.errors import cause
from attentionology.extractors.kinds import get_kind, list_kinds
from attentionology.extractors.maps.attention_checks import ROW_SUM_TOLERANCE, mass_on_padding
from attentionology.extractors.maps.batching import ExtractionLog, obstacle
from attentionology.extractors.maps.extraction import extract
from attentionology.extractors.model.conditions import SAME
from attentionology.extractors.model.encoder import Encoder
from attentionology.extractors.model.forward_pass import Forward
from attentionology.extractors.tokens.pieces import Pieces


@dataclass(frozen=True)
class Check:
    """One line of the checklist.

    Attributes:
        name: what was checked.
        passed: whether the model passed; None for lines that only inform.
        found: the result in words.
    """

    name: str
    passed: bool | None
    found: str


def examine(encoder: Encoder, sentences: Sequence[Sentence]) -> Iterator[Check]:
    """Run the checks on a few sentences of different lengths, and yield each when it is done.

    A check that raises an error has failed, and the message of the error is its result.
    """
    aligned = encoder.align(sentences)
    readable = [s for s, p in zip(sentences, aligned, strict=True) if obstacle(p, encoder.max_length) is None]
    ordered = sorted(readable, key=len)
    yield Check("model", None, f"{encoder.family}, {encoder.n_layers} layers × {encoder.n_heads} heads")
    if encoder.files.sha256:
        yield Check("checkpoint", not encoder.files.unused.others, _checkpoint(encoder))
    for warning in encoder.warnings:
        yield Check("note", None, warning)
    limit = "no limit known" if encoder.max_length is None else f"{encoder.max_length} pieces"
    yield Check("longest input", None, limit)
    yield Check("sentences", bool(ordered), f"{len(ordered)} of {len(sentences)} can be read")
    if not ordered:
        return
    checks: list[tuple[str, Callable[[Encoder, Sequence[Sentence]], tuple[bool | None, str]]]] = [
        ("words and pieces align", _alignment),
        ("attention from every layer", _attention),
        ("rows sum to 1", _row_sums),
        ("nothing on padding", _padding),
        ("batch equals single sentence", _batch_equals_single),
        ("same again, whatever the batch size", _repeatable),
        ("float32 precise enough for exact counts", _precision),
        ("where attention rests", _sink),
    ]
    for name, check in checks:
        try:
            yield Check(name, *check(encoder, ordered))
        except Exception as error:
            if out_of_memory(error):
                raise
            yield Check(name, False, cause(error))
    for kind in list_kinds():
        try:
            passed, result = _precision(encoder, ordered[:2], kind)
            yield Check(f"map kind {kind!r}", passed, f"{get_kind(kind).description}; float32 {result}")
        except Exception as error:
            if out_of_memory(error):
                raise
            unavailable = False if kind == "weight" else None
            yield Check(f"map kind {kind!r}", unavailable, f"not available: {cause(error)}")


def _pieces(encoder: Encoder, sentences: Sequence[Sentence]) -> list[Pieces]:
    return [p for p in encoder.align(sentences) if isinstance(p, Pieces)]


def _checkpoint(encoder: Encoder) -> str:
    unused = encoder.files.unused
    heads = f"{len(unused.heads)} tensors of a task head, which attention does not need" if unused.heads else ""
    others = f"{len(unused.others)} tensors that do not belong to the architecture" if unused.others else ""
    left_over = " and ".join(part for part in (others, heads) if part)
    return f"all weights that attention needs are present; unused: {left_over or 'none'}"


def _passes(encoder: Encoder, sentences: Sequence[Sentence]) -> list[Forward]:
    """Run forward passes over all sentences: together if the model can read padded batches, otherwise one by one."""
    pieces = _pieces(encoder, sentences)
    batches = [pieces] if encoder.batching == "padded" else [[alone] for alone in pieces]
    return [encoder.forward(batch) for batch in batches]


def _alignment(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    aligned = _pieces(encoder, sentences)
    words = sum(len(s) for s in sentences)
    matched = sum(p.special.count(False) - p.substituted for p in aligned)
    unknown = sum(p.unknown for p in aligned)
    result = f"{matched:,} of {words:,} words have pieces of their own, {unknown:,} words have unknown pieces"
    if unknown > 0.1 * words:
        result += "; a share this large means that the tokenizer does not know this language or script"
    return matched == words and unknown <= 0.1 * words, result


def _attention(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    attentions = encoder.forward(_pieces(encoder, sentences[:1])).attentions
    finite = all(bool(torch.isfinite(alpha).all()) for alpha in attentions)
    return finite and len(attentions) == encoder.n_layers, (
        f"{len(attentions)} full matrices through eager attention"
        + ("" if finite else ", with values that are not finite")
    )


def _row_sums(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    off = 0.0
    for forward in _passes(encoder, sentences):
        rows = forward.mask[:, None].expand(-1, encoder.n_heads, -1)
        off = max(off, *(float((alpha.sum(-1)[rows] - 1).abs().max()) for alpha in forward.attentions))
    return off <= ROW_SUM_TOLERANCE, f"within {off:.1e}"


def _padding(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool | None, str]:
    if encoder.batching != "padded":
        return None, f"inputs are never padded; read together: {encoder.batching}"
    mass = max(map(mass_on_padding, _passes(encoder, sentences)))
    return mass <= 1e-6, f"at most {mass:.1e} of a row"


def _maps(encoder: Encoder, sentences: Sequence[Sentence], batch_cells: int) -> dict[str, np.ndarray]:
    batches = extract(encoder, sentences, batch_cells=batch_cells, log=ExtractionLog())
    return {sentence.id: array for batch in batches for sentence, array in batch.unpadded()}


def _difference(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(first[key] - second[key]).max()) for key in first)


def _batch_equals_single(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    off = _difference(_maps(encoder, sentences, 1), _maps(encoder, sentences, 2**20))
    return off <= SAME, f"largest difference {off:.1e}"


def _repeatable(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[bool, str]:
    first = _maps(encoder, sentences, 2**20)
    again = _difference(first, _maps(encoder, sentences, 2**20))
    sizes = [2**8, 2**11, 2**13]
    off = max(_difference(first, _maps(encoder, sentences, size)) for size in sizes)
    return again == 0 and off <= SAME, f"repeated: {again:.1e}, other batch sizes: {off:.1e}"


def _precision(encoder: Encoder, sentences: Sequence[Sentence], kind: str = "weight") -> tuple[bool, str]:
    """Measure the relative error of values that decisions compare: those at least half as large as the largest."""
    off = [0.0]
    for batch in extract(encoder, sentences, kind=kind, log=ExtractionLog()):
        doubled = batch.exact(range(len(batch)))
        for row, ((_, single), double) in enumerate(zip(batch.unpadded(), doubled, strict=True)):
            words = np.flatnonzero(batch.words[row].numpy())
            exact = double.numpy()[..., words[:, None], words] * ~np.eye(len(words), dtype=bool)
            error = np.abs(single[..., words[:, None], words] - exact)
            for axis in (-1, -2):
                compared = (exact > 0) & (exact >= exact.max(axis, keepdims=True) / 2)
                off.extend((error[compared] / exact[compared]).tolist())
    allowed = get_kind(kind).noise
    return max(off) <= allowed, f"at most {max(off):.1e} of a value, {allowed:.0e} is allowed"


def _sink(encoder: Encoder, sentences: Sequence[Sentence]) -> tuple[None, str]:
    """Measure the share of attention on the first and the last special token."""
    first = last = rows = 0.0
    for batch in extract(encoder, sentences, log=ExtractionLog()):
        for row, (_, array) in enumerate(batch.unpadded()):
            special = batch.special[row, : array.shape[-1]]
            rows += array.shape[-1] * array.shape[0] * array.shape[1]
            first += float(array[..., 0].sum()) if special[0] else 0.0
            last += float(array[..., -1].sum()) if special[-1] else 0.0
    return (
        None,
        f"{100 * first / rows:.0f} % on the first special token, {100 * last / rows:.0f} % on the last "
        "(mean over heads)",
    )
