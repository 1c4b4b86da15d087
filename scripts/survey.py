"""``attentionology survey``: many models on many treebanks, each cell as a run of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..analyses.shared.input_options import OutputOptions
from ..analyses.shared.option_types import DryRun
from ..engine.surveying.options import SurveyOptions
from ..reports.streams import say

if TYPE_CHECKING:
    from ..analyses.survey.results import Survey

SOME_FAILED = 3
"""The exit status if some cells could not be counted. The results of the others are written."""


@dataclass(frozen=True)
class SurveyCommand(SurveyOptions):
    """Find the best heads of many models on many treebanks, and compare models and kinds of maps.

    A cell of the survey is one model on one treebank. It has the same numbers as a run of analyze --analyses
    dependency, and the model reads the treebank once for all kinds of maps. A cell that cannot be counted becomes a row
    with the reason; all other cells are counted, and the exit status is 3.
    """

    dry_run: DryRun = False
    output: OutputOptions = field(default_factory=OutputOptions)

    def run(self, command: str = "") -> int:
        """Run the survey and return the exit status."""
        from ..engine.execution import count_share
        from ..engine.survey import execute_survey
        from ..engine.surveying.cells import CellCounter, share_lines
        from ..engine.surveying.dry_run import estimate_survey, survey_lines
        from ..engine.surveying.plan import check_survey, plan_survey
        from .running import print_results

        # Wrong options are found before the plan downloads treebanks.
        check_survey(self)
        if self.dry_run:
            estimate = estimate_survey(plan_survey(self))
            print_results(estimate, [], survey_lines(estimate), as_json=self.output.json)
            return 0
        if self.long_run.part is not None:
            plan = plan_survey(self)
            cells = []
            for _, cells_of_treebank in CellCounter(plan, count_share).treebanks():
                cells += cells_of_treebank
            say(*share_lines(cells, plan))
            return SOME_FAILED if any(cell.failures for cell in cells) else 0
        out = self.output.out or Path("runs/survey")
        survey = execute_survey(self, out=out, overwrite=self.output.overwrite, command=command)
        print_survey(survey, out, as_json=self.output.json)
        return SOME_FAILED if survey.failures else 0


def print_survey(survey: Survey, out: Path, *, as_json: bool) -> None:
    """Print the tables of a survey and the path of its folder, or its results as JSON."""
    from ..analyses.survey.results import in_terminal
    from ..reports.tables import records
    from .running import print_report

    tables = {"survey": records(survey.table), "survey_contrasts": records(survey.contrasts_table)}
    summary = {"warnings": survey.warnings, **tables}
    print_report(partial(in_terminal, survey), summary, out, as_json=as_json)
