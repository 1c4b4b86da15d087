"""What several commands do: run a job or count a share of it, and print results as tables or as JSON.

Commands import this module when they run, because it imports the engine.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..analyses.comparison.section import comparison_tables
from ..analyses.shared.input_options import OutputOptions
from ..analyses.shared.part_options import PartOptions
from ..analyses.shared.record import closing_lines, fit_warnings
from ..engine.counting.job import Job
from ..engine.estimate import estimate_run
from ..engine.execution import check_written, count_share, execute
from ..engine.results.part import Part
from ..engine.results.run import Run
from ..reports.finding import Finding
from ..reports.run_folder import RunFolder
from ..reports.streams import WIDE, deliver, say, say_json
from ..reports.table import Terminal, as_line, findings_list
from ..reports.tables import to_json
from ..storage.characters import one_line

Show = Callable[[int], RenderableType]
"""A function of the width of the terminal that makes what it shows."""


def run_job(
    job: Job, default: Path, output: OutputOptions, long_run: PartOptions, *, dry_run: bool, command: str
) -> bool:
    """Do what the options ask for, print it, and return whether there is a results folder."""
    out = output.out or default
    if dry_run:
        if long_run.share is None:
            RunFolder(out, overwrite=output.overwrite, reads=job.paths_read())  # checks it
            check_written(job, out, overwrite=output.overwrite)
        estimate = estimate_run(job, long_run)
        print_results(asdict(estimate), [], estimate.lines(), as_json=output.json)
        return False
    if long_run.share is not None:
        say(*count_share(job, long_run).lines(long_run.parts))
        return False
    printed = False

    def show(run: Run) -> None:
        """Print the tables, before the figures are drawn."""
        nonlocal printed
        if not output.json:
            with suppress(Exception):  # they are printed again at the end, so errors come when the results are written
                print_results({}, [*warnings_first(run), *tables_of(run)], (), as_json=False)
                printed = True

    counting = functools.partial(execute, part_options=long_run, show=show)
    run = run_of(counting, job, default, output, command, **long_run.described())
    print_run(run, out, () if printed else [*warnings_first(run), *tables_of(run)], as_json=output.json)
    return True


def run_command(
    execute: Callable[..., Run], options: object, default: Path, output: OutputOptions, command: str
) -> None:
    """Run what options ask for with ``execute``, and print the results."""
    run = run_of(execute, options, default, output, command)
    print_run(run, output.out or default, tables_of(run), as_json=output.json)


def run_of(
    execute: Callable[..., Run], options: object, default: Path, output: OutputOptions, command: str, **shown: Any
) -> Run:
    """Run what options ask for with ``execute``, whose record shows the options of the output and some others."""
    shown_options = {"overwrite": output.overwrite, "json": output.json, **shown}
    out = output.out or default
    return execute(options, out=out, overwrite=output.overwrite, command=command, shown_options=shown_options)


def print_run(run: Run, out: Path, tables: Sequence[Show], *, as_json: bool) -> None:
    """Print some tables of a run, what was read and the path of the results folder, or all results as JSON."""
    summary = {name: table for section in run.sections for name, table in section.summary.items()}
    value = {"out": str(out), "run": dict(run.record), **summary}
    print_results(value, tables, closing_lines(dict(run.record), out), as_json=as_json)


def warnings_first(run: Run) -> list[Show]:
    """Return the warnings that stand above all tables: those about a text whose words go to pieces."""
    fits = [part.log.fit for part in run.parts[:1]]
    return [functools.partial(_bold, f"Warning: {warning}") for fit in fits for warning in fit_warnings(fit)]


def _bold(text: str, width: int) -> RenderableType:
    """Return a text in bold, which the terminal wraps at its width."""
    return Text(text, "bold")


def tables_of(run: Run) -> list[Show]:
    """Return what was found, the tables of each analysis and kind of map, and those that compare the kinds."""
    kinds = {part.kind for part in run.parts if part.kind is not None}
    shown: list[Show] = [functools.partial(_findings, run.findings)] if run.findings else []
    shown += [part.show if len(kinds) < 2 else functools.partial(_with_kind, part) for part in run.parts]
    if run.contrasts is not None:
        shown.append(functools.partial(comparison_tables, run.contrasts))
    return shown


def _findings(findings: Sequence[Finding], width: int) -> RenderableType:
    """Return what was found, which the terminal wraps at its width."""
    return findings_list(findings)


def _with_kind(part: Part, width: int) -> RenderableType:
    """Return what the terminal shows of a part, below the name of its kind of map."""
    return part.show(width) if part.kind is None else Group(as_line(f"map “{part.kind}”", "bold"), part.show(width))


def print_report(show: Show, summary: Mapping[str, Any], out: Path, *, as_json: bool) -> None:
    """Print results that are not those of one run as tables, with the path of the results folder, or as JSON."""
    lines = ["", f"Report: {out / 'report.html'}", f"Tables: {out / 'tables'}"]
    print_results({"out": str(out), **summary}, [show], lines, as_json=as_json)


def print_results(value: Mapping[str, Any], shown: Sequence[Show], lines: Iterable[str], *, as_json: bool) -> None:
    """Print a value as JSON, or what functions of the width of the terminal return, and then some lines."""
    if as_json:
        say_json(to_json(value))
        return
    # A file or a pipe has no width. With a fixed one, its content does not depend on the window.
    terminal = Terminal(None if sys.stdout.isatty() else WIDE)
    with deliver():
        for index, show in enumerate(shown):
            if index:
                terminal.print()
            terminal.print(show(terminal.width))
        if closing := "\n".join(map(one_line, lines)):
            terminal.print(closing, soft_wrap=True, markup=False)
