"""What another process needs to count parts, and how it prepares itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..analyses.shared.processes import WorkerError
from ..corpora_loaders import Corpus
from .counting_in_parts import PartCounter
from .job import Job
from .part_keys import fingerprint
from .parts import CorpusPart, PartFolder, parts_of
from .preparing import Prepared, plan_analyses


@dataclass(frozen=True)
class PartTask:
    """Everything that another process needs to count parts: it must be possible to send it there.

    Attributes:
        job: the options of the run.
        corpus: the corpus, which has been read.
        folder: the folder of the parts.
        fingerprint: the fingerprint that the process must arrive at, too.
    """

    job: Job
    corpus: Corpus
    folder: str
    fingerprint: str


def part_counter(prepared: Prepared, parts: Path) -> PartCounter:
    """Return what counts the parts of a run in this process."""
    digest = fingerprint(prepared.model, prepared.described(), prepared.chosen)
    return PartCounter(prepared.model, prepared.setting.seed, prepared.limits, PartFolder(parts, digest))


def prepared_parts(task: PartTask, number: int) -> tuple[list[CorpusPart], PartCounter]:
    """Prepare a run again in another process, and return its parts and what counts them.

    Args:
        task: the run.
        number: the number of the process, from 0, which chooses its GPU.

    Raises:
        WorkerError: the process has arrived at another run, because a file has changed.
    """
    import torch

    job = task.job
    if job.device == "cuda":
        job = job.on_device(f"cuda:{number % max(1, torch.cuda.device_count())}")
    elif job.device == "cpu":
        torch.set_num_threads(1)  # threads of several processes would wait for each other
    prepared = job.prepare(corpus=task.corpus)
    counter = part_counter(prepared, Path(task.folder))
    if counter.folder.fingerprint != task.fingerprint:
        raise WorkerError("the model or the toolkit has changed while the run was started; run the command again")
    planned = plan_analyses(prepared)
    return parts_of(planned.passes), counter
