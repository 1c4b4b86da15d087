"""What ``survey --dry-run`` prints: cells, sentences and passes, and the memory and disk space that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...analyses.dependency.accuracy import inventory
from ...corpora_loaders.describing import amount
from ...corpora_loaders.releases import grouped_reasons
from ...reports.progress import progress_bar
from ...storage.durable import size
from ..counting.parts import number_of_parts
from ..estimate import estimate_run, memory_lines
from .cells import MOST_BYTES, CellCounter, read_treebank, reason_of
from .plan import SurveyPlan

Sizes = dict[str, Any]
"""The sizes of a treebank or of what a model needs, with its name, and the obstacle if it cannot be used."""


def estimate_survey(plan: SurveyPlan) -> dict[str, Any]:
    """Read all treebanks, let each model read a few sentences, and return what the survey would read and need."""
    options, treebanks = plan.options, list(_treebanks(plan))
    readable = [treebank for treebank in treebanks if not treebank["obstacle"]]
    models = list(_needs_of_models(plan, readable))
    usable = [model for model in models if not model["obstacle"]]
    passes = 1 + options.control.copies()  # over each treebank for each model: its own, and those of its copies
    other_models = 0  # bytes; one process keeps several models, and the memory of a run has that of the largest
    if options.long_run.in_this_process:
        weights = [model["weights"] for model in usable]
        other_models = min(sum(weights) - max(weights, default=0), MOST_BYTES)
    return {
        "models": models,
        "treebanks": treebanks,
        "maps": options.grid.maps,
        "processes": options.long_run.workers or 1,
        "passes": passes,
        "cells": plan.cells,
        "failing": plan.cells - len(usable) * len(readable),
        "all_passes": passes * len(usable) * len(readable),
        "sentences": passes * len(usable) * sum(treebank["sentences"] for treebank in readable),
        "memory": max((model["memory"] for model in usable), default=0) + other_models,
        "memory_of_worker": max((model["memory_of_worker"] for model in usable), default=0),
        "disk": sum(model["disk"] for model in usable),
        "left_out": plan.left_out,
    }


def survey_lines(estimate: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of an estimate: one for each treebank and each model, and the totals."""
    models, treebanks, passes = estimate["models"], estimate["treebanks"], estimate["passes"]
    width = max(len(row["name"]) for row in [*treebanks, *models])
    for treebank in treebanks:
        read = f"{amount(treebank['sentences'], 'sentences')}, {amount(treebank['words'], 'words')}"
        yield f"{treebank['name']:<{width}}  {treebank['obstacle'] or read}"
    yield from (f"Left out: {reason}" for reason in grouped_reasons(estimate["left_out"]))
    yield ""
    for model in models:
        weights, memory, disk = size(model["weights"]), size(model["memory"]), size(model["disk"])
        needs = f"{weights} of weights, {memory} of memory, {disk} of counts on disk"
        yield f"{model['name']:<{width}}  {model['obstacle'] or needs}"
    yield ""
    size_of_grid = f"{amount(len(models), 'models')} × {amount(len(treebanks), 'treebanks')}"
    yield f"Cells: {estimate['cells']:,} ({size_of_grid})"
    of_a_cell = "one pass" if passes == 1 else f"{passes} passes ({passes - 1} with random weights)"
    kinds = len(estimate["maps"])
    sharing = f"; {kinds} kinds of maps share each pass" if kinds > 1 else ""
    yield f"Passes: {estimate['all_passes']:,}, {of_a_cell} for each cell{sharing}"
    yield f"Sentences to read: {estimate['sentences']:,}"
    if estimate["memory"]:
        yield from memory_lines(estimate["memory"], estimate["memory_of_worker"], estimate["processes"])
        yield f"Disk: about {size(estimate['disk'])} with --parts, for the counts of all cells"
    if estimate["failing"]:
        yield f"Cells that would fail: {estimate['failing']:,}"


def _treebanks(plan: SurveyPlan) -> Iterator[Sizes]:
    """Read each treebank, and yield its sizes, or what keeps it from being read."""
    with progress_bar("treebanks", len(plan.treebanks), unit="") as advance:
        for name, path in plan.treebanks.items():
            sizes: Sizes = {"name": name, "sentences": 0, "words": 0, "relations": 0, "obstacle": ""}
            try:
                corpus = read_treebank(plan.options, path)
                relations = inventory(corpus, plan.options.dependency.trees)
                words = sum(file.words for file in corpus.files)
                sizes |= {"sentences": len(corpus), "words": words, "relations": len(relations)}
            except Exception as error:
                sizes["obstacle"] = reason_of(error)
            yield sizes
            advance(1)


def _needs_of_models(plan: SurveyPlan, readable: Sequence[Sizes]) -> Iterator[Sizes]:
    """Let each model read a few sentences, and yield what it needs, or what keeps it from reading."""
    no_sizes = {"weights": 0, "memory": 0, "memory_of_worker": 0, "disk": 0}
    if not readable:
        obstacle = "not loaded, because no treebank can be read"
        yield from ({"name": name, **no_sizes, "obstacle": obstacle} for name in plan.models)
        return
    # Counts grow with the relations, so the models read the treebank with the most.
    largest = max(readable, key=lambda treebank: treebank["relations"])
    # What is in the folder of the parts already does not change what is needed.
    options = replace(plan.options, long_run=replace(plan.options.long_run, parts=None, part=None))
    only_largest = {largest["name"]: plan.treebanks[largest["name"]]}
    [(_, estimated)] = CellCounter(replace(plan, options=options, treebanks=only_largest), estimate_run).treebanks()
    for counted in estimated:  # one cell per model, because there is one treebank
        model = counted.cell.model
        if not counted.results:
            yield {"name": model, **no_sizes, "obstacle": counted.failures[0].reason}
            continue
        estimate = counted.results[0]
        part_bytes = estimate.disk_of_parts / estimate.parts  # of a part of the largest treebank
        disk = 0.0
        for treebank in readable:
            bytes_here = part_bytes * treebank["relations"] / max(1, largest["relations"])
            disk += bytes_here * len(estimate.passes) * number_of_parts(treebank["sentences"])
        sizes = {name: getattr(estimate, name) for name in ("weights", "memory", "memory_of_worker")}
        yield {"name": model, **sizes, "disk": round(disk), "obstacle": ""}
