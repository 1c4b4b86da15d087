"""``attentionology merge``: the counts of several runs added up."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..analyses.shared.input_options import OutputOptions
from ..analyses.shared.option_types import Rare


@dataclass(frozen=True)
class Merge:
    """Add up the counts of runs over different texts, and report on all texts together.

    The runs must have the same model, the same analyses and the same options, and must have read different sentences.
    The result is that of one run over all files, but means of real numbers, such as entropies, may differ in their last
    digits, because they depend on the batches. Sentences of different files should have different ids, because the
    bootstrap always samples sentences with the same id together.
    """

    run_folders: Annotated[Positional[tuple[Path, ...]], arg(name="run", metavar="RUN RUN [RUN ...]")]
    """The folders of the runs."""

    rare: Rare = False
    output: OutputOptions = field(default_factory=OutputOptions)

    def run(self, command: str = "") -> int:
        """Merge the runs and return the exit status."""
        from ..engine.merge import merge_runs
        from ..reports.table import rare_rows
        from .running import print_run, tables_of

        out = self.output.out or Path("runs/merged")
        run = merge_runs(self.run_folders, out, overwrite=self.output.overwrite)
        with rare_rows(shown=self.rare):
            print_run(run, out, tables_of(run), as_json=self.output.json)
        return 0
