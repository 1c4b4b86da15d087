"""The results of a survey, its questions, and what a page and a terminal show of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType

from ...reports.explorer.preview import findings_html
from ...reports.finding import Finding
from ...reports.page import Section
from ...reports.saved import Saved
from ...reports.table import as_line, findings_list
from ...reports.tables import records
from ...storage.characters import in_html
from ..questions import section_of
from .accuracy import Accuracy, MatrixMaker, accuracies_table
from .cells import Cells, fit_table
from .contrasts import Differences
from .rows import CONTRASTS, SurveyFacts, SurveyQuestion, grid_size, rows_table
from .seed_contrasts import SeedDifferences
from .seed_matches import SeedMatches
from .seeds import Seeds
from .training import SURVEY_TRAINING, Training
from .transfer import SURVEY_TRANSFER, SURVEY_TRANSFER_MEANS, Transfer, TransferRows
from .treebanks import Treebanks

QUESTIONS: tuple[SurveyQuestion, ...] = (
    Accuracy(),
    Treebanks(),
    Differences(),
    Transfer(),
    Training(),
    Seeds(),
    SeedMatches(),
    SeedDifferences(),
    Cells(),
)
"""The questions of a survey, in the order of the page."""

SCHEMAS = tuple(
    sorted((schema for question in QUESTIONS for schema in question.tables), key=lambda schema: schema.name != "survey")
)
"""The tables that a survey writes, the one of the best heads first."""


_FINDINGS_FIRST = ("training", SeedDifferences.name, Seeds.name, SeedMatches.name, CONTRASTS, Treebanks.name)
"""The questions whose findings come first."""

MOST_SHOWN = 5
"""The number of findings that a terminal shows."""

MOST_FINDINGS = 8
"""The number of findings at the top of the page."""


@dataclass(frozen=True, repr=False)
class Survey(SurveyFacts, Saved):
    """The results of a survey of models, treebanks and kinds of maps.

    Like `attentionology.Run`, it has ``tables``, ``figures``, ``report()`` and ``save(folder)``.

    Attributes:
        models: the names of the models in order.
        treebanks: the names of the treebanks in order.
        maps: the kinds of maps in order.
        results: what came out of each cell, treebank by treebank.
        relation: the relation that the terminal and the first figure show.
        min_count: relations with fewer words are grayed and not tested.
        left_out: treebanks that a pattern of names stands for and that cannot be read, each with the reason.
        collected: what questions have collected over the treebanks, by their names.

    Example:
        >>> from attentionology import CorpusOptions, CountOptions, survey
        >>> options = [CorpusOptions(limit=10), CountOptions(replicates=50, min_count=5)]
        >>> result = survey("demo", "sample", maps=["weight", "norm"], options=options)
        >>> result
        Survey(1 model × 1 treebank × 2 maps)
        >>> rows = result.table.query("relation == 'det'")
        >>> rows[["model", "treebank", "map", "layer", "head", "correct", "n"]].values.tolist()
        [['demo', 'sample', 'weight', 3, 9, 15, 17], ['demo', 'sample', 'norm', 5, 10, 14, 17]]
    """

    @cached_property
    def answers(self) -> dict[str, Any]:
        """The answers of the questions that the survey asks, by name."""
        answers: dict[str, Any] = {}
        for question in QUESTIONS:
            answer = question.find(self, self.collected.get(question.name), answers)
            if answer is not None:
                answers[question.name] = answer
        return answers

    @property
    def answered(self) -> list[tuple[SurveyQuestion, Any]]:
        """The questions that have an answer, each with its answer."""
        return [(question, self.answers[question.name]) for question in QUESTIONS if question.name in self.answers]

    @property
    def table(self) -> pd.DataFrame:
        """The best head of each relation in each cell."""
        return self.answers["accuracy"]  # type: ignore[no-any-return]

    @property
    def contrasts_table(self) -> pd.DataFrame:
        """All differences within treebanks, one row per relation and pair of sides."""
        return self.answers["contrasts"].within  # type: ignore[no-any-return]

    @property
    def means_table(self) -> pd.DataFrame:
        """The differences of means over treebanks, one row per relation and pair of sides."""
        return self.answers["contrasts"].means  # type: ignore[no-any-return]

    @property
    def cells_table(self) -> pd.DataFrame:
        """What was read in each cell."""
        return self.answers["cells"]  # type: ignore[no-any-return]

    @cached_property
    def transfer_table(self) -> pd.DataFrame:
        """The best heads of each treebank on every other one, see `attentionology.analyses.survey.transfer`."""
        return rows_table(self._losses.rows, SURVEY_TRANSFER)

    @cached_property
    def transfer_means_table(self) -> pd.DataFrame:
        """The rows of `transfer_table` as means over relations, and those as means over the treebanks that score."""
        return rows_table(self._losses.means, SURVEY_TRANSFER_MEANS)

    @property
    def _losses(self) -> TransferRows:
        return self.answers.get("transfer", TransferRows())  # type: ignore[no-any-return]

    @cached_property
    def training_table(self) -> pd.DataFrame:
        """The accuracies over the checkpoints of models, see `attentionology.analyses.survey.training`."""
        return self.answers.get("training", rows_table((), SURVEY_TRAINING))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Survey({grid_size(self.models, self.treebanks, self.maps)}{failed})"

    def _repr_html_(self) -> str:
        return f"<p>{in_html(repr(self))}</p>{findings_html(self.findings)}<p>Tables: <code>tables</code>.</p>"

    @property
    def findings(self) -> list[Finding]:
        """What was found, as the page and the terminal say it: when heads learn, and in what cells differ."""
        order = {name: rank for rank, name in enumerate(_FINDINGS_FIRST)}
        answered = sorted(self.answered, key=lambda asked: order.get(asked[0].name, len(order)))
        of_questions = [question.findings(answer, self) for question, answer in answered]
        in_turn = (finding for findings in zip_longest(*of_questions) for finding in findings if finding is not None)
        return list(in_turn)[:MOST_FINDINGS]


def survey_section(survey: Survey, out: Path | None = None) -> Section:
    """Make the tables, the figures and the section of the page, which may be in a folder."""
    survey = replace(survey, out=out)
    summary: Mapping[str, Any] = {"survey": records(survey.table)}
    title = f"Survey of {grid_size(survey.models, survey.treebanks, survey.maps)}"
    return replace(section_of(survey.answered, survey, title, "", summary=summary), findings=survey.findings)


def in_terminal(survey: Survey, width: int) -> RenderableType:
    """Return the warnings, the matrix of one relation, with models and maps as rows, and what a reader has to know."""
    lines = [f"Survey of {grid_size(survey.models, survey.treebanks, survey.maps)}."]
    if survey.left_out_heads:
        roots = sum(left_out["roots"] for left_out in survey.left_out_heads)
        empty_nodes = sum(left_out["empty_nodes"] for left_out in survey.left_out_heads)
        lines.append(
            "The gold are the enhanced dependencies; left out in all cells together: "
            f"{roots:,} heads that are the root, {empty_nodes:,} that are empty nodes."
        )
    for question, answer in survey.answered:
        lines += question.say(answer, survey)
    for result, failure in survey.failures:
        kind = f" ({failure.kind})" if failure.kind else ""
        lines.append(f"Failed: {result.cell.model} on {result.cell.treebank}{kind}: {failure.reason}")
    matrix, fit = accuracies_table(MatrixMaker(survey), survey.relation), fit_table(survey)
    tables = [matrix, fit] if fit.rows else [matrix]
    first: list[RenderableType] = [as_line(f"Warning: {warning}") for warning in survey.warnings]
    if survey.findings:
        first += [findings_list(survey.findings[:MOST_SHOWN]), ""]
    return Group(*first, *(part for table in tables for part in (table.terminal(width), "")), *map(as_line, lines))
