"""Hidden states on disk, so that probes of one layer read nothing else, and the model runs once.

Each layer of a corpus has a folder of its own, whose name is a digest of everything that its states depend on, and in
it one file for each part of the sentences. A file holds the states of all words of its part in one tensor, and says in
its header where each sentence begins and which sentences could not be read. A file is written whole or not at all, and
all files are checked by their seals before they are used, so an interrupted run loses only the part in its hands.
"""

from __future__ import annotations

import itertools
import math
import mmap
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from ...corpora_loaders import Sentence, Texts
from ...corpora_loaders.strings import sentence_list
from ...reports.progress import progress_bar, showing
from ...storage.cache_log import CacheLog
from ...storage.durable import lock
from ...storage.nearest import check_choice
from ...storage.paths import check_kept_folder
from ...storage.sealed import digest_in
from ...storage.tensors import read_tensors, write_tensors
from ..errors import ExtractionError
from ..maps.batching import DEFAULT_BATCH_CELLS, WINDOW, ExtractionLog, Skipped
from ..maps.extraction import extract_many
from ..maps.shared_pass import SharedBatch
from ..maps.store_folder import check_space, described_inputs, open_store, store_name
from ..maps.store_writer import StoreType
from ..model.any_model import AnyModel, as_encoder
from ..model.encoder import Encoder
from .state_batch import Pooling, StateMaker, check_finite, chosen_layers, pool
from .stored import StatePlace, StoredStates, file_of_part

_FORMAT = 1
_TYPES = {"float32": torch.float32, "float16": torch.float16}
_PART_BYTES = 2**29
"""About how many bytes of states are in memory at a time, while a part is made of all layers."""
_USUAL_WORDS = 25  # of a sentence, for that


