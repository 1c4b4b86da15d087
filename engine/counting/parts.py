"""Counting a corpus in parts, which are kept on disk, so that a run can be resumed and shared among machines.

A part is a whole number of windows of 1,024 inputs of one pass. Inputs are batched within windows, so a part is read in
the same batches whoever counts it, and since all counts add up exactly, the results have the same bits however the
parts are distributed. Each part is one file, which is written whole or not at all, and sealed.

A part may be used only if it would be counted in the same way again. So the name of its file is a digest of everything
on which its counts depend: the inputs with their annotation, the model, all options, the requests, and the source code
of the toolkit. The paths of the corpus files are not in it, so a corpus that was moved or renamed has the same parts.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from ...analyses.contract import Request
from ...analyses.counting.metric import NamesFiles
from ...analyses.shared.part_options import WHAT_IS_KEPT
from ...corpora_loaders import Sentence
from ...extractors import ExtractionError
from ...extractors.maps.batching import WINDOW
from ...extractors.model.loaded_model import described_model
from ...extractors.tokens.text_fit import TextFit
from ...reports.provenance import source_digest
from ...storage.cache_log import CacheLog
from ...storage.durable import StorageError
from ...storage.paths import check_kept_folder
from ...storage.sealed import check, write_sealed
from ...storage.tensors import read_tensors, tensor_content
from ..results.states import pack_states, plain_failure, restore_failure, to_plain, unpack_states
from .job import Job, RunSetup, plan_analyses
from .passes import Pass, PassCounts, PassLog, Readers

MOST_PARTS = 64
"""The largest number of parts of a pass. A part of a large corpus has several windows, so that its counts, which take a
few megabytes, take much less space than the time to make them would suggest."""

_FORMAT = 4

_COUNTS = ("read", "words", "unknown_words", "substituted_words")
"""The numbers in a log of what was read."""


@dataclass(frozen=True)
class CorpusPart:
    """A part of the inputs of one pass: those from ``start`` up to ``stop``."""

    run: Pass  # with the inputs of this part only
    number: int  # that of the pass
    start: int
    stop: int
    fingerprint: str  # see `fingerprint`

    def __len__(self) -> int:
        return self.stop - self.start

    def __str__(self) -> str:
        return f"the part of {self.run.label} with the {self.run.unit} {self.start + 1:,} to {self.stop:,}"

    @cached_property
    def content(self) -> tuple[str, tuple[str, ...]]:
        """The digest of the inputs, and the paths of their files."""
        return content_of_inputs(self.run.inputs)

    @cached_property
    def file_name(self) -> str:
        """The name of the file, which identifies what is counted."""
        requests = [(request.name, _configuration(request)) for request in self.run.requests]
        digest_of_inputs, _paths = self.content
        described = (self.fingerprint, digest_of_inputs, self.run.copy, self.run.masking, requests)
        return f"{hashlib.sha256(repr(described).encode()).hexdigest()[:40]}.safetensors"


def size_of_parts(n_inputs: int) -> int:
    """Return the size of the parts of a pass that must not fail: whole windows, so that there are few enough parts."""
    n_windows = math.ceil(n_inputs / WINDOW)
    return WINDOW * max(1, math.ceil(n_windows / MOST_PARTS))


def number_of_parts(n_inputs: int) -> int:
    """Return the number of parts of a pass over this number of inputs that must not fail."""
    return math.ceil(n_inputs / size_of_parts(n_inputs))


def parts_of(passes: Sequence[Pass], fingerprint: str = "") -> list[CorpusPart]:
    """Cut all passes into parts; the fingerprint is that of the run (see `fingerprint`)."""
    parts = []
    for pass_number, current in enumerate(passes):
        n_inputs = len(current.inputs)
        # A pass that may fail is one part: it reads few inputs, and its failure is kept, too.
        size = max(1, n_inputs) if current.optional else size_of_parts(n_inputs)
        for start in range(0, n_inputs, size):
            stop = min(start + size, n_inputs)
            parts.append(CorpusPart(current.of_inputs(start, stop), pass_number, start, stop, fingerprint))
    return parts


def fingerprint(prepared: RunSetup) -> str:
    """Return a digest of everything on which counts depend, apart from the inputs and the requests."""
    model = prepared.setting.model
    of_analyses = [Path(inspect.getfile(type(analysis))).read_bytes() for analysis in prepared.chosen]
    # Two devices or two ways of making batches may round differently, so their parts must not be mixed.
    described = {
        "format": _FORMAT,
        "sources": source_digest(),
        "analyses": [hashlib.sha256(source).hexdigest() for source in of_analyses],  # which other packages may have
        "model": described_model(model),
        "dtype": str(model.dtype),
        "device": model.device.type,
        "batching": repr(model.batching),
        "options": prepared.described(),
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def _configuration(request: Request) -> str:
    """Return the arguments of the metric that do not depend on the maps, such as all relations of the corpus."""
    try:
        return json.dumps(to_plain(dict(request.metric.arguments), f"the arguments of {request.name}"))
    except (TypeError, ValueError):  # such counts cannot be stored; the message comes when they are written
        return ""


def content_of_inputs(inputs: Sequence[Sentence]) -> tuple[str, tuple[str, ...]]:
    """Return a digest of inputs with all their annotation, and the paths of their files in order of occurrence.

    Example:
        >>> first, second = Sentence("s1", ("Birds", "sing")), Sentence("s1", ("Birds", "sang"))
        >>> content_of_inputs([first]) == content_of_inputs([second])
        False
        >>> here, there = (Sentence("s1", ("Birds", "sing"), file=path) for path in ("a.conllu", "b/c.conllu"))
        >>> content_of_inputs([here])[0] == content_of_inputs([there])[0]
        True
    """
    numbers_of_files: dict[str, int] = {}  # by their paths, which are not part of the digest
    # Many windows share a document, so the last value of each field is kept with its digest. The value is held, because
    # another one could be in its place in memory later: inputs that stay in files are read again and again.
    last_digests: dict[str, tuple[Any, str]] = {}

    def as_text(value: Any) -> str:
        return json.dumps(value, default=as_plain)

    def as_plain(value: Any) -> Any:
        """Return plain data for a value that JSON cannot write by itself; of a data class, its name and its fields."""
        if isinstance(value, frozenset):
            return sorted(value)  # its order may be another one in another process
        if isinstance(value, Mapping):
            return list(value.items())
        if is_dataclass(value):
            of_fields = (field_as_plain(field.name, getattr(value, field.name)) for field in fields(value))
            return [type(value).__name__, *of_fields]
        return repr(value)

    def field_as_plain(name: str, value: Any) -> Any:
        """Return a file as its number, a whole document (a data class) as its digest, and other values as they are."""
        if name == "file" and isinstance(value, str):
            return numbers_of_files.setdefault(value, len(numbers_of_files))
        if not is_dataclass(value):
            return value
        if name not in last_digests or last_digests[name][0] is not value:
            last_digests[name] = value, hashlib.sha256(as_text(value).encode()).hexdigest()
        return last_digests[name][1]

    digest = hashlib.sha256()
    for sentence in inputs:
        digest.update(as_text(sentence).encode())
    return digest.hexdigest(), tuple(numbers_of_files)


class PartCounter:
    """The parts of a run: counts them in this process, and reads and writes their files. Runs may share the folder."""

    def __init__(self, job: Job, prepared: RunSetup, folder: Path, passes: Sequence[Pass] | None = None) -> None:
        self.job, self.corpus, self.folder = job, prepared.source, folder
        self.fingerprint = fingerprint(prepared)
        self.parts = parts_of(plan_analyses(prepared).passes if passes is None else passes, self.fingerprint)
        self.readers, self._limits = Readers(prepared.setting.model, prepared.setting.seed), prepared.limits
        self.cache_log = CacheLog()  # the files that were deleted because they were damaged

    def has(self, part: CorpusPart) -> bool:
        """Whether the file of a part exists. Its content is checked when it is read."""
        return (self.folder / part.file_name).is_file()

    def is_missing(self, part: CorpusPart) -> bool:
        """Whether a part has to be counted. Its file is deleted and noted if it is damaged."""
        return self.cache_log.read(self.folder / part.file_name, check) is None

    def content(self, part: CorpusPart, advance: Callable[[int], None] = lambda _: None) -> bytes:
        """Count a part, and return the content of its file; ``advance`` receives the number of inputs of each batch."""
        counts = PassCounts()
        part.run.run(self.readers.of(part.run.copy), self._limits, counts, may_be_empty=True, advance=advance)
        tensors: dict[str, Tensor] = {}
        facts_of_requests: dict[str, Any] = {}
        for name, states in counts.states().items():
            packed, facts_of_requests[name] = pack_states(states, f"{name}/")
            tensors |= packed
        log = next(iter(counts.logs.values()), PassLog())  # which all requests of a pass share
        skipped = [(skip.sentence.id, skip.sentence.file, skip.sentence.line, skip.reason) for skip in log.skipped]
        facts = {
            "requests": facts_of_requests,
            "failures": {name: plain_failure(error) for name, error in counts.failures.items()},
            "log": {name: getattr(log, name) for name in _COUNTS},
            "fit": asdict(log.fit),
            "skipped": skipped,
            "files": part.content[1],
        }
        return tensor_content(tensors, facts)

    def write(self, part: CorpusPart, content: bytes) -> None:
        """Write what was counted for a part."""
        path = self.folder / part.file_name
        try:
            write_sealed(path, content)
        except StorageError as error:
            raise StorageError(f"{error}. {WHAT_IS_KEPT}", forbidden=error.forbidden) from error

    def count(self, part: CorpusPart, advance: Callable[[int], None] = lambda _: None) -> None:
        """Count a part and write its file."""
        self.write(part, self.content(part, advance))

    def counts_of(self, parts: Sequence[CorpusPart]) -> PassCounts:
        """Read parts one at a time, and return the sum of their counts."""
        counts, logs = PassCounts(), dict[int, PassLog]()  # the logs by the number of the pass
        for part in parts:
            log = logs.setdefault(part.number, PassLog())
            self._add(part, counts, log)
            counts.logs |= {request.name: log for request in part.run.requests if request.name not in counts.failures}
        for pass_log in counts.logs.values():
            if not pass_log.read:
                raise ExtractionError(f"none of the inputs could be read: {pass_log.reasons()}")
        return counts

    def _add(self, part: CorpusPart, counts: PassCounts, log: PassLog) -> None:
        """Add the file of a part to the counts and to the log of its pass."""
        tensors, facts = read_tensors(self.folder / part.file_name)
        # The paths in the file are those at the time of counting, and the corpus may have been moved since.
        _, files_now = part.content
        moved = {old: new for old, new in zip(facts["files"], files_now, strict=True) if old != new}
        log.add(PassLog(**facts["log"], fit=TextFit(**facts["fit"])))
        for sentence_id, file, line, reason in facts["skipped"]:
            log.skip(Sentence(sentence_id, (), file=moved.get(file, file), line=line), reason)
        counts.failures |= {name: restore_failure(*failure) for name, failure in facts["failures"].items()}
        metric_classes = {request.name: request.metric.metric for request in part.run.requests}
        for name, facts_of_request in facts["requests"].items():
            states = unpack_states(tensors, facts_of_request, f"{name}/")
            metric = states.restore(metric_classes[name])
            if moved and isinstance(metric, NamesFiles):
                metric.rename_files(moved)
            if name in counts.metrics:
                counts.metrics[name].merge_state(metric)
            else:
                counts.metrics[name], counts.arguments[name] = metric, dict(states.arguments)


def check_folder(folder: Path, reads: Iterable[str | Path] = (), out: Path | None = None) -> None:
    """Create the folder of the parts, and check that files can be written to it, before anything slow happens."""
    check_kept_folder(folder, reads=reads, out=out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Permissions do not tell whether a file can be written, for example to a file system that is mounted read-only.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error
