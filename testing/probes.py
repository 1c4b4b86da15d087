"""The contract of a probe: what `check_probe` checks."""

from __future__ import annotations

import functools
import inspect
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..corpora_loaders import Sentence, Treebank, WordVectors, load_treebank
from ..extractors import MapBatch, extract
from ..probes import (
    TUNED,
    Checkpoint,
    Probe,
    Recipe,
    TrainingError,
    load_probe,
    register_probe,
    registered_probes,
    unregister_probe,
)
from ..storage.errors import AttentionologyError
from ..storage.plugins import checked_class
from .failing import fail, only_own_errors
from .models import small_encoder

Scores = list[npt.NDArray[Any]]

_SENTENCES, _DIMENSIONS = 12, 4
_CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}


class _InterruptedError(Exception):
    """Training is interrupted."""


def check_probe(probe: type[Probe], **arguments: Any) -> None:
    """Check that a probe keeps its contract.

    Training with the same ``random_state`` gives the same scores, and its initial weights depend on nothing else. So do
    batches of any size, another order of the sentences that are scored, a training that was interrupted and continued,
    and a probe that was saved and loaded. Maps of one head, sentences of one word and words without heads are read.

    Args:
        probe: the class. It need not be registered.
        arguments: arguments of its constructor.

    Raises:
        AssertionError: the probe does not keep the contract. The message says what is wrong, and what to do.
        RegistryError: the class is no probe, or its name is taken.

    Example:
        >>> from attentionology.probes import AttentionProbe
        >>> check_probe(AttentionProbe)
    """
    checked_class("probe", probe, Probe, f"{probe.__module__}.{probe.__qualname__}")
    bench = Bench(probe, arguments)
    with _registration(probe), tempfile.TemporaryDirectory(prefix="attentionology-") as folder:
        with only_own_errors("if it is made and trained", refuses=False):
            _check_arguments(bench)
            fitted = bench.made().fit(list(batches()))
            expected = list(fitted.scores(batches()))
        for batch, scores in zip(batches(), expected, strict=True):
            n = len(batch.sentences[0])
            if scores.shape != (n, n + 1) or not np.isfinite(scores).all():
                fail(
                    f"The scores of {n} words have the shape {scores.shape}, or are not finite",
                    "Score words × (1 + words)",
                )
        _check_seeds(bench, expected)
        _check_batches(bench, fitted, expected)
        _check_interrupted(bench, expected, Path(folder, "training.safetensors"))
        _check_saved(bench, fitted, expected, Path(folder, "saved"))
        _check_unusual(bench)
        if not probe.reads_attention:
            other = [replace(batch, maps=batch.maps.flip(-1)) for batch in batches()]
            advice = "Set reads_attention = True, so that it is also trained on models with random weights"
            _check_equal(
                list(fitted.scores(other)), expected, "for other maps, which it does not read as it says", advice
            )


class Bench:
    """A probe with the arguments of its constructor."""

    def __init__(self, probe: type[Probe], arguments: dict[str, Any]) -> None:
        self.probe, self.arguments = probe, arguments

    def made(self, **changes: Any) -> Probe:
        """Return a new probe."""
        kind: Any = self.probe
        made: Probe = kind(*([vectors()] if self.probe.reads_words else []), **{**self.arguments, **changes})
        return made


@functools.cache
def batches(heads: int = 3) -> tuple[MapBatch, ...]:
    """Return maps of words of sentences of the sample treebank, each a batch of its own."""
    shortest = sorted(load_treebank("sample"), key=len)[5 : 5 + _SENTENCES]
    return tuple(_maps_of(shortest, heads))


def _maps_of(sentences: Sequence[Sentence], heads: int = 3) -> list[MapBatch]:
    encoder = small_encoder() if heads > 1 else small_encoder(layers=1, heads=1)
    return list(extract(encoder, Treebank(tuple(sentences)), batch_cells=1, progress=False))


@functools.cache
def vectors() -> WordVectors:
    """Return random vectors of words of the sample treebank."""
    words = sorted({word.lower() for sentence in load_treebank("sample") for word in sentence.words})
    array = np.random.default_rng(0).normal(size=(len(words), _DIMENSIONS)).astype(np.float32)
    return WordVectors(array, {word: index for index, word in enumerate(words)}, sha256="0" * 64)


