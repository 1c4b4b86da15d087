"""`survey`, the Python counterpart of the command ``attentionology survey``: treebank by treebank, all models."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..analyses.comparison.results import Pairing
from ..analyses.contract import OptionError, OptionGroup, OptionSet
from ..analyses.dependency.accuracy import TOTALS, inventory, words_by_group
from ..analyses.dependency.options import DependencyOptions
from ..analyses.option_groups import names_in
from ..analyses.shared.input_options import LimitOptions, ModelOptions, paths_read
from ..analyses.shared.options import ControlOptions, CountOptions, FeedForwardOptions, MapOptions
from ..analyses.shared.part_options import PartOptions
from ..analyses.shared.record import describe_command, flat_options
from ..analyses.survey.collecting import KeptCell
from ..analyses.survey.results import QUESTIONS, Survey, survey_section
from ..analyses.survey.rows import CellResult
from ..analyses.survey.seed_groups import seed_patterns
from ..reports.page import Section
from ..reports.progress import Stages, showing
from ..reports.run_folder import RunFolder
from ..storage.nearest import did_you_mean
from ..storage.paths import check_kept_folder, path_identity
from .compared_run import pairing_of
from .corpus import CorpusOptions
from .results.run import Run, save_run, write_run
from .results.states import SURVEY
from .surveying.cell_run import CellReports, CellRun, run_cell
from .surveying.cells import CellCounter, CountedCell, read_treebank
from .surveying.options import CellOptions, GridOptions, SurveyOptions
from .surveying.plan import SurveyPlan, check_survey, plan_survey
from .surveying.stored import read_survey, states_of_survey

_GROUPS = (
    DependencyOptions, ControlOptions, CountOptions, FeedForwardOptions, MapOptions, CorpusOptions, LimitOptions,
    ModelOptions, PartOptions,
)  # fmt: skip


def survey(
    models: str | Path | Sequence[str | Path],
    treebanks: str | Path | Sequence[str | Path],
    *,
    maps: str | Sequence[str] | None = None,
    options: OptionGroup | Sequence[OptionGroup] = (),
    relation: str = GridOptions.relation,
    seeds: str | Sequence[str] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    reports: bool = CellOptions.reports,
    detectors: int = CellOptions.detectors,
    seed: int = 0,
    progress: bool | None = None,
) -> Survey:
    """Find the best heads of every model on every treebank, and compare models and kinds of maps.

    The results are those of ``attentionology survey`` with the same options. Every cell has the numbers that
    `attentionology.analyze` gives for its model and treebank alone. A cell that fails becomes a row of the table with
    the reason.

    Args:
        models: folders, names on the Hugging Face Hub, ``NAME@REVISION``, or ``"demo"``.
        treebanks: one file each, names such as ``"ud:fr_gsd:dev"``, patterns of names such as ``"ud:fr_*:dev"``, or
            ``"sample"``.
        maps: the kinds of maps, see `attentionology.list_kinds`. Default: attention weights.
        options: one option group, or several of different classes, for example ``CountOptions(min_count=20)``,
            ``CorpusOptions(limit=500)`` or ``PartOptions(parts=Path("parts"))`` for a survey that can be continued.
        relation: the relation that the figures show.
        seeds: models that differ only by their seeds, such as ``"small=runs/small-*"``. Default: those whose names
            differ only in the number after ``seed``.
        out: the folder for the report, its tables and figures; None to write nothing.
        overwrite: whether to replace the folder of an earlier survey.
        reports: whether to write a report of each cell to ``out/runs``, to which the heads on the page lead.
        detectors: the number of random sequences in which duplicate and induction heads are looked for, if models
            differ only by their seeds, whose heads are then matched by these scores, too.
        seed: the seed of everything random.
        progress: whether to show progress bars. Default: in an interactive session and in a notebook.

    Returns:
        the tables of all cells and contrasts.

    Raises:
        OptionError: an option cannot be used, or contradicts another one.
        RunFolderError: the folder cannot be written.

    Example:
        >>> from attentionology import CorpusOptions, CountOptions, survey
        >>> options = [CorpusOptions(limit=3), CountOptions(replicates=0)]
        >>> result = survey("demo", ["sample", "absent.conllu"], options=options)
        >>> result.cells_table[["treebank", "status", "reason"]].values.tolist()
        [['sample', 'ok', ''], ['absent', 'failed', 'absent.conllu: there is no such file']]
    """
    groups = OptionSet.of(options, _GROUPS, "survey")
    files, of_maps, of_model = groups[CorpusOptions], groups[MapOptions], groups[ModelOptions]
    if replace(files, format=None, tokens="syntactic", limit=None, lenient=False, punctuation=()) != CorpusOptions():
        raise OptionError("of CorpusOptions, a survey uses only format, tokens, limit, lenient and punctuation")
    if replace(of_model, device="cpu") != ModelOptions():
        raise OptionError("of ModelOptions, a survey uses only the device; revisions are given as NAME@REVISION")
    if groups[PartOptions].part is not None:
        raise OptionError("a share is counted by the command: attentionology survey … --parts FOLDER --part K/N")
    if reports and out is None:
        raise OptionError("the reports of cells are written beside that of the survey, which needs out")
    kinds = of_maps.map if maps is None else maps
    with showing(progress):
        return execute_survey(
            SurveyOptions(
                grid=GridOptions(names_in(models), names_in(treebanks), names_in(kinds), relation, names_in(seeds)),
                cells=CellOptions(
                    merge=of_maps.merge,
                    normalize=of_maps.normalize,
                    format=files.format,
                    tokens=files.tokens,
                    limit=files.limit,
                    lenient=files.lenient,
                    punctuation=files.punctuation,
                    device=of_model.device,
                    detectors=detectors,
                    reports=reports,
                ),
                dependency=groups[DependencyOptions],
                control=groups[ControlOptions],
                count=groups[CountOptions],
                feed_forward=groups[FeedForwardOptions],
                limits=groups[LimitOptions],
                seed=seed,
                long_run=groups[PartOptions],
            ),
            out=None if out is None else Path(out),
            overwrite=overwrite,
            command="attentionology.survey(…)",
        )


def execute_survey(
    options: SurveyOptions, *, out: Path | None = None, overwrite: bool = False, command: str = ""
) -> Survey:
    """Run a survey, and write its tables, figures and page."""
    check_survey(options)
    stages, grid = Stages(), options.grid
    shown_options = {**flat_options(options), **options.long_run.described()}
    if out is not None:
        shown_options["out"] = str(out)
    with ExitStack() as block:
        folder = None
        if out is not None:
            reads = paths_read(grid.models, grid.treebanks)
            if options.long_run.parts is not None:
                check_kept_folder(options.long_run.parts, reads=reads, out=out)
            folder = block.enter_context(RunFolder(out, overwrite=overwrite, reads=reads)).path
        with stages("cells"):
            plan = plan_survey(options)
            reports = CellReports(plan, folder, out, command) if folder and out and options.cells.reports else None
            survey = count_grid(plan, reports)
        # The run is made when it is asked for, because a session may want nothing but the survey; and then once.
        as_run = functools.cache(partial(_as_run, plan, survey, shown_options, command, stages))
        if folder is not None:
            write_run(folder, as_run(out))
    return replace(survey, written=as_run)


def _as_run(
    plan: SurveyPlan, survey: Survey, shown_options: Mapping[str, Any], command: str, stages: Stages, out: Path | None
) -> Run:
    """Return a survey in the form of a run; in a page that is written to ``out``, heads link to reports of cells."""
    with stages("tables and figures"):
        section = survey_section(survey, out)
    record = {
        **describe_command(command, shown_options, plan.options.seed, stages),
        SURVEY: _describe(plan, survey),
        "warnings": survey.warnings,
    }
    return _run_of(survey, record, section, out)


def _run_of(survey: Survey, record: Mapping[str, Any], section: Section, out: Path | None) -> Run:
    """Return a survey in the form of a run, given its run record and its section."""
    stored = partial(states_of_survey, survey, record, out)
    return Run((), record=record, sections=(section,), template="survey.html.j2", stored=stored)


def report_survey(folder: Path, out: Path | None = None, *, overwrite: bool = False) -> Survey:
    """Write the tables, the figures and the page of a survey again, from what is stored in its folder.

    Args:
        folder: the folder of the survey.
        out: the folder to write to; None to replace the files of the survey.
        overwrite: whether to replace the folder ``out`` of an earlier run.

    Raises:
        StateError: the folder has no states, or they are damaged.
        RunFolderError: the folder cannot be written.
    """
    target, replaces = out or folder, overwrite or out is None
    reads = [] if path_identity(folder) == path_identity(target) else [folder]
    if reads:
        RunFolder(target, overwrite=replaces, reads=reads)  # checks it before the survey is read
    survey, record = read_survey(folder)

    def write(page_folder: Path | None) -> Run:
        return _run_of(survey, record, survey_section(survey, page_folder), page_folder)

    save_run(replace(write(target), folder=folder), target, overwrite=replaces, reads=reads)
    return replace(survey, written=functools.cache(write))


def _describe(plan: SurveyPlan, survey: Survey) -> dict[str, Any]:
    """Describe the models and treebanks of a survey, and how many cells failed, for the run record."""
    records = [(result.cell, result.record) for result in survey.results if result.record]
    recorded_models = {cell.model: record["model"] for cell, record in records}
    recorded_files = {cell.treebank: record["corpus"]["files"] for cell, record in records}
    models = []
    for name, options in plan.models.items():
        # A model that failed in every cell has no record.
        model = recorded_models.get(name, {"revision": options.revision, "weights_sha256": None})
        models.append({"name": name, "revision": model["revision"], "weights_sha256": model["weights_sha256"]})
    treebanks = []
    for name, path in plan.treebanks.items():
        files = [{"path": file["path"], "sha256": file["sha256"]} for file in recorded_files.get(name, ())]
        treebanks.append({"name": name, "path": path, "files": files})
    seconds = [{**vars(result.cell), "seconds": result.seconds} for result in survey.results]
    return {
        "models": models,
        "treebanks": treebanks,
        "left_out": dict(survey.left_out),
        "maps": list(survey.maps),
        "cells": len(survey.results),
        "failed": len(survey.failures),
        "seconds": seconds,
        **({"left_out_heads": survey.left_out_heads} if survey.left_out_heads else {}),
    }


def count_grid(plan: SurveyPlan, reports: CellReports | None = None) -> Survey:
    """Count all cells, and compare them.

    The statistics of one treebank are compared before the next is read, so the memory does not grow with the number of
    treebanks, apart from the tables.
    """
    _check_relation(plan)
    grid = plan.options.grid
    survey = Survey(
        models=grid.models,
        treebanks=tuple(plan.treebanks),
        maps=grid.maps,
        results=(),
        relation=plan.options.shown_relation,
        min_count=plan.options.count.min_count,
        left_out=plan.left_out,
        seeds=seed_patterns(grid.seeds, grid.models),
    )
    asked = ((question.name, question.collector(survey)) for question in QUESTIONS)
    collectors = {name: collector for name, collector in asked if collector is not None}
    results: list[CellResult] = []
    for treebank, cells in CellCounter(plan, partial(run_cell, collectors=collectors, reports=reports)).treebanks():
        results += map(_result_of, cells)
        counted = [cell for cell in cells if cell.results]  # models that fail on a treebank are left out of it
        pairing = partial(_pairing, {cell.cell.model: cell.results[0].record for cell in counted})
        for name, collector in collectors.items():
            collector.add(treebank, [_keep(cell, name) for cell in counted], pairing)
    collected = {name: collector.collect() for name, collector in collectors.items()}
    return replace(survey, results=tuple(results), collected=collected)


def _keep(cell: CountedCell[CellRun], question: str) -> KeptCell:
    """Return what a question keeps of a cell. Kinds of maps that were counted alone have runs of their own."""
    families = {kind: of_kind for run in cell.results for kind, of_kind in run.families.items()}
    kept = {kind: of_kind for run in cell.results for kind, of_kind in run.kept[question].items()}
    return KeptCell(cell.cell.model, families, kept)


def _result_of(counted: CountedCell[CellRun]) -> CellResult:
    """Return what the tables say of a cell. Kinds of maps that were counted alone have runs of their own."""
    best = {kind: table for run in counted.results for kind, table in run.best.items()}
    pages = {kind: page for run in counted.results for kind, page in run.reports.items()}
    record = counted.results[0].record if counted.results else None
    return CellResult(counted.cell, best, tuple(counted.failures), record, counted.seconds, pages)


def _pairing(records: Mapping[str, Mapping[str, Any]], first: str, second: str) -> Pairing:
    """Return whether two models read the same inputs, given the records of all models."""
    pairing, _ = pairing_of(records[first], records[second])
    return pairing


def _check_relation(plan: SurveyPlan) -> None:
    """Raise `OptionError` if no treebank that can be read has the relation that the figures show."""
    wanted, dependency = plan.options.shown_relation, plan.options.dependency
    asked = [*dependency.relations, *(name for name, _ in dependency.unions())]
    if dependency.relations and wanted not in asked:
        raise OptionError(f"--relation {wanted} is none of those that the survey asks about: {', '.join(asked)}")
    if wanted == GridOptions.relation or wanted in asked:
        return
    known, any_is_read = dict.fromkeys(TOTALS), False
    for path in plan.treebanks.values():
        with suppress(Exception):  # the cells of a treebank that cannot be read say why
            relations = inventory(read_treebank(plan.options, path), dependency.trees)
            known |= dict.fromkeys(words_by_group(relations, coarse=dependency.coarse))
            any_is_read = True
    if any_is_read and wanted not in known:
        near = did_you_mean(wanted, known)
        raise OptionError(f"no treebank has the relation {wanted!r}; choose from: {', '.join(known)}{near}")
