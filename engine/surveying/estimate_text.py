"""What ``survey --dry-run`` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...storage.durable import size
from ..forecast_text import OF_LIBRARIES
from ..memory import available_memory
from .dry_run import ModelEstimate, SurveyEstimate


def estimate_facts(estimate: SurveyEstimate) -> dict[str, Any]:
    """Return the estimate for JSON, with the totals."""
    totals = ("cells", "all_passes", "sentences", "memory", "memory_of_worker", "disk")
    return {**asdict(estimate), **{name: getattr(estimate, name) for name in totals}}


def estimate_lines(estimate: SurveyEstimate) -> list[str]:
    """Return the lines of the estimate: one for each treebank and each model, and the totals."""
    names = [*(treebank.name for treebank in estimate.treebanks), *(model.name for model in estimate.models)]
    width = max(map(len, names))
    lines = [
        f"{treebank.name:<{width}}  "
        + (treebank.obstacle or f"{treebank.sentences:,} sentences, {treebank.words:,} words")
        for treebank in estimate.treebanks
    ]
    lines += ["", *(f"{model.name:<{width}}  {model.obstacle or _needs(model)}" for model in estimate.models)]
    copies = estimate.passes - 1
    each = "one pass" if not copies else f"{estimate.passes} passes ({copies} with random weights)"
    available = available_memory()
    known = "" if available is None else f"; {size(available)} are available here"
    lines += [
        "",
        f"Cells: {estimate.cells:,} ({len(estimate.models):,} models × {len(estimate.treebanks):,} treebanks)",
        f"Passes: {estimate.all_passes:,}, {each} for each cell; {len(estimate.maps)} kinds of maps share each pass",
        f"Sentences to read: {estimate.sentences:,}",
    ]
    if any(model.memory for model in estimate.models):
        lines.append(f"Memory: about {size(estimate.memory)}, {OF_LIBRARIES}{known}")
        if estimate.processes > 1:
            workers = f"each of {estimate.processes:,} workers"
            lines.append(f"Memory of {workers}: about {size(estimate.memory_of_worker)}, {OF_LIBRARIES}")
        lines.append(f"Disk: about {size(estimate.disk)} with --parts, for the counts of all cells")
    failing = estimate.cells - estimate.countable_cells
    return [*lines, f"Cells that would fail: {failing:,}"] if failing else lines


def _needs(model: ModelEstimate) -> str:
    """Return what the dry run says of a model that can be used."""
    if not model.memory:
        return "not loaded, because no treebank can be read"
    return f"{size(model.weights)} of weights, {size(model.memory)} of memory, {size(model.disk)} of counts on disk"
