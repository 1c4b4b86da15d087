"""Word maps on disk, so that a probe can read them in every epoch and the model runs once.

A store is a folder whose name is a digest of everything that its maps depend on. Sentences are stored in parts of
`WINDOW`. A part exists if its ``.json`` file does, which is written last, so an interrupted run loses only the part
that it was writing. Before the store is used, all parts are checked by their seals; a damaged part is noted and made
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from ...corpora_loaders import Sentence, Texts
from ...corpora_loaders.strings import sentence_list
from ...reports.progress import progress_bar, showing
from ...storage.cache_log import CacheLog
from ...storage.durable import delete, lock
from ...storage.paths import check_kept_folder
from ...storage.sealed import DamagedError, check, read_json, write_json
from ...storage.tensors import write_tensors
from ..errors import ExtractionError
from ..layers import FFBias
from ..model.any_model import AnyModel, as_encoder
from ..model.encoder import Encoder
from .batching import DEFAULT_BATCH_CELLS, WINDOW, ExtractionLog, Skipped
from .extraction import extract
from .map_batch import MapBatch
from .map_maker import Merge, Normalize
from .store_folder import check_space, described_inputs, open_store, store_name
from .store_reader import MapLocation, StoredMaps

StoreType = Literal["float32", "float16"]
"""The type of the numbers in stored maps."""

_FORMAT = 2
_SHARD_BYTES = 2**26
_TYPES = {"float32": torch.float32, "float16": torch.float16}


def store_maps(
    encoder: AnyModel,
    sentences: Texts,
    folder: str | Path,
    kind: str = "weight",
    *,
    merge: Merge = "norm",
    normalize: Normalize = "none",
    ff_bias: FFBias = "input",
    dtype: StoreType = "float32",
    batch_cells: int = DEFAULT_BATCH_CELLS,
    max_length: int | None = None,
    advance: Callable[[int], object] | None = None,
    cache_log: CacheLog | None = None,
    progress: bool | None = None,
) -> StoredMaps:
    """Store the word maps of sentences in a folder, and make those that are not in it yet.

    Args:
        encoder, sentences, kind, merge, normalize, ff_bias, batch_cells, max_length: see `extract`.
        folder: the folder of all stores, each of which gets a folder of its own in it.
        dtype: ``"float16"`` takes half the space and keeps three digits.
        advance: is called with the number of sentences that were done since the last call, in place of a bar.
        cache_log: notes which files were damaged, or written without a digest by an older version. They are thrown
            away and made again.
        progress: whether to show progress bars. Default: in an interactive session and in a notebook.

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
    encoder, sentences = as_encoder(encoder), sentence_list(sentences)
    name, made_of = _store_key(encoder, sentences, {**options, "dtype": dtype})
    check_kept_folder(folder)
    folder = Path(folder) / name  # as it was given, which is how results name it
    open_store(folder, made_of)
    log = CacheLog() if cache_log is None else cache_log
    with ExitStack() as stack:
        if advance is None:
            stack.enter_context(showing(progress))
            advance = stack.enter_context(progress_bar("maps", len(sentences)))
        store = _Store(encoder, sentences, folder, {**options, "batch_cells": batch_cells}, _TYPES[dtype], advance, log)
        stack.enter_context(lock(folder, wait=True))  # another process may be making the same maps
        n_parts = -(-len(sentences) // WINDOW)  # rounded up
        stored = {part: store.read(part) for part in range(n_parts)}
        missing = [part for part, record in stored.items() if record is None]
        records = [store.make(part, missing) if record is None else record for part, record in stored.items()]
    return store.maps(records, made=sum(len(store.of_part(part)) for part in missing))


@dataclass(frozen=True)
class _Store:
    """What the parts of a store are made of, and where."""

    encoder: Encoder
    sentences: Sequence[Sentence]
    folder: Path
    options: dict[str, Any]  # the arguments of `extract`
    dtype: torch.dtype
    advance: Callable[[int], object]
    cache_log: CacheLog

    def of_part(self, part: int) -> Sequence[Sentence]:
        """Return the sentences of a part, given by its number from 0."""
        return self.sentences[part * WINDOW : (part + 1) * WINDOW]

    def read(self, part: int) -> dict[str, Any] | None:
        """Read the record of a part and check its files; None if it has to be made, and then no file of it is left."""
        record = self.cache_log.read(self.folder / f"{part:04d}.json", read_json)
        digests = {} if record is None else _digests(part, record)
        # All shards are read, because a damaged one is noted and deleted.
        intact = [self.cache_log.read(self.folder / name, partial(_check, digest)) for name, digest in digests.items()]
        if record is not None and all(intact):
            self.advance(len(self.of_part(part)))
            return record
        for file in (*self.folder.glob(f"{part:04d}.json"), *self.folder.glob(f"{part:04d}-*.safetensors")):
            delete(file)
        return None

    def make(self, part: int, missing: Sequence[int]) -> dict[str, Any]:
        """Make a part and return its record; this part and all later ones in ``missing`` must fit on the disk."""
        sentences = self.of_part(part)
        log = ExtractionLog()
        indices: dict[int, list[int]] = {}  # of a sentence in the corpus, by its id; the same may occur twice
        for index, sentence in enumerate(sentences, start=part * WINDOW):
            indices.setdefault(id(sentence), []).append(index)
        digests: list[str] = []  # of the shards that have been written
        waiting: dict[str, Tensor] = {}  # the maps of the next shard, by the indices of their sentences
        places: list[tuple[int, int, list[int]]] = []  # the index of the sentence, its shard, and its special positions
        shape: tuple[int, ...] = ()  # layers × heads

        def write_shard() -> None:
            digests.append(write_tensors(self.folder / _shard_name(part, len(digests)), waiting, facts={}))
            waiting.clear()

        for batch in extract(self.encoder, sentences, log=log, **self.options):
            if not shape:
                shape = tuple(batch.maps.shape[1:3])
                self._check_space([missing_part for missing_part in missing if missing_part >= part], shape)
            for sentence, unpadded, special in self._unpad(batch):
                index = indices[id(sentence)].pop()
                waiting[str(index)] = unpadded
                places.append((index, len(digests), special))
            if sum(unpadded.nbytes for unpadded in waiting.values()) > _SHARD_BYTES:
                write_shard()
            self.advance(len(batch))
        if waiting:
            write_shard()
        self.advance(len(log.skipped))
        record = {
            "maps": places,
            "shape": shape,
            "words": log.words,
            "unknown_words": log.unknown_words,
            "substituted_words": log.substituted_words,
            "skipped": [(indices[id(skipped.sentence)].pop(), skipped.reason) for skipped in log.skipped],
            "shards": digests,
        }
        write_json(self.folder / f"{part:04d}.json", record)
        return record

    def _unpad(self, batch: MapBatch) -> Iterator[tuple[Sentence, Tensor, list[int]]]:
        """Yield each sentence of a batch with its map, in the type of the store, and its special positions."""
        for row, (sentence, length) in enumerate(zip(batch.sentences, batch.lengths.tolist(), strict=True)):
            unpadded = batch.maps[row, ..., :length, :length].to("cpu", self.dtype, copy=True)
            if self.dtype == torch.float16 and not unpadded.isfinite().all():
                raise ExtractionError(f"sentence {sentence.id!r}: a map is too large for float16; use float32")
            yield sentence, unpadded.contiguous(), batch.special[row].nonzero().flatten().tolist()

    def maps(self, records: Sequence[dict[str, Any]], *, made: int) -> StoredMaps:
        """Return the maps of all parts, given the record of each and how many sentences the model had to read."""
        log, shape = ExtractionLog(), (0, 0)
        digests: dict[str, str] = {}
        locations: list[MapLocation] = []
        for part, record in enumerate(records):
            digests |= _digests(part, record)
            if record["maps"]:
                shape = record["shape"][0], record["shape"][1]
            for index, shard, special in record["maps"]:
                locations.append(MapLocation(_shard_name(part, shard), index, tuple(special)))
            skipped = [Skipped(self.sentences[index], reason) for index, reason in record["skipped"]]
            counts = {name: record[name] for name in ("words", "unknown_words", "substituted_words")}
            log.add(ExtractionLog(read=len(record["maps"]), **counts, skipped=skipped))
        if not locations:
            raise ExtractionError(f"none of the {len(self.sentences)} sentences could be read: {log.reasons()}")
        locations.sort(key=lambda location: location.number)
        encoder, options = self.encoder, self.options

        def exact_maps(sentence: Sentence) -> Tensor:  # the maps of a sentence in float64
            batches = extract(encoder.double, [sentence], **options, log=ExtractionLog(), progress=False)
            return next(batches).maps[0].cpu()

        return StoredMaps(
            folder=self.folder,
            sentences=tuple(self.sentences[location.number] for location in locations),
            kind=options["kind"],
            shape=shape,
            bytes=sum((self.folder / name).stat().st_size for name in digests),
            made=made,
            log=log,
            _locations=tuple(locations),
            _exact=exact_maps if self.dtype == torch.float32 else None,
            _digests=digests,
        )

    def _check_space(self, missing: Sequence[int], shape: Sequence[int]) -> None:
        """Raise `ExtractionError` unless the maps of the parts that are missing fit on the disk."""
        limits = [limit for limit in (self.encoder.max_length, self.options["max_length"]) if limit is not None]
        lengths = [len(sentence) for part in missing for sentence in self.of_part(part)]
        # A map has two special tokens besides the words; pieces are not known yet.
        cells = sum((n + 2) ** 2 for n in lengths if all(n <= limit for limit in limits))
        needed = cells * shape[0] * shape[1] * torch.finfo(self.dtype).bits // 8
        check_space(self.folder, needed, "the word maps need")


def _shard_name(part: int, shard: int) -> str:
    """Name a file with maps of a part."""
    return f"{part:04d}-{shard:03d}.safetensors"


def _digests(part: int, record: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of the shards of a part by their names."""
    return {_shard_name(part, shard): digest for shard, digest in enumerate(record["shards"])}


def _check(digest: str, path: Path) -> bool:
    """Raise `DamagedError` unless a shard is there, and its content has the digest that the record says."""
    try:
        if check(path) != digest:
            raise DamagedError("it does not belong to the other files of its part")
    except FileNotFoundError:
        raise DamagedError("it is missing") from None
    return True


def _store_key(
    encoder: Encoder, sentences: Sequence[Sentence], options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the name of a store of maps with some options, and a description of all that it is made of."""
    format_of_files = {"format": _FORMAT, "window": WINDOW}
    return store_name(encoder, options["kind"], {**format_of_files, **described_inputs(encoder, sentences), **options})
