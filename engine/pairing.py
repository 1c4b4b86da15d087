"""Whether two runs read the same inputs, so that their differences are paired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..analyses.comparison.results import Pairing

READING = ("tokens", "limit", "segments", "segment_ids", "max_length", "stride")
"""The options that decide which inputs of the same files are read."""


@dataclass(frozen=True)
class Inputs:
    """What a run read, as its record says.

    Attributes:
        files: the SHA-256 of each corpus file, in the order of reading.
        reading: the values of the options in `READING` and the number of inputs.
        skipped: the ids of the inputs that gave no map.
        seed: the seed of the bootstrap.
    """

    files: tuple[str, ...]
    reading: tuple[Any, ...]
    skipped: frozenset[str]
    seed: int

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Inputs:
        """Return what a run read."""
        corpus, sentences, options = record["corpus"], record["sentences"], record["options"]
        counts = corpus["counts"]
        return cls(
            files=tuple(file["sha256"] for file in corpus["files"]),
            reading=(corpus["unit"], *sorted(counts.items()), *(options.get(name) for name in READING)),
            skipped=frozenset(skipped["id"] for skipped in sentences["skipped"]),
            seed=record["seed"],
        )


def pairing_of(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Pairing, str]:
    """Return whether two runs read the same inputs, and a sentence that says so.

    Inputs are identified by the content of the corpus files and by what was read of them. The ids of sentences alone
    would not do, because two corpora may use the same ids for different sentences.

    Args:
        first, second: the run records.

    Example:
        >>> record = {
        ...     "corpus": {"files": [{"sha256": "ab"}], "counts": {"sentences": 2}, "unit": "sentences"},
        ...     "sentences": {"skipped": []}, "options": {}, "seed": 0,
        ... }
        >>> pairing_of(record, record)[0], pairing_of(record, {**record, "seed": 1})[0]
        ('paired', 'unpaired')
    """
    one, other = Inputs.of(first), Inputs.of(second)
    if one.seed != other.seed:
        return "unpaired", (
            f"The runs have different seeds, {one.seed} and {other.seed}, so their replicates sample different "
            "sentences: the intervals are unpaired."
        )
    if not one.files or not other.files:
        return "unpaired", (
            "At least one of the corpora was not read from files. It is therefore unknown whether both runs read the "
            "same sentences, and the intervals are treated as unpaired."
        )
    if (one.files, one.reading, one.skipped) == (other.files, other.reading, other.skipped):
        return "paired", "Both runs read the same inputs: the intervals are paired."
    if set(one.files) & set(other.files):
        return "partly paired", (
            "The runs share some of their inputs: the intervals are paired for these and unpaired for the others."
        )
    return "unpaired", "The runs read different inputs: the intervals are unpaired."
