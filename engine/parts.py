"""Counting a corpus in parts, which are kept on disk, so that a run can be resumed and shared among machines.

A part is a whole number of windows of 1,024 inputs of one pass. Inputs are batched within windows, so a part is read in
the same batches whoever counts it, and since all counts add up exactly, the results have the same bits however the
parts are distributed. Each part is one file, which is written atomically and sealed. Two processes that count the same
part write the same content, and the later file replaces the earlier one.

A pass that may fail is one part, because it reads a bounded number of inputs and its failure is a result, which is kept
like counts.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from ..analyses.shared.metric import Metric
from ..analyses.shared.metric_states import MetricStates, NamesFiles
from ..corpora_loaders import Sentence
from ..extractors import ExtractionError
from ..extractors.maps.batching import WINDOW
from ..storage.cache_log import CacheLog
from ..storage.durable import StorageError
from ..storage.partial import delete, unfinished
from ..storage.sealed import cache_name, check, write_sealed
from ..storage.tensors import read_tensors, tensor_content
from .packed_states import packed_states, unpacked_states
from .part_keys import Content, content_of_inputs, pass_key
from .pass_counts import PassCounts, PassLog
from .passes import Pass
from .plain_data import plain_failure, restored_failure

KEPT = "With --parts, the parts that were counted are kept, and the same command continues"
"""What messages say when a run ends before all parts are counted."""

MOST_PARTS = 64
"""The largest number of parts of a pass. A part of a large corpus has several windows, so that its counts, which take a
few megabytes, take much less space than the time to make them would suggest."""


@dataclass(frozen=True)
class CorpusPart:
    """A part of the inputs of one pass.

    Attributes:
        run: the pass, with the inputs of this part only.
        number: the number of the pass.
        start, stop: the inputs as a half-open range of those of the pass.
    """

    run: Pass
    number: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


def size_of_parts(inputs: int) -> int:
    """Return the number of inputs of each part of a pass that reads a number of inputs and must not fail."""
    return WINDOW * max(1, math.ceil(math.ceil(inputs / WINDOW) / MOST_PARTS))


def number_of_parts(inputs: int) -> int:
    """Return the number of parts of such a pass."""
    return math.ceil(inputs / size_of_parts(inputs))


def parts_of(passes: Sequence[Pass]) -> list[CorpusPart]:
    """Cut all passes into parts. A pass that may fail is one part.

    Args:
        passes: the passes of a run.
    """
    parts = []
    for number, current in enumerate(passes):
        inputs = len(current.inputs)
        size = max(1, inputs) if current.optional else size_of_parts(inputs)
        for start in range(0, inputs, size):
            stop = min(start + size, inputs)
            parts.append(CorpusPart(current.of_inputs(start, stop), number, start, stop))
    return parts


def check_folder(folder: Path) -> None:
    """Create the folder of the parts, and check that files can be written to it, before anything slow happens.

    Raises:
        StorageError: the folder cannot be created or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with unfinished(folder / "part") as path:
            delete(path)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error


@contextmanager
def part_folder(chosen: Path | None) -> Iterator[Path]:
    """Yield the folder of the parts. If none was chosen, it is a folder that is deleted in the end."""
    if chosen is not None:
        yield chosen
    else:
        with tempfile.TemporaryDirectory(prefix="attentionology-parts-") as folder:
            yield Path(folder)


@dataclass(frozen=True)
class StoredCounts:
    """What the file of a part holds.

    Attributes:
        states: the states of the metrics, by the names of their requests.
        failures: the errors of optional requests that failed, by their names.
        log: the record of what was read.
        moved: the present paths of corpus files that had other paths when the part was counted, by these.
    """

    states: Mapping[str, MetricStates]
    failures: Mapping[str, Exception]
    log: PassLog
    moved: Mapping[str, str]


