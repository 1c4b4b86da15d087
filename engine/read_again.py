"""What a stored run has read, read again: its corpus and its model, if they are still those of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..analyses.contract import AnalysisRow
from ..analyses.registry import registered_analyses
from ..analyses.shared.input_options import ModelOptions
from ..corpora_loaders import Corpus, CorpusError
from ..corpora_loaders.lines import file_sha256
from ..extractors import AnyModel, Encoder, ModelError, as_encoder
from .corpus import CorpusOptions, read_corpus


def corpus_of(record: Mapping[str, Any], analyses: Sequence[AnalysisRow]) -> Corpus:
    """Read the files that the record of a run names, as its analyses have read them.

    Raises:
        CorpusError: a file is missing or has changed, or the run has read something else than files.
    """
    files: Sequence[Any] = record.get("corpus", {}).get("files", ())
    if not files:
        raise CorpusError("this run has read no files")
    for file in files:
        path = Path(file["path"])
        try:
            is_same = file_sha256(path) == file["sha256"]
        except OSError:
            raise CorpusError(f"{path}, which this run has read, is not there any more") from None
        if not is_same:
            raise CorpusError(f"{path} has changed since this run has read it")
    options = _read_options(record, CorpusOptions)
    if options.get("segments") is not None:
        raise CorpusError("this run has read segments of a text, not sentences")
    options["text" if "text" in options else "corpus"] = tuple(file["path"] for file in files)
    return read_corpus(CorpusOptions(**options), analyses)


def rows_of(names: Sequence[str]) -> list[AnalysisRow]:
    """Return the rows of analyses, given by their names."""
    return [row for name, row in registered_analyses().items() if name in names]


def model_of(record: Mapping[str, Any], model: AnyModel | None = None) -> Encoder:
    """Return the model that is given, or load the one that the record of a run names.

    Raises:
        ModelError: it cannot be loaded, or has other weights than the run has read.
    """
    encoder = ModelOptions(**_read_options(record, ModelOptions)).load() if model is None else as_encoder(model)
    if encoder.weights_sha256() != record["model"]["weights_sha256"]:
        raise ModelError(f"{encoder.name} has other weights than the model of this run")
    return encoder


def _read_options(record: Mapping[str, Any], group: type[Any]) -> dict[str, Any]:
    """Return the options of a group that the record of a run names, but those that are not set."""
    recorded = {field.name: record["options"].get(field.name) for field in fields(group)}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in recorded.items()
        if value is not None
    }
