"""Word maps on disk, so that a probe can read them in every epoch and the model runs once.

A store is a folder whose name is a digest of everything that its maps depend on: the model's weights, configuration and
tokenizer, the words that it read, the kind of map and its options. Sentences are stored in parts of `WINDOW`. A part
exists if its ``.json`` file does, which is written last, so an interrupted run loses only the part that it was writing.

Every file is sealed with its digest (`storage.sealed`). All parts are checked before the store is used; a damaged part
is thrown away, noted, and made again. Processes that share a store make each part once, because they lock its folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from ...corpora_loaders import Sentence
from ...storage.cache_log import CacheLog
from ...storage.durable import StorageError, free_space, size, write_durably
from ...storage.partial import delete, locked, sweep
from ...storage.sealed import cache_name, read_json, write_json
from ...storage.tensors import write_tensors
from ..errors import ExtractionError
from ..layers import FFBias
from ..model.encoder import Encoder
from ..model.loaded_model import described_model
from ..tokens.pieces import Segment
from .batching import DEFAULT_BATCH_CELLS, WINDOW, ExtractionLog, Skipped
from .extraction import extract
from .map_maker import Merge, Normalize
from .store_reader import Fingerprint, MapLocation, StoredMaps, checked, fingerprint, shard_name

StoreType = Literal["float32", "float16"]
"""The type of the numbers in stored maps."""

_SHARD_BYTES = 2**26
_TYPES = {"float32": torch.float32, "float16": torch.float16}


_FORMAT = 2


def store_maps(
    encoder: Encoder,
    sentences: Sequence[Sentence],
    folder: str | Path,
    kind: str = "weight",
    *,
    merge: Merge = "norm",
    normalize: Normalize = "none",
    ff_bias: FFBias = "input",
    dtype: StoreType = "float32",
    batch_cells: int = DEFAULT_BATCH_CELLS,
    max_length: int | None = None,
    advance: Callable[[int], object] = lambda _: None,
    cache_log: CacheLog | None = None,
) -> StoredMaps:
    """Store the word maps of sentences in a folder, and make those that are not in it yet.

    Args:
        encoder, sentences, kind, merge, normalize, ff_bias, batch_cells, max_length: see `extract`.
        folder: the folder of all stores, each of which gets a folder of its own in it.
        dtype: ``"float16"`` takes half the space and keeps three digits.
        advance: is called with the number of sentences that were done since the last call.
        cache_log: notes which files were damaged, or written without a digest by an older version. They are thrown
            away and made again.

    Raises:
        ValueError: for the same reasons as `extract`, or ``dtype`` is unknown.
        ExtractionError: the disk is too small, a value is too large for float16, or no sentence could be read.
        StorageError: the folder or a file in it cannot be written, read or deleted.
        ModelError: for the same reasons as `extract`.

    Example:
        >>> from attentionology import Sentence, load_encoder, store_maps
        >>> sentences = [Sentence.from_text("Cats sleep."), Sentence.from_text("The old dog barks.")]
        >>> stored = store_maps(load_encoder("demo"), sentences, "maps")
        >>> stored
        StoredMaps('weight', 2 sentences, 6 layers × 12 heads, 'maps/all-MiniLM-L6-v2-weight-...')
        >>> store_maps(load_encoder("demo"), sentences, "maps").made  # the model does not run again
        0
    """
    if dtype not in _TYPES:
        raise ValueError(f"dtype must be {' or '.join(map(repr, _TYPES))}, not {dtype!r}")
    options: dict[str, Any] = {
        "kind": kind,
        "merge": merge,
        "normalize": normalize,
        "ff_bias": ff_bias,
        "max_length": max_length,
    }
    name, made_of = store_key(encoder, sentences, WINDOW, {**options, "dtype": dtype})
    store = Path(folder) / name
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{store}: the folder cannot be made: {error.strerror or error}") from error
    sweep(store)
    _explain(store / "made_of.json", made_of)
    cache_log = CacheLog() if cache_log is None else cache_log
    maker = _Maker(encoder, sentences, store, {**options, "batch_cells": batch_cells}, dtype, advance, cache_log)
    parts = [maker.part(number) for number in range(-(-len(sentences) // WINDOW))]
    log, locations, shape = ExtractionLog(), list[MapLocation](), (0, 0)
    for number, part in enumerate(parts):
        log.add(part.log(sentences))
        locations += [MapLocation(number, shard, index, tuple(special)) for index, shard, special in part.maps]
        shape = (part.shape[0], part.shape[1]) if part.maps else shape
    if not locations:
        raise ExtractionError(f"none of the {len(sentences)} sentences could be read: {log.reasons()}")
    locations.sort(key=lambda location: location.number)

    def exact(sentence: Sentence) -> Tensor:
        return next(extract(encoder.double, [sentence], **options, log=ExtractionLog())).maps[0].cpu()

    return StoredMaps(
        folder=store,
        sentences=tuple(sentences[location.number] for location in locations),
        kind=kind,
        shape=shape,
        bytes=sum(shard.size for shard in maker.shards.values()),
        made=maker.made,
        log=log,
        _locations=tuple(locations),
        _exact=exact if dtype == "float32" else None,
        _shards=maker.shards,
    )


@dataclass(frozen=True)
class _StoredPart:
    """What the record of a part says. Sentences are given by their indices in the corpus.

    Attributes:
        maps: the sentence, the shard, and the special positions of each map.
        shape: the numbers of layers and heads; empty if there is no map.
        words, unknown_words, substituted_words: see `ExtractionLog`.
        skipped: the sentences without a map, each with the reason.
        shards: the digest of each shard.
    """

    maps: Sequence[Sequence[Any]]
    shape: Sequence[int]
    words: int
    unknown_words: int
    substituted_words: int
    skipped: Sequence[Sequence[Any]]
    shards: Sequence[str]

    def log(self, sentences: Sequence[Sentence]) -> ExtractionLog:
        """The log of the part, with the sentences of the corpus."""
        skipped = [Skipped(sentences[index], reason) for index, reason in self.skipped]
        return ExtractionLog(len(self.maps), self.words, self.unknown_words, self.substituted_words, skipped)


@dataclass
class _Maker:
    """Makes the parts that a store does not have yet."""

    encoder: Encoder
    sentences: Sequence[Sentence]
    folder: Path
    options: dict[str, Any]
    dtype: StoreType
    advance: Callable[[int], object]
    cache_log: CacheLog
    made: int = 0
    shards: dict[tuple[int, int], Fingerprint] = field(default_factory=dict)
    intact: dict[int, _StoredPart] = field(default_factory=dict)

    def part(self, number: int) -> _StoredPart:
        """Return the record of a part, after making the part if necessary."""
        # Another process may be making this part, which is then complete when the lock is free.
        with locked(self.folder, wait=True):
            record = self._stored(number)
            if record is None:
                return self._make(number)
        self.advance(len(self._sentences(number)))
        return record

    def _sentences(self, number: int) -> Sequence[Sentence]:
        return self.sentences[number * WINDOW : (number + 1) * WINDOW]

    def _record_path(self, number: int) -> Path:
        return self.folder / f"{number:04d}.json"

    def _stored(self, number: int) -> _StoredPart | None:
        """Read the record of a part and check its files; None if it has to be made, and then no file of it is left."""
        if number in self.intact:
            return self.intact[number]
        path = self._record_path(number)
        facts = self.cache_log.read(path, lambda path: read_json(path, cache_name(path)))
        if facts is not None:
            record, shards = _StoredPart(**facts), dict[tuple[int, int], Fingerprint]()
            for shard, digest in enumerate(record.shards):
                file = self.folder / shard_name(number, shard)
                if found := self.cache_log.read(file, partial(checked, digest=digest)):
                    shards[number, shard] = found
            if len(shards) == len(record.shards):
                self.intact[number] = record
                self.shards |= shards
                return record
        for file in (path, *self.folder.glob(shard_name(number, "*"))):
            delete(file)
        return None

    def _make(self, number: int) -> _StoredPart:
        sentences, log = self._sentences(number), ExtractionLog()
        indices: dict[int, list[int]] = {}  # the same sentence may occur twice
        for index, sentence in enumerate(sentences, start=number * WINDOW):
            indices.setdefault(id(sentence), []).append(index)
        shards: list[str] = []
        waiting: dict[str, Tensor] = {}
        maps: list[tuple[int, int, list[int]]] = []
        shape: tuple[int, ...] = ()
        for batch in extract(self.encoder, sentences, log=log, **self.options):
            if not shape:
                shape = tuple(batch.maps.shape[1:3])
                self._check_space(number, shape)
            for row, (sentence, length) in enumerate(zip(batch.sentences, batch.lengths.tolist(), strict=True)):
                cut = batch.maps[row, ..., :length, :length].to("cpu", _TYPES[self.dtype], copy=True)
                if self.dtype == "float16" and not cut.isfinite().all():
                    raise ExtractionError(f"sentence {sentence.id!r}: a map is too large for float16; use float32")
                index = indices[id(sentence)].pop()
                waiting[str(index)] = cut.contiguous()
                maps.append((index, len(shards), batch.special[row].nonzero().flatten().tolist()))
            if sum(cut.nbytes for cut in waiting.values()) > _SHARD_BYTES:
                shards.append(self._write(number, len(shards), waiting))
                waiting = {}
            self.advance(len(batch))
        if waiting:
            shards.append(self._write(number, len(shards), waiting))
        self.advance(len(log.skipped))
        self.made += len(sentences)
        skipped = [(indices[id(skipped.sentence)].pop(), skipped.reason) for skipped in log.skipped]
        record = _StoredPart(maps, shape, log.words, log.unknown_words, log.substituted_words, skipped, shards)
        path = self._record_path(number)
        write_json(path, asdict(record), cache_name(path))
        return record

    def _write(self, number: int, shard: int, maps: dict[str, Tensor]) -> str:
        path = self.folder / shard_name(number, shard)
        digest = write_tensors(path, maps, {}, cache_name(path))
        self.shards[number, shard] = fingerprint(path, digest)
        return digest

    def _check_space(self, number: int, shape: Sequence[int]) -> None:
        """Raise `ExtractionError` unless the maps that are still to be made, from a part on, fit on the disk."""
        limits = [limit for limit in (self.encoder.max_length, self.options["max_length"]) if limit is not None]
        cells = 0
        for later in range(number, -(-len(self.sentences) // WINDOW)):
            if later == number or self._stored(later) is None:
                lengths = map(len, self._sentences(later))
                cells += sum((n + 2) ** 2 for n in lengths if all(n <= limit for limit in limits))
        needed = cells * shape[0] * shape[1] * torch.finfo(_TYPES[self.dtype]).bits // 8
        free = free_space(self.folder)
        if needed > free:
            raise ExtractionError(
                f"the word maps need {size(needed)}, and {size(free)} are free in {self.folder.parent}; "
                "choose another cache, or float16"
            )


def _explain(path: Path, made_of: dict[str, Any]) -> None:
    """Write a file that shows people what a store was made of. No program reads it."""
    text = (json.dumps(made_of, indent=2, ensure_ascii=False) + "\n").encode()
    if not path.is_file() or path.read_bytes() != text:  # a complete store is not written to
        if path.is_dir():
            delete(path)
        write_durably(path, text)


def store_key(
    encoder: Encoder, sentences: Sequence[Sentence], window: int, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Compute the name of a store of maps with some options, and a description of all that it is made of."""
    words = hashlib.sha256()
    for sentence in sentences:
        words.update(json.dumps(sentence.words, ensure_ascii=False).encode())
        if isinstance(sentence, Segment):
            words.update(json.dumps([sentence.pieces.ids, sentence.pieces.segment_ids]).encode())
    made_of = {
        "format": _FORMAT,
        "window": window,
        **described_model(encoder),
        "sentences": len(sentences),
        "words": words.hexdigest(),
        **options,
    }
    described = json.dumps(made_of, sort_keys=True, default=str)
    model = re.sub(r"[^\w.-]+", "_", encoder.name.rsplit("/", 1)[-1])
    kind = re.sub(r"[^\w.-]+", "_", options["kind"])
    return f"{model}-{kind}-{hashlib.sha256(described.encode()).hexdigest()[:16]}", json.loads(described)
