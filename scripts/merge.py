"""``attentionology merge``: the counts of several runs added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg


@dataclass(frozen=True)
class Merge:
    """Add up the counts of runs over different texts, and report on all texts together.

    The runs must have the same model, the same analyses and the same options, and must have read different files. The
    result is the same as that of one run over all files: counts add up exactly. Sentences of different files should
    have different ids, because sentences with the same id are drawn together by the bootstrap.
    """

    run_folders: Annotated[Positional[tuple[Path, ...]], arg(name="run", metavar="RUN RUN [RUN ...]")]
    """The folders of the runs."""

    out: Annotated[Path, arg(metavar="FOLDER")] = Path("runs/merged")
    """The results folder."""

    overwrite: bool = False
    """Replace the results folder of an earlier run."""

    json: bool = False
    """Print the summary as JSON instead of a table."""

    def run(self, arguments: Sequence[str] = ()) -> int:
        """Merge the runs and return the exit status."""
        from attentionology.engine.merging import merge
        from attentionology.scripts.closing import print_run

        run = merge(self.run_folders, self.out, overwrite=self.overwrite)
        print_run(run, self.out, as_json=self.json)
        return 0
