"""``attentionology survey``: many models on many treebanks, each cell as a run of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from ..analyses.contract import OptionSet
from ..analyses.dependency.options import DependencyOptions
from ..analyses.shared.input_options import LimitOptions, OutputOptions
from ..analyses.shared.option_types import DryRun
from ..analyses.shared.options import ControlOptions, CountOptions, FeedForwardOptions
from ..engine.surveying.options import CellOptions, GridOptions, LongSurveyOptions, SurveyOptions
from ..reports.streams import say_json

if TYPE_CHECKING:
    from ..analyses.survey.results import Survey

SOME_FAILED = 3
"""The exit status if some cells could not be counted. The results of the others are written."""


@dataclass(frozen=True)
class SurveyCommand:
    """Find the best heads of many models on many treebanks, and compare models and kinds of maps.

    A cell of the survey is one model on one treebank. It has the same numbers as a run of analyze --analyses
    dependency, and the model reads the treebank once for all kinds of maps. A cell that cannot be counted becomes a row
    with the reason; all other cells are counted, and the exit status is 3.
    """

    grid: GridOptions = field(default_factory=GridOptions)
    cells: CellOptions = field(default_factory=CellOptions)
    dependency: DependencyOptions = field(default_factory=DependencyOptions)
    control: ControlOptions = field(default_factory=ControlOptions)
    count: CountOptions = field(default_factory=CountOptions)
    feed_forward: FeedForwardOptions = field(default_factory=FeedForwardOptions)
    limits: LimitOptions = field(default_factory=LimitOptions)

    seed: Annotated[int, arg(metavar="N")] = 0
    """The seed of everything random: the bootstrap, the halves of the treebanks, and the weights of the control."""

    long_survey: LongSurveyOptions = field(default_factory=LongSurveyOptions)

    dry_run: DryRun = False

    output: OutputOptions = field(default_factory=OutputOptions)

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Run the survey and return the exit status."""
        from ..analyses.shared.record import command_line, flat_options
        from ..engine.survey import execute_survey

        options = SurveyOptions(
            self.grid,
            self.cells,
            OptionSet([self.dependency, self.control, self.count, self.feed_forward]),
            self.limits,
            self.seed,
        )
        if self.dry_run:
            return self._print_estimate(options)
        if self.long_survey.part is not None:
            return self._count_share(options)
        out = self.output.out or Path("runs/survey")
        shown = {name: str(value) if isinstance(value, Path) else value for name, value in flat_options(self).items()}
        results = execute_survey(
            options,
            self.long_survey.part_options(),
            out=out,
            overwrite=self.output.overwrite,
            command=command_line(arguments),
            shown_options={**shown, "out": str(out)},
        )
        self._print(results, out)
        return SOME_FAILED if results.failures else 0

    def _print_estimate(self, options: SurveyOptions) -> int:
        from ..engine.surveying.dry_run import estimate_survey
        from .closing import print_estimate

        options.check()
        options.check_maps()
        self.long_survey.check()
        estimate = estimate_survey(options, self.long_survey.part_options())
        print_estimate(estimate, as_json=self.output.json)
        return 0

    def _count_share(self, options: SurveyOptions) -> int:
        """Count one share of all cells, say what was counted, and return the exit status."""
        from ..engine.surveying.shares import count_grid_share, share_lines
        from ..reports.streams import say

        options.check()
        options.check_maps()
        part_options = self.long_survey.part_options()
        shares = count_grid_share(options, part_options)
        say("\n".join(share_lines(shares, part_options)))
        return SOME_FAILED if any(share.reason for share in shares) else 0

    def _print(self, results: Survey, out: Path) -> None:
        from ..analyses.survey.shown_tables import in_terminal
        from ..reports.json_text import records, to_json
        from .closing import print_tables

        if self.output.json:
            tables = {"survey": records(results.table), "survey_contrasts": records(results.contrasts_table)}
            say_json(to_json({"out": str(out), "warnings": results.warnings, **tables}))
        else:
            lines = ["", f"Report: {out / 'report.html'}", f"Tables: {out / 'tables'}"]
            print_tables([partial(in_terminal, results)], lines)
