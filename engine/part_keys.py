"""What identifies the counts of a part of a corpus: everything on which they depend.

A part that was counted earlier, by another process or on another machine, may be used only if it would be counted in
the same way again. Its key is a digest of the sentences themselves, of the model's weights and tokenizer, of all
options, of the requests, and of the source code of the toolkit. A part of another model, corpus, option or version has
another key. It can therefore never be added up by mistake.

The paths of the corpus files are not in the key, so a corpus that was moved or renamed has the same parts. Only which
sentences are in the same file is, because parts store the files of some sentences. These paths are replaced by the
present ones when a part is read.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..corpora_loaders import Sentence
from .plain_data import to_plain

if TYPE_CHECKING:
    from ..analyses.contract import Analysis, Request
    from ..extractors.model.loaded_model import LoadedModel
    from .passes import Pass

_FORMAT = 2
_ROOMS = ("storage", "corpora_loaders", "extractors", "analyses", "engine")


def fingerprint(model: LoadedModel, options: Mapping[str, Any], analyses: Iterable[Analysis[Any, Any]]) -> str:
    """Return a digest of everything on which counts depend, apart from the text.

    Args:
        model: the model.
        options: the options that determine what is counted, as plain data.
        analyses: the analyses of the run, whose source code counts.
    """
    configuration = json.loads(model.model.config.to_json_string(use_diff=False))
    configuration.pop("_name_or_path", None)  # the model may be in another folder on another machine
    described = {
        "format": _FORMAT,
        "sources": source_digest(),
        "analyses": [_digest_of_file(Path(inspect.getfile(type(analysis)))) for analysis in analyses],
        "weights": model.weights_sha256(),
        "configuration": configuration,
        "tokenizer": _tokenizer_digest(model),
        "dtype": str(model.dtype),
        "device": model.device.type,
        "batching": repr(model.batching),
        "options": options,
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def pass_key(current: Pass, fingerprint: str, inputs: str) -> str:
    """Return a digest that identifies what a pass counts.

    Args:
        current: the pass.
        fingerprint: a digest of everything on which counts depend, apart from the text.
        inputs: a digest of the inputs.
    """
    requests = [(request.name, _configuration(request)) for request in current.requests]
    described = (fingerprint, inputs, current.copy, current.masking, requests)
    return hashlib.sha256(repr(described).encode()).hexdigest()[:40]


def _configuration(request: Request) -> str:
    """Return the arguments of a metric that do not depend on the maps, such as all relations of the corpus."""
    arguments = getattr(request.metric, "arguments", ())
    try:
        plain = to_plain(dict(arguments), f"the arguments of {request.name}")
    except (TypeError, ValueError):  # such counts cannot be stored; the message comes when they are written
        return ""
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


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
        digest.update(repr(described.plain(sentence)).encode())
    return Content(digest.hexdigest(), tuple(described.files))


class _Described:
    """Inputs as plain values, with numbers in place of their files."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        # The last value of each field with its digest. The value is held, because another one could be in its place in
        # memory later: inputs that stay in their files exist only while they are read.
        self._shared: dict[str, tuple[Any, str]] = {}

    def plain(self, value: Any) -> Any:
        """Return a value as tuples of plain values. Documents, which many windows share, become digests.

        Args:
            value: a sentence, or a value of one of its fields.
        """
        if isinstance(value, str | int | float | None):
            return value
        if isinstance(value, tuple | list):
            return tuple(self.plain(each) for each in value)
        if isinstance(value, frozenset):  # its order may be another one in another process
            return tuple(sorted(self.plain(each) for each in value))
        if isinstance(value, Mapping):
            return tuple((key, self.plain(each)) for key, each in value.items())
        if is_dataclass(value):
            return type(value).__name__, *(
                self._field(field.name, getattr(value, field.name)) for field in fields(value)
            )
        return repr(value)

    def _field(self, name: str, value: Any) -> Any:
        if name == "file" and isinstance(value, str):
            return self.files.setdefault(value, len(self.files))
        return self._shared_digest(name, value) if is_dataclass(value) else self.plain(value)

    def _shared_digest(self, name: str, value: Any) -> str:
        """Return the digest of a value that consecutive inputs may share, such as the document of several windows."""
        if name not in self._shared or self._shared[name][0] is not value:
            self._shared[name] = value, hashlib.sha256(repr(self.plain(value)).encode()).hexdigest()
        return self._shared[name][1]


@functools.cache
def source_digest() -> str:
    """Return a digest of the source code on which counts depend."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((package / room).rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _digest_of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _tokenizer_digest(model: LoadedModel) -> str:
    """Return a digest of a tokenizer: its vocabulary, rules and special tokens."""
    tokenizer = model.tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else json.dumps(sorted(tokenizer.get_vocab().items()))
    special = json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str)
    return hashlib.sha256(f"{type(tokenizer).__name__} {rules} {special}".encode()).hexdigest()