def _check_arguments(bench: Bench) -> None:
    """Check that the arguments of the constructor are attributes with defaults, and are saved."""
    probe = bench.made()
    own = inspect.signature(bench.probe.__init__).parameters.values()
    given = [one.name for one in own if one.name != "self" and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    for name in given:
        if not hasattr(probe, name):
            fail(f"The argument {name!r} of the constructor is no attribute", f"Set self.{name} = {name}")
    json.dumps(probe.arguments())
    usual = {"recipe", "random_state", "vectors"}
    if missing := [name for name in given if name not in usual and name not in probe.arguments()]:
        fail(f"arguments() lacks {missing[0]!r}, so a probe that is loaded is another one", "Return it there")


def _check_seeds(bench: Bench, expected: Scores) -> None:
    """Check that the same seed gives the same probe, whatever was drawn before, and that it is used."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(20)  # which the probe must not read
        again = bench.made().fit(list(batches()))
    advice = "Draw initial weights with generator=self.generator(), and keep no state in the class"
    _check_equal(list(again.scores(batches())), expected, "if it is trained again with the same random_state", advice)
    first, second = (_initial(bench.made(random_state=seed)) for seed in (0, 1))
    varied = [name for name, array in first.items() if array.size > 1 and array.std() > 0]
    if varied and all((first[name] == second[name]).all() for name in varied):
        fail("The initial weights are the same for every random_state, although they are not constant", advice)


def _initial(probe: Probe) -> dict[str, npt.NDArray[Any]]:
    _, layers, heads, *_ = batches()[0].maps.shape
    scorer = probe.make_scorer((layers, heads))
    return {name: parameter.detach().numpy().copy() for name, parameter in scorer.named_parameters()}


def _check_batches(bench: Bench, fitted: Probe, expected: Scores) -> None:
    """Check that batches of any size, streams and another order of what is scored change nothing."""
    sentences = [batch.sentences[0] for batch in batches()]
    large = list(extract(small_encoder(), Treebank(tuple(sentences)), progress=False))
    order = [batches()[sentences.index(sentence)] for batch in large for sentence in batch.sentences]
    advice = "Score a sentence by its own maps alone; example.maps and example.words leave out padding"
    found, alone = list(fitted.scores(large)), list(fitted.scores(order))
    _check_equal(found, alone, "in larger batches", advice, exact=False)
    backward = list(fitted.scores(batches()[::-1]))[::-1]
    _check_equal(backward, expected, "if the sentences are scored in another order", advice)
    streamed = bench.made().fit(iter(batches()))
    _check_equal(list(streamed.scores(batches())), expected, "if it is trained on a stream", advice)


def _check_interrupted(bench: Bench, expected: Scores, path: Path) -> None:
    """Check that training continues where it was interrupted, also in a later epoch."""
    recipe = replace(TUNED, epochs=2, patience=None)
    whole = list(bench.made(recipe=recipe).fit(list(batches())).scores(batches()))
    for stops in (_SENTENCES // 2, _SENTENCES + 3):
        seen = iter(range(stops))

        def interrupt(_: object, seen: Iterator[int] = seen) -> None:
            if next(seen, None) is None:
                raise _InterruptedError

        with suppress(_InterruptedError):
            bench.made(recipe=recipe).fit(list(batches()), report=interrupt, checkpoint=Checkpoint(path, every=0))
        with only_own_errors("if training continues after an interruption", refuses=False):
            continued = bench.made(recipe=recipe).fit(list(batches()), checkpoint=Checkpoint(path))
        advice = "Let all that is learned be parameters of the scorer, and nothing be drawn while it is trained"
        found = list(continued.scores(batches()))
        _check_equal(found, whole, "if training was interrupted and continued", advice)
        path.unlink()


def _check_saved(bench: Bench, fitted: Probe, expected: Scores, folder: Path) -> None:
    """Check that a probe that is saved and loaded is the same."""
    with only_own_errors("if it is saved and loaded", refuses=False):
        fitted.save(folder)
        loaded = load_probe(folder, vectors() if bench.probe.reads_words else None)
        found = list(loaded.scores(batches()))
    advice = "Let all that is learned be parameters of the scorer, and return further arguments in arguments()"
    _check_equal(found, expected, "if it was saved and loaded", advice)


def _check_unusual(bench: Bench) -> None:
    """Check maps of one head, sentences of one word, and words without heads; training may find nothing to learn."""
    one = Sentence("one", ("Go",), heads=(0,), relations=("root",))
    headless = Sentence("headless", ("Cats", "sleep"), heads=(None, None), relations=("_", "_"))
    roots = Sentence("roots", ("Cats", "dogs"), heads=(0, 0), relations=("root", "root"))
    ordinary = batches()[0].sentences[0]
    corpora = {
        "of one word": [one], "without heads": [headless], "of roots alone": [roots],
        "of all kinds": [one, headless, roots, ordinary],
    }  # fmt: skip
    for what, sentences in corpora.items():
        maps = _maps_of(sentences)
        try:
            with only_own_errors(f"on sentences {what}"):
                fitted = bench.made(recipe=Recipe(epochs=1)).fit(maps)
                scores = list(fitted.scores(maps))
        except AttentionologyError as error:
            if isinstance(error, TrainingError) and what == "without heads":
                continue  # there is nothing to learn
            raise AssertionError(f"It refuses sentences {what}: {error}. Let it read them") from error
        if not all(np.isfinite(array).all() for array in scores):
            fail(f"The scores of sentences {what} are not finite", "Divide by nothing that may be 0")
    with only_own_errors("on maps of one head", refuses=False):
        fitted = bench.made().fit(list(batches(heads=1)))
        list(fitted.scores(batches(heads=1)))


def _check_equal(found: Scores, expected: Scores, when: str, advice: str, *, exact: bool = True) -> None:
    """Check that scores are equal, or equal up to the rounding of float32."""
    pairs = list(zip(found, expected, strict=True))
    if exact:
        same = all(np.array_equal(one, two) for one, two in pairs)
    else:
        same = all(np.allclose(one, two, **_CLOSE) for one, two in pairs)
    if not same:
        fail(f"The scores are others {when}", advice)


@contextmanager
def _registration(probe: type[Probe]) -> Iterator[None]:
    """Register a probe while the block runs, unless it is registered."""
    if registered_probes().get(probe.name) is probe:
        yield
        return
    register_probe(probe)
    try:
        yield
    finally:
        unregister_probe(probe.name)
