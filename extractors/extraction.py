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

from attentionology.corpora_loaders import Sentence
from attentionology.extractors.conditions import fitting
from attentionology.extractors.encoder import Encoder
from attentionology.extractors.errors import ExtractionError
from attentionology.extractors.kinds import get_kind
from attentionology.extractors.layers import FFBias
from attentionology.extractors.making import MapMaker, Merge, Normalize
from attentionology.extractors.map_batch import Level, MapBatch
from attentionology.extractors.pieces import Pieces, Unalignable

TooLong = Literal["skip", "error"]

DEFAULT_BATCH_CELLS = 2**16
"""Sentences × pieces × pieces of one batch: 4 sentences of 128 pieces, or 40 of 40."""

WINDOW = 1024
"""How many sentences are sorted by length at a time."""

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
        for batch in plan(encoder, sentences, batch_cells, max_length, too_long, own_log):
            yield _map_batch(encoder, batch, make)
        if log is None and own_log.skipped:
            warnings.warn(f"sentences without a map: {len(own_log.skipped)} ({own_log.reasons()})", stacklevel=2)

    return batches()


Batch = list[tuple[Sentence, Pieces]]


def plan(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    batch_cells: int,
    max_length: int | None,
    too_long: TooLong,
    log: ExtractionLog,
) -> Iterator[Batch]:
    """The batches of `extract` before the model has read them, and the log filled; arguments as there."""
    limit = min((one for one in (encoder.max_length, max_length) if one is not None), default=None)
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
        for batch in _cut(readable, batch_cells, encoder):
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


def _cut(sentences: Batch, batch_cells: int, encoder: Encoder) -> Iterator[Batch]:
    """Cut sentences, longest first, into batches within ``batch_cells`` and what device and model do well with."""
    batch_pieces = _BATCH_PIECES_CPU if encoder.device.type == "cpu" else _BATCH_PIECES
    start = 0
    while start < len(sentences):
        n = len(sentences[start][1])
        size = max(1, min(batch_cells // n**2, batch_pieces // n))
        batch = fitting(encoder.batching, sentences[start : start + size], lambda pair: len(pair[1]))
        yield batch
        start += len(batch)


def _map_batch(encoder: Encoder, batch: Batch, make: MapMaker) -> MapBatch:
    sentences = tuple(sentence for sentence, _ in batch)
    pieces = [p for _, p in batch]
    maps, lengths = make(encoder, pieces)

    def recompute(indices: Sequence[int]) -> list[Float[Tensor, "layers heads n n"]]:
        # One by one: nothing is padded, and some architectures turn padding into NaN in float64.
        twin = encoder.double
        return [make(twin, [pieces[i]])[0][0].cpu() for i in indices]

    special_mask = torch.zeros(maps.shape[0], maps.shape[-1], dtype=torch.bool)
    labels, forms = [], []
    for row, (sentence, p) in enumerate(batch):
        if make.level == "word":
            at = torch.tensor(p.special)
            words = iter(sentence.words)
            specials = (token for token, position in zip(p.tokens, p.positions, strict=True) if p.special[position])
            labels.append(tuple(next(specials) if special else next(words) for special in p.special))
            forms.append(labels[-1])
        else:
            at = torch.tensor([p.special[position] for position in p.positions])
            labels.append(tuple(p.tokens))
            forms.append(tuple(encoder.forms[piece] for piece in p.ids))
        special_mask[row, : len(at)] = at
    return MapBatch(
        maps=maps,
        lengths=torch.tensor(lengths),
        special=special_mask,
        sentences=sentences,
        labels=tuple(labels),
        forms=tuple(forms),
        kind=make.kind.name,
        level=make.level,
        noise=make.kind.noise,
        recompute=recompute,
    )
