"""What a command prints when it has finished."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analyses.shared.record import closing_lines
from ..reports.streams import delivered, say_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..engine.estimate import RunEstimate
    from ..engine.run import Part as AnalysisPart
    from ..engine.run import Run
    from ..engine.surveying.dry_run import SurveyEstimate

Part = tuple[Mapping[str, Any], "Callable[[int], RenderableType]"]
"""A part of the results: its tables for JSON, by name, and a function of the width that makes what a terminal shows."""


def print_run(run: Run, out: Path, *, as_json: bool) -> None:
    """Print the results of a run as tables, with what was read and the path of the results folder, or as JSON."""
    from ..analyses.comparison.section import comparison_tables

    kinds = {part.kind for part in run.parts if part.kind is not None}
    shown = [part.show if len(kinds) < 2 else functools.partial(_with_kind, part) for part in run.parts]
    if run.contrasts is not None:
        shown.append(functools.partial(comparison_tables, run.contrasts))
    parts = [(section.summary, show) for section, show in zip(run.sections, shown, strict=True)]
    print_results(dict(run.record), parts, out, as_json=as_json)


def _with_kind(part: AnalysisPart, width: int) -> RenderableType:
    """What the terminal shows of a part, below the name of its kind of map."""
    from rich.console import Group
    from rich.text import Text

    return part.show(width) if part.kind is None else Group(Text(f"map “{part.kind}”", "bold"), part.show(width))


def print_results(run: dict[str, Any], parts: Sequence[Part], out: Path, *, as_json: bool) -> None:
    """Print the results as tables, with what was read and the path of the results folder, or as JSON."""
    from ..reports.json_text import to_json

    if as_json:
        tables = {name: table for summary, _ in parts for name, table in summary.items()}
        say_json(to_json({"out": str(out), "run": run, **tables}))
        return
    print_tables([show for _, show in parts], closing_lines(run, out))


def print_estimate(estimate: RunEstimate | SurveyEstimate, *, as_json: bool) -> None:
    """Print what a dry run found out, as lines of text or as JSON."""
    from ..reports.json_text import to_json

    if as_json:
        say_json(to_json(estimate.described()))
    else:
        print_tables([], list(estimate.lines()))


def print_tables(shown: Sequence[Callable[[int], RenderableType]], lines: Sequence[str]) -> None:
    """Print what functions of the width of the terminal return, and then some lines."""
    from ..reports.console import Terminal
    from ..reports.terminal import WIDE

    terminal = Terminal(None if sys.stdout.isatty() else WIDE)
    with delivered():
        for index, show in enumerate(shown):
            terminal.print(*([""] if index else []), show(terminal.width), sep="\n")
        terminal.print("\n".join(lines), soft_wrap=True, markup=False)
