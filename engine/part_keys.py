"""What identifies the counts of a part of a corpus: everything on which they depend.

A part that was counted earlier, by another process or on another machine, may be used only if it would be counted in
the same way again. So the name of its file is a digest of the sentences with their annotation, the model, all options,
the requests, and the source code of the toolkit. A part of another model, corpus, option or version has another name,
and can therefore never be added up by mistake.

The paths of the corpus files are not in the digest, so a corpus that was moved or renamed has the same parts. Only
which sentences are in the same file is, because parts store the files of some sentences. These are replaced by the
present paths when a part is read.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analyses.contract import Request
from ..corpora_loaders import Sentence
from ..extractors.model.loaded_model import described_model
from .plain_data import to_plain

if TYPE_CHECKING:
    from .passes import Pass
    from .preparing import Prepared

_FORMAT = 3
_ROOMS = ("storage", "corpora_loaders", "extractors", "analyses", "engine")


def fingerprint(prepared: Prepared) -> str:
    """Return a digest of everything on which counts depend, apart from the text and the requests."""
    model = prepared.model
    sources = [Path(inspect.getfile(type(analysis))).read_bytes() for analysis in prepared.chosen]
    described = {
        "format": _FORMAT,
        "sources": source_digest(),
        "analyses": [hashlib.sha256(source).hexdigest() for source in sources],
        "model": described_model(model),
        "dtype": str(model.dtype),
        "device": model.device.type,
        "batching": repr(model.batching),
        "options": prepared.described(),
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def pass_key(current: Pass, fingerprint: str, inputs: str) -> str:
    """Return a digest that identifies what a pass counts in inputs with this digest."""
    requests = [(request.name, _configuration(request)) for request in current.requests]
    described = (fingerprint, inputs, current.copy, current.masking, requests)
    return hashlib.sha256(repr(described).encode()).hexdigest()[:40]


@functools.cache
def source_digest() -> str:
    """Return a digest of the source code on which counts depend."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((package / room).rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _configuration(request: Request) -> str:
    """Return the arguments of a metric that do not depend on the maps, such as all relations of the corpus."""
    try:
        return json.dumps(to_plain(dict(request.metric.arguments), f"the arguments of {request.name}"))
    except (TypeError, ValueError):  # such counts cannot be stored; the message comes when they are written
        return ""


@dataclass(frozen=True)
class Content:
    """What identifies some inputs, wherever their files are.

    Attributes:
        digest: a digest of the inputs with all their annotation. Files are identified by their numbers.
        files: the paths of the files in the order in which they first occur.
    """

    digest: str
    files: tuple[str, ...]


def content_of_inputs(inputs: Sequence[Sentence]) -> Content:
    """Return what identifies sentences with all their annotation, or windows with their documents.

    Example:
        >>> first, second = Sentence("s1", ("Birds", "sing")), Sentence("s1", ("Birds", "sang"))
        >>> content_of_inputs([first]) == content_of_inputs([second])
        False
        >>> moved = [Sentence("s1", ("Birds", "sing"), file=path) for path in ("a.conllu", "b/c.conllu")]
        >>> content_of_inputs(moved[:1]).digest == content_of_inputs(moved[1:]).digest
        True
    """
    digest, described = hashlib.sha256(), _Described()
    for sentence in inputs:
        digest.update(described.text(sentence).encode())
    return Content(digest.hexdigest(), tuple(described.files))


class _Described:
    """Inputs as text, with numbers in place of their files, and digests in place of the documents of windows."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        # The last value of each field with its digest, because many windows share a document. The value is held,
        # because another one could be in its place in memory later: inputs that stay in files are read again and again.
        self._last: dict[str, tuple[Any, str]] = {}

    def text(self, value: Any) -> str:
        return json.dumps(value, default=self._plain)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, frozenset):
            return sorted(value)  # its order may be another one in another process
        if isinstance(value, Mapping):
            return list(value.items())
        if is_dataclass(value):
            values = [self._field(field.name, getattr(value, field.name)) for field in fields(value)]
            return [type(value).__name__, *values]
        return repr(value)

    def _field(self, name: str, value: Any) -> Any:
        if name == "file" and isinstance(value, str):
            return self.files.setdefault(value, len(self.files))
        if not is_dataclass(value):
            return value
        if name not in self._last or self._last[name][0] is not value:
            self._last[name] = value, hashlib.sha256(self.text(value).encode()).hexdigest()
        return self._last[name][1]
