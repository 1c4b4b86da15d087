"""The states of a run on disk: everything that was counted, from which tables, figures and page can be made again.

The folder ``states`` of a run has one safetensors file for each request, with the states of its metric, and
``run.json`` with everything else: the options, the facts of each plan, what was looked up after counting, and the run
record. ``inputs.json`` tells which sentences were read. All files are sealed (see `attentionology.storage.sealed`), so
damage is noticed when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attentionology.analyses.shared.metric_states import MetricStates, StateError
from attentionology.engine.packed_states import packed_states, unpacked_states
from attentionology.storage.sealed import DamagedError, cache_name, read_json, write_json
from attentionology.storage.tensors import read_tensors, write_tensors

FOLDER = "states"
"""The name of the folder with the states, within the folder of a run."""

FORMAT = 1
"""The version of the format, which is increased when older readers could misread the files."""

_OVERVIEW, _INPUTS = "run.json", "inputs.json"


@dataclass(frozen=True)
class AnalysisStates:
    """What was planned, counted and looked up for one analysis and one kind of map, as plain data.

    Attributes:
        name: the name of the analysis.
        kind: the kind of map, None if the analysis does not depend on it.
        requests: the names of the requests, the first of which says what was read.
        facts: the facts of the plan.
        looked: what the analysis looked up after counting.
    """

    name: str
    kind: str | None
    requests: tuple[str, ...]
    facts: Any
    looked: Any


@dataclass(frozen=True)
class RunStates:
    """Everything that is stored of a run.

    Attributes:
        analyses: the analyses, in the order of the report.
        metrics: the states of the metrics, by the names of their requests.
        failures: the class and the message of the error of each optional request that failed.
        options: the option groups of the analyses, by the names of their classes, as plain data.
        titles: the names of the model and of the corpus.
        record: the run record without what the analyses add to it.
        tables: the tables that describe the corpus, each with its columns and rows.
        samples: the names of the requests that kept inputs with their maps, in order.
        inputs: the digests of the words of sampled inputs, see `attentionology.engine.sampled_inputs`.
    """

    analyses: tuple[AnalysisStates, ...]
    metrics: Mapping[str, MetricStates]
    failures: Mapping[str, tuple[str, str]]
    options: Mapping[str, Any]
    titles: tuple[str, str]
    record: Mapping[str, Any]
    tables: Mapping[str, Any] = field(default_factory=dict)
    samples: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)


def write_states(folder: Path, states: RunStates) -> None:
    """Write the states of a run to its folder.

    Raises:
        StorageError: a file cannot be written.
    """
    folder = folder / FOLDER
    files = _file_names(states.metrics)
    for request, metric in states.metrics.items():
        write_metric(folder / files[request], metric, {"request": request})
    overview = {
        "format": FORMAT,
        "requests": files,
        "analyses": [vars(analysis) for analysis in states.analyses],
        "failures": dict(states.failures),
        "options": dict(states.options),
        "titles": states.titles,
        "record": dict(states.record),
        "tables": dict(states.tables),
        "samples": states.samples,
    }
    write_json(folder / _OVERVIEW, overview, f"{FOLDER}/{_OVERVIEW}", indent=1)
    write_json(folder / _INPUTS, {"inputs": dict(states.inputs)}, f"{FOLDER}/{_INPUTS}")


def read_states(folder: Path) -> RunStates:
    """Read the states of a run from its folder.

    Raises:
        StateError: the folder has no states, or states of another version, or a file is missing or damaged.
        StorageError: a file cannot be read.
    """
    where = folder / FOLDER
    if not (where / _OVERVIEW).exists():
        reason = "is not the folder of a run with states" if folder.is_dir() else "does not exist"
        raise StateError(f"{folder} {reason}")
    overview = _read_json(where / _OVERVIEW)
    if overview["format"] != FORMAT:
        raise StateError(
            f"{where} has states of format {overview['format']}, and this version reads format {FORMAT}; count again"
        )
    metrics = {}
    for request, name in overview["requests"].items():
        try:
            metrics[request], facts = read_metric(where / name)
        except FileNotFoundError:
            raise StateError(f"{where / name} is missing") from None
        if facts["request"] != request:
            raise StateError(f"{where / name} has the counts of {facts['request']!r}, not of {request!r}")
    return RunStates(
        analyses=tuple(
            AnalysisStates(**{**entry, "requests": tuple(entry["requests"])}) for entry in overview["analyses"]
        ),
        metrics=metrics,
        failures={request: (kind, message) for request, (kind, message) in overview["failures"].items()},
        options=overview["options"],
        titles=(overview["titles"][0], overview["titles"][1]),
        record=overview["record"],
        tables=overview["tables"],
        samples=tuple(overview.get("samples", ())),  # earlier versions kept none
        inputs=_read_json(where / _INPUTS)["inputs"],
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return read_json(path, f"{FOLDER}/{path.name}")
    except FileNotFoundError:
        raise StateError(f"{path} is missing") from None
    except DamagedError as error:
        raise StateError(f"{path} is damaged: {error}") from None


def write_metric(path: Path, metric: MetricStates, facts: Mapping[str, Any]) -> None:
    """Write the states of one metric, and facts about them, which JSON must be able to hold.

    Raises:
        StorageError: the file cannot be written.
    """
    packed, of_metric = packed_states(metric, f"{metric.metric}.")
    write_tensors(path, packed, {**of_metric, **facts}, cache_name(path))


def read_metric(path: Path) -> tuple[MetricStates, dict[str, Any]]:
    """Read the states of one metric, and the facts about them.

    Raises:
        FileNotFoundError: the file does not exist.
        StateError: the file is damaged.
        StorageError: the file cannot be read.
    """
    try:
        tensors, facts = read_tensors(path, cache_name(path))
        states = unpacked_states(tensors, facts, f"{facts['metric']}.")
    except DamagedError as error:
        raise StateError(f"{path} is damaged: {error}") from None
    return states, {name: fact for name, fact in facts.items() if name not in ("metric", "arguments", "packing")}


def _file_names(requests: Mapping[str, Any]) -> dict[str, str]:
    """Return a file name for each request. Names that differ only in characters that files cannot have get numbers."""
    names: dict[str, str] = {}
    for request in requests:
        stem = re.sub(r"[^\w.-]", "-", request)
        name, number = f"{stem}.safetensors", 2
        while name in names.values():
            name, number = f"{stem}-{number}.safetensors", number + 1
        names[request] = name
    return names
