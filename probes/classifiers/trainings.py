"""The training of several models at once, with a cache, so that no model is trained twice."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ...reports.progress import progress_bar
from ...storage.cache_log import CacheLog
from ...storage.sealed import DamagedError
from ...storage.tensors import read_tensors, write_tensors
from ..training import TrainingError
from .training import ClassifierRecipe, Objective, Trainable, train

if TYPE_CHECKING:
    from ...extractors import Attend, Words

_LAYOUT = 5


@dataclass(frozen=True, eq=False)
class ClassifierTraining:
    """The training of one model: the arguments of `train`, and what identifies it in the cache."""

    name: str  # of the model in tables
    role: str  # what it is trained for
    make: Callable[[], Trainable]  # returns the untrained model
    texts: Sequence[Words]
    objective: Objective
    recipe: ClassifierRecipe
    seed: int
    identity: dict[str, Any]  # identifies the texts, the objective and the attention in the cache
    made_of: Callable[[Any], dict[str, Any]]  # returns what identifies the untrained model there
    dev: tuple[Sequence[Words], Sequence[int]] | None = None
    attend: Attend | None = None

    def key(self, model: Trainable) -> str:
        """Return a key that changes with everything that training depends on."""
        # Another version of torch may round differently, which training makes larger and larger.
        depends_on = [_LAYOUT, torch.__version__, self.seed, asdict(self.recipe), self.identity, self.made_of(model)]
        return hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()[:24]


class Trainings:
    """Trains models, as many at once as there are cores if they are small."""

    # workers: the number of models to train at once, with one thread each. With 1, models are trained one after the
    # other, with all threads.

    def __init__(self, cache: Path | None, *, workers: int) -> None:
        self.cache, self.workers = cache, workers
        self.history: list[dict[str, Any]] = []  # the epochs of all trainings, with ``model`` and ``role``
        self.made = self.from_cache = 0
        self.cache_log = CacheLog()
        self._stop = threading.Event()

    def __call__(self, trainings: Sequence[ClassifierTraining], label: str) -> dict[str, Trainable]:
        """Train models or take them from the cache, and return them by name."""
        total = sum(len(training.texts) * training.recipe.epochs for training in trainings)
        with (
            progress_bar(label, total, unit="texts", remarks=True) as advance,
            ThreadPoolExecutor(
                self.workers, initializer=torch.set_num_threads, initargs=(torch.get_num_threads(),)
            ) as pool,
        ):
            pending = [pool.submit(self._train, training, advance) for training in trainings]
            try:
                wait(pending, return_when=FIRST_EXCEPTION)
                for future in pending:
                    if future.done():
                        future.result()  # raises the error of a training that failed, before those that still run
                results = [future.result() for future in pending]
            except BaseException:
                self._stop.set()  # or the pool would wait until all have been trained
                pool.shutdown(cancel_futures=True)
                raise
        models = {}
        for training, (model, history, was_cached) in zip(trainings, results, strict=True):
            models[training.name] = model
            self.history += [{"model": training.name, "role": training.role, **row} for row in history]
            self.from_cache += was_cached
            self.made += not was_cached
        return models

    def _train(
        self, training: ClassifierTraining, advance: Callable[..., None]
    ) -> tuple[Trainable, list[dict[str, Any]], bool]:
        """Return the trained model, its history, and whether it was in the cache."""
        model = training.make()
        path = None if self.cache is None else self.cache / "classifiers" / f"{training.key(model)}.safetensors"
        n_read, n_planned = 0, len(training.texts) * training.recipe.epochs  # texts, as the progress bar counts them

        def report(n_texts: int, remark: str) -> None:
            """Count texts for the progress bar, or end this training if all trainings are to stop."""
            nonlocal n_read
            if self._stop.is_set():
                raise InterruptedError
            n_read += n_texts
            advance(n_texts, f"{training.name}: {remark}")

        history = None if path is None else self.cache_log.read(path, lambda path: _load(path, model))
        was_cached = history is not None
        if history is None:
            try:
                history = train(
                    model,
                    training.texts,
                    training.objective,
                    training.recipe,
                    dev=training.dev,
                    attend=training.attend,
                    seed=training.seed,
                    report=report,
                )
            except TrainingError as error:
                raise TrainingError(f"{training.name}: {error}") from None
            if path is not None:
                tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}  # some share memory
                write = partial(write_tensors, path, tensors, {"history": history})
                self.cache_log.keep(path, write)
        advance(n_planned - n_read, training.name)
        return model, history, was_cached


def _load(path: Path, model: Trainable) -> list[dict[str, Any]]:
    """Load the weights in a file of the cache into a model, and return the history of its training."""
    tensors, facts = read_tensors(path)
    try:
        model.load_state_dict(tensors)
        history: list[dict[str, Any]] = facts["history"]
    except (KeyError, RuntimeError) as error:
        raise DamagedError(f"another version wrote it ({error})") from error
    return history
