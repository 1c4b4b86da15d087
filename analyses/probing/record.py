"""What is stored of a probing run: its record, its counts, and what a reader should know: facts, notes and warnings."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...corpora_loaders import Sentence, WordVectors
from ...corpora_loaders.tree import counted_relations
from ...extractors import get_kind
from ...probes import make_state_probe, registered_probes, registered_state_probes
from ...probes.recipe import FEWEST_STEPS, steps_per_epoch
from ...storage.plugins import extensions
from ...storage.writing import amount
from ..contract import PlanCounts
from ..counting.metric import Metric
from ..shared.record import describe_command, describe_corpus, describe_model, describe_reading, warnings_of
from .rows import MIX, NAME, STATES, ProbeFacts, RightWords, StateCounts, Tried
from .run_options import ProbingOptions
from .trainings.inputs import ProbingInputs, Workspace
from .trainings.state_training import TrainedStates
from .trainings.training import TrainedProbes

_EXAMPLES = 10  # frequent words without a vector
_MANY_UNKNOWN = 0.25
_MUCH_OVERLAP = 0.1


def describe(
    options: ProbingOptions,
    inputs: ProbingInputs,
    trained: TrainedProbes,
    workspace: Workspace,
    *,
    command: str,
    shown_options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the run record; ``corpus`` and ``sentences`` are those of the tested treebank."""
    treebanks = {
        role: {"corpus": describe_corpus(treebank), "sentences": describe_reading(treebank, inputs.stores[role].log)}
        for role, treebank in inputs.treebanks.items()
    }
    tested = treebanks.pop("test")
    chosen = {
        "probe": [*_of_maps(options, inputs), *options.probes.of_states()],
        "recipe": inputs.choice.name,
        **shown_options,
    }
    known: dict[str, Any] = {**registered_probes(), **registered_state_probes()}
    families = dict.fromkeys(name.partition(":")[0] for name in chosen["probe"])  # without the keys of labels
    origins = [("probe", name, known[name].__module__) for name in families]
    from_packages = extensions([*origins, ("map kind", options.maps.map.rpartition(":")[2], "")])
    return {
        **describe_command(command, {**options.flat(), **chosen}, options.seed, workspace.stages),
        **({"extensions": from_packages} if from_packages else {}),
        "model": describe_model(inputs.encoder),
        **tested,
        "treebanks": treebanks,
        "vectors": _describe_vectors(inputs),
        "probes": {
            "recipe": asdict(inputs.choice.recipe),
            "recipe_name": inputs.choice.name,
            "recipe_reason": inputs.choice.reason,
            "seeds": list(options.seeds),
            "splits": [
                {"train": len(split.train), "dev": split.dev and len(split.dev), "test": len(split.test)}
                for split in inputs.splits
            ],
            "continued_after_interruption": trained.resumed,
        },
        **_describe_states(options, trained.states),
        "cache": {
            "type": options.store.cache_type,
            "bytes": {role: store.bytes for role, store in inputs.stores.items()},
            "sentences_made": {role: store.made for role, store in inputs.stores.items()},
            **workspace.cache_log.describe(),
        },
        "warnings": [
            *inputs.encoder.warnings,
            *warnings_of(tested["sentences"]),
            *warnings(options, inputs, workspace),
        ],
    }


def _of_maps(options: ProbingOptions, inputs: ProbingInputs) -> list[str]:
    """Return the names of the probes of maps."""
    return options.probes.chosen(has_vectors=inputs.vectors is not None)


def _describe_states(options: ProbingOptions, trained: TrainedStates) -> dict[str, Any]:
    """Return what the run record says of probes of hidden states; nothing without any."""
    if not trained.outcomes:
        return {}
    probes = {name: make_state_probe(name) for name in trained.chosen}
    return {
        "states": {
            "probes": options.probes.of_states(),
            "layers": [_record_layer(layer) for layer in trained.layers],
            "pooling": options.states.pooling,
            "chosen_layers": {name: _record_layer(layer) for name, layer in trained.chosen.items()},
            "recipes": {name: asdict(probe.usual) for name, probe in probes.items()},
            "sentences_made": sum(store.made for store in trained.stores),
        }
    }


def _record_layer(layer: int) -> int | str:
    """Return a layer as the run record has it."""
    return "mix" if layer == MIX else layer


