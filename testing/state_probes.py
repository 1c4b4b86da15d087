"""The contract of a probe of hidden states: what `check_probe` checks of a class derived from `StateProbe`."""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..corpora_loaders import Sentence, Treebank, load_treebank
from ..extractors import MapBatch, StateBatch, StateMaker, extract_many
from ..probes import Checkpoint, StateProbe, load_state_probe
from ..probes.states.examples import Reading
from ..storage.errors import AttentionologyError
from .checked_probes import SEEDED, Found, InterruptedTrainingError, check_arguments, check_equal, check_weights
from .failing import allow_own_errors, fail
from .models import small_encoder

_SENTENCES, _TRAINING, _LAYER, _EPOCHS = 12, 9, 1, 3
_RESERVED = ("model", "random weights", "mix of layers", "attention", "best single head")
_COLUMNS = ("relations", "tags", "lemmas", "xpos", "feats", "deps", "misc")


def check_state_probe(probe: type[StateProbe], arguments: dict[str, Any]) -> None:
    """Check that a registered probe of hidden states keeps its contract."""
    _check_declared(probe)
    bench = StateBench(probe, arguments)
    with tempfile.TemporaryDirectory(prefix="attentionology-") as folder:
        with allow_own_errors("if it is made and trained", refuses=False):
            check_arguments(bench.make())
            fitted = bench.fit()
            expected = bench.predict(fitted)
        _check_shapes(bench, fitted, expected)
        _check_seeds(bench, fitted, expected)
        _check_together(bench, fitted, expected)
        _check_interrupted(bench, Path(folder, "training.safetensors"))
        _check_saved(bench, fitted, expected, Path(folder, "saved"))
        with allow_own_errors("if it is scored", refuses=False):
            _check_outcomes(bench, fitted, expected)
        with allow_own_errors("on its control tasks", refuses=False):
            _check_controls(bench, fitted, expected)
        if fitted.softmax:
            with allow_own_errors("if its alternatives are numbered", refuses=False):
                _check_softmax(bench, fitted, expected)
        _check_unusual(bench)
        with allow_own_errors("if its floors predict", refuses=False):
            _check_floors(bench, fitted)


class StateBench:
    """A probe with the arguments of its constructor, and sentences with their states and maps."""

    def __init__(self, probe: type[StateProbe], arguments: dict[str, Any]) -> None:
        self.probe, self.arguments = probe, arguments
        self.states, self.maps = _ordinary()
        self.sentences = [batch.sentences[0] for batch in self.states]

    def make(self, **changes: Any) -> StateProbe:
        """Return a new probe, whose training is short."""
        kind: Any = self.probe
        recipe = replace(self.probe.usual, epochs=_EPOCHS, patience=_EPOCHS)
        probe: StateProbe = kind(**{"recipe": recipe, **self.arguments, **changes})
        return probe

    def fit(self, **options: Any) -> StateProbe:
        """Return a new probe that was trained on most sentences, and stopped by the others."""
        maps: dict[str, Any] = {"maps": self.maps[:_TRAINING], "dev_maps": self.maps[_TRAINING:]}
        return self.make().fit(self.states[:_TRAINING], self.states[_TRAINING:], **maps, **options)

    def predict(self, probe: StateProbe) -> Found:
        """Return what a probe predicts of all sentences."""
        return predictions(probe, self.states, self.maps)


def predictions(probe: StateProbe, states: Sequence[StateBatch], maps: Sequence[MapBatch]) -> Found:
    """Return what a probe predicts, which gets maps if it reads them."""
    return probe.predict(states, maps if probe.reads_maps else ())


@functools.cache
def _ordinary() -> tuple[list[StateBatch], list[MapBatch]]:
    """Return what `_read` does of sentences of the sample treebank."""
    return _read(sorted(load_treebank("sample"), key=len)[5 : 5 + _SENTENCES])


def _read(sentences: Sequence[Sentence]) -> tuple[list[StateBatch], list[MapBatch]]:
    """Return the states of one layer and the maps of sentences, each a batch of its own."""
    makers: list[Any] = ["weight", StateMaker((_LAYER,))]
    read = list(extract_many(small_encoder(), Treebank(tuple(sentences)), makers, batch_cells=1))
    return [states for _, states in read], [maps for maps, _ in read]


