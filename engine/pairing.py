"""Whether two runs have read the same inputs, so that the intervals of their differences are paired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analyses.comparison.results import Pairing

READING = ("tokens", "limit", "segments", "segment_ids", "max_length", "stride")
"""The options that decide which inputs of the same files are read."""


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
    if first["seed"] != second["seed"]:
        return "unpaired", (
            f"The runs have different seeds, {first['seed']} and {second['seed']}, so their replicates sample "
            "different sentences: the intervals are unpaired."
        )
    files = [{file["sha256"] for file in record["corpus"]["files"]} for record in (first, second)]
    if not all(files):
        return "unpaired", (
            "At least one of the corpora was not read from files. It is therefore unknown whether both runs read the "
            "same sentences, and the intervals are treated as unpaired."
        )
    if _reading_of(first) == _reading_of(second):
        return "paired", "Both runs read the same inputs: the intervals are paired."
    if files[0] & files[1]:
        return "partly paired", (
            "The runs share some of their inputs: the intervals are paired for these and unpaired for the others."
        )
    return "unpaired", "The runs read different inputs: the intervals are unpaired."


def _reading_of(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what decides which inputs a run has read."""
    corpus, options = record["corpus"], record["options"]
    files = [file["sha256"] for file in corpus["files"]]
    skipped = {skipped["id"] for skipped in record["sentences"]["skipped"]}
    return files, skipped, corpus["unit"], corpus["counts"], [options.get(name) for name in READING]
