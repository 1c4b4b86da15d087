"""``attentionology compare``: the differences between finished runs, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..analyses.contract import OptionError
from ..analyses.shared.input_options import OutputOptions
from ..analyses.shared.numbers import MinCount
from ..analyses.shared.options import CountOptions


@dataclass(frozen=True)
class Compare:
    """Compare finished runs: the difference of each statistic, with its interval and an adjusted p value.

    Give the results folders of two or more runs of analyze, align, probe or explain, for example of two models or of
    two kinds of maps. Every difference is the value of the first run minus that of another run. If the runs read the
    same corpus, the intervals are paired.
    """

    run_folders: Annotated[Positional[tuple[Path, ...]], arg(name="run", metavar="RUN RUN [RUN ...]")]
    """The folders of the runs."""

    names: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ()
    """The names of the runs in tables and figures. By default, they are named after what distinguishes them: the
    model, the kind of map or the corpus."""

    min_count: MinCount = CountOptions.min_count
    """Relations and types of mentions with fewer than N decisions in either run are listed, but not tested. P values
    are adjusted for the number of tests."""

    relations: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ()
    """Of the syntactic relations, compare only these, and adjust p values for their number. By default, compare all. To
    show that they were chosen before the results were known, give them to analyze."""

    output: OutputOptions = field(default_factory=OutputOptions)

    def run(self, command: str = "") -> int:
        """Compare the runs and return the exit status."""
        if len(self.run_folders) < 2:
            raise OptionError("compare needs the folders of at least two runs")
        from ..analyses.comparison.section import comparison_tables
        from ..analyses.shared.record import flat_options
        from ..engine.compare import compare_folders
        from .running import print_report

        output, out = self.output, self.output.out or Path("runs/comparison")
        options = {name: value for name, value in flat_options(self).items() if name != "run_folders"}
        comparison, section = compare_folders(
            self.run_folders,
            out,
            names=self.names,
            min_count=self.min_count,
            relations=self.relations,
            overwrite=output.overwrite,
            command=command,
            shown_options={**options, "runs": [str(folder) for folder in self.run_folders]},
        )
        shown = partial(comparison_tables, comparison, findings=section.findings)
        print_report(shown, section.summary, out, as_json=output.json)
        return 0
