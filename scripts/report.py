"""``attentionology report``: the report of a finished run once more, from its stored counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..analyses.contract import OptionError
from ..analyses.shared.input_options import OutputOptions
from ..analyses.shared.numbers import OptionalMinCount
from ..analyses.shared.option_types import Rare


@dataclass(frozen=True)
class ReportOutputOptions(OutputOptions):
    """Options of the results."""

    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """The folder to write to. By default, the files of the run are replaced."""


@dataclass(frozen=True)
class Report:
    """Make the report of a finished run or survey again, without the model and the corpus.

    All tables, figures and the page are made from what the run has stored in its folder states. Unless an option says
    otherwise, the files are the same as before, byte for byte. The command is useful after an update of attentionology,
    and for changing the options below, none of which requires reading the text again.
    """

    run_folder: Annotated[Positional[Path], arg(name="run", metavar="RUN")]
    """The folder of the run."""

    min_count: OptionalMinCount = None
    """Gray out relations and types with fewer than N decisions, and leave them out of figures. By default, as in the
    run."""

    rare: Rare = False
    output: ReportOutputOptions = field(default_factory=ReportOutputOptions)

    def run(self, command: str = "") -> int:
        """Write the report and return the exit status."""
        from ..engine.stored_run import report_run
        from ..engine.survey import report_survey
        from ..engine.surveying.stored import is_survey
        from ..reports.table import rare_rows
        from .running import print_run, tables_of
        from .survey import print_survey

        output = self.output
        if is_survey(self.run_folder):
            if self.min_count is not None:
                raise OptionError(
                    "--min-count has no effect on a survey: it decides what is tested together; run the survey again"
                )
            survey = report_survey(self.run_folder, output.out, overwrite=output.overwrite)
            print_survey(survey, output.out or self.run_folder, as_json=output.json)
            return 0
        run = report_run(self.run_folder, output.out, overwrite=output.overwrite, min_count=self.min_count)
        with run.showing_names(), rare_rows(shown=self.rare):
            print_run(run, output.out or self.run_folder, tables_of(run), as_json=output.json)
        return 0
