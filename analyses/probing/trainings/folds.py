"""One training of one probe on one split, the smallest piece of work of a probing run, in this process or in several.

A training has a checkpoint of its own in the cache, so what a process has trained before it dies is not trained again.
It computes with one thread and depends on nothing but its maps, its seed and its recipe, so the results do not depend
on the number of processes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from numpy import ndarray

from ....corpora_loaders import WordVectors
from ....probes import (
    ArcWeights,
    AttentionProbe,
    Checkpoint,
    Decoding,
    HeadScorer,
    Probe,
    Recipe,
    TrainingError,
    TrainingState,
    arc_weights,
    decode,
    make_probe,
)
from ....probes.saved_probe import cached_checkpoint
from ....probes.splits import Split
from ....reports.progress import Stages, progress_bar
from ....storage.cache_log import CacheLog
from ....storage.plugins import name_extension
from ...shared.processes import Processes, results_of_processes
from ..rows import Task

Result = TypeVar("Result")

Arcs = dict[str, ArcWeights]
"""Weights of the heads by relation."""

LINKING = AttentionProbe.name
"""The probe whose scores link words in trees that probes of hidden states are compared with."""

RESUME_HINT = "The checkpoints in the cache are kept, and the same command continues"


@dataclass(frozen=True)
class ProbeTraining:
    """One probe that is trained with one seed, on every split."""

    method: str  # its name in tables
    probe: str
    splits: tuple[Split, ...]
    seed: int
    run: int  # 1-based
    task: Task = "dependencies"
    kept: bool = False  # whether the trained probe and the weights of the heads are results

    @property
    def label(self) -> str:
        """What progress bars and errors call the training."""
        task = " on the control task" if self.task == "control" else ""
        return f"{self.method}{task}, seed {self.seed}"


@dataclass(frozen=True)
class FoldSetting:
    """What all trainings of a run have in common."""

    vectors: WordVectors | None
    recipe: Recipe
    trees: bool  # whether trees are decoded, too, except on the control task
    links: bool  # whether probes of hidden states are compared with trees of the scores of `LINKING`
    cache: Path  # the folder of the checkpoints
    folder: Path | None  # where trained probes are saved; None to save none

    def decodings(self, training: ProbeTraining) -> tuple[Decoding, ...]:
        """Return the ways in which the heads of a training are decoded."""
        return ("argmax", "tree") if self.trees and training.task == "dependencies" else ("argmax",)


@dataclass(frozen=True)
class TrainedEpoch:
    """One epoch of one training on one split: a row of the table of all trainings, whose columns say more."""

    method: str
    task: Task
    run: int
    fold: int
    epoch: int
    loss: float
    train_uas: float | None  # None if no word of the sentences counts
    dev_uas: float | None


@dataclass(frozen=True)
class TrainedFold:
    """What one training on one split gave."""

    predicted: Mapping[Decoding, Sequence[ndarray]]  # the heads of the words of each tested sentence
    history: tuple[TrainedEpoch, ...]
    arcs: Arcs | None  # None for a probe that has no weights of heads, or if they are not kept
    links: Sequence[ndarray]  # the scores of words as heads of words, in each tested sentence; none if not kept
    checkpoint: Path  # the file that the training would have continued from
    resumed: bool  # whether an interrupted run had written it
    cache_log: CacheLog
    seconds: Mapping[str, float]  # by stage


def train_fold(setting: FoldSetting, training: ProbeTraining, fold: int, *, watched: bool = True) -> TrainedFold:
    """Train one probe on one split, score it, and save it if it is a result."""
    split, n_folds = training.splits[fold], len(training.splits)
    stages, cache_log = Stages(), CacheLog()
    probe = make_probe(training.probe, setting.vectors, recipe=setting.recipe, random_state=training.seed)
    checkpoint = cached_checkpoint(setting.cache, probe, split, cache_log)
    with stages(f"train {training.method}{' (control task)' if training.task == 'control' else ''}"):
        label = training.label + (f", fold {fold + 1}/{n_folds}" if n_folds > 1 else "")
        _fit(probe, split, checkpoint, label, watched=watched)
    arcs: Arcs | None = None
    with stages("score"):
        with name_extension("probe", probe.name, "scores()", type(probe).__module__):
            scores = list(probe.scores(split.test))
        predicted: dict[Decoding, Sequence[ndarray]] = {
            decoding: [decode(scores_of_sentence, decoding) for scores_of_sentence in scores]
            for decoding in setting.decodings(training)
        }
        if training.kept and setting.folder is not None:
            name = f"{training.probe}-seed{training.seed}" + (f"-fold{fold + 1}" if n_folds > 1 else "")
            # A process that died after it had saved this probe may not have said so, and then it is trained again.
            probe.save(setting.folder / "probes" / name, overwrite=True)
        if training.kept and isinstance(probe.scorer_, HeadScorer):
            arcs = arc_weights(probe, split.test)
    return TrainedFold(
        predicted=predicted,
        history=tuple(
            TrainedEpoch(training.method, training.task, training.run, fold + 1, **row) for row in probe.history_
        ),
        arcs=arcs,
        links=[of[:, 1:] for of in scores] if setting.links and training.kept and training.probe == LINKING else (),
        checkpoint=checkpoint.path,
        resumed=checkpoint.resumed,
        cache_log=cache_log,
        seconds=stages.seconds,
    )


def _fit(probe: Probe, split: Split, checkpoint: Checkpoint, label: str, *, watched: bool) -> None:
    """Train a probe, with a progress bar if it is watched."""
    n_shown, n_steps = 0, len(split.train) * probe.recipe.epochs  # steps are sentences
    bar = progress_bar(label, n_steps, remarks=True) if watched else nullcontext(lambda steps, remark="": None)
    with bar as advance:

        def report(state: TrainingState) -> None:
            nonlocal n_shown
            n_done = state.epoch * len(split.train) + state.sentences
            loss, uas = state.loss / max(state.words, 1), state.correct / max(state.counted, 1)
            dev = "" if state.dev_uas is None else f" dev {100 * state.dev_uas:.1f}"
            advance(n_done - n_shown, f"loss {loss:.2f} UAS {100 * uas:.1f}{dev}")
            n_shown = n_done

        try:
            with name_extension("probe", probe.name, "fit()", type(probe).__module__):
                probe.fit(split.train, split.dev, report=report, checkpoint=checkpoint)
        except TrainingError as error:
            raise TrainingError(f"{label}: {error}") from None


def train_folds(setting: FoldSetting, trainings: Sequence[ProbeTraining], workers: int) -> Iterator[TrainedFold]:
    """Train every probe on each of its splits, in this process or in several, and yield what they gave in order."""
    jobs = [(index, fold) for index, training in enumerate(trainings) for fold in range(len(training.splits))]
    return results_in_order(functools.partial(train_fold, setting), trainings, jobs, workers, "train", __name__)


def results_in_order(
    train: Callable[..., Result],
    trainings: Sequence[Any],
    jobs: Sequence[tuple[int, int]],
    workers: int,
    label: str,
    module: str,
) -> Iterator[Result]:
    """Yield the result of each job in order, from this process or from several.

    Args:
        train: does a part of a training, given the training, the number of the part, and whether it is ``watched``.
        trainings: the trainings.
        jobs: the number of each training, and that of its part.
        workers: the number of processes.
        label: what the progress bar of several processes says.
        module: the module that each process imports first.
    """
    workers = min(workers, len(jobs))
    if workers <= 1:
        for index, part in jobs:
            yield train(trainings[index], part, watched=True)
        return
    prepare = functools.partial(_worker, train, tuple(trainings), max(1, torch.get_num_threads() // workers))
    results: dict[tuple[int, int], Result] = {}
    with progress_bar(f"{label} in {workers} processes", len(jobs), unit="trainings") as advance:
        for job, result in results_of_processes(Processes(workers, RESUME_HINT, (module, "torch")), prepare, jobs):
            if isinstance(result, str):  # the message of an error
                raise TrainingError(result)
            results[job] = result
            advance(1)
    yield from (results[job] for job in jobs)


def _worker(
    train: Callable[..., Result], trainings: Sequence[Any], threads: int, number: int
) -> Callable[[tuple[int, int]], Result | str]:
    """Return the function by which a process, which has a number, does one job after the other."""
    del number  # all processes do the same
    torch.set_num_threads(threads)

    def work(job: tuple[int, int]) -> Result | str:
        index, part = job
        try:
            return train(trainings[index], part, watched=False)
        except TrainingError as error:  # which would reach the run as a `WorkerError` if it were raised
            return str(error)

    return work
