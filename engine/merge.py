"""Adding up the counts of finished runs: more text, the same model, analyses and options."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from ..analyses.contract import OptionError
from ..analyses.counting.stored_metrics import StoredMetrics
from ..analyses.option_groups import names_in
from ..analyses.shared.merged_facts import MergeError, merge_facts
from ..analyses.shared.record import fit_warnings, warnings_of
from ..extractors.tokens.text_fit import TextFit
from ..reports.help.options import flag
from ..reports.provenance import git_commit, versions
from ..reports.run_folder import RunFolder
from ..storage.paths import find_repetition
from .compared_run import differ_in
from .corpus import title_of_files
from .results.run import Run, save_run
from .results.states import AnalysisStates, RunStates, from_plain, to_plain
from .stored_run import merge_samples, registered_analysis, restore_results, shared_ids, states_in

_OF_THE_MODEL = ("weights_sha256", "family", "dtype", "max_length", "tokenizer", "layers", "heads")
_MAY_DIFFER = (
    *("corpus", "text", "limit", "out", "overwrite", "json", "model", "revision", "device", "batch_cells"),
    *("workers", "engine", "source", "target", "gold", "baseline", "write", "test", "cache"),
)
"""The options in which runs that are merged may differ: the model is compared by its weights."""

_OF_EACH_RUN = ("command", "started", "finished", "seconds", "versions", "git_commit", "extensions", "texts", "merged")
"""The entries of the run records that are kept of every run; the last is there if a run was merged before."""


def merge_runs(folders: Sequence[str | Path], out: str | Path, *, overwrite: bool = False) -> Run:
    """Add up the counts of several runs, and write the report of all their texts together.

    The runs must have the same model, analyses and options, and must have read different files: parts of one file are
    counted by runs with ``--part`` (`attentionology.analyses.ShareOptions`), or, as in the example, are treebanks of
    their own, which have no file. The result is that of one run over all files, as long as no two sentences of
    different files have the same id: sentences with the same id are drawn together by the bootstrap. The run record
    warns of such sentences.

    Args:
        folders: the folders of at least two runs.
        out: the folder for the report.
        overwrite: whether to replace the folder of an earlier run.

    Raises:
        OptionError: there are fewer than two folders, or the same folder twice.
        StateError: a folder has no states, or they are damaged.
        MergeError: the runs do not belong together, or have read the same sentence. The message names what differs.
        RunFolderError: the folder cannot be written, or is one of the runs.

    Example:
        >>> import tempfile
        >>> from attentionology import CountOptions, Treebank, analyze, load_treebank, merge_runs
        >>> treebank, options = load_treebank("sample"), [CountOptions(replicates=0)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name, sentences in (("a", treebank[:3]), ("b", treebank[3:5])):
        ...         corpus, out = Treebank(sentences), f"{folder}/{name}"
        ...         run = analyze("demo", corpus, analyses="dependency", options=options, out=out)
        ...     run = merge_runs([f"{folder}/a", f"{folder}/b"], f"{folder}/ab")
        >>> run.record["sentences"]["read"]
        5
    """
    paths = [Path(folder) for folder in names_in(folders)]
    if len(paths) < 2:
        raise OptionError("at least two runs are needed to merge them")
    if twice := find_repetition(paths):
        raise OptionError(f"a run is given twice: {' and '.join(twice)}")
    RunFolder(out, overwrite=overwrite, reads=paths)  # checks it before the runs are read
    states = [states_in(path) for path in paths]
    for (path, first), (other_path, other) in combinations(zip(paths, states, strict=True), 2):
        _check_pair(f"{path} and {other_path}", first, other)
    merged = merge_states(states, [str(path) for path in paths])
    return save_run(restore_results(merged), Path(out), overwrite=overwrite, reads=paths)


def merge_states(states: Sequence[RunStates], names: Sequence[str]) -> RunStates:
    """Return the states of all runs together; the names are those that the run record has of the runs."""
    record = _merge_record([run.record for run in states], names)
    title = title_of_files([file["path"] for file in record["corpus"]["files"]])
    tables: dict[str, Any] = {}
    for run in states:
        for name, table in run.tables.items():
            merged_table = tables.setdefault(name, {"columns": [], "rows": []})
            merged_table["columns"] = table["columns"]
            merged_table["rows"] += table["rows"]
    # Sentences with the same id and the same words are an error, see `_check_pair`.
    with_other_words = {
        name
        for one, other in combinations(states, 2)
        for name in shared_ids(one.inputs, other.inputs, with_same_words=False)
    }
    if with_other_words:
        record["warnings"].append(
            f"Different sentences of the merged runs have the same id, for example {min(with_other_words)!r}. The "
            "bootstrap draws them together, so that intervals are a little too wide or too narrow."
        )
    metrics = StoredMetrics(*(run.metrics for run in states))
    merged = RunStates(
        analyses=tuple(map(_merge_analysis, zip(*(run.analyses for run in states), strict=True))),
        metrics=metrics,
        failures={request: failure for run in states for request, failure in run.failures.items()},
        options=states[0].options,
        titles=(states[0].titles[0], title),
        record=record,
        tables=tables,
        samples=states[0].samples,
        inputs=merge_samples(run.inputs for run in states),
    )
    restore_results(merged)  # every analysis asks for its metrics, which are added up when they are asked for
    added_up = {
        request: replace(metric, arguments=to_plain(metric.arguments, f"the arguments of {request}"))
        for request, metric in metrics.items()
    }
    return replace(merged, metrics=added_up)


def _check_pair(both: str, first: RunStates, second: RunStates) -> None:
    """Check that two runs belong together, and have read different inputs; ``both`` names them in messages."""
    _check_settings(both, first, second)
    read = {file["sha256"] for file in first.record["corpus"]["files"]}
    for file in second.record["corpus"]["files"]:
        if file["sha256"] in read:
            raise MergeError(f"{both} have read the same file, {file['path']}; its sentences would be counted twice")
    if twice := shared_ids(first.inputs, second.inputs, with_same_words=True):
        others = f" and {len(twice) - 1:,} other inputs" if len(twice) > 1 else ""
        raise MergeError(
            f"{both} have both read {min(twice)!r}{others}, with the same id and the same words; they would be counted "
            "twice. Leave them out of one run, or give them other ids"
        )


def _check_settings(both: str, first: RunStates, second: RunStates) -> None:
    """Check that two runs have the same model, analyses, options and kind of inputs."""
    model, second_model = first.record["model"], second.record["model"]
    for name in _OF_THE_MODEL:
        if model.get(name) != second_model.get(name):
            values = f"{model.get(name)} and {second_model.get(name)}"
            raise MergeError(f"{both} are of different models: {name} is {values}")
    analyses = [(entry.name, entry.kind) for entry in first.analyses]
    second_analyses = [(entry.name, entry.kind) for entry in second.analyses]
    if analyses != second_analyses:
        raise MergeError(f"{both} have different analyses or kinds of maps: {analyses} and {second_analyses}")
    options, second_options = first.record["options"], second.record["options"]
    both_keep_examples = 0 not in (options.get("examples"), second_options.get("examples"))
    may_differ = (*_MAY_DIFFER, "examples") if both_keep_examples else _MAY_DIFFER
    for name in dict.fromkeys([*options, *second_options]):
        if name not in may_differ and differ_in(options, second_options, name):
            raise MergeError(f"{both} differ in {flag(name)}: {options.get(name)} and {second_options.get(name)}")
    if first.record["corpus"]["unit"] != second.record["corpus"]["unit"]:
        raise MergeError(f"{both} have read inputs of different kinds")


def _merge_analysis(of_runs: Sequence[AnalysisStates]) -> AnalysisStates:
    """Return the states of one analysis of all runs together, apart from the metrics."""
    first, *others = of_runs
    analysis = registered_analysis(first.name)
    facts, lookups = first.facts, first.looked
    for other in others:
        facts = _merge(facts, other.facts, analysis.facts_type, f"the facts of the analysis {first.name}")
        lookups = _merge(lookups, other.looked, analysis.lookup_type, f"what the analysis {first.name} looked up")
    return replace(first, facts=facts, looked=lookups)


def _merge(one: Any, other: Any, type_: Any, what: str) -> Any:
    """Merge two values of a type that are stored as plain data; ``what`` names them in messages."""
    return to_plain(merge_facts(from_plain(one, type_, what), from_plain(other, type_, what), what), what)


def _merge_record(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Return the run record of all runs together.

    The corpora are put together, the times of all stages are added, and the versions are those of the libraries that
    merge. Under ``merged`` are the command, the times and the versions of every run. All else is that of the first run.
    """
    corpora = [record["corpus"] for record in records]
    counts = _sums(corpus["counts"] for corpus in corpora)
    relations = _sums(corpus["relations"] for corpus in corpora)
    if "relations" in counts:
        counts["relations"] = len(relations)  # different relations, not relations of words
    readings = [record["sentences"] for record in records]
    all_read = {name: _total([reading[name] for reading in readings]) for name in readings[0]}
    # Warnings about what was read are made anew of all that was read. The others stay, each once.
    fits = [TextFit.read_record(record["text_fit"]) for record in records if "text_fit" in record]
    of_reading = [warning for reading in readings for warning in warnings_of(reading)]
    of_reading += [warning for fit in fits for warning in fit_warnings(fit)]
    kept = dict.fromkeys(warning for record in records for warning in record["warnings"] if warning not in of_reading)
    fit = sum(fits, TextFit()) if len(fits) == len(records) else TextFit()
    return {
        **{key: value for key, value in records[0].items() if key not in ("texts", "text_fit")},
        "command": f"attentionology merge {shlex.join(names)}",
        "started": min(record["started"] for record in records),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": {stage: round(time, 3) for stage, time in _sums(record["seconds"] for record in records).items()},
        "versions": versions(),
        "git_commit": git_commit(),
        "options": _merge_options([record["options"] for record in records]),
        "corpus": {
            **corpora[0],
            "files": [file for corpus in corpora for file in corpus["files"]],
            "counts": counts,
            "remarks": list(dict.fromkeys(remark for corpus in corpora for remark in corpus["remarks"])),
            "relations": relations,
            **_merge_checks(corpora),
        },
        "sentences": all_read,
        **({"text_fit": fit.record()} if fit.words else {}),
        "warnings": [*fit_warnings(fit), *warnings_of(all_read), *kept],
        "merged": [
            {"run": name, **{key: record[key] for key in _OF_EACH_RUN if key in record}}
            for name, record in zip(names, records, strict=True)
        ],
    }


def _merge_checks(corpora: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what was checked of all corpora, and the sentences that were left out; older runs have neither."""
    left_out = [corpus["left_out"] for corpus in corpora if "left_out" in corpus]
    checks = [dict(corpus["checked"]) for corpus in corpora if "checked" in corpus]
    punctuation = [check.pop("punctuation") for check in checks if "punctuation" in check]
    merged: dict[str, Any] = _sums(checks)
    if punctuation:
        rules = dict.fromkeys(each["rule"] for each in punctuation)
        names = dict.fromkeys(name for each in punctuation for name in each["names"])
        n_words = sum(each["words"] for each in punctuation)
        merged["punctuation"] = {"rule": ", ".join(rules), "names": list(names), "words": n_words}
    return {**({"checked": merged} if checks else {}), **({"left_out": _total(left_out)} if left_out else {})}


def _merge_options(options: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the options of all runs together: those of the first, with all inputs and the smallest sample."""
    merged = dict(options[0])
    for name in ("corpus", "text", "test"):
        if any(of_run.get(name) for of_run in options):  # otherwise the value is what the run says without files
            merged[name] = [file for of_run in options for file in of_run.get(name) or []]
    if examples := [of_run["examples"] for of_run in options if of_run.get("examples") is not None]:
        merged["examples"] = min(examples)
    return merged


def _total(values: Sequence[Any]) -> Any:
    """Return one list of the items if the values are lists, otherwise their sum, or None if one of them is None."""
    if isinstance(values[0], list):
        return [item for value in values for item in value]
    return None if None in values else sum(values)


def _sums(counts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of numbers by their names."""
    total: dict[str, Any] = {}
    for of_run in counts:
        for name, count in of_run.items():
            total[name] = total.get(name, 0) + count
    return total
