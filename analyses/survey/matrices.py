"""The matrices of a survey: for one relation, models and maps as rows, treebanks as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ...reports.format import ARROWS, head_name, interval, percent
from ..comparison.results import Contrast
from ..dependency.tables import TOTALS
from .contrasts import MeanContrast, TreebankContrast
from .results import Survey

NAN = float("nan")


@dataclass(frozen=True)
class Entry:
    """One entry of a matrix, as a reader sees it.

    Attributes:
        value: the held-out accuracy or the difference, a share from 0 to 1; NaN if there is none.
        text: the value in percent, or a word that says why there is none.
        details: the best head, the number of words and the accuracy of the best fixed offset, or the interval of a
            difference.
        weak: whether there are too few words, or a difference is not tested.
        strong: whether a difference is significant.
    """

    value: float
    text: str
    details: str = ""
    weak: bool = False
    strong: bool = False

    @property
    def shade(self) -> float:
        """How dark the background of an accuracy is, from 0 to 0.55."""
        return 0.0 if self.weak or self.value != self.value else round(0.55 * self.value, 3)

    @property
    def look(self) -> str:
        """What sets the entry apart from others: ``weak``, ``strong``, or nothing."""
        return "weak" if self.weak else "strong" if self.strong else ""


@dataclass(frozen=True)
class Row:
    """One row of a matrix.

    Attributes:
        model: the short name of the model, or what is compared.
        kind: the kind of map; empty in rows of differences.
        entries: one entry for each treebank, and for differences one more for the mean.
    """

    model: str
    kind: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Matrices:
    """What the page shows for one relation.

    Attributes:
        relation: the relation.
        accuracies: one row for each model and kind of map.
        differences: one row for each contrast that has the relation.
    """

    relation: str
    accuracies: tuple[Row, ...]
    differences: tuple[Row, ...]


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return the last part of each path or name, or the whole name if several have the same last part.

    Example:
        >>> short_names(["google-bert/bert-base-uncased", "runs/model"])
        {'google-bert/bert-base-uncased': 'bert-base-uncased', 'runs/model': 'model'}
    """
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
        for best in list(result.best.values())[:1]:
            for relation, total in zip(best["relation"], best["total"], strict=True):
                words[relation] += int(total)
                treebanks.setdefault(relation, set()).add(result.cell.treebank)
    order = {name: index for index, name in enumerate(TOTALS)}
    return sorted(words, key=lambda name: (order.get(name, len(order)), -len(treebanks[name]), -words[name], name))


class MatrixMaker:
    """Looks up the entries of a survey by relation.

    Args:
        survey: the survey.
    """

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.models = short_names(survey.models)
        self._entries: dict[tuple[str, str, str, str], Entry] = {}
        self._failed: dict[tuple[str, str, str], str] = {}
        for result in survey.results:
            cell = result.cell
            for failure in result.failures:
                self._failed[cell.model, failure.kind, cell.treebank] = failure.reason
            for kind, best in result.best.items():
                for row in best.to_dict("records"):
                    entry = _accuracy({str(name): value for name, value in row.items()}, survey.min_count)
                    self._entries[cell.model, kind, cell.treebank, str(row["relation"])] = entry
        self._differences = _differences_by_relation(survey.contrasts, survey.means, self.models)

    def of(self, relation: str) -> Matrices:
        """Return the matrices of a relation."""
        survey = self.survey
        accuracies = tuple(
            Row(
                self.models[model],
                kind,
                tuple(self._entry(model, kind, treebank, relation) for treebank in survey.treebanks),
            )
            for model in survey.models
            for kind in survey.maps
        )
        rows = []
        for name, by_treebank in self._differences.get(relation, {}).items():
            columns = (*survey.treebanks, None)
            rows.append(Row(name, "", tuple(by_treebank.get(column, Entry(NAN, "")) for column in columns)))
        return Matrices(relation, accuracies, tuple(rows))

    def _entry(self, model: str, kind: str, treebank: str, relation: str) -> Entry:
        entry = self._entries.get((model, kind, treebank, relation))
        if entry is not None:
            return entry
        failed = (model, kind, treebank) in self._failed or (model, "", treebank) in self._failed
        return Entry(NAN, "failed" if failed else "–")


def _accuracy(row: Mapping[str, object], min_count: int) -> Entry:
    value, n = float(str(row["heldout_accuracy"])), int(str(row["total"]))
    head = head_name(int(str(row["layer"])), int(str(row["head"]))) if row["correct"] else ""
    chosen = f"{head} {ARROWS[str(row['direction'])]}, " if head else ""
    weak = n < min_count
    number = f"(n = {n:,})" if weak else f"n = {n:,}"
    details = f"{chosen}{number}, offset {percent(float(str(row['offset_accuracy'])))}"
    return Entry(value, percent(value), details, weak=weak)


def _differences_by_relation(
    contrasts: Sequence[TreebankContrast], means: Sequence[MeanContrast], names: Mapping[str, str]
) -> dict[str, dict[str, dict[str | None, Entry]]]:
    """Return the entries of differences by relation, name of the contrast, and treebank (None for the mean)."""
    entries: dict[str, dict[str, dict[str | None, Entry]]] = {}
    pairs = [(one.contrast, one.treebank) for one in contrasts] + [(one.contrast, None) for one in means]
    for contrast, treebank in pairs:
        name = pair_name(contrast, names)
        for row in contrast.differences:
            entry = Entry(
                row.difference,
                percent(row.difference, sign=True),
                interval(row.low, row.high),
                weak=not row.tested,
                strong=row.significant,
            )
            entries.setdefault(row.group, {}).setdefault(name, {})[treebank] = entry
    return entries