def counted_probes(options: ProbingOptions, inputs: ProbingInputs, trained: TrainedProbes) -> PlanCounts[ProbeFacts]:
    """Return everything that was trained and tested, as it is stored."""
    attempts = trained.attempts
    # The counts of all splits together; shape (directions, layers, heads).
    alone: npt.NDArray[np.int64] = np.asarray(sum(baseline.correct_ for baseline in trained.single_heads))
    of_run = ProbeFacts(
        model=inputs.encoder.name,
        probes=tuple(_of_maps(options, inputs)),
        tried=tuple(Tried(attempt.method, attempt.task, attempt.decoding, attempt.run) for attempt in attempts),
        replicates=options.counts.replicates,
        seed=options.seed,
        training_sentences=tuple(_digest(split.train.sentences) for split in inputs.splits),
        alone=tuple(tuple(tuple(heads) for heads in layers) for layers in alone.tolist()),
        alone_of=sum(baseline.total_ for baseline in trained.single_heads),
        sentences=pd.DataFrame(
            {
                "id": [sentence.id for sentence in inputs.sentences],
                "heads": [list(sentence.heads) for sentence in inputs.sentences],
                "relations": [list(counted_relations(sentence)) for sentence in inputs.sentences],
            }
        ),
        phrases=tuple(facts(options, inputs)),
        notes=tuple(notes(options, inputs, trained)),
    )
    metric = RightWords(len(attempts))
    metric.update(attempts)
    metrics: dict[str, Metric] = {NAME: metric}
    if trained.states.outcomes:
        metrics[STATES] = of_states = StateCounts(sum(len(outcome.tried) for outcome in trained.states.outcomes))
        outcomes = trained.states.outcomes
        of_states.update(
            np.concatenate([outcome.fractions for outcome in outcomes], axis=1),
            [outcome.edges for outcome in outcomes if outcome.edges is not None],
        )
    return PlanCounts(of_run, metrics, {})


def _digest(sentences: Sequence[Any]) -> str:
    """Return a hash of the words, heads and relations of sentences."""
    hashed = hashlib.sha256()
    for sentence in sentences:
        hashed.update(repr((sentence.words, sentence.heads, counted_relations(sentence))).encode())
    return hashed.hexdigest()


def _describe_vectors(inputs: ProbingInputs) -> dict[str, Any] | None:
    """Return what the run record says of the word vectors."""
    vectors = inputs.vectors
    if vectors is None:
        return None
    unknown = {role: unknown_words(vectors, store.sentences) for role, store in inputs.stores.items()}
    return {
        "path": vectors.path,
        "sha256": vectors.sha256,
        "dimensions": vectors.dimensions,
        "in_file": vectors.in_file,
        "used": len(vectors.array),
        "unknown_words": {
            role: {
                "unknown": count,
                "words": words,
                "share": count / words,
                "types": len(by_word),
                "frequent": by_word.most_common(_EXAMPLES),
            }
            for role, (count, words, by_word) in unknown.items()
        },
    }


def facts(options: ProbingOptions, inputs: ProbingInputs) -> Iterator[str]:
    """Yield what was trained on what, a phrase each."""
    recipe, splits = inputs.choice.recipe, inputs.splits
    # Means over splits.
    n_words = sum(len(sentence) for split in splits for sentence in split.train.sentences) // len(splits)
    n_sentences = sum(len(split.train) for split in splits) // len(splits)
    trained_on = f"{amount(n_sentences, 'sentences')} ({amount(n_words, 'words')})"
    if "train" in inputs.treebanks:
        names = ", ".join(Path(file.path).name for file in inputs.treebanks["train"].files) or "a treebank"
        yield f"trained on {trained_on} of {names}"
    else:
        yield (
            f"{len(splits)} folds: every sentence is predicted by probes trained on the other folds, about {trained_on}"
        )
    epochs = f"{recipe.epochs} epoch{'s' if recipe.epochs > 1 else ''}{' at most' if recipe.patience else ''}"
    decay = f", weight decay {recipe.weight_decay:g}" if recipe.weight_decay else ""
    if _of_maps(options, inputs):  # those of hidden states have recipes of their own, which the page has beside them
        yield f"recipe “{inputs.choice.name}”, because {inputs.choice.reason}"
        yield f"{epochs}, learning rate {recipe.learning_rate:g}{decay}"
    if _reads_dev(options, inputs):
        n_dev = sum(len(split.dev or ()) for split in splits) // len(splits)
        source = "" if "dev" in inputs.treebanks else ", held out of the training sentences"
        yield f"stopped by {amount(n_dev, 'dev sentences')}{source}"
    yield f"seeds: {options.training.seeds}"
    yield f"map “{options.maps.map}”: {get_kind(options.maps.map).description}"
    if inputs.stores["test"].shape[1] != inputs.encoder.n_heads:
        yield "one map for all heads of a layer, shown as head 1"
    if inputs.vectors is not None:
        yield f"word vectors: {Path(inputs.vectors.path).name}, {inputs.vectors.dimensions} dimensions"


def _reads_dev(options: ProbingOptions, inputs: ProbingInputs) -> bool:
    """Return whether trainings were stopped by dev sentences."""
    return inputs.choice.recipe.patience is not None or bool(options.probes.of_states())


