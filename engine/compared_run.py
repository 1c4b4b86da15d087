"""What is compared of a run, whichever command has made it, and whether two runs have read the same inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from ..analyses.comparison.results import Pairing
from ..analyses.contract import Titles
from ..analyses.counting.comparable import Comparable
from ..reports.explorer.data import Explorer
from ..storage.short_names import distinguishing
from .results.run import Run
from .stored_run import restore_results, states_in

NO_RESULT = (
    *("out", "overwrite", "json", "device", "batch_cells", "parts", "part", "workers", "engine", "address"),
    *("cache", "train_device", "examples"),
)
"""The options that do not decide what a run counts."""

_LONGEST = 24
"""The characters of the name of a run that is made of an option."""

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
    run = replace(restore_results(states), folder=folder)
    return replace(ComparedRun.of(run), inputs=frozenset(states.inputs))


_LATER_CHOICES = {"ensemble_method": "published", "pll": "l2r"}
"""Options that came later than the first runs, and are a choice among names, with their defaults."""


def differ_in(first: Mapping[str, Any], second: Mapping[str, Any], name: str) -> bool:
    """Whether two runs differ in an option. A run of an earlier version has no value of an option that came later."""
    values = [options[name] for options in (first, second) if name in options]
    return values[0] != values[1] if len(values) == 2 else bool(values[0]) and values[0] != _LATER_CHOICES.get(name)


def names_of(runs: Sequence[Compared]) -> list[str]:
    """Return names that distinguish runs: models, maps, corpora, or several of these, without what is alike.

    If these are the same, runs are distinguished by the shapes of their models or by their options; at worst, they are
    called a, b and so on.
    """
    compared = [ComparedRun.of(run) for run in runs]
    kinds = [list(dict.fromkeys(kind for _, kind in run.families if kind)) for run in compared]
    models = [run.titles.model or "model" for run in compared]
    maps = [" and ".join(of_run) for of_run in kinds]
    corpora = [run.titles.corpus or "corpus" for run in compared]
    shapes = [str(run.record.get("model", {}).get("shape")) for run in compared]
    # Runs of several kinds have some in common, so that the kinds are no name of a run.
    named = (models, maps, corpora) if all(len(of_run) < 2 for of_run in kinds) else (models, corpora)
    differing = [[*map(distinguishing(names).get, names)] for names in named if len(set(names)) > 1]
    combined = [", ".join(filter(None, names)) for names in zip(*differing, strict=True)] if differing else []
    for candidates in (combined, shapes, _names_by_options([run.record.get("options", {}) for run in compared])):
        if len(set(candidates)) == len(runs):
            return candidates
    return [letter for letter, _ in zip(_letters(), runs, strict=False)]


def _letters() -> Iterator[str]:
    """Yield a, b, …, z, aa, ab and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _names_by_options(options: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what distinguishes runs by the one option in which they differ; nothing if there is no such option."""
    names = dict.fromkeys(name for of_run in options for name in of_run if name not in NO_RESULT)
    differing = [name for name in names if len({repr(of_run.get(name)) for of_run in options}) > 1]
    if len(differing) != 1:  # several would be no short name
        return []
    found = [f"{differing[0].replace('_', ' ')} {in_words(of_run.get(differing[0]))}" for of_run in options]
    return found if max(map(len, found)) <= _LONGEST else []


def in_words(value: Any) -> str:
    """Return the value of an option as a sentence names it."""
    values = value if isinstance(value, list | tuple) else [] if value is None else [value]
    written = [Path(each).name if isinstance(each, str) and each.startswith("/") else str(each) for each in values]
    return " ".join(written) or "none"


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
