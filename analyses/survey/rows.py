"""What the questions of a survey share: its cells, what was found in them, and the entries of its matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, ClassVar, Literal, NamedTuple
from urllib.parse import quote

import pandas as pd
from matplotlib.axes import Axes

from ...corpora_loaders import coarse_relation
from ...corpora_loaders.describing import amount
from ...corpora_loaders.releases import grouped_reasons
from ...reports.columns import Row, Schema, TableColumn
from ...reports.format import head_name, rows_of
from ...reports.run_folder import address_of
from ...storage.short_names import distinguishing
from ..comparison.results import Contrast
from ..dependency.accuracy import TOTALS, RowChoice
from ..questions import Question
from ..shared.measures import address
from .collecting import Collector
from .seed_groups import seed_groups

About = Literal["maps", "models"]
"""Whether a contrast is between kinds of maps of one model, or between models with one kind of map."""


DARK = 0.6
"""The share of the color map from which on the text of an entry is white."""

CONTRASTS = "contrasts"
"""The name of the question that compares cells, whose differences also stand in the matrices of accuracies."""

MEAN = "mean"
"""The column of differences of means over treebanks."""


_MOST_NAMED = 3
"""The number of cells that a warning names."""


_WHOLE = ("count", "number from 1", "number, words")
"""The types of columns of whole numbers, which may be missing."""


_TEXTS = ("revision", "treebank", "map", "direction", "relation")
"""Columns of texts that may be missing."""


@dataclass(frozen=True)
class Cell:
    """One model on one treebank. All kinds of maps belong to one cell, because they are made in the same pass."""

    model: str  # the names in tables
    treebank: str


@dataclass(frozen=True)
class CellFailure:
    """The reason why a cell, or one kind of maps in it, has no numbers."""

    kind: str  # empty if all kinds of the cell failed for the same reason
    reason: str


@dataclass(frozen=True, eq=False)
class CellResult:
    """What came out of a cell."""

    cell: Cell
    # The best heads for each kind of map that could be counted, with the columns of the control if there is one.
    best: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    failures: tuple[CellFailure, ...] = ()  # why other kinds, or all of them, could not be counted
    record: Mapping[str, Any] | None = None  # the run record; None if the whole cell failed
    seconds: float = 0.0  # the time that the cell took in this run, which is short if its parts had been counted before
    reports: Mapping[str, Path] = field(default_factory=dict)  # the page of each kind of map, if it was written


@dataclass(frozen=True, eq=False)
class SurveyContrast:
    """The differences between two sides on one treebank, or between their means over treebanks."""

    about: About  # what the sides differ in
    # the differences, first side minus other side. Its statistics have no deviations, to save memory. The mean of a
    # side gives each treebank the same weight.
    contrast: Contrast
    treebank: str = ""  # the name of the treebank; empty for means
    # for means, the number of treebanks with enough words of a relation on both sides, by the relation
    treebanks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SurveyContrasts:
    """The differences of a survey, which are shown in tables of their own and in the matrices of accuracies."""

    within: tuple[SurveyContrast, ...] = ()  # treebanks
    means: tuple[SurveyContrast, ...] = ()  # over treebanks


@dataclass(frozen=True, repr=False)
class SurveyFacts:
    """Everything that the questions of a survey are answered from; see `attentionology.analyses.Survey`.

    Attributes:
        collected: what questions have collected over the treebanks, by their names.
        seeds: patterns of the names of models that differ only by their seeds, see `seed_groups`.
        out: the folder of the page, from which heads lead to the reports of cells; None if they lead nowhere.
    """

    models: tuple[str, ...]
    treebanks: tuple[str, ...]
    maps: tuple[str, ...]
    results: tuple[CellResult, ...]
    relation: str
    min_count: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    collected: Mapping[str, Any] = field(default_factory=dict)
    seeds: Mapping[str, str] = field(default_factory=dict)
    out: Path | None = None

    @property
    def contrasts(self) -> tuple[SurveyContrast, ...]:
        """The differences between kinds of maps and between models, within each treebank."""
        return self._differences.within

    @property
    def means(self) -> tuple[SurveyContrast, ...]:
        """The differences of means over treebanks."""
        return self._differences.means

    @property
    def _differences(self) -> SurveyContrasts:
        return self.collected.get(CONTRASTS, SurveyContrasts())  # type: ignore[no-any-return]

    def best_row(self, model: str, treebank: str, kind: str, relation: str) -> dict[str, Any] | None:
        """Return the row of the best head of a relation in a cell; None if it was not counted."""
        for result in self.results:
            if (result.cell.model, result.cell.treebank) == (model, treebank) and kind in result.best:
                best = result.best[kind]
                return next(iter(rows_of(best[best["relation"] == relation])), None)
        return None

    @property
    def seed_groups(self) -> dict[str, dict[str, str]]:
        """The models that differ only by their seeds, by the group and the seed."""
        return seed_groups(self.models, self.seeds)

    @property
    def short_models(self) -> dict[str, str]:
        """The names of the models without what is alike, see `distinguishing`."""
        return distinguishing(self.models)

    @property
    def short_treebanks(self) -> dict[str, str]:
        """The short names of the treebanks."""
        return distinguishing(self.treebanks)

    @property
    def failures(self) -> list[tuple[CellResult, CellFailure]]:
        """The cells, or kinds of maps in them, that could not be counted."""
        return [(result, failure) for result in self.results for failure in result.failures]

    @property
    def left_out_heads(self) -> list[dict[str, Any]]:
        """For each cell with enhanced dependencies, how many of their heads were left out."""
        counted = [result for result in self.results if result.record and "dependency" in result.record]
        return [{**vars(result.cell), **(result.record or {})["dependency"]["left_out"]} for result in counted]

    @property
    def warnings(self) -> list[str]:
        """How many cells failed, what was left out, and each warning once, behind the names of the first few cells."""
        cells_by_warning: dict[str, list[str]] = {}
        for result in self.results:
            for warning in result.record["warnings"] if result.record else ():
                cells_by_warning.setdefault(warning, []).append(f"{result.cell.model} on {result.cell.treebank}")
        warnings = []
        n_failed = len({result.cell for result, _ in self.failures})
        if n_failed:
            warnings.append(
                f"{n_failed} of {amount(len(self.results), 'cells')} failed, completely or partly; see below."
            )
        warnings += [f"Left out: {reason}." for reason in grouped_reasons(self.left_out)]
        for warning, cells in cells_by_warning.items():
            more = f" and {len(cells) - _MOST_NAMED} more" if len(cells) > _MOST_NAMED else ""
            warnings.append(f"{', '.join(cells[:_MOST_NAMED])}{more}: {warning}")
        return warnings

    @cached_property
    def _pages(self) -> dict[tuple[Cell, str], Path]:
        """The pages of the reports of cells, by the cell and the kind of map."""
        return {(result.cell, kind): page for result in self.results for kind, page in result.reports.items()}

    def view(self, cell: Cell, kind: str, row: Row) -> str:
        """Return the address of the head of a row in the report of a cell; empty if there is no report."""
        page = self._pages.get((cell, kind))
        if page is None or self.out is None:
            return ""
        head = head_name(row["layer"], row["head"])
        view = address(head=head, relation=row["relation"], direction=row["direction"], kind=kind)
        return f"{address_of(page, self.out)}{view}"


def view_of_relation(relation: str) -> str:
    """Return the address of the matrices of a relation, with the accuracies and the differences of all treebanks."""
    return f"#relation-{quote(relation, safe='')}"


class SurveyQuestion(Question[None, None, SurveyFacts, Any]):
    """A question of a survey. It requests nothing, because each cell is a run of its own.

    What `find` gets as looked up is what its collector has collected.

    Attributes:
        collection: the type of what its collector has collected, a class of plain data.
    """

    collection: ClassVar[type[Any] | None] = None

    def collector(self, facts: SurveyFacts) -> Collector[Any, Any] | None:
        """Return what collects over a survey that has no results yet; None if this survey has nothing to collect."""
        return None

    def say(self, answer: Any, survey: SurveyFacts) -> Sequence[str]:
        """Return what a terminal says about the answer."""
        return ()


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


def entry_column(key: str, heading: str, *, shaded: bool = False) -> TableColumn:
    """Return the column of the entries that rows have under a key."""
    return TableColumn(
        "",
        "entry",
        "",
        heading,
        cell=lambda row: row[key].text,
        beside=lambda row: row[key].details,
        beside_in="any",
        look=lambda row: row[key].look,
        shade=(lambda row: row[key].shade) if shaded else None,
        link=lambda row: row[key].address,
        wraps=True,
    )


def averaged_relations(groups: Mapping[str, list[int]], asked: RowChoice) -> dict[str, list[int]]:
    """Return the relations that are part of means: no totals, no groups of relations, and no root."""
    together = {*TOTALS, *(name for name, _ in asked.unions)}
    single = {name: rows for name, rows in groups.items() if name not in together}
    return {name: rows for name, rows in single.items() if coarse_relation(name).lower() != "root"}


def rows_table(rows: Sequence[Mapping[str, Any]], schema: Schema) -> pd.DataFrame:
    """Return rows as a table with the columns of a schema."""
    return join_tables([pd.DataFrame(rows)] if rows else [], schema)


def of_cell(result: CellResult, kind: str, status: str = "ok", reason: str = "") -> dict[str, Any]:
    """Return the columns that say which cell and kind of map a row is about, and whether it failed."""
    revision = result.record["model"]["revision"] if result.record else None
    return {
        "model": result.cell.model,
        "revision": revision or "",
        "treebank": result.cell.treebank,
        "map": kind,
        "status": status,
        "reason": reason,
    }


def failed_rows(result: CellResult) -> list[dict[str, Any]]:
    """Return a row for each failure of a cell."""
    return [of_cell(result, failure.kind, "failed", failure.reason) for failure in result.failures]


def join_tables(frames: Sequence[pd.DataFrame], schema: Schema) -> pd.DataFrame:
    """Join frames, give the result the columns of a schema, and let missing whole numbers be empty."""
    names = schema.names
    kinds = {name: "Int64" for column in schema.columns if column.type in _WHOLE for name in column.names.split()}
    whole = [frame.reindex(columns=names).astype(kinds) for frame in frames]
    if not whole:
        return pd.DataFrame(columns=names).astype(kinds)
    table = pd.concat(whole, ignore_index=True) if len(whole) > 1 else whole[0]
    return table.assign(**{column: table[column].astype(object).fillna("") for column in _TEXTS if column in table})


def grid_size(models: Sequence[str], treebanks: Sequence[str], maps: Sequence[str]) -> str:
    """Return the size of a grid in words, such as ``2 models × 1 treebank × 1 map``."""
    counts = (("models", models), ("treebanks", treebanks), ("maps", maps))
    return " × ".join(amount(len(names), nouns) for nouns, names in counts)


def write_entry(axes: Axes, x: int, y: int, text: str, *, is_dark: bool) -> None:
    """Write the text of a cell in the middle of it, so that it stands out against its color."""
    axes.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if is_dark else "black")


def name_treebanks(axes: Axes, survey: SurveyFacts) -> None:
    """Name the columns of a heatmap by the treebanks."""
    names = list(survey.short_treebanks.values())
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
    axes.tick_params(length=0)
