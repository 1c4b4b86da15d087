"""The driver of every command that runs analyses: check, prepare, count, make the results, write the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..analyses.contract import OptionError, PlanCounts, Titles
from ..analyses.shared.input_sample import InputSample
from ..analyses.shared.part_options import PartOptions
from ..analyses.shared.record import (
    describe_command,
    describe_corpus,
    describe_model,
    describe_reading,
    fit_warnings,
    warnings_of,
)
from ..corpora_loaders import Corpus
from ..corpora_loaders.describing import amount
from ..corpora_loaders.errors import CorpusError
from ..extractors import ExtractionLog
from ..extractors.model.loaded_model import LoadedModel
from ..reports.progress import Stages
from ..reports.run_folder import RunFolder
from ..storage.paths import check_file
from .corpus import title_of_files
from .counting.executors import ShareCounts, count_missing, count_passes
from .counting.job import Job, RunPlans, RunSetup, plan_analyses
from .counting.parts import PartCounter, check_folder
from .counting.passes import PassCounts, reader_of
from .results.part import Part, compare_kinds, complete_record, with_results
from .results.run import Run, write_run
from .stored_run import states_of


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
    show: Callable[[Run], None] = lambda _: None,
) -> Run:
    """Run all analyses of a job, show the results, and write the report."""
    part_options, shown = part_options or PartOptions(), dict(shown_options or {})
    corpus = check_job(job, part_options, model, corpus, out)
    check_written(job, out, corpus, overwrite=overwrite)
    if out is None:
        return _run(job, part_options, model, corpus, command, shown, show)
    with RunFolder(out, overwrite=overwrite, reads=job.paths_read(corpus)) as folder:
        run = _run(job, part_options, model, corpus, command, {**shown, "out": str(out)}, show, drawn=True)
        run = write_run(folder.path, run)
    return replace(run, folder=out)


def count_share(
    job: Job, part_options: PartOptions, *, model: LoadedModel | None = None, corpus: Corpus | None = None
) -> ShareCounts:
    """Count one share of the parts of a job, and make no report."""
    if part_options.parts is None:
        raise OptionError("--part needs --parts, the folder in which all shares are collected")
    corpus = check_job(job, part_options, model, corpus)
    stages = Stages()
    counter = PartCounter(job, job.prepare(model=model, corpus=corpus, stages=stages), part_options.parts)
    share, shares = part_options.share or (1, 1)  # the first of one share has all parts
    # Parts are dealt in turn, because the parts of one pass follow each other, and a pass may take much longer than
    # another. In blocks, one share would get all of its parts.
    numbers = range(share - 1, len(counter.parts), shares)
    count_missing(counter, numbers, part_options, stages)
    in_folder = sum(map(counter.has, counter.parts))
    return ShareCounts(len(numbers), in_folder, len(counter.parts), tuple(counter.cache_log.warnings()))


def check_job(
    job: Job, part_options: PartOptions, model: LoadedModel | None, corpus: Corpus | None, out: Path | None = None
) -> Corpus | None:
    """Check everything that can be checked before a corpus is read and the model is loaded; return the corpus given."""
    part_options.check()
    if model is not None and not part_options.in_this_process:
        raise OptionError("workers load the model themselves: give its name, not a model that has been loaded")
    if corpus is not None and not len(corpus):
        raise CorpusError(f"the corpus has no {corpus.unit}")
    job.check(corpus)
    if part_options.parts is not None:
        check_folder(part_options.parts, job.paths_read(corpus), out)
    return None if corpus is None else corpus.checked()


def check_written(job: Job, out: Path | None, corpus: Corpus | None = None, *, overwrite: bool) -> None:
    """Check the files that a job writes besides its results folder."""
    for file in job.paths_written():
        check_file(file, overwrite=overwrite, reads=job.paths_read(corpus), out=out)


def _title(corpus: Corpus, limit: int | None) -> str:
    """Name the files of a corpus, and how many of its inputs were read if the limit was reached or it has no files."""
    unit, title = corpus.limit_unit, title_of_files([file.path for file in corpus.files])
    n_read = corpus.counts().get(unit, len(corpus))
    if not title:
        return amount(n_read, unit)
    return f"{title}, first {limit:,} {unit}" if n_read == limit else title


def _run(
    job: Job,
    part_options: PartOptions,
    model: LoadedModel | None,
    corpus: Corpus | None,
    command: str,
    shown_options: Mapping[str, Any],
    show: Callable[[Run], None],
    drawn: bool = False,
) -> Run:
    """Plan, count and make the results, and the tables and figures if the run is to be ``drawn``, not only returned."""
    stages = Stages()
    prepared = job.prepare(model=model, corpus=corpus, stages=stages)
    with stages("plan"):
        planned = plan_analyses(prepared)
    counts = count_passes(job, prepared, part_options, stages, planned.passes)
    with stages("examples"):
        counted = _look_up(prepared, planned, counts)
    with stages("results"):
        # One for each analysis and kind of map, whereas those of `part_options` are parts of the corpus.
        parts = with_results(counted, prepared.options)
        titles = Titles(prepared.setting.model.name, _title(prepared.setting.corpus, job.flat().get("limit")))
        contrasts = compare_kinds(parts, titles, prepared.options)
    sampled = [(request.name, counts.metrics[request.name]) for request in planned.samples]
    samples = {name: metric for name, metric in sampled if isinstance(metric, InputSample)}
    # Its sections and its record are made from the run itself, and are put into it later.
    run = Run(parts, titles, options=prepared.options, contrasts=contrasts, samples=samples, described=prepared.tables)
    show(run)  # before the figures are drawn, which may take as long as everything else
    if drawn:
        with stages("tables and figures"):
            run = replace(run, sections=run.shown_sections, contributed=run.contributions)

    corpus_read = parts[0].corpus or prepared.setting.corpus  # by the first analysis, which the record is about
    all_options = {**job.flat(), **shown_options, **prepared.resolved}
    record = {
        **describe_command(command, all_options, prepared.setting.seed, stages),
        **_describe_inputs(prepared, corpus_read, parts[0].log, counts.warnings),
    }
    stored = partial(states_of, run, counts, record, corpus_read)
    run = replace(run, record=complete_record(record, parts, run.options), stored=stored)
    return job.finish(run, prepared, stages)


def _describe_inputs(
    prepared: RunSetup, corpus: Corpus, log: ExtractionLog, warnings_of_passes: Sequence[str]
) -> dict[str, Any]:
    """Describe the model, the corpus and how the model read it, with the extensions of the run and its warnings."""
    model, extensions, reading = prepared.setting.model, prepared.extensions(), describe_reading(corpus, log)
    return {
        **({"extensions": extensions} if extensions else {}),
        "model": describe_model(model),
        "corpus": describe_corpus(corpus),
        "sentences": reading,
        **({"text_fit": log.fit.record()} if log.fit.words else {}),
        "warnings": [
            *fit_warnings(log.fit),
            *model.warnings,
            *warnings_of(reading),
            *prepared.warnings,
            *warnings_of_passes,
        ],
    }


def _look_up(prepared: RunSetup, planned: RunPlans, counts: PassCounts) -> list[Part]:
    """Return what was counted for each analysis, with what it looks up after counting."""
    read = reader_of(prepared.setting.model, prepared.limits)
    parts = []
    for analysis, kind, plan in planned.plans:
        plan_counts = PlanCounts(plan.facts, counts.metrics, counts.logs, counts.failures)
        part = Part(analysis, kind, tuple(request.name for request in plan.requests), plan_counts, corpus=plan.corpus)
        with part.name_analysis("follow_up()"):
            lookups = analysis.follow_up(prepared.options, plan, plan_counts, read)
        parts.append(replace(part, lookups=lookups))
    return parts
