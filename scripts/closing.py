"""What a command prints at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.shared.record import closing_lines
from attentionology.scripts.streams import delivered, say_json

if TYPE_CHECKING:
    from rich.console import RenderableType

Part = tuple[Mapping[str, Any], "Callable[[int], RenderableType]"]
"""One part of the results: tables for JSON by name, and what to show in a terminal of some width."""


def print_results(run: dict[str, Any], parts: Sequence[Part], out: Path, *, as_json: bool) -> None:
    """Print results as tables with what was read and where they are, or as JSON.

    Args:
        run: the run record.
        parts: of the results.
        out: the results folder.
        as_json: print JSON.
    """
    from attentionology.reports.json_text import to_json
    from attentionology.reports.terminal import WIDE
    from attentionology.scripts.terminal import Terminal

    if as_json:
        found = {name: table for summary, _ in parts for name, table in summary.items()}
        say_json(to_json({"out": str(out), "run": run, **found}))
        return
    terminal = Terminal(None if sys.stdout.isatty() else WIDE)
    with delivered():
        for place, (_, show) in enumerate(parts):
            terminal.print(*([""] if place else []), show(terminal.width), sep="\n")
        terminal.print("\n".join(closing_lines(run, out)), soft_wrap=True, markup=False)
