"""The driver of every command that runs analyses: check, prepare, count, make the results, write the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analyses.contract import OptionError, Titles
from ..analyses.shared.metric_states import StateError
from ..analyses.shared.record import (
    describe_command,
    describe_corpus,
    describe_model,
    describe_reading,
    warnings_of,
)
from ..reports.progress import Stages
from ..reports.run_folder import RunFolder
from .corpus import title_of_files
from .executors import ShareCounts, count_passes, count_share_of
from .explorer import explorer_json
from .job import Job
from .part_options import PartOptions
from .parts import PartCounter, check_folder
from .preparing import Prepared
from .run import CountedRun, Run, compared_kinds, count_analyses, with_results
from .states import RunStates
from .stored_run import states_of
from .writing import complete_record, sections_of, write_run

if TYPE_CHECKING:
    from ..corpora_loaders import Corpus
    from ..extractors.model.loaded_model import LoadedModel


def execute(
    job: Job,
    *,
    part_options: PartOptions | None = None,
    model: LoadedModel | None = None,
    corpus: Corpus | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    command: str = "",
    shown_options: Mapping[str, Any] | None = None,
) -> Run:
    """Run all analyses of a job, and write the report."""
    part_options, shown = part_options or PartOptions(), dict(shown_options or {})
    check_job(job, part_options, model, corpus)
    if out is None:
        return _run(job, part_options, model, corpus, None, command, shown)
    with RunFolder(out, overwrite=overwrite, reads=job.paths_read(corpus)) as folder:
        run = _run(job, part_options, model, corpus, folder.path, command, {**shown, "out": str(out)})
    return replace(run, folder=out)


def count_share(
    job: Job,
    part_options: PartOptions,
    *,
    model: LoadedModel | None = None,
    corpus: Corpus | None = None,
) -> ShareCounts:
    """Count one share of the parts of a job, and make no report."""
    if part_options.parts is None:
        raise OptionError("--part needs --parts, the folder in which all shares are collected")
    check_job(job, part_options, model, corpus)
    stages = Stages()
    prepared = job.prepare(model=model, corpus=corpus, stages=stages)
    return count_share_of(PartCounter(job, prepared, part_options.parts), part_options, stages)


def check_job(job: Job, part_options: PartOptions, model: LoadedModel | None, corpus: Corpus | None) -> None:
    """Check everything that can be checked before the corpus is read and the model is loaded."""
    part_options.check()
    if model is not None and not part_options.in_this_process:
        raise OptionError("workers load the model themselves: give its name, not a model that has been loaded")
    job.check(corpus)
    if part_options.parts is not None:
        check_folder(part_options.parts)


def _run(
    job: Job,
    part_options: PartOptions,
    model: LoadedModel | None,
    corpus: Corpus | None,
    folder: Path | None,
    command: str,
    shown_options: Mapping[str, Any],
) -> Run:
    stages = Stages()
    prepared = job.prepare(model=model, corpus=corpus, stages=stages)
    counted = count_analyses(prepared, partial(count_passes, job, prepared, part_options, stages), stages=stages)
    run = _results(prepared, counted, stages)
    if folder is not None:
        with stages("tables and figures"):
            run = replace(run, folder=folder, sections=tuple(sections_of(run.parts, run.titles, run.contrasts)))
    shown = {**job.flat(), **shown_options, **prepared.resolved}
    record = {
        **describe_command(command, shown, prepared.setting.seed, stages),
        **_describe_inputs(prepared, counted, run),
    }
    states = None if folder is None else _states(prepared, counted, run, record)
    run = replace(run, record=complete_record(record, run.parts, run.options))
    job.finish(run, prepared, stages)
    if folder is not None:
        write_run(
            folder,
            sections=list(run.sections),
            record=dict(run.record),
            tables=prepared.tables,
            states=states,
            explorer=explorer_json(run),
        )
    return run


def _results(prepared: Prepared, counted: CountedRun, stages: Stages) -> Run:
    """Make the results of what was counted, without sections and a record."""
    with stages("results"):
        parts = with_results(counted.analyses, prepared.options)
        files = title_of_files([file.path for file in prepared.setting.corpus.files])
        titles = Titles(prepared.model.name, files)
        contrasts = compared_kinds(parts, titles, prepared.options)
    return Run(parts, titles, options=prepared.options, contrasts=contrasts, samples=counted.counted_samples())


def _corpus_read(prepared: Prepared, counted: CountedRun) -> Corpus:
    """Return the corpus as the first analysis has read it, which the report describes."""
    return counted.analyses[0].corpus or prepared.setting.corpus


def _describe_inputs(prepared: Prepared, counted: CountedRun, run: Run) -> dict[str, Any]:
    """Describe the model, the corpus, and how the model has read it, for the run record."""
    corpus = _corpus_read(prepared, counted)
    reading = describe_reading(corpus, run.parts[0].log)
    return {
        "model": describe_model(prepared.model),
        "corpus": describe_corpus(corpus),
        "sentences": reading,
        "warnings": [
            *prepared.model.warnings,
            *warnings_of(reading),
            *prepared.warnings,
            *counted.counts.warnings,
        ],
    }


def _states(prepared: Prepared, counted: CountedRun, run: Run, record: dict[str, Any]) -> RunStates | None:
    """Return what is stored of a run. If it cannot be stored, add a warning to the record, and return None."""
    corpus = _corpus_read(prepared, counted)
    try:
        return states_of(counted, run.options, run.titles, record, prepared.tables, corpus)
    except StateError as error:
        record["warnings"].append(f"The counts were not stored, so the report cannot be made again: {error}.")
        return None