def store_states(
    encoder: AnyModel,
    sentences: Texts,
    folder: str | Path,
    *,
    layers: Sequence[int] | None = None,
    pooling: Pooling = "mean",
    dtype: StoreType = "float32",
    batch_cells: int = DEFAULT_BATCH_CELLS,
    max_length: int | None = None,
    advance: Callable[[int], object] | None = None,
    cache_log: CacheLog | None = None,
    progress: bool | None = None,
) -> StoredStates:
    """Store the hidden states of the words of sentences in a folder, and make those that are not in it yet.

    Args:
        encoder, sentences, layers, pooling, batch_cells, max_length: see `extract_states`. Only the layers that are
            asked for are stored; others may be added later by the same call.
        folder: the folder of all stores, in which each layer gets a folder of its own.
        dtype: ``"float16"`` takes half the space and keeps three digits.
        advance: is called with the number of sentences that were done since the last call, in place of a bar.
        cache_log: notes which files were damaged. They are thrown away and made again.
        progress: whether to show progress bars. Default: in an interactive session and in a notebook.

    Raises:
        ValueError: for the same reasons as `extract_states`, or ``dtype`` is unknown.
        ExtractionError: the disk is too small, a state is too large for float16, or no sentence could be read.
        StorageError: the folder or a file in it cannot be written, read or deleted.
        ModelError: for the same reasons as `extract_states`.

    Example:
        >>> from attentionology import Sentence, load_encoder, store_states
        >>> sentences = [Sentence.from_text("Cats sleep."), Sentence.from_text("The old dog barks.")]
        >>> store_states(load_encoder("demo"), sentences, "states", layers=[2])
        StoredStates(layers 2, 2 sentences, 384 dimensions)
        >>> store_states(load_encoder("demo"), sentences, "states", layers=[2]).made  # the model does not run again
        0
    """
    check_choice("dtype", dtype, StoreType)
    check_kept_folder(folder)
    encoder, sentences = as_encoder(encoder), sentence_list(sentences)
    wanted = chosen_layers(encoder, layers, encoder.n_layers + 1)
    size_of_part = part_size(encoder)
    inputs = {"format": _FORMAT, "part": size_of_part, **described_inputs(encoder, sentences)}
    options = {"pooling": pooling, "max_length": max_length}
    folders: dict[int, Path] = {}
    for layer in wanted:
        name, made_of = store_name(encoder, f"states-{layer}", {**inputs, **options, "dtype": dtype, "layer": layer})
        folders[layer] = Path(folder) / name  # as it was given, which is how results name it
        open_store(folders[layer], made_of)
    log = CacheLog() if cache_log is None else cache_log
    with ExitStack() as stack:
        if advance is None:
            stack.enter_context(showing(progress))
            advance = stack.enter_context(progress_bar("states", len(sentences)))
        for path in folders.values():  # in the order of layers, so that two processes never wait for each other
            stack.enter_context(lock(path, wait=True))
        store = _Store(encoder, sentences, folders, size_of_part, {**options, "batch_cells": batch_cells}, dtype)
        missing = {part: store.missing(part, log) for part in range(-(-len(sentences) // size_of_part))}
        store.check_space(missing)
        _keep_freed_memory()
        # A part is written while the model reads the next one, as hashing and writing take a quarter of the time.
        writer = stack.enter_context(ThreadPoolExecutor(1))
        written: Future[None] | None = None
        for part, layers_of_part in missing.items():
            if not layers_of_part:
                advance(len(store.of_part(part)))
                continue
            tensors, facts = store.make(part, layers_of_part, advance)
            if written is not None:
                written.result()  # raises what went wrong, and keeps no more than two parts in memory
            written = writer.submit(store.write, part, tensors, facts)
        if written is not None:
            written.result()
    return store.states(
        made=sum(len(store.of_part(part)) for part, layers_of_part in missing.items() if layers_of_part)
    )


def part_size(encoder: Encoder) -> int:
    """Return how many sentences a part has: 1,024, or fewer of a model whose states are large."""
    # The layers that are asked for must not matter, because the same files serve other calls.
    bytes_of_word = (encoder.n_layers + 1) * encoder.width * 4
    size = WINDOW
    while size > 32 and size * _USUAL_WORDS * bytes_of_word > _PART_BYTES:
        size //= 2
    return size


@dataclass(frozen=True)
class _Placing:
    """Puts the states of the words of each batch to their places in one tensor, and returns the sentences' numbers."""

    reads_weights: ClassVar[bool] = False
    reads_states: ClassVar[bool] = True

    maker: StateMaker
    stored: Tensor  # layers × words × dimensions
    starts: Sequence[int]  # the place of the first word of each sentence

    @torch.inference_mode()
    def of(self, batch: SharedBatch) -> tuple[int, ...]:
        """Put the states of a batch to their places."""
        _, hidden = self.maker.hidden_states(batch)
        starts = [self.starts[index] for index in batch.indices]
        for of_layer, (places, rows) in zip(
            self.stored, pool(batch.pieces, hidden, self.maker.pooling, starts), strict=True
        ):
            check_finite(batch.encoder, rows)
            of_layer.index_copy_(0, places, rows.to("cpu", of_layer.dtype))
            if of_layer.dtype == torch.float16:
                self._check_range(batch, of_layer)
        return batch.indices

    def _check_range(self, batch: SharedBatch, of_layer: Tensor) -> None:
        """Raise `ExtractionError` if a state is too large for float16: decoders have a few very large dimensions."""
        for index, sentence in zip(batch.indices, batch.sentences, strict=True):
            if not of_layer[self.starts[index] : self.starts[index + 1]].isfinite().all():
                raise ExtractionError(f"sentence {sentence.id!r}: a state is too large for float16; use float32")


def _zeros(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return a large tensor of zeros, in huge pages of memory where the system has them."""
    # The system gives and clears memory page by page, which takes up to 2 % of the time of the forward pass if pages
    # have the usual 4 kB.
    size = math.prod(shape)
    if not size or not hasattr(mmap, "MADV_HUGEPAGE"):
        return torch.zeros(shape, dtype=dtype)
    memory = mmap.mmap(-1, size * dtype.itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(memory, dtype=dtype).view(shape)


def _keep_freed_memory() -> None:
    """Let the allocator of Linux keep the memory of large tensors that are freed, and give it to the next ones."""
    # glibc returns such blocks to the system at once, and the next batch gets others, which have to be cleared: up to
    # 5 % of the time of the forward pass. When a block of up to 32 MB is freed, it begins to keep those of that size.
    torch.empty(2**25 - 2**13, dtype=torch.uint8)


@dataclass(frozen=True)
class _Store:
    """What the parts of a store are made of, and where."""

    encoder: Encoder
    sentences: Sequence[Sentence]
    folders: Mapping[int, Path]
    size: int  # of a part, in sentences
    options: dict[str, Any]  # the arguments of `extract_states`
    dtype: StoreType
    digests: dict[Path, str] = field(default_factory=dict)
    facts: dict[int, dict[str, Any]] = field(default_factory=dict)  # of each part, which all of its layers share

    def of_part(self, part: int) -> Sequence[Sentence]:
        """Return the sentences of a part, given by its number from 0."""
        return self.sentences[part * self.size : (part + 1) * self.size]

    def missing(self, part: int, log: CacheLog) -> tuple[int, ...]:
        """Return the layers whose file of a part has to be made; the files of the others are checked."""
        absent = []
        for layer, folder in self.folders.items():
            path = folder / file_of_part(part)
            read = log.read(path, read_tensors)
            if read is None:
                absent.append(layer)
                continue
            self.facts[part] = read[1]
            self.digests[path] = digest_in(path)
        return tuple(absent)

    def make(
        self, part: int, layers: Sequence[int], advance: Callable[[int], object]
    ) -> tuple[dict[int, Tensor], dict[str, Any]]:
        """Return the states of the words of a part for some layers, and what is known of its sentences."""
        sentences, first = self.of_part(part), part * self.size
        log = ExtractionLog()
        lengths = {index: len(sentence) for index, sentence in enumerate(sentences, start=first)}
        starts = list(itertools.accumulate(lengths.values(), initial=0))
        # States go at once to their places, as each copy of all of them takes about 1 % of the time of the model.
        stored = _zeros((len(layers), starts[-1], self.encoder.width), _TYPES[self.dtype])
        maker = _Placing(StateMaker(tuple(layers), self.options["pooling"]), stored, starts)
        limits = {name: value for name, value in self.options.items() if name != "pooling"}
        read: set[int] = set()
        for (indices,) in extract_many(self.encoder, sentences, [maker], log=log, **limits):
            read.update(first + index for index in indices)
            advance(len(indices))
        advance(len(log.skipped))
        order = sorted(read)
        if log.skipped:
            rows = [torch.arange(*starts[index - first : index - first + 2]) for index in order]
            stored = stored[:, torch.cat([torch.empty(0, dtype=torch.long), *rows])]
        facts = {
            "sentences": order,
            "lengths": [lengths[index] for index in order],
            "words": log.words,
            "unknown_words": log.unknown_words,
            "substituted_words": log.substituted_words,
            "skipped": list(
                zip(sorted(lengths.keys() - read), [skipped.reason for skipped in log.skipped], strict=True)
            ),
        }
        return dict(zip(layers, stored, strict=True)), facts

    def write(self, part: int, states: Mapping[int, Tensor], facts: dict[str, Any]) -> None:
        """Write the files of a part for some layers."""
        for layer, of_layer in states.items():
            path = self.folders[layer] / file_of_part(part)
            self.digests[path] = write_tensors(path, {"states": of_layer}, facts)
        self.facts[part] = facts

    def check_space(self, missing: Mapping[int, Sequence[int]]) -> None:
        """Raise `ExtractionError` unless the states of what is missing fit on the disk."""
        bytes_of_word = self.encoder.width * torch.finfo(_TYPES[self.dtype]).bits // 8
        words = sum(len(layers) * sum(map(len, self.of_part(part))) for part, layers in missing.items())
        if words:
            # All layers have folders within the same one, and hence on the same disk.
            check_space(next(iter(self.folders.values())), words * bytes_of_word, "the hidden states need")

    def states(self, *, made: int) -> StoredStates:
        """Return the states of all parts, given how many sentences the model had to read."""
        log, places, indices = ExtractionLog(), list[StatePlace](), list[int]()
        for part, facts in sorted(self.facts.items()):
            start = 0
            for index, length in zip(facts["sentences"], facts["lengths"], strict=True):
                indices.append(index)
                places.append(StatePlace(part, start, start + length))
                start += length
            skipped = [Skipped(self.sentences[index], reason) for index, reason in facts["skipped"]]
            counts = {name: facts[name] for name in ("words", "unknown_words", "substituted_words")}
            log.add(ExtractionLog(read=len(facts["sentences"]), **counts, skipped=skipped))
        if not places:
            raise ExtractionError(f"none of the {len(self.sentences)} sentences could be read: {log.reasons()}")
        return StoredStates(
            folders=self.folders,
            sentences=tuple(self.sentences[index] for index in indices),
            layers=tuple(self.folders),
            dim=self.encoder.width,
            pooling=self.options["pooling"],
            made=made,
            log=log,
            _places=tuple(places),
            _digests=self.digests,
        )