def _check_declared(probe: type[StateProbe]) -> None:
    """Check the scores and the control tasks that the class names."""
    names = [score.name for score in probe.metrics]
    if not names or probe.metrics[0].by_length or len({*names}) < len(names):
        fail(
            f"The scores in metrics are {names}, of which the first chooses layers",
            "Name at least one score there, each once, and first one that is no mean by length",
        )
    if not probe.controls or len({*probe.controls}) < len(probe.controls) or "gold" in probe.controls:
        fail(f"The control tasks are {list(probe.controls)}", "Name at least one, each once; gold is the task itself")


def _check_shapes(bench: StateBench, fitted: StateProbe, expected: Found) -> None:
    """Check that each word has a finite prediction, from which nothing but padding was cut."""
    for states, maps, sentence, predicted in zip(bench.states, bench.maps, bench.sentences, expected, strict=True):
        n = len(sentence)
        if not predicted.ndim or len(predicted) != n or not np.isfinite(predicted).all():
            fail(
                f"What is predicted of {n} words has the shape {predicted.shape}, or is not finite",
                "Predict an array with one row per word, and let cut() leave out padding alone",
            )
        if fitted.finds_heads and predicted.shape != (n, n + 1):
            fail(
                f"The scores of the heads of {n} words have the shape {predicted.shape}",
                "Score words × (1 + words), ROOT first, or set finds_heads = False",
            )
        alone = Reading([states], [maps] if fitted.reads_maps else [], lambda _: ()).read_together([0])
        with torch.inference_mode():
            whole = fitted.module_(alone)[0].shape
        if whole != predicted.shape:
            fail(
                f"Of {n} words alone, which have no padding, the shape {tuple(whole)} is cut to {predicted.shape}",
                "Let cut() leave out padding alone",
            )


def _check_seeds(bench: StateBench, fitted: StateProbe, expected: Found) -> None:
    """Check that the same seed gives the same probe, whatever was drawn before, and that it is used."""
    with torch.random.fork_rng():
        torch.manual_seed(20)  # which the probe must not read
        again = bench.fit()
    when = "if it is trained again with the same random_state"
    check_equal(bench.predict(again), expected, when, SEEDED, what="predictions")
    modules = []
    for seed in (0, 1):
        made = bench.make(random_state=seed)
        made.prepare([made.gold(sentence) for sentence in bench.sentences])
        made.heads_ = fitted.heads_
        modules.append(made.make_module(fitted.dim_))
    check_weights(modules)


def _check_together(bench: StateBench, fitted: StateProbe, expected: Found) -> None:
    """Check that sentences are read alike alone, with any others, and in any order."""
    advice = "Predict of a sentence by its own states alone; examples.words leaves out padding"
    pairs = list(zip(bench.states, bench.maps, strict=True))
    alone = [predictions(fitted, [states], [maps])[0] for states, maps in pairs]
    check_equal(alone, expected, "if each sentence is read alone", advice, exact=False, what="predictions")
    backward = predictions(fitted, bench.states[::-1], bench.maps[::-1])[::-1]
    when = "if the sentences are read in another order"
    check_equal(backward, expected, when, advice, exact=False, what="predictions")


def _check_interrupted(bench: StateBench, path: Path) -> None:
    """Check that training continues bit by bit where it was interrupted."""
    whole = bench.fit()
    for stops in range(1, _EPOCHS):

        def interrupt(state: Any, stops: int = stops) -> None:
            if state.epoch > stops:
                raise InterruptedTrainingError

        with suppress(InterruptedTrainingError):
            bench.fit(report=interrupt, checkpoint=Checkpoint(path, every=0))
        with allow_own_errors("if training continues after an interruption", refuses=False):
            continued = bench.fit(checkpoint=Checkpoint(path))
        advice = "Let all that is learned be parameters of the module, and nothing be drawn while it is trained"
        when = "if training was interrupted and continued"
        check_equal(bench.predict(continued), bench.predict(whole), when, advice, what="predictions")
        path.unlink()


