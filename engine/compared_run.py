"""The statistics of a run that are compared, whichever command has made it, and whether two runs are paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..analyses.comparison.results import Pairing
from ..analyses.contract import Titles
from ..analyses.explanation.analysis import NAME, ExplanationTests
from ..analyses.probing.analysis import NAME as PROBE
from ..analyses.probing.analysis import Probing
from ..analyses.probing.outcomes import read_outcomes
from ..analyses.shared.comparable import Comparable
from .explain import Explanation
from .probe import ProbingRun
from .run import Run
from .states import FOLDER, OVERVIEW, read_states
from .stored_run import restored

READING = ("tokens", "limit", "segments", "segment_ids", "max_length", "stride")
"""The options that decide which inputs of the same files are read."""


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """The statistics of a run that are compared.

    Attributes:
        titles: the names of the model and the corpus.
        record: the run record.
        kinds: the kinds of maps.
        analyses: the names of all analyses, also of those without statistics that can be compared.
        families: the statistics, by the name of the analysis and the kind of map.
        inputs: the ids of inputs that were read, see `attentionology.engine.stored_run`; None if they are unknown.
    """

    titles: Titles
    record: Mapping[str, Any]
    kinds: tuple[str, ...]
    analyses: tuple[str, ...]
    families: Mapping[tuple[str, str], Sequence[Comparable]]
    inputs: frozenset[str] | None = None

    @classmethod
    def of(cls, run: Run | Explanation | ProbingRun | ComparedRun) -> ComparedRun:
        """Return what is compared of a run."""
        if isinstance(run, ComparedRun):
            return run
        if isinstance(run, Explanation):
            return cls.of_one(NAME, "", ExplanationTests().comparable(run.counted), run.titles, run.record)
        if isinstance(run, ProbingRun):
            families_of_probes = Probing().comparable(run.counted) if run.counted else ()
            return cls.of_one(PROBE, str(run.record["options"]["map"]), families_of_probes, run.titles, run.record)
        families = {(part.analysis.name, part.kind or ""): part.analysis.comparable(part.counted) for part in run.parts}
        return cls(
            run.titles,
            run.record,
            tuple(dict.fromkeys(part.kind for part in run.parts if part.kind)),
            tuple(dict.fromkeys(part.analysis.name for part in run.parts)),
            {key: comparable for key, comparable in families.items() if comparable},
        )

    @classmethod
    def of_one(
        cls, analysis: str, kind: str, families: Sequence[Comparable], titles: Titles, record: Mapping[str, Any]
    ) -> ComparedRun:
        """Return what is compared of a run of one analysis, whose kind of map is empty if it is about none."""
        return cls(
            titles, record, (kind,) if kind else (), (analysis,), {(analysis, kind): families} if families else {}
        )


def load_compared_run(folder: Path) -> ComparedRun:
    """Load what is compared of a finished run."""
    probed = None if (folder / FOLDER / OVERVIEW).exists() else read_outcomes(folder)
    if probed is None:
        states = read_states(folder)
        return replace(ComparedRun.of(restored(states)), inputs=frozenset(states.inputs))
    outcomes, record = probed
    files = [file["name"] for file in record["corpus"]["files"]]
    titles = Titles(record["model"]["name"], ", ".join(files) or "a treebank")
    kind = str(record["options"]["map"])
    compared = ComparedRun.of_one(PROBE, kind, outcomes.comparable(), titles, record)
    return replace(compared, inputs=frozenset(outcomes.ids))


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
