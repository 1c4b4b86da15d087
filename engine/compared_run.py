"""What is compared of a run, whichever command has made it, and whether two runs have read the same inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..analyses.comparison.results import Pairing
from ..analyses.contract import Titles
from ..analyses.counting.comparable import Comparable
from ..reports.explorer.data import Explorer
from .results.run import Run
from .stored_run import restored, states_in

Families = Mapping[tuple[str, str], Sequence[Comparable]]
"""The statistics that can be compared, by the name of the analysis and the kind of map, which may be empty."""


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """What is compared of a run, whichever command has made it."""

    titles: Titles  # the names of the model and the corpus
    record: Mapping[str, Any]
    families: Families  # also of the analyses that have nothing to compare
    results: Mapping[str, Any] = field(default_factory=dict)  # by analysis; only of analyses with one kind of map
    inputs: frozenset[str] | None = None  # ids of inputs that were read; None if they are unknown
    folder: Path | None = None
    explorer: Callable[[], Explorer] | None = field(default=None, repr=False)  # None if the run has no heads

    @classmethod
    def of(cls, run: Compared) -> ComparedRun:
        """Return what is compared of a run, or of the folder of one."""
        if isinstance(run, ComparedRun):
            return run
        if isinstance(run, str | Path):
            return load_compared_run(Path(run))
        families = {(part.analysis.name, part.kind or ""): part.analysis.comparable(part.counts) for part in run.parts}
        n_kinds = Counter(part.analysis.name for part in run.parts)
        results = {part.analysis.name: part.results for part in run.parts if n_kinds[part.analysis.name] == 1}
        return cls(run.titles, run.record, families, results, folder=run.folder, explorer=run.explorer_if_any)

    @property
    def analyses(self) -> dict[str, list[str]]:
        """The names of all analyses, each with the kinds of maps that can be compared, "" if it is not of maps."""
        analyses: dict[str, list[str]] = {}
        for (name, kind), families in self.families.items():
            analyses.setdefault(name, []).extend([kind] if families else [])
        return analyses

    def __str__(self) -> str:
        described = []
        for name, kinds in self.analyses.items():
            remark = ", ".join(kinds) if kinds else "nothing to compare"  # empty if the analysis is not of maps
            described.append(f"{name} ({remark})" if remark else name)
        return " and ".join(described)


Compared = Run | str | Path | ComparedRun
"""What `attentionology.analyze`, `explain` or `probe` returns, the folder of a run, or what is compared of it."""


def load_compared_run(folder: Path) -> ComparedRun:
    """Load what is compared of a finished run."""
    states = states_in(folder)
    run = replace(restored(states), folder=folder)
    return replace(ComparedRun.of(run), inputs=frozenset(states.inputs))


def differ_in(first: Mapping[str, Any], second: Mapping[str, Any], name: str) -> bool:
    """Whether two runs differ in an option. A run of an earlier version has no value of an option that came later."""
    values = [options[name] for options in (first, second) if name in options]
    return values[0] != values[1] if len(values) == 2 else bool(values[0])


def names_of(runs: Sequence[Compared]) -> list[str]:
    """Return names that distinguish runs: the models, the maps, the corpora, or several of these.

    Models of the same name are distinguished by their shapes; at worst, the runs are numbered.
    """
    compared = [ComparedRun.of(run) for run in runs]
    models = [run.titles.model or "model" for run in compared]
    maps = [" and ".join(dict.fromkeys(kind for _, kind in run.families if kind)) for run in compared]
    corpora = [run.titles.corpus or "corpus" for run in compared]
    shapes = [str(run.record.get("model", {}).get("shape")) for run in compared]
    differing = [names for names in (models, maps, corpora) if len(set(names)) > 1]
    combined = [", ".join(filter(None, names)) for names in zip(*differing, strict=True)] if differing else models
    for candidates in (combined, shapes):
        if len(set(candidates)) == len(runs):
            return candidates
    return [f"{name} ({number})" for number, name in enumerate(combined, start=1)]


def pairing_of(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Pairing, str]:
    """Return whether two runs read the same inputs, given their records, and a sentence that says so.

    Inputs are identified by the content of the corpus files and by what was read of them. The ids of sentences alone
    would not do, because two corpora may use the same ids for different sentences.
    """
    if first["seed"] != second["seed"]:
        return "unpaired", (
            f"The runs have different seeds, {first['seed']} and {second['seed']}, so their replicates sample "
            "different sentences: the intervals are unpaired."
        )
    first_files, second_files = ({file["sha256"] for file in run["corpus"]["files"]} for run in (first, second))
    if not first_files or not second_files:
        return "unpaired", (
            "At least one of the corpora was not read from files. It is therefore unknown whether both runs read the "
            "same sentences, and the intervals are treated as unpaired."
        )
    if _reading_of(first) == _reading_of(second):
        return "paired", "Both runs read the same inputs: the intervals are paired."
    if first_files & second_files:
        return "partly paired", (
            "The runs share some of their inputs: the intervals are paired for these and unpaired for the others."
        )
    return "unpaired", "The runs read different inputs: the intervals are unpaired."


def _reading_of(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what decides which inputs a run has read."""
    corpus, options = record["corpus"], record["options"]
    files = [file["sha256"] for file in corpus["files"]]
    skipped = {entry["id"] for entry in record["sentences"]["skipped"]}
    deciding_options = ("tokens", "limit", "segments", "segment_ids", "max_length", "stride")
    return files, skipped, corpus["unit"], corpus["counts"], [options.get(name) for name in deciding_options]
