"""What ``survey --dry-run`` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from attentionology.engine.surveying.dry_run import SurveyEstimate


def estimate_facts(estimate: SurveyEstimate) -> dict[str, Any]:
    """Return the estimate for JSON, with the totals."""
    totals = {"cells": estimate.cells, "all_passes": estimate.all_passes, "sentences": estimate.sentences}
    return {**asdict(estimate), **totals}


def estimate_lines(estimate: SurveyEstimate) -> list[str]:
    """Return the lines of the estimate: one for each treebank, and the totals."""
    width = max(len(treebank.name) for treebank in estimate.treebanks)
    lines = [
        f"{treebank.name:<{width}}  "
        + (treebank.obstacle or f"{treebank.sentences:,} sentences, {treebank.words:,} words")
        for treebank in estimate.treebanks
    ]
    copies = estimate.passes - 1
    each = "one pass" if not copies else f"{estimate.passes} passes ({copies} with random weights)"
    lines += [
        "",
        f"Cells: {estimate.cells:,} ({len(estimate.models):,} models × {len(estimate.treebanks):,} treebanks)",
        f"Passes: {estimate.all_passes:,}, {each} for each cell; {len(estimate.maps)} kinds of maps share each pass",
        f"Sentences to read: {estimate.sentences:,}",
    ]
    unreadable = estimate.cells - estimate.readable_cells
    return [*lines, f"Cells that would fail: {unreadable:,}"] if unreadable else lines
