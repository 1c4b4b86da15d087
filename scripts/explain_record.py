"""What ``attentionology explain`` writes down about a run, and says about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.shared.record import command_line, describe_command, describe_corpus, flat_options
from attentionology.extractors import TransformerAttention
from attentionology.probes.classifiers import AttentionClassifier
from attentionology.scripts.explain_models import describe_model, shape_of
from attentionology.scripts.labelled_data import words_of

if TYPE_CHECKING:
    from attentionology.scripts.explaining import Explaining

_NAMES = {"train": "training texts", "dev": "dev texts", "test": "tested texts"}
_MANY_UNKNOWN = 0.25
_MUCH_OVERLAP = 0.05
_FEW_TEXTS = 200


def describe(run: Explaining, arguments: Sequence[str], out: Path) -> dict[str, Any]:
    """The run record. ``corpus`` and ``sentences`` are those of the tested texts."""
    own, data = run.options, run.data
    files = {"data": list(own.data or ()), "dev": list(own.dev or ()), "test": list(own.test or ())}
    resolved = {
        **files,
        "out": str(out),
        "tests": run.chosen,
        "vectors": own.vectors and str(own.vectors),
        "cache": str(run.cache),
    }
    return {
        **describe_command(command_line(arguments), {**flat_options(own), **resolved}, own.seed, run.stages),
        "model": describe_model(run.model),
        "corpus": {**describe_corpus(data.test), "counts": {**data.test.counts(), "sentences": data.read}},
        "sentences": {
            "read": len(data.test),
            "words": sum(map(len, data.test)),
            "unknown_words": _unknown(run),
            "skipped": [
                {"id": text.id, "role": role, "file": text.file, "line": text.line, "reason": why}
                for role, text, why in run.skipped
                if role == "test"
            ],
            "skipped_elsewhere": [
                {"id": text.id, "role": role, "file": text.file, "line": text.line, "reason": why}
                for role, text, why in run.skipped
                if role != "test"
            ],
        },
        "texts": {
            role: {
                "files": [asdict(file) for file in texts.files],
                "texts": len(texts),
                "classes": texts.balance(),
                "held_out": role in data.held_out,
                "left_out_by_length": data.lengths.get(role),
                "remarks": texts.remarks(),
            }
            for role, texts in data.roles().items()
        },
        "training": run.source
        and {
            "recipe": asdict(run.source.recipe),
            "adversaries": asdict(run.source.imitation),
            "trained": run.trainings.made,
            "from_cache": run.trainings.found,
            "cache": run.trainings.cache_log.describe(),
        },
        "left_out": dict(run.left_out),
        "warnings": list(_warnings(run)),
    }


def facts(run: Explaining) -> Iterator[str]:
    """What was trained and tested on what, a phrase each."""
    data = run.data
    for role, texts in data.roles().items():
        balance = ", ".join(f"{label}: {count:,}" for label, count in texts.balance().items())
        verb = {"train": "trained on", "dev": "epoch chosen by", "test": "tested on"}[role]
        held = " held out" if role in data.held_out else ""
        yield f"{verb} {len(texts):,} texts{held} ({balance})"
    if run.source is not None and run.options.trains():
        recipe = run.source.recipe
        epochs = f"{recipe.epochs} epoch{'s' if recipe.epochs > 1 else ''}"
        yield f"{epochs}, {recipe.batch_size} texts a step, learning rate {recipe.learning_rate:g}"
    if run.options.vectors:
        yield f"word vectors: {run.options.vectors.name}"


def notes(run: Explaining) -> Iterator[str]:
    """How the numbers came about, a sentence each."""
    own, data = run.options, run.data
    if own.limit is not None and data.read > own.limit:
        yield f"Tested on {len(data.test):,} of {data.read:,} texts, drawn by a hash of their words (--limit)."
    for role, (short, long) in data.lengths.items():
        if short or long:
            yield f"{_NAMES[role].capitalize()} left out by length: {short:,} too short, {long:,} too long."
    for role, texts in data.roles().items():
        for remark in () if role in data.held_out else texts.remarks():  # of the file it was cut from, said there
            yield f"{_NAMES[role].capitalize()}: {remark[0].lower()}{remark[1:]}"
        if unread := [why for other, _, why in run.skipped if other == role]:
            yield f"{_NAMES[role].capitalize()} that the model cannot read, left out: {len(unread):,} (see the report)."
    if run.source is not None and run.source.vectors is not None:
        vectors = run.source.vectors
        words = [word for text in data.test for word in text.words]
        without = int((vectors.rows(words) < 0).sum())
        yield f"Tested words without a vector: {without:,} of {len(words):,} ({without / len(words):.0%})."
        yield from vectors.remarks()
    repeated = data.overlap()
    if repeated:
        yield f"Tested texts of more than three words that also occur word for word in training: {repeated:,}."
    if run.trainings.found:
        yield f"Models taken from an earlier run: {run.trainings.found} of {run.trainings.found + run.trainings.made}."
    if adversary := run.adversary:
        yield f"The trained adversary in the verdicts is that with {adversary}, chosen on the training texts."
    if isinstance(run.model, TransformerAttention):
        yield (
            f"Attention was changed in {shape_of(run.model)}. What else reaches the classifier (the "
            "residual stream, other rows and layers) stays, and still carries the words."
        )
        share = run.texts["null_space"].mean()
        yield (
            f"In {share:.0%} of texts × heads there are more positions than value vectors span; there, other attention "
            "may give the very same output (Brunner et al. 2020)."
        )
        if run.options.finetune:
            yield "Fine-tuned without dropout."


def _unknown(run: Explaining) -> int:
    model, texts = run.model, words_of(run.data.test)
    if isinstance(model, AttentionClassifier):
        return model.vocabulary.unknown(texts)
    return int(model.unknown_words(texts))


def _warnings(run: Explaining) -> Iterator[str]:
    yield from run.trainings.cache_log.warnings()
    data = run.data
    if isinstance(run.model, TransformerAttention):
        yield from run.model.warnings
    words, unknown = sum(map(len, data.test)), _unknown(run)
    if unknown > _MANY_UNKNOWN * words:
        yield f"{unknown / words:.0%} of the tested words are unknown to the model, which cannot tell them apart."
    if data.overlap() > _MUCH_OVERLAP * len(data.test):
        yield f"{data.overlap() / len(data.test):.0%} of the tested texts also occur word for word in training."
    if data.overlap("dev") > _MUCH_OVERLAP * len(data.test):
        share = data.overlap("dev") / len(data.test)
        yield f"{share:.0%} of the tested texts also occur word for word among those that the epoch was chosen by."
    if data.dev is not None and len(data.dev.classes) < 2:
        yield "All dev texts have the same label: they cannot tell epochs apart, and the first was taken."
    if len(data.test) < _FEW_TEXTS:
        yield f"Tested texts: only {len(data.test)}; intervals from so few say little."
    most = max(data.test.balance().values()) / len(data.test)
    if run.texts["correct"].mean() <= most:
        yield (
            f"The model is right about {run.texts['correct'].mean():.0%} of the tested texts; always saying the most "
            f"frequent class would be right about {most:.0%}. The attention of such a model explains nothing."
        )
    if (run.texts["predicted"] == run.texts["predicted"].iloc[0]).all():
        yield "The model gives every tested text the same class."
