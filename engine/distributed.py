"""Counting the parts of a run as its options say: here, in several processes, or only one share of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..reports.progress import Stages
from .counting_in_parts import CountMissing, PartCounter, count_in_parts, count_missing, share_of
from .job import Job
from .on_ray import count_on_ray
from .part_options import PartOptions
from .part_tasks import PartTask, part_counter
from .parts import CorpusPart, parts_of
from .pass_counts import PassCounts
from .passes import Pass, run_passes
from .preparing import Prepared, plan_analyses
from .workers import count_with_workers

if TYPE_CHECKING:
    pass

Counter = Callable[[Sequence[Pass]], PassCounts]
"""A function that runs all passes and returns their counts."""


def counter_of(prepared: Prepared, job: Job, part_options: PartOptions, parts: Path, stages: Stages) -> Counter:
    """Return the function with which a run counts.

    Args:
        prepared: the run.
        job: its options, with which other processes prepare it again.
        part_options: how the corpus is cut into parts, and how many processes count.
        parts: the folder of the parts, if the corpus is cut into parts.
        stages: receives the times of the stages.
    """
    if part_options.parts is None and part_options.in_this_process:
        return lambda passes: run_passes(
            passes, prepared.model, seed=prepared.setting.seed, limits=prepared.limits, stages=stages
        )
    counter = part_counter(prepared, parts)

    def count(passes: Sequence[Pass]) -> PassCounts:
        corpus_parts = parts_of(passes)
        task = _task(prepared, job, counter)
        count_missing_parts = _count_missing_of(task, part_options, counter, corpus_parts)
        return count_in_parts(corpus_parts, counter.folder, count_missing_parts, stages=stages)

    return count


@dataclass(frozen=True)
class ShareCounts:
    """How many parts of a run there are after a share was counted.

    Attributes:
        share: the number of parts of the share.
        counted: how many of the parts of the run are in the folder.
        total: the number of all parts of the run.
        warnings: which parts were damaged and have been counted again.
    """

    share: int
    counted: int
    total: int
    warnings: tuple[str, ...] = ()

    def described(self, folder: Path | None) -> str:
        """Return a sentence that says what is in the folder of the parts, and another one if that is everything."""
        rest = " The same command without --part makes the report." if self.counted == self.total else ""
        warnings = "".join(f"Warning: {warning}\n" for warning in self.warnings)
        return f"{warnings}{self.counted:,} of {self.total:,} parts are in {folder}.{rest}"


def count_share_of(
    prepared: Prepared, job: Job, part_options: PartOptions, folder: Path, stages: Stages, *, offset: int = 0
) -> ShareCounts:
    """Count one share of the parts of a run.

    Args:
        prepared: the run.
        job: its options, with which other processes prepare it again.
        part_options: the share, and how many processes count.
        folder: the folder of the parts.
        stages: receives the times of the stages.
        offset: by how many parts the shares are shifted; see `share_of`.

    Raises:
        ExtractionError, ModelError, StorageError: the share cannot be counted.
    """
    counter = part_counter(prepared, folder)
    parts = parts_of(plan_analyses(prepared).passes)
    count = _count_missing_of(_task(prepared, job, counter), part_options, counter, parts)
    numbers = share_of(parts, part_options.share, offset)
    count_missing(parts, numbers, counter.folder, count, stages)
    there, warnings = sum(counter.folder.has(part) for part in parts), counter.folder.cache_log.warnings()
    return ShareCounts(len(numbers), there, len(parts), tuple(warnings))


def _task(prepared: Prepared, job: Job, counter: PartCounter) -> PartTask:
    """Return what other processes need to count parts."""
    return PartTask(job, prepared.source, str(counter.folder.folder), counter.folder.fingerprint)


def _count_missing_of(
    task: PartTask, part_options: PartOptions, counter: PartCounter, parts: Sequence[CorpusPart]
) -> CountMissing:
    """Return the function that counts parts by their numbers, in this process, in several, or on a cluster."""
    if part_options.in_this_process:
        return functools.partial(counter.count_each, parts)
    folder, workers = counter.folder, part_options.workers
    if part_options.engine == "ray":
        return lambda numbers, _: count_on_ray(task, parts, folder, numbers, workers, part_options.address)
    return lambda numbers, _: count_with_workers(task, numbers, workers or 1)
