"""The states of a run on disk: everything that was counted, from which tables, figures and page can be made again.

The folder ``states`` of a run has one safetensors file for each request, with the states of its metric, and
``run.json`` with everything else: the options, the facts of each plan, what was looked up after counting, and the run
record. ``inputs.json`` tells which sentences were read. All files are sealed, so damage is noticed when they are read,
and ``run.json`` has the digests of all others, so that a file of another run is noticed.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_origin

from packaging.utils import canonicalize_name
from torch import Tensor

from ...analyses.counting.metric import StateError
from ...analyses.counting.stored_metrics import MetricStates
from ...corpora_loaders.errors import AttentionologyError
from ...extractors import ExtractionError, ModelError
from ...reports.run_folder import identity_of
from ...storage.paths import RUN_RECORD, read_record
from ...storage.sealed import DamagedError, digest_in, read_json, write_json
from ...storage.tensors import pack, read_tensors, unpack, write_tensors

Read = TypeVar("Read")

FOLDER = "states"
"""The name of the folder with the states, within the folder of a run."""

SURVEY = "survey"
"""The name of a survey among the analyses of states, and of its entry in the run record."""

FORMAT = 2
"""The version of the format."""

OVERVIEW = "run.json"
"""The name of the file with everything that is not counted."""

_INPUTS = "inputs.json"

_CLASSES: dict[str, type[AttentionologyError]] = {kind.__name__: kind for kind in (ExtractionError, ModelError)}
"""The errors that make a request fail, by name."""


@dataclass(frozen=True)
class AnalysisStates:
    """What was planned, counted and looked up for one analysis and one kind of map, as plain data."""

    name: str
    kind: str | None  # None if the analysis does not depend on the kind of map
    requests: tuple[str, ...]  # their names; what was read for the first is what the report describes
    facts: Any  # those of the plan
    looked: Any  # what the analysis looked up after counting


@dataclass(frozen=True)
class RunStates:
    """Everything that is stored of a run."""

    analyses: tuple[AnalysisStates, ...]  # in the order of the report
    metrics: Mapping[str, MetricStates]  # by the names of their requests
    failures: Mapping[str, tuple[str, str]]  # the class and the message of the error of each request that failed
    options: Mapping[str, Any]  # the option groups of the analyses, by the names of their classes, as plain data
    titles: tuple[str, str]  # the names of the model and of the corpus
    record: Mapping[str, Any]  # the run record without what the analyses add to it
    tables: Mapping[str, Any] = field(default_factory=dict)  # those that describe the corpus, with columns and rows
    samples: tuple[str, ...] = ()  # the names of the requests that kept inputs with their maps, in order
    inputs: Mapping[str, str] = field(default_factory=dict)  # see `attentionology.engine.stored_run.sample_inputs`


def write_states(folder: Path, states: RunStates) -> None:
    """Write the states of a run to its folder."""
    folder = folder / FOLDER
    file_names = _file_names(states.metrics)
    digests = {}  # by the name of the file
    for request, metric in states.metrics.items():
        tensors, facts = pack_states(metric, f"{metric.metric}.")
        path = folder / file_names[request]
        digests[path.name] = write_tensors(path, tensors, {**facts, "request": request})
    digests[_INPUTS] = write_json(folder / _INPUTS, {"inputs": dict(states.inputs)})
    other_values = {name: value for name, value in vars(states).items() if name not in ("metrics", "inputs")}
    other_values["analyses"] = [vars(analysis) for analysis in states.analyses]
    overview = {"format": FORMAT, "requests": file_names, "sha256": digests, **other_values}
    write_json(folder / OVERVIEW, overview, indent=1)


def read_states(folder: Path) -> RunStates:
    """Read the states of a run from its folder."""
    path = folder / FOLDER / OVERVIEW
    if not path.exists():
        reason = "is not the folder of a run with states" if folder.is_dir() else "does not exist"
        raise StateError(f"{folder} {reason}")
    overview = _read(path, read_json)
    if overview.get("format") != FORMAT:
        what_is_there = f"{path.parent} has states of format {overview.get('format')}"
        advice = "report the run with version 0.3, or count again" if overview.get("format") == 1 else "count again"
        raise StateError(f"{what_is_there}, and this version reads format {FORMAT}; {advice}")
    try:
        return _states_of(folder, overview)
    except KeyError as error:
        raise StateError(f"{path} has no entry {error}") from None
    except StateError:  # which is a ValueError
        raise
    except (TypeError, ValueError) as error:
        raise StateError(f"{path} is not complete: {error}") from None


def _states_of(folder: Path, overview: Mapping[str, Any]) -> RunStates:
    """Return the states of a run with this overview. An entry that it lacks is a `KeyError`."""
    record = overview["record"]
    _check_record(folder, record)
    if record["options"].get("special") == "renormalise":  # as version 0.3 spelled it
        record = {**record, "options": {**record["options"], "special": "renormalize"}}
    digests = overview["sha256"]
    file_of_request = {request: folder / FOLDER / name for request, name in overview["requests"].items()}
    # Which states a metric must have depends on the versions that counted it, so each metric knows them.
    versions = tuple(_versions_of(record))
    model, corpus = overview["titles"]
    return RunStates(  # JSON has lists where the states have tuples
        analyses=tuple(
            AnalysisStates(**{**entry, "requests": tuple(entry["requests"])}) for entry in overview["analyses"]
        ),
        metrics={
            request: replace(_read_metric(file, request, digests), versions=versions, file=str(file))
            for request, file in file_of_request.items()
        },
        failures={request: (kind, message) for request, (kind, message) in overview["failures"].items()},
        options=overview["options"],
        titles=(model, corpus),
        record=record,
        tables=overview["tables"],
        samples=tuple(overview["samples"]),
        inputs=_read(folder / FOLDER / _INPUTS, read_json, digests)["inputs"],
    )


def _versions_of(record: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the versions of the packages that counted a run, or each of the runs that were merged into it."""
    if "merged" in record:
        for run in record["merged"]:
            yield from _versions_of(run)
        return
    extensions = {each["package"]: each["version"] for each in record.get("extensions", ())}
    yield {str(canonicalize_name(name)): version for name, version in {**record["versions"], **extensions}.items()}