def _check_saved(bench: StateBench, fitted: StateProbe, expected: Found, folder: Path) -> None:
    """Check that a probe that is saved and loaded is the same."""
    with allow_own_errors("if it is saved and loaded", refuses=False):
        fitted.save(folder)
        loaded = load_state_probe(folder)
        found = bench.predict(loaded)
        outcomes = [_outcomes(bench, probe) for probe in (fitted, loaded)]
    advice = (
        "Let what is learned be parameters of the module, name in learned what prepare() sets, and return further "
        "arguments in arguments()"
    )
    check_equal(found, expected, "if it was saved and loaded", advice, what="predictions")
    if outcomes[0] != outcomes[1]:
        fail("The outcomes are others if it was saved and loaded", advice)


def _outcomes(bench: StateBench, probe: StateProbe) -> list[dict[str, Any]]:
    return probe.outcomes(bench.states, bench.maps)


def _check_outcomes(bench: StateBench, fitted: StateProbe, expected: Found) -> None:
    """Check that each sentence adds to exactly the scores that are declared, whatever the module could see."""
    told = _outcomes(bench, fitted)
    for sentence, predicted, of_sentence in zip(bench.sentences, expected, told, strict=True):
        found = fitted.outcome(predicted, fitted.gold(sentence), sentence)
        _check_outcome(fitted, found, f"sentence {sentence.id!r}")
        _check_edges(fitted, sentence, predicted)
        if found != of_sentence:
            fail("The outcomes depend on more than what is predicted", "Let the module not read examples.gold")


def _check_softmax(bench: StateBench, fitted: StateProbe, expected: Found) -> None:
    """Check that what is predicted of a word are scores of numbered alternatives, which a codelength needs."""
    for sentence, predicted in zip(bench.sentences, expected, strict=True):
        n, gold = len(sentence), fitted.gold(sentence)
        alternatives, numbers = fitted.alternatives(n), np.asarray(fitted.numbers(gold))
        if predicted.shape != (n, alternatives):
            fail(
                f"Predictions of {n} words have the shape {predicted.shape}, and alternatives() gives {alternatives}",
                "Predict one score for each alternative of a word, or set softmax = False",
            )
        if numbers.shape != (n,) or not np.issubdtype(numbers.dtype, np.integer) or (numbers >= alternatives).any():
            fail(
                f"numbers() of {n} words gives {numbers.tolist()}, and there are {alternatives} alternatives",
                "Give for each word the number of the right alternative, from 0, and a negative one without any",
            )
        unknown = [known is None for known in gold]
        if (numbers[unknown] >= 0).any():
            fail("numbers() gives an alternative to a word without annotation", "Give a negative number there")


def _check_edges(fitted: StateProbe, sentence: Sentence, predicted: Any) -> None:
    """Check that the edges that are predicted of a sentence, if any are, link its words."""
    edges = fitted.edges(predicted, sentence)
    if edges is not None and not all(0 <= first < second < len(sentence) for first, second in edges):
        fail(
            f"edges() of {len(sentence)} words gives {sorted(edges)}",
            "Give pairs of words as 0-based numbers, the smaller first",
        )


def _check_outcome(probe: StateProbe, found: dict[str, Any], what: str) -> None:
    """Check one outcome."""
    declared = {score.name: score for score in probe.metrics}
    if found.keys() != declared.keys():
        fail(
            f"outcome() of {what} gives {sorted(found)}, and metrics names {sorted(declared)}",
            "Give exactly the scores that metrics names",
        )
    for name, fraction in found.items():
        numerator, denominator = fraction
        sound = math.isfinite(numerator) and math.isfinite(denominator) and denominator >= 0
        if not sound or abs(numerator) > denominator or (numerator < 0 and not declared[name].by_length):
            fail(
                f"outcome() of {what} gives the {name} {numerator} of {denominator}",
                "Give how much is right, and of how much; 0 of 0 where there is nothing to find",
            )


