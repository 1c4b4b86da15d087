"""The matrices of a survey: for one relation, models and maps as rows, treebanks as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from ...reports.columns import Row
from ...reports.format import ARROWS, head_name, interval, percent, rows_of
from ...reports.run_folder import address_of
from ..comparison.results import Contrast
from ..dependency.accuracy import TOTALS
from ..shared.explored import address
from .results import Survey
from .tables import Cell

MEAN = "mean"
"""The column of differences of means over treebanks."""


class Entry(NamedTuple):
    """One entry of a matrix, as a reader sees it."""

    value: float = float("nan")  # the held-out accuracy or the difference, from −1 to 1; NaN if there is none
    text: str = ""  # the value in percent, or a word that says why there is none
    details: str = ""  # the best head, n and the accuracy of the offset, or the interval of a difference
    weak: bool = False  # whether there are too few words, or a difference is not tested
    strong: bool = False  # whether a difference is significant
    address: str = ""  # the view of the best head in the report of the cell; empty if there is none

    @property
    def shade(self) -> float:
        """How dark the background of an accuracy is, from 0 to 0.55."""
        return 0.0 if self.weak or self.value != self.value else round(0.55 * self.value, 3)  # NaN has no shade

    @property
    def look(self) -> str:
        """What sets the entry apart from others: ``weak``, ``strong``, or nothing."""
        return "weak" if self.weak else "strong" if self.strong else ""


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return the last part of each path or name, or the whole name if several have the same last part."""
    last = {name: PurePath(name).name or name for name in names}
    times = Counter(last.values())
    return {name: short if times[short] == 1 else name for name, short in last.items()}


def pair_name(contrast: Contrast, models: Mapping[str, str]) -> str:
    """Return the name of a pair of kinds of maps, or of models, for example ``norm − weight (bert-base-uncased)``."""
    first, second = contrast.first, contrast.second
    if first.run == second.run:
        return f"{first.map} − {second.map} ({models[first.run]})"
    return f"{models[first.run]} − {models[second.run]} ({first.map})"


def relations_of(survey: Survey) -> list[str]:
    """Return all relations: first the totals, then the others by the number of treebanks and of words."""
    words: Counter[str] = Counter()
    treebanks: dict[str, set[str]] = {}
    for result in survey.results:
        if result.best:
            best = next(iter(result.best.values()))  # all kinds of maps have the same words
            for relation, total in zip(best["relation"], best["total"], strict=True):
                words[relation] += int(total)
                treebanks.setdefault(relation, set()).add(result.cell.treebank)
    others = sorted(words.keys() - set(TOTALS), key=lambda name: (-len(treebanks[name]), -words[name], name))
    return [*(name for name in TOTALS if name in words), *others]


class MatrixMaker:
    """Looks up the matrices of a survey by relation. Rows have an `Entry` for each treebank, by its name."""

    def __init__(self, survey: Survey, folder: Path | None = None) -> None:
        # The pages of the folder link heads to the reports of the cells.
        self.survey, self._folder = survey, folder
        self._pages = {(result.cell, kind): page for result in survey.results for kind, page in result.reports.items()}
        self._models = short_names(survey.models)
        self._accuracies: dict[tuple[str, str, str, str], Entry] = {}  # by model, kind of map, treebank and relation
        self._failed: set[tuple[str, str, str]] = set()  # model, kind of map, and treebank
        for result in survey.results:
            cell = result.cell
            self._failed |= {(cell.model, failure.kind, cell.treebank) for failure in result.failures}
            for kind, best in result.best.items():
                for row in rows_of(best):
                    entry = _accuracy_entry(row, survey.min_count, self.view(cell, kind, row) if row["correct"] else "")
                    self._accuracies[cell.model, kind, cell.treebank, row["relation"]] = entry
        # By relation, by the name of the pair of models or maps, and by treebank.
        self._differences: dict[str, dict[str, dict[str, Entry]]] = {}
        for survey_contrast in (*survey.contrasts, *survey.means):
            name = pair_name(survey_contrast.contrast, self._models)
            for difference in survey_contrast.contrast.differences:
                by_treebank = self._differences.setdefault(difference.group, {}).setdefault(name, {})
                by_treebank[survey_contrast.treebank or MEAN] = Entry(
                    difference.difference,
                    percent(difference.difference, sign=True),
                    interval(difference.low, difference.high),
                    weak=not difference.tested,
                    strong=difference.significant,
                )

    def view(self, cell: Cell, kind: str, row: Row) -> str:
        """Return the address of the head of a row in the report of a cell; empty if there is no report."""
        page = self._pages.get((cell, kind))
        if page is None or self._folder is None:
            return ""
        head = head_name(row["layer"], row["head"])
        view = address(head=head, relation=row["relation"], direction=row["direction"], kind=kind)
        return f"{address_of(page, self._folder)}{view}"

    def accuracies(self, relation: str) -> list[Row]:
        """Return the held-out accuracies of a relation, one row for each model and kind of map."""
        rows: list[Row] = []
        for model in self.survey.models:
            for kind in self.survey.maps:
                entries = {name: self._accuracy(model, kind, name, relation) for name in self.survey.treebanks}
                rows.append({"model": self._models[model], "map": kind, **entries})
        return rows

    def _accuracy(self, model: str, kind: str, treebank: str, relation: str) -> Entry:
        """Return an accuracy, or whether it failed. A whole cell that failed has no kind."""
        failed = (model, kind, treebank) in self._failed or (model, "", treebank) in self._failed
        missing = Entry(text="failed" if failed else "–")
        return self._accuracies.get((model, kind, treebank, relation), missing)

    def differences(self, relation: str) -> list[Row]:
        """Return the differences of a relation, one row for each contrast that has it, also for means."""
        empty = dict.fromkeys((*self.survey.treebanks, MEAN), Entry())
        by_name = self._differences.get(relation, {})
        return [{"difference": name, **empty, **entries} for name, entries in by_name.items()]


def _accuracy_entry(row: Mapping[str, Any], min_count: int, address: str) -> Entry:
    """Return the held-out accuracy of a row of the table of best heads, whose head has this address."""
    head = f"{head_name(row['layer'], row['head'])} {ARROWS[row['direction']]}, " if row["correct"] else ""
    is_rare = row["total"] < min_count
    n = f"(n = {row['total']:,})" if is_rare else f"n = {row['total']:,}"
    details = f"{head}{n}, offset {percent(row['offset_accuracy'])}"
    return Entry(row["heldout_accuracy"], percent(row["heldout_accuracy"]), details, weak=is_rare, address=address)
