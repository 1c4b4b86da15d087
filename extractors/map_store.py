"""Word maps on disk, so that what is trained on them reads them again and again and the model runs once.

A store is a folder named after all that its maps depend on: the model's weights, configuration and tokenizer, the words
it read, the kind of map and its options. Sentences come in parts of `WINDOW`; a part exists when its ``.json`` does,
which is written last, so an interrupted run loses the part it was in and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import save
from torch import Tensor

from corpora_loaders import Sentence
from extractors.encoder import Encoder
from extractors.errors import ExtractionError
from extractors.extraction import DEFAULT_BATCH_CELLS, WINDOW, ExtractionLog, Skipped, extract
from extractors.layers import FFBias
from extractors.making import Merge, Normalize
from extractors.pieces import Segment
from extractors.replacing import replacing
from extractors.stored_maps import StoredMaps, shard_name

StoreType = Literal["float32", "float16"]

_FORMAT = 1
_SHARD_BYTES = 2**26
_NOT_CONFIGURATION = ("_name_or_path", "transformers_version")
_TYPES = {"float32": torch.float32, "float16": torch.float16}


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
) -> StoredMaps:
    """Word maps of sentences in a folder, made where they are not there yet.

    Args:
        encoder, sentences, kind, merge, normalize, ff_bias, batch_cells, max_length: as for `extract`.
        folder: of all stores; each gets a folder of its own in it.
        dtype: ``"float16"`` takes half the space and has three digits.
        advance: told how many sentences are done.

    Raises:
        ValueError: as `extract`, or an unknown ``dtype``.
        ExtractionError: the disk is too small, a value is too large for float16, or no sentence could be read.
        ModelError: as `extract`.
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
    name, made_of = _key(encoder, sentences, {**options, "dtype": dtype})
    own = Path(folder) / name
    own.mkdir(parents=True, exist_ok=True)
    with replacing(own / "made_of.json") as partial:
        partial.write_text(json.dumps(made_of, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    maker = _Maker(encoder, sentences, own, {**options, "batch_cells": batch_cells}, dtype, advance)
    parts = [maker.part(number) for number in range(-(-len(sentences) // WINDOW))]
    log, places, shape = ExtractionLog(), [], (0, 0)
    for number, part in enumerate(parts):
        log.read += len(part["maps"])
        for count in ("words", "unknown_words", "substituted_words"):
            setattr(log, count, getattr(log, count) + part[count])
        log.skipped += [Skipped(sentences[at], reason) for at, reason in part["skipped"]]
        places += [(number, shard, at, tuple(special)) for at, shard, special in part["maps"]]
        shape = tuple(part["shape"]) if part["maps"] else shape
    if not places:
        raise ExtractionError(f"none of the {len(sentences)} sentences could be read: {log.reasons()}")
    places.sort(key=lambda place: place[2])

    def exact(sentence: Sentence) -> Tensor:
        return next(extract(encoder.double, [sentence], **options, log=ExtractionLog())).maps[0].cpu()

    return StoredMaps(
        folder=own,
        sentences=tuple(sentences[at] for _, _, at, _ in places),
        kind=kind,
        shape=shape,
        bytes=sum(size for part in parts for size in part["bytes"]),
        made=maker.made,
        log=log,
        _places=tuple(places),
        _exact=exact if dtype == "float32" else None,
    )


@dataclass
class _Maker:
    """Makes the parts of a store that are not there."""

    encoder: Encoder
    sentences: Sequence[Sentence]
    folder: Path
    options: dict[str, Any]
    dtype: StoreType
    advance: Callable[[int], object]
    made: int = 0

    def part(self, number: int) -> dict[str, Any]:
        """What is in a part, after making it if need be."""
        first = number * WINDOW
        own = self.sentences[first : first + WINDOW]
        if (there := self._there(number)) is not None:
            self.advance(len(own))
            return there
        log = ExtractionLog()
        numbers: dict[int, list[int]] = {}  # a sentence may be there twice
        for at, sentence in enumerate(own, start=first):
            numbers.setdefault(id(sentence), []).append(at)
        shards: list[int] = []
        waiting: dict[str, Tensor] = {}
        maps: list[tuple[int, int, list[int]]] = []
        shape: tuple[int, ...] = ()
        for batch in extract(self.encoder, own, log=log, **self.options):
            if not shape:
                shape = tuple(batch.maps.shape[1:3])
                self._check_space(number, shape)
            for row, (sentence, length) in enumerate(zip(batch.sentences, batch.lengths.tolist(), strict=True)):
                at = numbers[id(sentence)].pop()
                cut = batch.maps[row, ..., :length, :length].to("cpu", _TYPES[self.dtype], copy=True)
                if self.dtype == "float16" and not cut.isfinite().all():
                    raise ExtractionError(f"sentence {sentence.id!r}: a map is too large for float16; use float32")
                waiting[str(at)] = cut.contiguous()
                maps.append((at, len(shards), batch.special[row].nonzero().flatten().tolist()))
            if sum(cut.nbytes for cut in waiting.values()) > _SHARD_BYTES:
                shards.append(self._write(number, len(shards), waiting))
                waiting = {}
            self.advance(len(batch))
        if waiting:
            shards.append(self._write(number, len(shards), waiting))
        self.advance(len(log.skipped))
        self.made += len(own)
        found = {
            "maps": maps,
            "shape": shape,
            "words": log.words,
            "unknown_words": log.unknown_words,
            "substituted_words": log.substituted_words,
            "skipped": [(numbers[id(one.sentence)].pop(), one.reason) for one in log.skipped],
            "bytes": shards,
        }
        with replacing(self._record(number)) as partial:
            partial.write_text(json.dumps(found), encoding="utf-8")
        return found

    def _record(self, number: int) -> Path:
        return self.folder / f"{number:04d}.json"

    def _there(self, number: int) -> dict[str, Any] | None:
        """What is in a part; None if it has to be made."""
        try:
            found: dict[str, Any] = json.loads(self._record(number).read_text(encoding="utf-8"))
            whole = all(self._size(number, shard) == size for shard, size in enumerate(found["bytes"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        return found if whole else None

    def _size(self, part: int, shard: int) -> int | None:
        path = self.folder / shard_name(part, shard)
        return path.stat().st_size if path.exists() else None

    def _write(self, part: int, shard: int, maps: dict[str, Tensor]) -> int:
        path = self.folder / shard_name(part, shard)
        try:
            with replacing(path) as partial:
                partial.write_bytes(save(maps))  # save_file would make it private
        except OSError as error:
            raise ExtractionError(f"{path}: maps cannot be written: {error.strerror or error}") from error
        return path.stat().st_size

    def _check_space(self, number: int, shape: Sequence[int]) -> None:
        """What is still to come from a part on must fit on the disk."""
        limits = [limit for limit in (self.encoder.max_length, self.options["max_length"]) if limit is not None]
        cells = 0
        for first in range(number * WINDOW, len(self.sentences), WINDOW):
            if first == number * WINDOW or self._there(first // WINDOW) is None:
                lengths = map(len, self.sentences[first : first + WINDOW])
                cells += sum((n + 2) ** 2 for n in lengths if all(n <= limit for limit in limits))
        needed = cells * shape[0] * shape[1] * torch.finfo(_TYPES[self.dtype]).bits // 8
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise ExtractionError(
                f"the word maps need {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free in {self.folder.parent}; "
                "choose another cache, or float16"
            )


def _key(encoder: Encoder, sentences: Sequence[Sentence], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of a store, and all that it was made of."""
    words = hashlib.sha256()
    for sentence in sentences:
        words.update(json.dumps(sentence.words, ensure_ascii=False).encode())
        if isinstance(sentence, Segment):
            words.update(json.dumps([sentence.pieces.ids, sentence.pieces.segment_ids]).encode())
    config = encoder.model.config.to_dict()
    tokenizer = json.loads(encoder.tokenizer.backend_tokenizer.to_str())
    tokenizer |= {"padding": None, "truncation": None}  # as the last call left them; sentences are read without
    made_of = {
        "format": _FORMAT,
        "window": WINDOW,
        "weights": encoder.weights_sha256(),
        "config": {name: value for name, value in config.items() if name not in _NOT_CONFIGURATION},
        "tokenizer": hashlib.sha256(json.dumps(tokenizer).encode()).hexdigest(),
        "sentences": len(sentences),
        "words": words.hexdigest(),
        **options,
    }
    described = json.dumps(made_of, sort_keys=True, default=str)
    model = re.sub(r"[^\w.-]+", "_", encoder.name.rsplit("/", 1)[-1])
    kind = re.sub(r"[^\w.-]+", "_", options["kind"])
    return f"{model}-{kind}-{hashlib.sha256(described.encode()).hexdigest()[:16]}", json.loads(described)
