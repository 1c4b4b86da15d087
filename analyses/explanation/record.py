"""The run record of the explanation tests, and the facts, notes and warnings that readers see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
import torch

from ...extractors import AttentionModel, TransformerAttention
from ...extractors.model.files import LoadedFiles
from ...extractors.model.loaded_model import weights_sha256
from ...probes.classifiers import AttentionClassifier
from ...probes.classifiers.trainings import Trainings
from ..shared.record import describe_command, describe_corpus, describe_files
from .sources import ModelSource
from .tested import Subject
from .texts import words_of

_NAMES = {"train": "training texts", "dev": "dev texts", "test": "tested texts"}
_ABBREVIATIONS = {"lstm": "LSTM", "cnn": "CNN"}
_MANY_UNKNOWN = 0.25
_MUCH_OVERLAP = 0.05


@dataclass(frozen=True, eq=False)
class Finished:
    """A run whose tests have all been run.

    Attributes:
        subject: the tested model and its texts.
        chosen: the names of the tests that ran.
        left_out: the tests that did not run, each with the reason.
        table: the per-text table.
        source: how models were made; None if the model was saved or loaded before.
        trains: whether models were trained in this run.
        trainings: the models that were trained.
        notes: remarks of the tests on how their numbers were computed, one sentence each.
    """

    subject: Subject
    chosen: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    table: pd.DataFrame
    source: ModelSource | None
    trains: bool
    trainings: Trainings
    notes: tuple[str, ...]


def describe(run: Finished, command: str, shown_options: Mapping[str, Any]) -> dict[str, Any]:
    """Make the run record. ``corpus`` and ``sentences`` describe the tested texts."""
    options, texts = run.subject.options, run.subject.texts
    files = {"data": options.texts.data, "dev": options.texts.dev, "test": options.texts.test}
    vectors, cache = options.classifier.vectors, run.trainings.cache
    resolved = {
        **{name: list(given or ()) for name, given in files.items()},
        "tests": list(run.chosen),
        "vectors": vectors and str(vectors),
        "cache": cache and str(cache),
        **shown_options,
    }
    skipped = [asdict(text) for text in texts.skipped]
    return {
        **describe_command(command, {**options.flat(), **resolved}, options.seed, run.subject.stages),
        "model": describe_model(run.subject.model),
        "corpus": {**describe_corpus(texts.test), "counts": {**texts.test.counts(), "sentences": texts.read}},
        "sentences": {
            "read": len(texts.test),
            "words": sum(map(len, texts.test)),
            "unknown_words": _unknown(run),
            "skipped": [text for text in skipped if text["role"] == "test"],
            "skipped_elsewhere": [text for text in skipped if text["role"] != "test"],
        },
        "texts": {
            role: {
                "files": [asdict(file) for file in part.files],
                "texts": len(part),
                "classes": part.balance(),
                "held_out": role in texts.held_out,
                "left_out_by_length": texts.lengths.get(role),
                "remarks": part.remarks(),
            }
            for role, part in texts.roles().items()
        },
        "training": run.source
        and {
            "recipe": asdict(run.source.recipe),
            "adversaries": asdict(run.source.imitation),
            "trained": run.trainings.made,
            "from_cache": run.trainings.from_cache,
            "cache": run.trainings.cache_log.describe(),
        },
        "left_out": dict(run.left_out),
        "warnings": list(_warnings(run)),
    }


def describe_model(model: AttentionModel) -> dict[str, Any]:
    """Describe the tested model for the run record."""
    if not isinstance(model, torch.nn.Module):
        return {
            "name": type(model).__name__, "family": None, "shape": "attention of a model from Python",
            **describe_files(LoadedFiles()), "weights_sha256": None, "classes": list(model.classes),
        }  # fmt: skip
    known: dict[str, Any] = {"weights_sha256": weights_sha256(model), "classes": list(model.classes)}
    if isinstance(model, TransformerAttention):
        scope, shape = model.describe(), shape_of(model)
        family = str(model.model.config.model_type)
        source = describe_files(model.files)
        return {"name": model.name, "family": family, "shape": shape, "scope": scope, **source, **known}
    if not isinstance(model, AttentionClassifier):
        shape = "attention of a model from Python"
        return {"name": type(model).__name__, "family": None, "shape": shape, **describe_files(LoadedFiles()), **known}
    config = model.config
    regularizer = f", {config['regularizer']}" if config["regularizer"] else ""
    return {
        "name": f"{_ABBREVIATIONS.get(config['encoder'], config['encoder'])} classifier",
        "family": config["encoder"],
        "shape": f"{config['attention']} attention, {config['size']} dimensions{regularizer}",
        "config": config,
        "vocabulary": len(model.vocabulary),
        **describe_files(LoadedFiles()),
        **known,
    }


def shape_of(model: TransformerAttention) -> str:
    """Describe where in the model attention is replaced."""
    scope = model.describe()
    heads = "all heads" if scope["heads"] == "all" else f"heads {', '.join(map(str, scope['heads']))}"
    rows = "the row of the first position" if scope["query"] == "cls" else "all rows"
    return f"layer {scope['layer']}, {heads}, {rows}; special tokens: {scope['special']}"


def facts(run: Finished) -> Iterator[str]:
    """Yield phrases on what was trained and tested on which texts."""
    options, texts = run.subject.options, run.subject.texts
    for role, part in texts.roles().items():
        balance = ", ".join(f"{label}: {count:,}" for label, count in part.balance().items())
        verb = {"train": "trained on", "dev": "epoch chosen by", "test": "tested on"}[role]
        held = " held out" if role in texts.held_out else ""
        yield f"{verb} {len(part):,} texts{held} ({balance})"
    if run.source is not None and run.trains:
        recipe = run.source.recipe
        epochs = f"{recipe.epochs} epoch{'s' if recipe.epochs > 1 else ''}"
        yield f"{epochs}, {recipe.batch_size} texts a step, learning rate {recipe.learning_rate:g}"
    if options.classifier.vectors:
        yield f"word vectors: {options.classifier.vectors.name}"


def notes(run: Finished) -> Iterator[str]:
    """How the numbers came about, a sentence each."""
    options, texts = run.subject.options, run.subject.texts
    if options.texts.limit is not None and texts.read > options.texts.limit:
        tested = f"{len(texts.test):,} of {texts.read:,} texts"
        yield f"Tested on {tested}, which are sampled deterministically by a hash of their words (--limit)."
    for role, (short, long) in texts.lengths.items():
        if short or long:
            yield f"{_NAMES[role].capitalize()} left out by length: {short:,} too short, {long:,} too long."
    for role, part in texts.roles().items():
        for remark in () if role in texts.held_out else part.remarks():  # of the file it was cut from, said there
            yield f"{_NAMES[role].capitalize()}: {remark[0].lower()}{remark[1:]}"
        if unread := [text for text in texts.skipped if text.role == role]:
            yield f"{_NAMES[role].capitalize()} that the model cannot read, left out: {len(unread):,} (see the report)."
    if run.source is not None and run.source.vectors is not None:
        vectors = run.source.vectors
        words = [word for text in texts.test for word in text.words]
        without = int((vectors.rows(words) < 0).sum())
        yield f"Tested words without a vector: {without:,} of {len(words):,} ({100 * without / len(words):.0f} %)."
        yield from vectors.remarks()
    repeated = texts.overlap()
    if repeated:
        yield f"Tested texts of more than three words that also occur word for word in training: {repeated:,}."
    from_cache = run.trainings.from_cache
    if from_cache:
        yield f"Models taken from an earlier run: {from_cache} of {from_cache + run.trainings.made}."
    yield from run.notes
    model = run.subject.model
    if isinstance(model, TransformerAttention):
        yield (
            f"Attention was changed in {shape_of(model)}. Everything else that reaches the classifier (the residual "
            "stream, other rows and other layers) stays the same and still carries information about the words."
        )
        share = run.table["null_space"].mean()
        yield (
            f"In {100 * share:.0f} % of texts × heads, there are more positions than dimensions of the value vectors, "
            "so other attention can give exactly the same output (Brunner et al. 2020)."
        )
        if options.transformer.finetune:
            yield "The model was fine-tuned without dropout."


def _unknown(run: Finished) -> int | None:
    """Count the tested words that the model does not know; None if this kind of model has no vocabulary."""
    model, texts = run.subject.model, words_of(run.subject.texts.test)
    if isinstance(model, AttentionClassifier):
        return model.vocabulary.unknown(texts)
    return int(model.unknown_words(texts)) if isinstance(model, TransformerAttention) else None


def _warnings(run: Finished) -> Iterator[str]:
    yield from run.trainings.cache_log.warnings()
    model, texts = run.subject.model, run.subject.texts
    tested = texts.test
    if isinstance(model, TransformerAttention):
        yield from model.warnings
    words, unknown = sum(map(len, tested)), _unknown(run) or 0
    if unknown > _MANY_UNKNOWN * words:
        share = f"{100 * unknown / words:.0f} %"
        yield f"{share} of the tested words are unknown to the model, which cannot tell them apart."
    if texts.overlap() > _MUCH_OVERLAP * len(tested):
        yield f"{100 * texts.overlap() / len(tested):.0f} % of the tested texts also occur word for word in training."
    if texts.overlap("dev") > _MUCH_OVERLAP * len(tested):
        share = f"{100 * texts.overlap('dev') / len(tested):.0f} %"
        yield f"{share} of the tested texts also occur word for word in the texts by which the epoch was chosen."
    if texts.dev is not None and len(texts.dev.classes) < 2:
        yield "All dev texts have the same label, so they cannot decide between epochs, and the first epoch was taken."
