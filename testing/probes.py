"""The contract of a probe: what `check_probe` checks."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..corpora_loaders import Sentence, Treebank, WordVectors, load_treebank
from ..extractors import MapBatch, extract
from ..probes import TUNED, Checkpoint, Probe, Recipe, StateProbe, TrainingError, load_probe
from ..storage.errors import AttentionologyError
from ..storage.plugins import check_class
from .checked_probes import (
    SEEDED,
    InterruptedTrainingError,
    check_arguments,
    check_equal,
    check_weights,
    registration,
)
from .failing import allow_own_errors, fail
from .models import small_encoder
from .state_probes import check_state_probe

Scores = list[npt.NDArray[Any]]

_SENTENCES, _DIMENSIONS = 12, 4


def check_probe(probe: type[Probe] | type[StateProbe], **arguments: Any) -> None:
    """Check that a probe of maps or of hidden states keeps its contract.

    Training with the same ``random_state`` gives the same scores, and its initial weights depend on nothing else. So do
    batches of any size, another order of the sentences that are scored, a training that was interrupted and continued,
    and a probe that was saved and loaded. Maps of one head, sentences of one word and words without heads are read.

    A probe of hidden states gives each word a prediction, and exactly the scores in ``metrics``. Its control tasks
    depend on words alone, and on heads only if the probe is given them. Its floors predict arrays of the same shape.

    Args:
        probe: the class. It need not be registered.
        arguments: arguments of its constructor, as in ``check_probe(LayerProbe, scale=2.0)``.

    Raises:
        AssertionError: the probe does not keep the contract. The message says what is wrong, and what to do.
        RegistryError: the class is no probe, or its name is taken.

    Example:
        >>> from attentionology.probes import AttentionProbe
        >>> check_probe(AttentionProbe)
    """
    bases: Any = (Probe, StateProbe)
    source = f"{probe.__module__}.{probe.__qualname__}" if isinstance(probe, type) else repr(probe)
    check_class("probe", probe, bases, source)
    with registration(probe):
        if issubclass(probe, StateProbe):
            check_state_probe(probe, arguments)
        else:
            _check_probe_of_maps(probe, arguments)


def _check_probe_of_maps(probe: type[Probe], arguments: dict[str, Any]) -> None:
    """Check a registered probe of maps."""
    bench = Bench(probe, arguments)
    with tempfile.TemporaryDirectory(prefix="attentionology-") as folder:
        with allow_own_errors("if it is made and trained", refuses=False):
            check_arguments(bench.make())
            fitted = bench.make().fit(list(batches()))
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
            check_equal(
                list(fitted.scores(other)), expected, "for other maps, which it does not read as it says", advice
            )


class Bench:
    """A probe with the arguments of its constructor."""

    def __init__(self, probe: type[Probe], arguments: dict[str, Any]) -> None:
        self.probe, self.arguments = probe, arguments

    def make(self, **changes: Any) -> Probe:
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


def _check_seeds(bench: Bench, expected: Scores) -> None:
    """Check that the same seed gives the same probe, whatever was drawn before, and that it is used."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(20)  # which the probe must not read
        again = bench.make().fit(list(batches()))
    check_equal(list(again.scores(batches())), expected, "if it is trained again with the same random_state", SEEDED)
    _, layers, heads, *_ = batches()[0].maps.shape
    check_weights([bench.make(random_state=seed).make_scorer((layers, heads)) for seed in (0, 1)])


def _check_batches(bench: Bench, fitted: Probe, expected: Scores) -> None:
    """Check that batches of any size, streams and another order of what is scored change nothing."""
    sentences = [batch.sentences[0] for batch in batches()]
    large = list(extract(small_encoder(), Treebank(tuple(sentences)), progress=False))
    order = [batches()[sentences.index(sentence)] for batch in large for sentence in batch.sentences]
    advice = "Score a sentence by its own maps alone; example.maps and example.words leave out padding"
    found, alone = list(fitted.scores(large)), list(fitted.scores(order))
    check_equal(found, alone, "in larger batches", advice, exact=False)
    backward = list(fitted.scores(batches()[::-1]))[::-1]
    check_equal(backward, expected, "if the sentences are scored in another order", advice)
    streamed = bench.make().fit(iter(batches()))
    check_equal(list(streamed.scores(batches())), expected, "if it is trained on a stream", advice)


def _check_interrupted(bench: Bench, expected: Scores, path: Path) -> None:
    """Check that training continues where it was interrupted, also in a later epoch."""
    recipe = replace(TUNED, epochs=2, patience=None)
    whole = list(bench.make(recipe=recipe).fit(list(batches())).scores(batches()))
    for stops in (_SENTENCES // 2, _SENTENCES + 3):
        seen = iter(range(stops))

        def interrupt(_: object, seen: Iterator[int] = seen) -> None:
            if next(seen, None) is None:
                raise InterruptedTrainingError

        with suppress(InterruptedTrainingError):
            bench.make(recipe=recipe).fit(list(batches()), report=interrupt, checkpoint=Checkpoint(path, every=0))
        with allow_own_errors("if training continues after an interruption", refuses=False):
            continued = bench.make(recipe=recipe).fit(list(batches()), checkpoint=Checkpoint(path))
        advice = "Let all that is learned be parameters of the scorer, and nothing be drawn while it is trained"
        found = list(continued.scores(batches()))
        check_equal(found, whole, "if training was interrupted and continued", advice)
        path.unlink()


def _check_saved(bench: Bench, fitted: Probe, expected: Scores, folder: Path) -> None:
    """Check that a probe that is saved and loaded is the same."""
    with allow_own_errors("if it is saved and loaded", refuses=False):
        fitted.save(folder)
        loaded = load_probe(folder, vectors() if bench.probe.reads_words else None)
        found = list(loaded.scores(batches()))
    advice = "Let all that is learned be parameters of the scorer, and return further arguments in arguments()"
    check_equal(found, expected, "if it was saved and loaded", advice)


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
            with allow_own_errors(f"on sentences {what}"):
                fitted = bench.make(recipe=Recipe(epochs=1)).fit(maps)
                scores = list(fitted.scores(maps))
        except AttentionologyError as error:
            if isinstance(error, TrainingError) and what == "without heads":
                continue  # there is nothing to learn
            raise AssertionError(f"It refuses sentences {what}: {error}. Let it read them") from error
        if not all(np.isfinite(array).all() for array in scores):
            fail(f"The scores of sentences {what} are not finite", "Divide by nothing that may be 0")
    with allow_own_errors("on maps of one head", refuses=False):
        fitted = bench.make().fit(list(batches(heads=1)))
        list(fitted.scores(batches(heads=1)))