def notes(options: ProbingOptions, inputs: ProbingInputs, trained: TrainedProbes) -> Iterator[str]:
    """Yield how the numbers came about, a sentence each."""
    test_store = inputs.stores["test"]
    # If two treebanks share a store, the first of them made its maps.
    stores = {store.folder: store for store in reversed([*inputs.stores.values(), *trained.copies])}.values()
    size, n_made = sum(store.bytes for store in stores), sum(store.made for store in stores)
    # Copies of the model with random weights make maps of the same sentences, each of which counts once per network.
    has_copies = options.probes.copies(has_vectors=inputs.vectors is not None) > 0
    counted = " (each network counted)" if has_copies else ""
    origin = f"made of {amount(n_made, 'sentences')} now{counted}" if n_made else "all there from an earlier run"
    yield f"Word maps: {size / 1e6:,.0f} MB in {test_store.folder.parent}, {origin}."
    if trained.resumed:
        yield f"Trainings that were continued after an interruption: {trained.resumed}."
    if inputs.vectors is not None:
        for role in inputs.treebanks:
            unknown, words, _ = unknown_words(inputs.vectors, inputs.stores[role].sentences)
            share = f"{100 * unknown / words:.1f} %"
            yield f"Words without a vector in the {role} sentences: {unknown:,} of {words:,} ({share})."
        yield from inputs.vectors.remarks()
    repeated, tested = overlap(inputs)
    if repeated:
        yield (
            "Tested sentences of more than three words that also occur word for word in training: "
            f"{repeated:,} of {tested:,}."
        )
    finds_heads = any(make_state_probe(name).finds_heads for name in options.probes.of_states())
    if finds_heads and options.probes.control_task():
        yield (
            "The control task of the table of heads is easy for hidden states, which hold the position of every word, "
            "so that selectivities there can be compared among probes of attention only. The selectivity of probes of "
            "states that stands on control trees is in the table of hidden states."
        )
    first_sentence = test_store[0]
    if not first_sentence.special[0, [0, -1]].any():  # neither its first position nor its last one
        yield "The model has no special tokens, so ROOT has no feature and always the score 0."


def warnings(options: ProbingOptions, inputs: ProbingInputs, workspace: Workspace) -> Iterator[str]:
    """Yield what a reader should know before the numbers, a sentence each."""
    yield from workspace.cache_log.warnings()
    recipe = inputs.choice.recipe
    steps = steps_per_epoch(inputs.splits) * recipe.epochs
    if steps < FEWEST_STEPS and recipe.patience is None and _of_maps(options, inputs):
        n_steps = f"{steps:,} step{'s' if steps > 1 else ''}"
        yield f"Trained in {n_steps}, which may be too few; --recipe tuned trains until the score no longer rises."
    if inputs.vectors is not None:
        unknown, words, _ = unknown_words(inputs.vectors, inputs.stores["test"].sentences)
        if unknown > _MANY_UNKNOWN * words:
            share = f"{100 * unknown / words:.0f} % of the tested words have no vector."
            yield f"{share} Probes that read words cannot tell them apart."
    repeated, tested = overlap(inputs)
    if repeated > _MUCH_OVERLAP * tested:
        yield f"{100 * repeated / tested:.0f} % of the tested sentences also occur word for word in training."
    repeated, tested = overlap(inputs, dev=True) if _reads_dev(options, inputs) else (0, 0)
    if repeated > _MUCH_OVERLAP * tested:
        share = f"{100 * repeated / tested:.0f} %"
        yield f"{share} of the tested sentences also occur word for word among the dev sentences."
    if "train" not in inputs.treebanks and len(inputs.splits) < options.treebanks.folds:
        yield f"The treebank gives only {len(inputs.splits)} folds."
    if options.treebanks.limit is not None:
        for role, treebank in inputs.treebanks.items():
            if unread := options.treebanks.files()[role][len(treebank.files) :]:
                yield f"--limit was reached before these files were read: {', '.join(unread)}."


def overlap(inputs: ProbingInputs, *, dev: bool = False) -> tuple[int, int]:
    """Count the tested sentences of more than three words that are also training (or dev) sentences, and all such."""
    n_repeated = n_tested = 0
    for split in inputs.splits:
        maps = split.dev if dev else split.train
        seen = set() if maps is None else {sentence.words for sentence in maps.sentences}
        longer = [sentence.words for sentence in split.test.sentences if len(sentence) > 3]
        n_tested += len(longer)
        n_repeated += sum(words in seen for words in longer)
    return n_repeated, n_tested


def unknown_words(vectors: WordVectors, sentences: Sequence[Sentence]) -> tuple[int, int, Counter[str]]:
    """Return the number of words without a vector, that of all words, and how often each of the former occurs."""
    words = [word for sentence in sentences for word in sentence.words]
    unknown = Counter(word for word, row in zip(words, vectors.rows(words).tolist(), strict=True) if row < 0)
    return unknown.total(), len(words), unknown
