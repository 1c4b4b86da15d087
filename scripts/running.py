"""What the commands do that count a corpus: a dry run, one share of the parts, or the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..analyses.shared.input_options import OutputOptions
    from ..engine.job import Job
    from ..engine.part_options import PartOptions


def run_job(
    job: Job,
    default: Path,
    output: OutputOptions,
    long_run: PartOptions,
    *,
    dry_run: bool,
    arguments: Sequence[str],
) -> bool:
    """Do what the options ask for, print it, and return whether there is a results folder."""
    from ..analyses.shared.record import command_line
    from ..engine.estimate import estimate_run
    from ..engine.execution import count_share, execute
    from ..reports.run_folder import RunFolder
    from ..reports.streams import say
    from .closing import print_estimate, print_run

    out = output.out or default
    if dry_run:
        if long_run.share is None:
            RunFolder(out, overwrite=output.overwrite, reads=job.paths_read())  # checks it
        print_estimate(estimate_run(job, long_run), as_json=output.json)
        return False
    if long_run.share is not None:
        say(count_share(job, long_run).described(long_run.parts))
        return False
    shown = {"overwrite": output.overwrite, "json": output.json, **long_run.described()}
    run = execute(
        job,
        part_options=long_run,
        out=out,
        overwrite=output.overwrite,
        command=command_line(arguments),
        shown_options=shown,
    )
    print_run(run, out, as_json=output.json)
    return True
