"""``attentionology grid``: one command for all combinations of some options."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..analyses.contract import OptionError


@dataclass(frozen=True)
class GridCommand:
    """Run a command for every combination of some options, with one table of all runs.

    The tables of papers are grids: data sets × encoders × seeds. Each combination is a run of its own in a folder below
    cells, which report, compare and merge read. A cell that is there is not run again, so the same command line
    continues a grid that was interrupted; a cell that fails is named, and the others are run. grid.csv has a row for
    each cell with its most important numbers: for explain the accuracy, the means of all measures and the verdicts, for
    align the lowest error rates, for probe the attachment scores, and for analyze the held-out accuracies of the best
    heads. index.html has the tables, and leads to the pages of the cells.
    """

    command: Annotated[Positional[str], arg(metavar="COMMAND")]
    """The command to run: analyze, align, probe or explain."""

    vary: Annotated[tuple[str, ...], arg(metavar="NAME=VALUES [NAME=VALUES ...]")] = ()
    """The options that vary, each with its values: encoder=lstm,cnn seed=0,1,2. A value with several parts, such as
    several files, has a plus sign between them: data=a.txt+b.txt,c.txt."""

    arguments: Annotated[str | None, arg(metavar="OPTIONS")] = None
    """The options that all cells have, in quotes behind an equals sign: --arguments="--data texts.txt --epochs 3"."""

    over: Annotated[str | None, arg(metavar="NAME")] = None
    """Also write means and standard deviations over the values of this varied option, for example over seed, or over
    model for models that were trained with several seeds."""

    out: Annotated[Path, arg(metavar="FOLDER")] = Path("runs/grid")
    """The folder for the cells and the tables. The cells in it that have the same command line are kept."""

    commands: bool = False
    """Check the options of all cells and print their command lines. Nothing is run."""

    json: bool = False
    """Print the table of the cells as JSON."""

    def run(self, command: str = "") -> int:
        """Run the cells, print the table, and return the exit status."""
        from ..engine.grid import DONE, Grid, check_cells, in_short, run_grid, shown_grid, spread, write_tables
        from ..engine.grid_page import grid_findings, write_page
        from ..reports.streams import say, say_json
        from ..reports.table import Terminal, findings_list
        from ..reports.tables import records, to_json
        from .cli import Checkable, check_command, run_words

        try:
            arguments = tuple(shlex.split(self.arguments or ""))
        except ValueError as error:  # a quotation mark is left open, or a backslash is at the end
            raise OptionError(f"--arguments {self.arguments!r} is no part of a command line: {error}") from None
        grid = Grid(self.command, self._values_by_option(), arguments, self.out)
        if self.over is not None and self.over not in grid.varied:
            raise OptionError(
                f"--over {self.over}: this option does not vary; those that do are {', '.join(grid.varied)}"
            )
        # All options are checked before the first cell is run, because the last one may come hours later.
        command_lines = [grid.words_of(cell) for cell in grid.cells()]
        commands = []
        for words in command_lines:
            try:
                commands.append(check_command(words))
            except SystemExit as stop:  # the message of the parser is printed already
                raise OptionError(f"a cell of this grid has no valid options: {shlex.join(words)}") from stop
        check_cells(grid, [command.check_first for command in commands if isinstance(command, Checkable)])
        if self.commands:
            for words in command_lines:
                say(shlex.join(["attentionology", *words]))
            return 0
        table = run_grid(grid, run_words)
        means = None if self.over is None else spread(table, list(grid.varied), self.over)
        shown = in_short(table, grid)
        shown_means = None if self.over is None else spread(shown, list(grid.varied), self.over)
        tables = shown_grid(shown, list(grid.varied), shown_means, self.over or "")
        write_tables(self.out, tables, means, self.over or "")
        findings = grid_findings(shown, list(grid.varied), shown_means, self.over or "")
        page = write_page(grid, shown, tables, findings, command)
        if self.json:
            say_json(to_json({"cells": records(table), "over": [] if means is None else records(means)}))
        else:
            console = Terminal(None)
            if findings:
                console.print(findings_list(findings), "")
            for each in tables:
                console.print(each.terminal(console.width))
            say(f"Page: {page}")
            say(f"Tables: {self.out}")
        return 0 if (table["status"] == DONE).all() else 3

    def _values_by_option(self) -> dict[str, tuple[str, ...]]:
        """Return the values of the varied options."""
        if not self.vary:
            raise OptionError("--vary NAME=VALUE,VALUE is missing: the options that vary, with their values")
        varied: dict[str, tuple[str, ...]] = {}
        for argument in self.vary:
            name, equals, value_list = argument.partition("=")
            name = name.removeprefix("--").replace("_", "-")
            values = tuple(filter(None, value_list.split(",")))
            if not equals or not name or not values:
                raise OptionError(f"--vary takes NAME=VALUE,VALUE, not {argument!r}")
            if name in varied:
                raise OptionError(f"--vary {name} is given twice")
            varied[name] = values
        return varied
