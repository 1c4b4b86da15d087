"""Counting the missing parts of a run, in this process or in several, and adding up all parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from attentionology.engine.parts import CorpusPart, PartFolder, added_parts
from attentionology.engine.passes import Limits, Pass, PassCounts, Readers, run_passes
from attentionology.extractors import Encoder
from attentionology.reports.progress import Stages, progress_bar
from attentionology.storage.sealed import DamagedError

CountMissing = Callable[[Sequence[int]], Iterable[int]]
"""A function that counts the parts with the given numbers, and yields the number of each when its file is written."""


class PartCounter:
    """Counts parts in this process.

    Args:
        encoder: the model.
        seed: the seed of the run, from which copies with random weights take theirs.
        limits: which inputs are read, and how many at once.
        folder: the folder of the parts.
    """

    def __init__(self, encoder: Encoder, seed: int, limits: Limits, folder: PartFolder) -> None:
        self.encoder, self.seed, self.limits, self.folder = encoder, seed, limits, folder
        self._readers = Readers(encoder, seed)

    def count(self, part: CorpusPart) -> None:
        """Count a part and write its file.

        Raises:
            ExtractionError, ModelError, StateError, StorageError: the part cannot be counted or written.
        """
        counts = PassCounts()
        part.run.run(self._readers.of(part.run.copy), self.limits, counts, may_be_empty=True)
        self.folder.write(part, counts)

    def count_each(self, parts: Sequence[CorpusPart], numbers: Sequence[int]) -> Iterator[int]:
        """Count the parts with these numbers, and yield the number of each when its file is written."""
        for number in numbers:
            self.count(parts[number])
            yield number


def share_of(parts: Sequence[CorpusPart], share: tuple[int, int] | None) -> list[int]:
    """Return the numbers of the parts of a share.

    Args:
        parts: all parts of a run.
        share: k and n for the k-th of n shares; None for all parts.
    """
    first, step = (0, 1) if share is None else (share[0] - 1, share[1])
    return list(range(first, len(parts), step))


def count_missing(
    parts: Sequence[CorpusPart], numbers: Sequence[int], folder: PartFolder, count: CountMissing, stages: Stages
) -> None:
    """Count those of the given parts that are missing or damaged, with one progress bar over all of them.

    Args:
        parts: all parts of the run.
        numbers: the numbers of the parts that are wanted.
        folder: the folder of the parts.
        count: counts parts by their numbers.
        stages: receives the time.
    """
    total = sum(len(parts[number]) for number in numbers)
    with stages("count parts"), progress_bar("parts", total, unit="inputs") as advance:
        missing = []
        for number in numbers:
            if folder.drop_damaged(parts[number]) or not folder.has(parts[number]):
                missing.append(number)
            else:
                advance(len(parts[number]))
        for number in count(missing) if missing else ():
            advance(len(parts[number]))


def count_in_parts(
    passes: Sequence[Pass],
    parts: Sequence[CorpusPart],
    counter: PartCounter,
    count: CountMissing,
    *,
    stages: Stages | None = None,
) -> PassCounts:
    """Run all passes in parts.

    Args:
        passes: the passes in order.
        parts: their parts.
        counter: counts the passes that are not cut into parts.
        count: counts parts by their numbers, in this process or in several.
        stages: receives the times.

    Raises:
        ExtractionError, ModelError: see `attentionology.engine.passes.run_passes`.
        StateError, StorageError: a part cannot be stored.
    """
    stages = stages or Stages()
    count_missing(parts, range(len(parts)), counter.folder, count, stages)
    optional = [current for current in passes if current.optional]
    counts = run_passes(optional, counter.encoder, seed=counter.seed, limits=counter.limits, stages=stages)
    with stages("add up parts"):
        try:
            for added in added_parts(counter.folder, parts):
                counts.metrics |= added.metrics
                counts.arguments |= added.arguments
                counts.logs |= added.logs
        except (FileNotFoundError, DamagedError) as error:
            raise DamagedError(
                f"a part in {counter.folder.folder} was changed while it was used ({error}); run the command again"
            ) from error
    return counts
