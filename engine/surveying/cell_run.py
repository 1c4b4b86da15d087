"""The run of a cell of a survey: what is kept of it, and its report, to which the heads on the page lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ...analyses.counting.comparable import Comparable
from ...analyses.shared.input_options import ModelOptions
from ...analyses.shared.options import CountOptions
from ...analyses.survey.collecting import CellCounts, Collector
from ...analyses.survey.rows import short_names
from ...reports.run_folder import EVERY_RUN
from ...storage.characters import file_name
from ..corpus import CorpusOptions
from ..counting.job import Job
from ..execution import execute
from ..results.run import Run, write_run
from .plan import SurveyPlan

FOLDER = "runs"
"""The folder of the runs of the cells, within that of the survey."""


@dataclass(frozen=True, eq=False)
class CellRun:
    """What a survey keeps of the run of a cell until its treebank has been read with all models."""

    best: Mapping[str, pd.DataFrame]  # the best heads of each kind of map
    families: Mapping[str, Sequence[Comparable]]  # the statistics that can be compared, by the kind of map
    record: Mapping[str, Any]
    kept: Mapping[str, Mapping[str, Any]]  # what each question keeps of the counts, by the kind of map
    reports: Mapping[str, Path]  # the page of each kind of map; empty if none are written


@dataclass(frozen=True)
class CellReports:
    """Writes the report of each cell as that of a run, while the folder of the survey is written."""

    plan: SurveyPlan
    folder: Path  # what is being written
    out: Path  # what it will be called
    command: str

    def write(self, job: Job, run: Run) -> Path:
        """Write the report of a cell, or of one of its kinds of maps if these are counted alone; return its page."""
        (treebank,) = job.groups[CorpusOptions].corpus or ()  # a cell has exactly one treebank
        name = self.names[job.groups[ModelOptions], treebank]
        kinds = [part.kind or "" for part in run.parts if part.analysis.name == "dependency"]
        if len(kinds) < len(self.plan.options.grid.maps):
            name = file_name("-".join([name, *kinds]), 250)
        folder, final_folder = self.folder / FOLDER / name, self.out / FOLDER / name
        folder.mkdir(parents=True)
        options = {"out": str(final_folder), **run.record["options"]}
        write_run(folder, replace(run, record={**run.record, "options": options}))
        return final_folder / EVERY_RUN[0]

    @cached_property
    def names(self) -> dict[tuple[ModelOptions, str], str]:
        """The names of the folders of all cells, by the options of the model and the path of the treebank."""
        models, treebanks = self.plan.models, self.plan.treebanks
        short_models, short_treebanks = short_names(list(models)), short_names(list(treebanks))
        names: dict[tuple[ModelOptions, str], str] = {}
        for model, options in models.items():
            for treebank, path in treebanks.items():
                name = plain = file_name(f"{short_models[model]}-{short_treebanks[treebank]}")
                number = len(names) + 1
                while name in names.values():  # taken, such as by a/b if this is a_b
                    name, number = f"{plain}-{number}", number + 1
                names[options, path] = name
        return names


def run_cell(
    job: Job, *, collectors: Mapping[str, Collector[Any, Any]], reports: CellReports | None, **inputs: Any
) -> CellRun:
    """Run a cell, write its report if reports are wanted, and return what is kept of it.

    The collectors are those of the questions of the survey, by name. The ``inputs`` are those of `execute`: the model,
    the corpus and the options of parts.
    """
    run = execute(job, command=reports.command if reports else "", **inputs)
    page = reports.write(job, run) if reports else None
    best: dict[str, pd.DataFrame] = {}
    families: dict[str, Sequence[Comparable]] = {}
    kept: dict[str, dict[str, Any]] = {name: {} for name in collectors}
    surface = next((part.results for part in run.parts if part.analysis.name == "surface"), None)
    for part in run.parts:
        if part.analysis.name != "dependency":
            continue
        kind = part.kind or ""
        best[kind] = part.results.best
        families[kind] = part.analysis.comparable(part.counts)
        detectors = surface and surface.answers["detectors"].table
        counts = CellCounts(part.counts, families[kind], job.groups[CountOptions].min_count, detectors)
        for name, collector in collectors.items():
            of_cell = collector.keep(counts)
            if of_cell is not None:
                kept[name][kind] = of_cell
    return CellRun(best, families, run.record, kept, dict.fromkeys(best, page) if page else {})
