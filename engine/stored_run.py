"""A run from its stored states, without the model and the corpus: to render it again, compare it, or merge it."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..analyses.contract import Analysis, OptionError, OptionSet, PlanCounts, Titles
from ..analyses.counting.metric import StateError
from ..analyses.counting.stored_metrics import StoredMetrics
from ..analyses.registry import find_analysis
from ..analyses.shared.input_sample import InputSample
from ..analyses.shared.options import CountOptions
from ..corpora_loaders import Sentence
from ..reports.run_folder import RunFolder
from ..storage.paths import path_identity
from .counting.passes import PassCounts
from .results.part import Part, compare_kinds, complete_record, with_results
from .results.run import Run, save_run
from .results.states import (
    SURVEY,
    AnalysisStates,
    RunStates,
    from_plain,
    plain_failure,
    read_states,
    restore_failure,
    to_plain,
)

SAMPLED = 4096
"""How many inputs are sampled. If two runs of n sentences share m sentences, about 4,096 · m / n of these are
noticed."""


def states_of(run: Run, counts: PassCounts, record: Mapping[str, Any], inputs: Iterable[Sentence]) -> RunStates:
    """Return everything that is stored of a run; the record is that without what the analyses add to it."""
    groups = {kind.__name__: kind for part in run.parts for kind in part.analysis.options}
    analyses = []
    for part in run.parts:
        name = part.analysis.name
        facts = to_plain(part.counts.facts, f"the facts of the analysis {name}")
        lookups = to_plain(part.lookups, f"what the analysis {name} looked up")
        analyses.append(AnalysisStates(name, part.kind, part.requests, facts, lookups))
    tables = run.described.items()
    return RunStates(
        analyses=tuple(analyses),
        metrics=counts.states(),
        failures={name: plain_failure(error) for name, error in counts.failures.items()},
        options={name: to_plain(run.options[kind], f"the options {name}") for name, kind in groups.items()},
        titles=(run.titles.model, run.titles.corpus),
        record=dict(record),
        tables={name: {"columns": list(table), "rows": table.to_numpy().tolist()} for name, table in tables},
        samples=tuple(run.samples),
        inputs=sample_inputs(inputs),
    )


def load_run(folder: str | Path) -> Run:
    """Load the results of a finished run from its folder.

    The model and the corpus are not needed: all results are made again from the counts.

    Args:
        folder: the folder of the run.

    Raises:
        StateError: the folder has no states, they are damaged, or they are those of an analysis or of a version that
            is not installed.

    Example:
        >>> import tempfile
        >>> from attentionology import CorpusOptions, CountOptions, analyze, load_run
        >>> options = [CorpusOptions(limit=3), CountOptions(replicates=0)]
        >>> run = analyze("demo", "sample", analyses="dependency", options=options)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saved = run.save(f"{folder}/run")
        ...     loaded = load_run(f"{folder}/run")
        >>> loaded["dependency"].best.equals(run["dependency"].best)
        True
    """
    path = Path(folder)
    return replace(restore_results(states_in(path)), folder=path)


def states_in(folder: Path) -> RunStates:
    """Read the states of a run, with the facts of its analyses as this version writes them."""
    states = read_states(folder)
    if any(stored.name == SURVEY for stored in states.analyses):
        raise StateError(
            f"{folder} has a survey, not a run; only its report can be made again, with the command report"
        )
    analyses = []
    for stored in states.analyses:
        facts, lookups = registered_analysis(stored.name).read_older(stored.facts, stored.looked)
        analyses.append(replace(stored, facts=facts, looked=lookups))
    return replace(states, analyses=tuple(analyses))


def restore_results(states: RunStates) -> Run:
    """Make the results of a run from its states."""
    failures = {name: restore_failure(*failure) for name, failure in states.failures.items()}
    metrics = states.metrics if isinstance(states.metrics, StoredMetrics) else StoredMetrics(states.metrics)
    without_results = []
    for stored in states.analyses:
        analysis = registered_analysis(stored.name)
        facts = from_plain(stored.facts, analysis.facts_type, f"the facts of the analysis {stored.name}")
        lookups = from_plain(stored.looked, analysis.lookup_type, f"what the analysis {stored.name} looked up")
        plan_counts = PlanCounts(facts, metrics, logs={}, failures=failures)
        without_results.append(Part(analysis, stored.kind, stored.requests, plan_counts, lookups))
    groups = {kind.__name__: kind for part in without_results for kind in part.analysis.options}
    values_of_groups = []
    for name, values in states.options.items():
        if name not in groups:
            raise StateError(f"the run has options of the group {name}, which none of its analyses has")
        values_of_groups.append(from_plain(values, groups[name], f"the options {name}"))
    options = OptionSet(values_of_groups)
    parts = with_results(without_results, options)
    titles = Titles(*states.titles)
    tables = states.tables.items()
    record = complete_record(states.record, parts, options)
    whole = "in all of the merged runs" if "merged" in states.record else "in this run"
    record["warnings"] += [
        f"{' and '.join(names)} of {request} were not counted {whole}, because an earlier version did not count them. "
        "What is made of them is left out."
        for request, names in metrics.not_counted().items()
    ]
    run = Run(
        parts,
        titles,
        record,
        options=options,
        contrasts=compare_kinds(parts, titles, options),
        samples={name: metrics.metric(name, InputSample) for name in states.samples},
        described={name: pd.DataFrame(table["rows"], columns=table["columns"]) for name, table in tables},
        stored=lambda: states,
    )

    def decide(names: Sequence[str], **given: Any) -> pd.DataFrame:
        from .decisions import decisions_again  # it imports torch, which other uses of a stored run do not need

        return decisions_again(run, names, **given)

    return replace(run, decide=decide)


def registered_analysis(name: str) -> Analysis[Any, Any]:
    """Return the analysis of a stored run."""
    analysis = find_analysis(name)
    if analysis is None:
        raise StateError(f"the analysis {name!r} of this run is not installed")
    return analysis


def report_run(
    folder: str | Path, out: str | Path | None = None, *, overwrite: bool = False, min_count: int | None = None
) -> Run:
    """Write the tables, the figures and the page of a run again, from its counts alone.

    Args:
        folder: the folder of the run.
        out: the folder to write to; None to replace the run's files.
        overwrite: whether to replace the folder ``out`` of an earlier run.
        min_count: another value of the option ``--min-count``; None to keep it.

    Raises:
        StateError: see `load_run`.
        OptionError: none of the analyses has the option, or it does not take this value.
        RunFolderError: the folder cannot be written.

    Example:
        >>> import tempfile
        >>> from attentionology import CorpusOptions, CountOptions, analyze, report_run
        >>> options = [CorpusOptions(limit=3), CountOptions(replicates=0)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = analyze("demo", "sample", analyses="dependency", options=options, out=f"{folder}/run")
        ...     report_run(f"{folder}/run", f"{folder}/few", min_count=2).record["options"]["min_count"]
        2
    """
    source, target, replaces = Path(folder), Path(out or folder), overwrite or out is None
    reads = [] if path_identity(source) == path_identity(target) else [source]
    if reads:
        RunFolder(target, overwrite=replaces, reads=reads)  # checks it before the run is read
    states = states_in(source)
    if min_count is not None:
        states = _with_min_count(states, min_count)
    run = replace(restore_results(states), folder=source)
    with run.showing_names():
        return save_run(run, target, overwrite=replaces, reads=reads)


def _with_min_count(states: RunStates, min_count: int) -> RunStates:
    """Return the states with another value of ``--min-count``, also in the run record."""
    group = CountOptions.__name__
    if group not in states.options:
        raise OptionError("--min-count has no effect on this run: none of its analyses counts decisions")
    CountOptions(min_count=min_count).check()
    options = {**states.options, group: {**states.options[group], "min_count": min_count}}
    recorded = {**states.record["options"], "min_count": min_count}
    return replace(states, options=options, record={**states.record, "options": recorded})


def sample_inputs(inputs: Iterable[Sentence], size: int = SAMPLED) -> dict[str, str]:
    """Return the digest of the words of each sampled input by its id, in the order of the hashes of the ids.

    Counts do not tell which sentences they are of, and two runs that are added up must not have read the same. All
    inputs are sampled if there are few, otherwise those whose ids have the smallest hashes. Because the hashes decide,
    two runs that share many sentences have sampled many of the same, and the sample of two runs together is made of
    their two samples.
    """
    hashed = ((_hash(sentence.id), sentence.id, _hash("\n".join(sentence.words))) for sentence in inputs)
    return {sentence_id: words for _, sentence_id, words in heapq.nsmallest(size, hashed)}


def merge_samples(samples: Iterable[Mapping[str, str]], size: int = SAMPLED) -> dict[str, str]:
    """Return the sample that `sample_inputs` would draw from the inputs of all these samples together."""
    digests = {name: digest for sample in samples for name, digest in sample.items()}
    smallest = heapq.nsmallest(size, digests, key=lambda name: (_hash(name), name))
    return {name: digests[name] for name in smallest}


def shared_ids(first: Mapping[str, str], second: Mapping[str, str], *, with_same_words: bool) -> list[str]:
    """Return the ids that are in both of two samples of inputs, either with the same words or with other words."""
    return [name for name in first if name in second and (first[name] == second[name]) == with_same_words]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