class PartFolder:
    """The folder with the parts of runs. Parts of several runs may share a folder.

    Args:
        folder: the folder, which is created when the first part is written.
        fingerprint: the digest of everything on which counts depend, apart from the text.

    Attributes:
        cache_log: the files that were deleted because they were damaged.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder, self.fingerprint = folder, fingerprint
        self.cache_log = CacheLog()
        self._known: dict[tuple[int, int, int], tuple[str, Content]] = {}

    def path(self, part: CorpusPart) -> Path:
        """The file of a part, whether or not it exists."""
        return self.folder / f"{self._identified(part)[0]}.safetensors"

    def files(self, part: CorpusPart) -> tuple[str, ...]:
        """The paths of the corpus files that a part reads."""
        return self._identified(part)[1].files

    def _identified(self, part: CorpusPart) -> tuple[str, Content]:
        identity = part.number, part.start, part.stop
        if identity not in self._known:
            content = content_of_inputs(part.run.inputs)
            self._known[identity] = pass_key(part.run, self.fingerprint, content.digest), content
        return self._known[identity]

    def has(self, part: CorpusPart) -> bool:
        """Whether the file of a part exists. Its content is checked when it is read."""
        return self.path(part).is_file()

    def write(self, part: CorpusPart, content: bytes) -> None:
        """Write what was counted for a part.

        Args:
            part: the part.
            content: its counts, see `content_of`.

        Raises:
            StorageError: the file cannot be written.
        """
        path = self.path(part)
        try:
            write_sealed(path, content, cache_name(path))
        except StorageError as error:
            raise StorageError(f"{error}. {KEPT}", forbidden=error.forbidden) from error

    def read(self, part: CorpusPart) -> StoredCounts:
        """Read what was counted for a part.

        Raises:
            FileNotFoundError: the part has not been counted.
            DamagedError: the content of the file is not what was written.
            StorageError: the file cannot be read.
        """
        path = self.path(part)
        tensors, facts = read_tensors(path, cache_name(path))
        requests = facts["requests"].items()
        states = {name: unpacked_states(tensors, of_metric, f"{name}/") for name, of_metric in requests}
        failures = {name: restored_failure(*failure) for name, failure in facts["failures"].items()}
        moved = {old: new for old, new in zip(facts["files"], self.files(part), strict=True) if old != new}
        return StoredCounts(states, failures, _log(facts["log"], moved), moved)

    def is_missing(self, part: CorpusPart) -> bool:
        """Whether a part has to be counted. Its file is deleted and noted if it is damaged."""
        return self.cache_log.read(self.path(part), lambda path: check(path, cache_name(path))) is None


def content_of(counts: PassCounts, files: Sequence[str] = ()) -> bytes:
    """Return what was counted for a part as the content of its file, to which the seal is added when it is written.

    Args:
        counts: the counts.
        files: the paths of the corpus files that the part reads.

    Raises:
        StateError: a metric cannot be stored.
    """
    tensors: dict[str, Tensor] = {}
    facts: dict[str, Any] = {}
    for name, states in counts.states().items():
        packed, facts[name] = packed_states(states, f"{name}/")
        tensors |= packed
    log = next(iter(counts.logs.values()), PassLog())
    failures = {name: plain_failure(error) for name, error in counts.failures.items()}
    described = {"requests": facts, "failures": failures, "log": _plain_log(log), "files": list(files)}
    return tensor_content(tensors, described)


def packed_bytes(states: MetricStates) -> int:
    """Return the bytes that the states of a metric take in the file of a part or in a results folder."""
    packed, facts = packed_states(states, "")
    return sum(tensor.nbytes for tensor in packed.values()) + len(json.dumps(facts))


def added_parts(folder: PartFolder, parts: Sequence[CorpusPart]) -> Iterator[PassCounts]:
    """Add up the parts of each pass, one part at a time.

    Yields:
        the counts of each pass.

    Raises:
        ExtractionError: none of the inputs of a pass could be read.
        FileNotFoundError, DamagedError, StateError: a part is missing, damaged or of another version.
    """
    by_pass: dict[int, list[CorpusPart]] = {}
    for part in parts:
        by_pass.setdefault(part.number, []).append(part)
    for of_pass in by_pass.values():
        counts, log = PassCounts(), PassLog()
        classes = {request.name: request.metric.metric for request in of_pass[0].run.requests}
        for part in of_pass:
            stored = folder.read(part)
            log.add(stored.log)
            counts.failures |= stored.failures
            for name, states in stored.states.items():
                _add(counts, name, states, classes[name], stored.moved)
        if not counts.failures:
            if not log.read:
                raise ExtractionError(f"none of the inputs could be read: {log.reasons()}")
            counts.logs |= dict.fromkeys(classes, log)
        yield counts


def _add(counts: PassCounts, name: str, stored: MetricStates, kind: type[Metric], moved: Mapping[str, str]) -> None:
    metric = stored.restore(kind)
    if moved and isinstance(metric, NamesFiles):
        metric.rename_files(moved)
    if name in counts.metrics:
        counts.metrics[name].merge_state(metric)
    else:
        counts.metrics[name], counts.arguments[name] = metric, dict(stored.arguments)


_COUNTS = ("read", "words", "unknown_words", "substituted_words")


def _plain_log(log: Any) -> dict[str, Any]:
    skipped = [(skip.sentence.id, skip.sentence.file, skip.sentence.line, skip.reason) for skip in log.skipped]
    return {**{name: getattr(log, name) for name in _COUNTS}, "skipped": skipped}


def _log(plain: Mapping[str, Any], moved: Mapping[str, str]) -> PassLog:
    log = PassLog(**{name: plain[name] for name in _COUNTS})
    for sentence_id, file, line, reason in plain["skipped"]:
        log.skip(Sentence(sentence_id, (), file=moved.get(file, file), line=line), reason)
    return log
