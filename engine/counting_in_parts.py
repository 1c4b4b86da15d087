"""Counting the missing parts of a run, in this process or in several, and adding up all parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized

from ..extractors.model.loaded_model import LoadedModel
from ..reports.progress import Stages, watching_bar
from ..storage.sealed import DamagedError
from .parts import CorpusPart, PartFolder, added_parts, content_of
from .pass_counts import Limits, PassCounts
from .readers import Readers

CountMissing = Callable[[Sequence[int], "PartProgress"], Iterable[int]]
"""A function that counts the parts with the given numbers, and yields the number of each when its file is written. It
tells the progress how many inputs it has counted of a part that is not finished."""


class PartProgress:
    """How much of a run has been counted, by this process and by all others that count into the same folder.

    Args:
        parts: all parts of the run.
        folder: the folder of the parts.
    """

    def __init__(self, parts: Sequence[CorpusPart], folder: PartFolder) -> None:
        self._missing, self._folder = dict(enumerate(parts)), folder
        self._finished = self._unfinished = 0
        self.total = sum(len(part) for part in parts)

    def advance(self, inputs: int) -> None:
        """Add inputs of the part that this process is counting."""
        self._unfinished += inputs

    def finish(self) -> None:
        """Say that the file of the part that this process has counted is written."""
        self._unfinished = 0

    def done(self) -> int:
        """The number of inputs that have been counted."""
        unfinished = self._unfinished
        for number in [number for number, part in self._missing.items() if self._folder.has(part)]:
            self._finished += len(self._missing.pop(number))
        return min(self._finished + unfinished, self.total)


class PartCounter:
    """Counts parts in this process.

    Args:
        model: the model.
        seed: the seed of the run, from which copies with random weights take theirs.
        limits: which inputs are read, and how many at once.
        folder: the folder of the parts.
    """

    def __init__(self, model: LoadedModel, seed: int, limits: Limits, folder: PartFolder) -> None:
        self.model, self.seed, self.limits, self.folder = model, seed, limits, folder
        self._readers = Readers(model, seed)

    def content(self, part: CorpusPart, advance: Callable[[int], None] = lambda _: None) -> bytes:
        """Count a part, and return the content of its file.

        Args:
            part: the part.
            advance: receives the number of inputs of each batch.

        Raises:
            ExtractionError, ModelError, StateError: the part cannot be counted.
        """
        counts = PassCounts()
        part.run.run(self._readers.of(part.run.copy), self.limits, counts, may_be_empty=True, advance=advance)
        return content_of(counts, self.folder.files(part))

    def count(self, part: CorpusPart, advance: Callable[[int], None] = lambda _: None) -> None:
        """Count a part and write its file.

        Args:
            part: the part.
            advance: receives the number of inputs of each batch.

        Raises:
            ExtractionError, ModelError, StateError, StorageError: the part cannot be counted or written.
        """
        self.folder.write(part, self.content(part, advance))

    def count_each(self, parts: Sequence[CorpusPart], numbers: Sequence[int], progress: PartProgress) -> Iterator[int]:
        """Count the parts with these numbers, and yield the number of each when its file is written."""
        for number in numbers:
            self.count(parts[number], progress.advance)
            progress.finish()
            yield number


def share_of(parts: Sized, share: tuple[int, int] | None, offset: int = 0) -> list[int]:
    """Return the numbers of the parts of a share.

    Args:
        parts: all parts of a run.
        share: k and n for the k-th of n shares; None for all parts.
        offset: by how many parts the shares are shifted. Runs of few parts that are shared together have different
            offsets, so that the first share does not count the first part of each.

    Example:
        >>> share_of(range(5), (1, 3)), share_of(range(5), (1, 3), offset=1)
        ([0, 3], [2])
    """
    first, step = (0, 1) if share is None else ((share[0] - 1 - offset) % share[1], share[1])
    return list(range(first, len(parts), step))


def count_missing(
    parts: Sequence[CorpusPart], numbers: Sequence[int], folder: PartFolder, count: CountMissing, stages: Stages
) -> None:
    """Count those of the given parts that are missing or damaged.

    One progress bar shows how much of all parts has been counted, by whatever process.

    Args:
        parts: all parts of the run.
        numbers: the numbers of the parts that are wanted.
        folder: the folder of the parts.
        count: counts parts by their numbers.
        stages: receives the time.
    """
    with stages("count parts"):
        missing = [number for number in numbers if folder.is_missing(parts[number])]
        if not missing:
            return
        progress = PartProgress(parts, folder)
        unit = getattr(parts[0].run.inputs, "unit", "sentences")
        with watching_bar("count", progress.total, progress.done, unit=unit):
            for _ in count(missing, progress):
                pass


def count_in_parts(
    parts: Sequence[CorpusPart], folder: PartFolder, count: CountMissing, *, stages: Stages | None = None
) -> PassCounts:
    """Count all parts of a run, and add them up.

    Args:
        parts: the parts of all passes.
        folder: the folder of the parts.
        count: counts parts by their numbers, in this process or in several.
        stages: receives the times.

    Raises:
        ExtractionError, ModelError: see `attentionology.engine.passes.run_passes`.
        StateError, StorageError: a part cannot be stored.
    """
    stages, counts = stages or Stages(), PassCounts()
    count_missing(parts, range(len(parts)), folder, count, stages)
    counts.warnings += folder.cache_log.warnings()
    with stages("add up parts"):
        try:
            for added in added_parts(folder, parts):
                counts.metrics |= added.metrics
                counts.arguments |= added.arguments
                counts.logs |= added.logs
                counts.failures |= added.failures
        except (FileNotFoundError, DamagedError) as error:
            raise DamagedError(
                f"a part in {folder.folder} was changed while it was used ({error}); run the command again"
            ) from error
    return counts
