"""Training probes in several processes on one machine.

Each training on each split is one piece of work. All of them have checkpoints of their own in the cache, so what a
process has trained before it dies is not trained again. A training computes with one thread and depends on nothing but
its maps, its seed and its recipe, so the results do not depend on the processes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from ...probes import TrainingError
from ...reports.progress import progress_bar
from ..shared.processes import Processes, results_of_processes
from .folds import FoldSetting, ProbeTraining, TrainedFold, train_fold

Fold = tuple[int, int]
"""The number of a training and the number of a split of it, both 0-based."""

KEPT = "The checkpoints in the cache are kept, and the same command continues"


@dataclass(frozen=True)
class FoldTask:
    """Everything that another process needs to train probes.

    Attributes:
        setting: what all trainings have in common.
        trainings: the trainings.
        threads: the number of threads of the process, for everything except the trainings themselves.
    """

    setting: FoldSetting
    trainings: tuple[ProbeTraining, ...]
    threads: int


def prepare_worker(task: FoldTask, number: int) -> Callable[[Fold], TrainedFold | str]:
    """Prepare a process that trains probes.

    Args:
        task: what is to be trained.
        number: the number of the process, from 0.

    Returns:
        a function that trains a probe on a split, and returns a message if that is impossible.
    """
    del number
    torch.set_num_threads(task.threads)

    def train(fold: Fold) -> TrainedFold | str:
        try:
            return train_fold(task.setting, task.trainings[fold[0]], fold[1], watched=False)
        except TrainingError as error:
            return str(error)

    return train


def train_in_processes(
    setting: FoldSetting, trainings: Sequence[ProbeTraining], folds: Sequence[Fold], workers: int
) -> list[TrainedFold]:
    """Train probes in several processes.

    Args:
        setting: what all trainings have in common.
        trainings: the trainings.
        folds: what to train on what.
        workers: the number of processes.

    Returns:
        what each of ``folds`` gave, in their order.

    Raises:
        TrainingError: a probe cannot be trained.
        WorkerError: a checkpoint or a probe cannot be written, or processes died again and again.
    """
    task = FoldTask(setting, tuple(trainings), max(1, torch.get_num_threads() // workers))
    processes = Processes(workers, kept=KEPT, preloaded=(__name__, "torch"))
    results: dict[Fold, TrainedFold] = {}
    with progress_bar(f"train in {workers} processes", len(folds), unit="trainings") as advance:
        for fold, result in results_of_processes(processes, functools.partial(prepare_worker, task), folds):
            if isinstance(result, str):
                raise TrainingError(result)
            results[fold] = result
            advance(1)
    return [results[fold] for fold in folds]