def _check_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Check that the record among the states is of the run whose record is in the folder, if there is one."""
    record_in_folder = read_record(folder)
    if record_in_folder is None:
        return
    # The digests of a folder states that was copied from another run agree with each other, so only the record beside
    # it can tell.
    of_states, of_folder = identity_of(record), identity_of(record_in_folder)
    if differing := [entry for entry in of_states if of_states[entry] != of_folder[entry]]:
        raise StateError(
            f"{folder / FOLDER} has the states of another run: {folder / RUN_RECORD} names another {differing[0]}"
        )


def _read(path: Path, reader: Callable[[Path], Read], digests: Mapping[str, str] | None = None) -> Read:
    """Read a file of the states, which must have the digest that the overview has for it, if there are ``digests``."""
    try:
        content = reader(path)
        digest = digest_in(path)
    except FileNotFoundError:
        raise StateError(f"{path} is missing") from None
    except (DamagedError, IsADirectoryError) as error:
        raise StateError(f"{path} is damaged: {error}") from None
    if digests is not None and digest != digests[path.name]:
        raise StateError(f"{path} does not belong to this run: its SHA-256 is not the one in {OVERVIEW}")
    return content


def _read_metric(path: Path, request: str, digests: Mapping[str, str]) -> MetricStates:
    """Read the states of the metric of a request, whose name the file must have."""
    tensors, facts = _read(path, read_tensors, digests)
    if facts["request"] != request:
        raise StateError(f"{path} has the counts of {facts['request']!r}, not of {request!r}")
    return unpack_states(tensors, facts, f"{facts['metric']}.")


def _file_names(requests: Iterable[str]) -> dict[str, str]:
    """Return a file name for each request. Names that differ only in characters that files cannot have get numbers."""
    names: dict[str, str] = {}
    for request in requests:
        stem = re.sub(r"[^\w.-]", "-", request)
        name, number = f"{stem}.safetensors", 2
        while name in names.values():
            name, number = f"{stem}-{number}.safetensors", number + 1
        names[request] = name
    return names


def pack_states(states: MetricStates, prefix: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the facts of one metric for a file, in which ``prefix`` sets its tensors apart."""
    # A file gives its tensors back in another order, and what is read and written again should be the same file.
    tensors, packing = pack({f"{prefix}{name}": states.tensors[name] for name in sorted(states.tensors)})
    return tensors, {"metric": states.metric, "arguments": dict(states.arguments), "packing": packing}


