"""What ``attentionology probe`` writes down about a run, and says about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.shared.record import (
    command_line,
    describe_command,
    describe_corpus,
    describe_model,
    describe_reading,
    flat_options,
    warnings_of,
)
from attentionology.extractors import get_kind
from attentionology.probes.recipe_choice import FEWEST_STEPS, steps_per_epoch

if TYPE_CHECKING:
    from attentionology.corpora_loaders import Sentence, WordVectors
    from attentionology.scripts.probing import Probing

_MANY_UNKNOWN = 0.25
_MUCH_OVERLAP = 0.1
_EXAMPLES = 10


def describe(probing: Probing, arguments: Sequence[str], out: Path) -> dict[str, Any]:
    """The run record. ``corpus`` and ``sentences`` are those of the tested treebank."""
    own, stores = probing.options, probing.stores
    treebanks = {
        role: {
            "corpus": describe_corpus(treebank),
            "sentences": describe_reading(treebank, stores[role].log),
        }
        for role, treebank in probing.treebanks.items()
    }
    reading = treebanks["test"]["sentences"]
    resolved = {
        **probing.options.treebanks(),
        "out": str(out),
        "probe": own.chosen(),
        "recipe": probing.choice.name,
        "vectors": own.vectors and str(own.vectors),
        "cache": str(probing.cache),
    }
    return {
        **describe_command(command_line(arguments), {**flat_options(own), **resolved}, own.seed, probing.stages),
        "model": describe_model(probing.encoder),
        **treebanks.pop("test"),
        "treebanks": treebanks,
        "vectors": probing.vectors and _describe_vectors(probing),
        "probes": {
            "recipe": asdict(probing.recipe),
            "recipe_name": probing.choice.name,
            "recipe_reason": probing.choice.reason,
            "seeds": list(probing.seeds),
            "splits": [
                {name: maps and len(maps) for name, maps in (("train", s.train), ("dev", s.dev), ("test", s.test))}
                for s in probing.splits
            ],
            "continued_after_interruption": probing.resumed,
        },
        "cache": {
            "type": own.cache_type,
            "bytes": {role: store.bytes for role, store in stores.items()},
            "sentences_made": {role: store.made for role, store in stores.items()},
            **probing.cache_log.describe(),
        },
        "warnings": [*probing.encoder.warnings, *warnings_of(reading), *_warnings(probing)],
    }


def facts(probing: Probing) -> Iterator[str]:
    """What was trained on what, a phrase each."""
    own, recipe, splits = probing.options, probing.recipe, probing.splits
    words = sum(len(s) for split in splits for s in split.train.sentences) // len(splits)
    sentences = sum(len(split.train) for split in splits) // len(splits)
    if "train" in probing.treebanks:
        names = ", ".join(Path(file.path).name for file in probing.treebanks["train"].files)
        yield f"trained on {sentences:,} sentences ({words:,} words) of {names}"
    else:
        yield (
            f"{len(splits)} folds: every sentence is predicted by probes trained on the other folds, about "
            f"{sentences:,} sentences ({words:,} words)"
        )
    epochs = f"{recipe.epochs} epoch{'s' if recipe.epochs > 1 else ''}{' at most' if recipe.patience else ''}"
    decay = f", weight decay {recipe.weight_decay:g}" if recipe.weight_decay else ""
    yield f"recipe “{probing.choice.name}”, because {probing.choice.reason}"
    yield f"{epochs}, learning rate {recipe.learning_rate:g}{decay}"
    if recipe.patience is not None:
        held = sum(len(split.dev or ()) for split in splits) // len(splits)
        yield f"stopped by {held:,} dev sentences" + ("" if own.dev else ", held out of the training sentences")
    yield f"seeds: {own.seeds}"
    yield f"map “{own.map}”: {get_kind(own.map).description}"
    if probing.stores["test"].shape[1] != probing.encoder.n_heads:
        yield "one map for all heads of a layer, shown as head 1"
    if probing.vectors is not None:
        yield f"word vectors: {Path(probing.vectors.path).name}, {probing.vectors.dimensions} dimensions"


def notes(probing: Probing) -> Iterator[str]:
    """How the numbers came about, a sentence each."""
    store = probing.stores["test"]
    size, made = (sum(column) for column in zip(*probing.cached.values(), strict=True))
    of = " (each network counted)" if probing.options.copies() else ""
    yield (
        f"Word maps: {size / 1e6:,.0f} MB in {store.folder.parent}, "
        f"{f'made of {made:,} sentences now{of}' if made else 'all there from an earlier run'}."
    )
    if probing.resumed:
        yield f"Trainings that went on from an interrupted run: {probing.resumed}."
    if probing.vectors is not None:
        for role in probing.treebanks:
            unknown, words, _ = unknown_words(probing.vectors, probing.stores[role].sentences)
            yield f"Words without a vector in the {role} sentences: {unknown:,} of {words:,} ({unknown / words:.1%})."
        yield from probing.vectors.remarks()
    repeated, tested = overlap(probing)
    if repeated:
        yield (
            "Tested sentences of more than three words that also occur word for word in training: "
            f"{repeated:,} of {tested:,}."
        )
    batch = probing.stores["test"][0]
    if not batch.special[0, [0, -1]].any():
        yield "The model has no special tokens, so ROOT has no feature and always the score 0."


def overlap(probing: Probing, *, dev: bool = False) -> tuple[int, int]:
    """How many tested sentences of more than three words are in the training (or dev) sentences too, of how many."""
    repeated = tested = 0
    for split in probing.splits:
        maps = split.dev if dev else split.train
        seen = set() if maps is None else {s.words for s in maps.sentences}
        longer = [s.words for s in split.test.sentences if len(s) > 3]
        tested += len(longer)
        repeated += sum(words in seen for words in longer)
    return repeated, tested


def unknown_words(vectors: WordVectors, sentences: Sequence[Sentence]) -> tuple[int, int, Counter[str]]:
    """Words without a vector, all words, and the former by how often they occur."""
    words = [word for sentence in sentences for word in sentence.words]
    unknown = Counter(word for word, row in zip(words, vectors.rows(words).tolist(), strict=True) if row < 0)
    return unknown.total(), len(words), unknown


def _describe_vectors(probing: Probing) -> dict[str, Any]:
    vectors = probing.vectors
    assert vectors is not None  # noqa: S101 the caller looked
    unknown = {role: unknown_words(vectors, store.sentences) for role, store in probing.stores.items()}
    return {
        "path": vectors.path,
        "sha256": vectors.sha256,
        "dimensions": vectors.dimensions,
        "in_file": vectors.in_file,
        "used": len(vectors.array),
        "unknown_words": {
            role: {
                "unknown": n,
                "words": words,
                "share": n / words,
                "types": len(by),
                "frequent": by.most_common(_EXAMPLES),
            }
            for role, (n, words, by) in unknown.items()
        },
    }


def _warnings(probing: Probing) -> Iterator[str]:
    yield from probing.cache_log.warnings()
    steps = steps_per_epoch(probing.splits) * probing.recipe.epochs
    if steps < FEWEST_STEPS and probing.recipe.patience is None:
        took = f"{steps:,} step{'s' if steps > 1 else ''}"
        yield f"Trained in {took}, which is few; --recipe tuned goes on until it no longer helps."
    if probing.vectors is not None:
        unknown, words, _ = unknown_words(probing.vectors, probing.stores["test"].sentences)
        if unknown > _MANY_UNKNOWN * words:
            share = f"{unknown / words:.0%} of the tested words have no vector."
            yield f"{share} Probes that read words cannot tell them apart."
    repeated, tested = overlap(probing)
    if repeated > _MUCH_OVERLAP * tested:
        yield f"{repeated / tested:.0%} of the tested sentences also occur word for word in training."
    repeated, tested = overlap(probing, dev=True) if probing.recipe.patience is not None else (0, 0)
    if repeated > _MUCH_OVERLAP * tested:
        yield f"{repeated / tested:.0%} of the tested sentences also occur word for word among those to stop by."
    if "train" not in probing.treebanks and len(probing.splits) < probing.options.folds:
        yield f"The treebank gives only {len(probing.splits)} folds."
    if probing.options.limit is not None:
        for role, treebank in probing.treebanks.items():
            unread = probing.options.treebanks()[role][len(treebank.files) :]
            if unread:
                yield f"--limit was reached before these files were read: {', '.join(unread)}."
