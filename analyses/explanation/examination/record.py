"""The run record of the explanation tests, and the facts, notes and warnings that readers see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch

from ....extractors import AttentionModel, TransformerAttention
from ....extractors.model.files import LoadedFiles
from ....extractors.model.loaded_model import weights_sha256
from ....probes.classifiers import AttentionClassifier
from ....storage.plugins import extensions
from ....storage.writing import amount
from ...shared.record import describe_command, describe_corpus, describe_files
from .subject import Tested

_NAMES = {"train": "training texts", "dev": "dev texts", "test": "tested texts"}
_ABBREVIATIONS = {"lstm": "LSTM", "cnn": "CNN", "han": "hierarchical"}
_MANY_UNKNOWN = 0.25
_MUCH_OVERLAP = 0.05


def describe(
    tested: Tested, left_out: Sequence[tuple[str, str]], command: str, shown_options: Mapping[str, Any]
) -> dict[str, Any]:
    """Make the run record. ``corpus`` and ``sentences`` describe the tested texts."""
    options, texts = tested.options, tested.texts
    source, trainings = tested.source, tested.trainings
    test_names = [test.name for test in tested.tests]
    vectors = options.classifier.vectors
    cache = trainings.cache
    resolved = {
        **{role: list(getattr(options.texts, role) or ()) for role in ("data", "dev", "test")},
        "tests": test_names,
        "vectors": vectors and str(vectors),
        "cache": cache and str(cache),
        **shown_options,
    }
    skipped = [asdict(text) for text in texts.skipped]
    added = extensions(("explanation test", name, "") for name in test_names)
    return {
        **describe_command(command, {**options.flat(), **resolved}, options.seed, tested.stages),
        **({"extensions": added} if added else {}),
        "model": describe_model(tested.model),
        "corpus": {**describe_corpus(texts.test), "counts": {**texts.test.counts(), "sentences": texts.read}},
        "sentences": {
            "read": len(texts.test),
            "words": texts.test.counts()["words"],
            "unknown_words": _n_unknown(tested),
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
        "training": source
        and {
            "recipe": asdict(source.recipe),
            "adversaries": asdict(source.imitation),
            "trained": trainings.made,
            "from_cache": trainings.from_cache,
            "cache": trainings.cache_log.describe(),
        },
        "left_out": dict(left_out),
        "warnings": list(_warnings(tested)),
    }


def describe_model(model: AttentionModel) -> dict[str, Any]:
    """Describe the tested model for the run record."""
    described = {
        "name": type(model).__name__,
        "family": None,
        "shape": "attention of a model from Python",
        **describe_files(LoadedFiles()),
        "weights_sha256": weights_sha256(model) if isinstance(model, torch.nn.Module) else None,
        "classes": list(model.classes),
    }
    if isinstance(model, TransformerAttention):
        names = {"name": model.name, "family": str(model.model.config.model_type), "shape": place_of(model)}
        return {**described, **names, "scope": model.describe(), **describe_files(model.files)}
    if isinstance(model, AttentionClassifier):
        config, encoder = model.config, model.config["encoder"]
        to_what = {"words": "", "queries": " to the text, given the query", "sentences": " to sentences"}[model.reads]
        regularizer = f", {config['regularizer']}" if config["regularizer"] else ""
        return {
            **described,
            "name": f"{_ABBREVIATIONS.get(encoder, encoder)} classifier",
            "family": encoder,
            "shape": f"{config['attention']} attention{to_what}, {config['size']} dimensions{regularizer}",
            "config": config,
            "vocabulary": len(model.vocabulary),
        }
    return described


def place_of(model: TransformerAttention) -> str:
    """Describe where in the model attention is replaced."""
    scope = model.describe()
    heads = "all heads" if scope["heads"] == "all" else f"heads {', '.join(map(str, scope['heads']))}"
    of_position = {"cls": "the row of the first position", "last": "the row of the last position, which is classified"}
    rows = of_position.get(scope["query"], "all rows")
    return f"layer {scope['layer']}, {heads}, {rows}; special tokens: {scope['special']}"


def phrases(tested: Tested) -> Iterator[str]:
    """Yield phrases on what was trained and tested on which texts."""
    options, texts = tested.options, tested.texts
    for role, part in texts.roles().items():
        balance = ", ".join(f"{label}: {count:,}" for label, count in part.balance().items())
        verb = {"train": "trained on", "dev": "epoch chosen by", "test": "tested on"}[role]
        held = " held out" if role in texts.held_out else ""
        yield f"{verb} {amount(len(part), 'texts')}{held} ({balance})"
    if tested.source is not None and tested.trains:
        recipe = tested.source.recipe
        epochs = f"{recipe.epochs} epoch{'s' if recipe.epochs > 1 else ''}"
        yield f"{epochs}, {amount(recipe.batch_size, 'texts')} a step, learning rate {recipe.learning_rate:g}"
    if options.classifier.vectors:
        yield f"word vectors: {options.classifier.vectors.name}"


def notes(tested: Tested, remarks: Sequence[str]) -> Iterator[str]:
    """Yield sentences on how the numbers came about, with the remarks of the tests."""
    options, texts, source = tested.options, tested.texts, tested.source
    if options.texts.limit is not None and texts.read > options.texts.limit:
        limited = f"{len(texts.test):,} of {texts.read:,} texts"
        yield f"Tested on {limited}, which are sampled deterministically by a hash of their words (--limit)."
    n_different = len({text.words for text in texts.test})
    if n_different < len(texts.test):
        pairs = "pairs" if texts.test.queries else "texts"
        yield (
            f"The {len(texts.test):,} tested {pairs} have {n_different:,} different texts. Those with the same text "
            "depend on each other and are resampled together, so n counts different texts where a verdict is given."
        )
    for role, (short, long) in texts.lengths.items():
        if short or long:
            yield f"{_NAMES[role].capitalize()} left out by length: {short:,} too short, {long:,} too long."
    for role, part in texts.roles().items():
        if role not in texts.held_out:  # otherwise, the remarks are on the file of the training texts, which has them
            for remark in part.remarks():
                yield f"{_NAMES[role].capitalize()}: {remark[0].lower()}{remark[1:]}"
        if unread := [text for text in texts.skipped if text.role == role]:
            yield f"{_NAMES[role].capitalize()} that the model cannot read, left out: {len(unread):,} (see the report)."
    if source is not None and source.vectors is not None:
        words = [word for text in tested.words for word in source.kind.words_read(text)]
        without = int((source.vectors.rows(words) < 0).sum())
        yield f"Tested words without a vector: {without:,} of {len(words):,} ({100 * without / len(words):.0f} %)."
        yield from source.vectors.remarks()
    if repeated := texts.overlap():
        yield f"Tested texts of more than three words that also occur word for word in training: {repeated:,}."
    if from_cache := tested.trainings.from_cache:
        yield f"Models taken from an earlier run: {from_cache} of {from_cache + tested.trainings.made}."
    yield from remarks
    model = tested.model
    if isinstance(model, TransformerAttention):
        yield (
            f"Attention was changed in {place_of(model)}. Everything else that reaches the classifier (the residual "
            "stream, other rows and other layers) stays the same and still carries information about the words."
        )
        share = tested.table["null_space"].mean()
        yield (
            f"In {100 * share:.0f} % of texts × heads, there are more positions than dimensions of the value vectors, "
            "so other attention can give exactly the same output (Brunner et al. 2020)."
        )
        if options.transformer.finetune:
            yield "The model was fine-tuned without dropout."


def _n_unknown(tested: Tested) -> int | None:
    """Count the tested words that the model does not know; None if this kind of model has no vocabulary."""
    model = tested.model
    if isinstance(model, AttentionClassifier):
        return model.vocabulary.unknown([model.words_read(text) for text in tested.words])
    return int(model.unknown_words(tested.words)) if isinstance(model, TransformerAttention) else None


def _warnings(tested: Tested) -> Iterator[str]:
    """Yield the warnings of the run about its files, the model and the texts."""
    yield from tested.trainings.cache_log.warnings()
    model, texts = tested.model, tested.texts
    if isinstance(model, TransformerAttention):
        yield from model.warnings
    words_read = model.words_read if isinstance(model, AttentionClassifier) else tuple
    n_words = sum(len(words_read(text)) for text in tested.words)
    n_unknown = _n_unknown(tested) or 0
    if n_unknown > _MANY_UNKNOWN * n_words:
        share = f"{100 * n_unknown / n_words:.0f} %"
        yield f"{share} of the tested words are unknown to the model, which cannot tell them apart."
    for role, where in (("train", "in training"), ("dev", "in the texts by which the epoch was chosen")):
        if (repeated := texts.overlap(role)) > _MUCH_OVERLAP * len(texts.test):
            yield f"{100 * repeated / len(texts.test):.0f} % of the tested texts also occur word for word {where}."
    if texts.dev is not None and len(texts.dev.classes) < 2:
        yield "All dev texts have the same label, so they cannot decide between epochs, and the first epoch was taken."