def unpack_states(tensors: Mapping[str, Tensor], facts: Mapping[str, Any], prefix: str) -> MetricStates:
    """Return the states of one metric, of all tensors of a file and what `pack_states` returned as its facts."""
    of_metric = {name: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    unpacked = unpack(of_metric, facts["packing"])
    by_state = {name.removeprefix(prefix): tensor for name, tensor in unpacked.items()}
    return MetricStates(facts["metric"], facts["arguments"], by_state)


def packed_bytes(states: MetricStates) -> int:
    """Return the bytes that the states of a metric take in the file of a part or in a results folder."""
    packed, facts = pack_states(states, "")
    return sum(tensor.nbytes for tensor in packed.values()) + len(json.dumps(facts))


def to_plain(value: object, what: str) -> Any:
    """Return a value as numbers, strings, lists and dictionaries; ``what`` names it in the message of an error."""
    try:
        # The way over text makes lists of tuples and strings of keys here already, so that a run which was just counted
        # and one that was loaded are made of the same values.
        return json.loads(json.dumps(value, default=_simpler))
    except (TypeError, ValueError, RecursionError) as error:
        raise StateError(f"{what} cannot be stored: {error}") from None


def _simpler(value: Any) -> Any:
    """Return what JSON writes instead of a value that it cannot write; it may have such values inside again."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    if type(value).__module__ == "numpy":  # an array, or a number
        return value.tolist()
    if hasattr(value, "dtypes"):  # a data frame; pandas need not be imported to know one
        return [[str(name), str(value[name].dtype), json.dumps(value[name].tolist())] for name in value]
    raise TypeError(f"{type(value).__name__} is no plain data")


def from_plain(plain: Any, kind: Any, what: str) -> Any:
    """Return the value of type ``kind`` that `to_plain` has made plain; plain data if the type is ``object``."""
    if kind is object:
        return plain
    import cattrs  # which takes a while; runs that only write their facts do without it

    try:
        return _converter().structure(plain, kind)
    except (cattrs.BaseValidationError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise StateError(f"{what} cannot be read: {'; '.join(cattrs.transform_error(error))}") from None


@functools.cache
def _converter() -> Any:
    """Return the converter of plain data to typed values, which is made once."""
    import numpy as np
    import pandas as pd
    from cattrs.preconf.json import make_converter

    def frame(columns: list[tuple[str, str, str]], _: type[Any]) -> pd.DataFrame:  # columns as `_simpler` writes them
        return pd.DataFrame({name: pd.Series(json.loads(text), dtype=dtype) for name, dtype, text in columns})

    # A key that is not known comes from another version. To ignore it might change a result.
    converter = make_converter(forbid_extra_keys=True)
    converter.register_structure_hook(pd.DataFrame, frame)

    def is_array(kind: Any) -> bool:
        return get_origin(kind) is np.ndarray

    converter.register_structure_hook_func(is_array, lambda numbers, _: np.array(numbers, dtype=np.float64))
    return converter


def plain_failure(error: Exception) -> tuple[str, str]:
    """Return the name of the class of an error, and its message."""
    return type(error).__name__, str(error)


def restore_failure(name: str, message: str) -> Exception:
    """Return the error that `plain_failure` has made plain."""
    return _CLASSES.get(name, AttentionologyError)(message)
