"""Sentences + encoder → batches of maps, in memory that does not depend on the corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from corpora_loaders import Sentence
from extractors.encoder import Encoder
from extractors.errors import ExtractionError, ModelError
from extractors.kinds import Forward, MapKind, get_kind
from extractors.map_batch import Level, MapBatch
from extractors.merging import WordMerger
from extractors.pieces import Pieces, Unalignable

TooLong = Literal["skip", "error"]

DEFAULT_BATCH_CELLS = 2**17
"""Sentences × pieces × pieces of one batch: 8 sentences of 128 pieces, or 80 of 40."""

WINDOW = 1024
"""How many sentences are sorted by length at a time."""

ROW_SUM_TOLERANCE = 1e-4
"""How far from 1 the sum of a row of attention may be."""

_BATCH_PIECES_CPU = 1024  # beyond this the activations of a batch fall out of the cache
_BATCH_PIECES = 16384


@dataclass(frozen=True)
class Skipped:
    """A sentence that gave no map, and why."""

    sentence: Sentence
    reason: str


@dataclass
class ExtractionLog:
    """What happened to the sentences on the way; filled while batches are drawn.

    Attributes:
        read: sentences that gave a map.
        words: how many words they have.
        unknown_words: words of which the tokenizer does not know some piece.
        substituted_words: words read as the unknown token because they tokenise to nothing.
        skipped: sentences without a map.
    """

    read: int = 0
    words: int = 0
    unknown_words: int = 0
    substituted_words: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    def reasons(self) -> str:
        """Why the first few sentences were skipped, for a message."""
        first = "; ".join(f"{one.sentence.id}: {one.reason}" for one in self.skipped[:3])
        return first + ("; …" if len(self.skipped) > 3 else "")


def extract(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    kind: str = "weight",
    level: Level = "word",
    *,
    batch_cells: int = DEFAULT_BATCH_CELLS,
    too_long: TooLong = "skip",
    max_length: int | None = None,
    log: ExtractionLog | None = None,
) -> Iterator[MapBatch]:
    """Yield maps of all sentences, longest first within a window of `WINDOW` sentences.

    Args:
        encoder: the model.
        sentences: read lazily, one window at a time.
        kind: a registered map kind, see `extractors.kinds`.
        level: ``"word"`` merges pieces (sum over those attended to, mean over those attended from; Clark et
            al. 2019, §4.1), ``"token"`` keeps them.
        batch_cells: bound on sentences × pieces² of a batch; a longer sentence is a batch of its own. The
            maps of a batch take about ``8 · layers · heads · batch_cells`` bytes.
        too_long: what to do with a sentence of more pieces than the model, or ``max_length``, allows:
            ``"skip"`` it and note it in the log, or raise an ``"error"``.
        max_length: a lower limit on the number of pieces, special tokens included.
        log: filled with what was skipped; without one, a warning at the end tells how many.

    Raises:
        ValueError: unknown kind, level or ``too_long``, ``batch_cells`` or ``max_length`` below 1.
        ExtractionError: a sentence cannot be read and ``too_long`` is ``"error"``.
        ModelError: the maps are not what the kind promises (rows that do not sum to 1, mass on padding).
    """
    map_kind = get_kind(kind)
    if level not in ("word", "token"):
        raise ValueError(f"level must be 'word' or 'token', not {level!r}")
    if too_long not in ("skip", "error"):
        raise ValueError(f"too_long must be 'skip' or 'error', not {too_long!r}")
    if batch_cells < 1 or (max_length is not None and max_length < 1):
        raise ValueError("batch_cells and max_length must be at least 1")
    limits = [limit for limit in (encoder.max_length, max_length) if limit is not None]
    own_log = ExtractionLog() if log is None else log

    def batches() -> Iterator[MapBatch]:
        for batch in plan(encoder, sentences, batch_cells, min(limits, default=None), too_long, own_log):
            yield _map_batch(encoder, batch, map_kind, level)
        if log is None and own_log.skipped:
            warnings.warn(f"sentences without a map: {len(own_log.skipped)} ({own_log.reasons()})", stacklevel=2)

    return batches()


Batch = list[tuple[Sentence, Pieces]]


def plan(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    batch_cells: int,
    limit: int | None,
    too_long: TooLong,
    log: ExtractionLog,
) -> Iterator[Batch]:
    """The batches of `extract` before the model has read them, and the log filled; arguments as there."""
    stream = iter(sentences)
    while window := list(islice(stream, WINDOW)):
        readable = []
        for sentence, pieces in zip(window, encoder.align(window), strict=True):
            reason = obstacle(pieces, limit)
            if reason is None and isinstance(pieces, Pieces):
                readable.append((sentence, pieces))
            elif too_long == "skip":
                log.skipped.append(Skipped(sentence, reason or ""))
            else:
                place = f"{sentence.file}:{sentence.line}: " if sentence.file else ""
                raise ExtractionError(f"{place}sentence {sentence.id!r}: {reason}")
        readable.sort(key=lambda pair: -len(pair[1]))
        for batch in _cut(readable, batch_cells, encoder.device):
            yield batch
            log.read += len(batch)
            log.words += sum(len(sentence) for sentence, _ in batch)
            log.unknown_words += sum(pieces.unknown for _, pieces in batch)
            log.substituted_words += sum(pieces.substituted for _, pieces in batch)


def obstacle(pieces: Pieces | Unalignable, limit: int | None) -> str | None:
    """Why a sentence cannot be read with at most ``limit`` pieces; None if it can."""
    if isinstance(pieces, Unalignable):
        return str(pieces)
    if limit is not None and len(pieces) > limit:
        return f"too long: {len(pieces)} pieces, the limit is {limit}"
    return None


def _cut(sentences: Batch, batch_cells: int, device: torch.device) -> Iterator[Batch]:
    """Cut sentences, longest first, into batches within ``batch_cells`` and what the device does well with."""
    batch_pieces = _BATCH_PIECES_CPU if device.type == "cpu" else _BATCH_PIECES
    start = 0
    while start < len(sentences):
        n = len(sentences[start][1])
        size = max(1, min(batch_cells // n**2, batch_pieces // n))
        yield sentences[start : start + size]
        start += size


def _map_batch(encoder: Encoder, batch: Batch, kind: MapKind, level: Level) -> MapBatch:
    sentences = tuple(sentence for sentence, _ in batch)
    pieces = [p for _, p in batch]
    maps, lengths = _maps(encoder, pieces, kind, level)

    def recompute(indices: Sequence[int]) -> list[Float[Tensor, "layers heads n n"]]:
        # One by one: nothing is padded, and some architectures turn padding into NaN in float64.
        return [_maps(encoder.double, [pieces[i]], kind, level)[0][0].cpu() for i in indices]

    special_mask = torch.zeros(maps.shape[0], maps.shape[-1], dtype=torch.bool)
    labels = []
    for row, (sentence, p) in enumerate(batch):
        if level == "word":
            at = torch.tensor(p.special)
            words = iter(sentence.words)
            specials = (token for token, position in zip(p.tokens, p.positions, strict=True) if p.special[position])
            labels.append(tuple(next(specials) if special else next(words) for special in p.special))
        else:
            at = torch.tensor([p.special[position] for position in p.positions])
            labels.append(tuple(p.tokens))
        special_mask[row, : len(at)] = at
    return MapBatch(
        maps=maps,
        lengths=torch.tensor(lengths),
        special=special_mask,
        sentences=sentences,
        labels=tuple(labels),
        kind=kind.name,
        level=level,
        recompute=recompute,
    )


@torch.inference_mode()
def _maps(
    encoder: Encoder, pieces: Sequence[Pieces], kind: MapKind, level: Level
) -> tuple[Float[Tensor, "batch layers heads n n"], list[int]]:
    """Maps of one padded batch with zeros outside the sentences, and the number of positions of each."""
    forward = encoder.forward(pieces)
    n = forward.mask.shape[1]
    layers = list(kind.layers(forward))
    batch, heads = layers[0].shape[:2]
    if level == "word":
        lengths = [len(p.special) for p in pieces]
        merge = WordMerger(pieces, n, dtype=encoder.dtype, device=forward.mask.device)
        by_layer = layers[0].new_empty(len(layers), batch, heads, merge.k, merge.k)
        for layer, merged in zip(layers, by_layer, strict=True):
            merge(layer, out=merged)
    else:
        lengths = [len(p) for p in pieces]
        inside = forward.mask[:, None, :, None] & forward.mask[:, None, None, :]
        by_layer = torch.stack([layer * inside for layer in layers])
    maps = by_layer.transpose(0, 1)
    if kind.rows_sum_to_one:
        _check_rows(maps, lengths, forward, encoder)
    return maps, lengths


def _check_rows(maps: Tensor, lengths: list[int], forward: Forward, encoder: Encoder) -> None:
    """Every row inside a sentence is a distribution over that sentence, or nothing computed from it counts."""
    off_by_row = (maps.sum(-1) - 1).abs().amax((1, 2)).cpu()
    inside = torch.arange(maps.shape[-1]) < torch.tensor(lengths)[:, None]
    off = float(off_by_row[inside].max())
    if off <= ROW_SUM_TOLERANCE:
        return
    rows = forward.mask[:, None, :, None]
    on_padding = max(
        float((alpha * rows * ~forward.mask[:, None, None, :]).sum(-1).max()) for alpha in forward.attentions
    )
    what = (
        f"up to {on_padding:.2g} of a row's attention falls on padding, so the attention mask is not respected"
        if on_padding > ROW_SUM_TOLERANCE
        else f"rows of attention sum to 1 only within {off:.2g}"
    )
    raise ModelError(f"{encoder.name or encoder.family}: {what}; maps of this model cannot be trusted")
