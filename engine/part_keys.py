"""What identifies the counts of a part of a corpus: everything on which they depend.

A part that was counted earlier, by another process or on another machine, may be used only if it would be counted in
the same way again. Its key is a digest of the sentences themselves, of the model's weights and tokenizer, of all
options, of the requests, and of the source code of the toolkit. A part of another model, corpus, option or version has
another key. It can therefore never be added up by mistake.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.corpora_loaders import Sentence

if TYPE_CHECKING:
    from attentionology.analyses.contract import Analysis
    from attentionology.extractors import Encoder

_FORMAT = 1
_ROOMS = ("storage", "corpora_loaders", "extractors", "analyses", "engine")


def fingerprint(encoder: Encoder, options: Mapping[str, Any], analyses: Iterable[Analysis[Any, Any]]) -> str:
    """Return a digest of everything on which counts depend, apart from the text.

    Args:
        encoder: the model.
        options: the options that determine what is counted, as plain data.
        analyses: the analyses of the run, whose source code counts.
    """
    configuration = json.loads(encoder.model.config.to_json_string(use_diff=False))
    configuration.pop("_name_or_path", None)  # the model may be in another folder on another machine
    described = {
        "format": _FORMAT,
        "sources": source_digest(),
        "analyses": [_digest_of_file(Path(inspect.getfile(type(analysis)))) for analysis in analyses],
        "weights": encoder.weights_sha256(),
        "configuration": configuration,
        "tokenizer": _tokenizer_digest(encoder),
        "dtype": str(encoder.dtype),
        "device": encoder.device.type,
        "batching": repr(encoder.batching),
        "options": options,
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def content_digest(inputs: Iterable[Sentence]) -> str:
    """Return a digest of sentences with all their annotation, or of windows with their documents.

    Example:
        >>> first, second = Sentence("s1", ("Birds", "sing")), Sentence("s1", ("Birds", "sang"))
        >>> content_digest([first]) == content_digest([first]), content_digest([first]) == content_digest([second])
        (True, False)
    """
    digest = hashlib.sha256()
    shared: dict[int, str] = {}
    for sentence in inputs:
        digest.update(repr(_plain(sentence, shared)).encode())
    return digest.hexdigest()


def _plain(value: Any, shared: dict[int, str]) -> Any:
    """Return a value as tuples of plain values. Documents, which many windows share, become digests.

    Args:
        value: a sentence, or a value of one of its fields.
        shared: the digests of documents by their identity, which lasts as long as the inputs do.
    """
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, tuple | list):
        return tuple(_plain(each, shared) for each in value)
    if isinstance(value, Mapping):
        return tuple((key, _plain(each, shared)) for key, each in value.items())
    if is_dataclass(value):
        return (
            type(value).__name__,
            *(
                _shared_digest(each, shared) if is_dataclass(each) else _plain(each, shared)
                for each in (getattr(value, field.name) for field in fields(value))
            ),
        )
    return repr(value)


def _shared_digest(value: Any, shared: dict[int, str]) -> str:
    if id(value) not in shared:
        shared[id(value)] = hashlib.sha256(repr(_plain(value, shared)).encode()).hexdigest()
    return shared[id(value)]


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


def _tokenizer_digest(encoder: Encoder) -> str:
    """Return a digest of a tokenizer: its vocabulary, rules and special tokens."""
    tokenizer = encoder.tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else json.dumps(sorted(tokenizer.get_vocab().items()))
    special = json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str)
    return hashlib.sha256(f"{type(tokenizer).__name__} {rules} {special}".encode()).hexdigest()