def _check_controls(bench: StateBench, fitted: StateProbe, expected: Found) -> None:
    """Check that control tasks tell nothing of the annotation, and that the same seed gives the same one."""
    # A probe that is given the heads, as that of relations, may be compared with what depends on them, too.
    others = [_with_other_heads(sentence) for sentence in bench.sentences]
    relabeled = [replace(batch, sentences=(other,)) for batch, other in zip(bench.states, others, strict=True)]
    remapped = [replace(batch, sentences=(other,)) for batch, other in zip(bench.maps, others, strict=True)]
    found = predictions(fitted, relabeled, remapped)
    reads_heads = not all(np.array_equal(one, two) for one, two in zip(found, expected, strict=True))
    changes = [_with_other_labels] if reads_heads else [_with_other_labels, _with_other_heads]
    for task in fitted.controls:
        control, again = (bench.make().control(bench.sentences, 1, task) for _ in range(2))
        for sentence in bench.sentences:
            gold = list(control(sentence))
            if len(gold) != len(sentence):
                fail(f"The control task {task!r} has {len(gold)} labels of {len(sentence)} words", "Give one per word")
            if list(again(sentence)) != gold:
                fail(f"The control task {task!r} is another one if it is made again", "Draw from the seed alone")
            for change in changes:
                pairs = zip(gold, control(change(sentence)), strict=True)
                if any(one != two for one, two in pairs if one is not None and two is not None):
                    fail(
                        f"The control task {task!r} depends on the annotation of a sentence",
                        "Let it depend on words and their order alone, or it tells what is to be learned",
                    )
        with allow_own_errors(f"if it is trained on the control task {task!r}", refuses=False):
            bench.fit(gold=control)


def _with_other_labels(sentence: Sentence) -> Sentence:
    """Return the same words and heads with another id, and with the other columns turned around."""
    columns: dict[str, Any] = {name: getattr(sentence, name)[::-1] for name in _COLUMNS}
    return replace(sentence, id=f"{sentence.id}-other", **columns)


def _with_other_heads(sentence: Sentence) -> Sentence:
    """Return the same words in another tree: a chain that starts at the first word, or at the last one."""
    n = len(sentence)
    chain = tuple(range(n))
    return replace(sentence, heads=(*range(2, n + 1), 0) if sentence.heads == chain else chain)


def _check_floors(bench: StateBench, fitted: StateProbe) -> None:
    """Check that what predicts without states predicts arrays as the probe does, for sentences of any kind, too."""
    floors = fitted.floors(bench.sentences[:_TRAINING], fitted.gold)
    states, maps = _read(_unusual(bench)["of all kinds"])
    for name, predict in floors.items():
        if name in _RESERVED:
            fail(f"A floor is called {name!r}, as what it is compared with", "Give it another name")
        for read, predicted in (
            (bench.states, bench.predict(fitted)), (states, predictions(fitted, states, maps)),
        ):  # fmt: skip
            for batch, own in zip(read, predicted, strict=True):
                [sentence] = batch.sentences
                found = predict(sentence)
                if np.shape(found) != own.shape:
                    fail(
                        f"The floor {name!r} predicts the shape {np.shape(found)}, and the probe {own.shape}",
                        "Predict what the probe would",
                    )
                _check_outcome(fitted, fitted.outcome(found, fitted.gold(sentence), sentence), f"the floor {name!r}")


def _unusual(bench: StateBench) -> dict[str, list[Sentence]]:
    """Return small corpora of unusual sentences; none has labels, except for ordinary ones."""

    def make_sentence(name: str, words: Sequence[str], *heads: int | None) -> Sentence:
        columns: dict[str, Any] = dict.fromkeys(_COLUMNS, ("_",) * len(words))
        return Sentence(name, tuple(words), heads=heads, **columns)

    one, roots = make_sentence("one", ["Go"], 0), make_sentence("roots", ["Cats", "dogs"], 0, 0)
    headless = make_sentence("headless", ["Cats", "sleep"], None, None)
    ordinary = bench.sentences[0]
    return {
        "of one word": [one], "without heads and labels": [headless], "of roots alone": [roots],
        "that are only one": [ordinary], "of all kinds": [one, headless, roots, ordinary],
    }  # fmt: skip


def _check_unusual(bench: StateBench) -> None:
    """Check unusual sentences, from which there may be nothing to learn."""
    for what, sentences in _unusual(bench).items():
        states, maps = _read(sentences)
        try:
            with allow_own_errors(f"on sentences {what}", refuses=sentences[-1] is not bench.sentences[0]):
                fitted = bench.make().fit(states, states, maps=maps, dev_maps=maps)
                predicted = predictions(fitted, states, maps)
                outcomes = fitted.outcomes(states, maps)
        except AttentionologyError:
            continue  # there is nothing to learn
        if not all(np.isfinite(array).all() for array in predicted):
            fail(f"The predictions of sentences {what} are not finite", "Divide by nothing that may be 0")
        for outcome in outcomes:
            _check_outcome(fitted, outcome, f"sentences {what}")
