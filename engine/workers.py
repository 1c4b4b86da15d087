"""Counting parts in several processes on one machine.

Each process loads the model and makes the same plan, counts the parts whose numbers it is given, and writes their
files; see `attentionology.analyses.shared.processes`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

from ..analyses.shared.processes import Processes, results_of_processes
from .part_tasks import PartTask, prepared_parts
from .parts import KEPT


def prepare_worker(task: PartTask, number: int) -> Callable[[int], None]:
    """Prepare a process that counts parts, and return the function that counts a part by its number.

    Args:
        task: what is to be counted.
        number: the number of the process, from 0.
    """
    parts, counter = prepared_parts(task, number)

    def count(number: int) -> None:
        if not counter.folder.has(parts[number]):  # another process may have died after it had written the part
            counter.count(parts[number])

    return count


def count_with_workers(task: PartTask, numbers: Sequence[int], workers: int) -> Iterator[int]:
    """Count parts in several processes, and yield the number of each part when its file is written.

    Args:
        task: what is to be counted.
        numbers: the numbers of the parts to count, none of which has a file.
        workers: the number of processes.

    Raises:
        WorkerError: a part cannot be counted, or processes died again and again. The parts that were counted are kept.
    """
    processes = Processes(
        workers,
        kept=KEPT,
        preloaded=(PartTask.__module__, "transformers.modeling_utils"),
        on_gpus=task.job.device == "cuda",
    )
    for number, _ in results_of_processes(processes, functools.partial(prepare_worker, task), numbers):
        yield number
