"""Renews what the tests compare tables, figures and pages with: ``make shown``, then look at ``git diff``.

The quick tests, which draw most figures, are run with the variable RENEW, and so are those that compare all columns,
the blocks of pages, and what stored runs show. Then they record what they see instead of comparing it. Marks of figures
that are no longer drawn stay in their list, because some are drawn by slow tests alone.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.documentation import REPOSITORY

COLUMNS = "tests/acceptance/test_tables_page.py::test_columns_stand_in_their_order"
TESTS = (
    ["-m", "not slow", "--tb=no", "tests/unit", "tests/reference"],
    ["--tb=short", "tests/acceptance/test_approved.py"],
    ["-m", "slow", "--tb=short", "tests/acceptance/test_demo_numbers.py", COLUMNS],
)
HINT = "If this is meant: make shown"
RENEW = os.environ.get("RENEW", "")
"""The folder for new marks of figures while everything is renewed; otherwise empty."""

HEADERS = REPOSITORY / "tests" / "headers.csv"
MARKS = REPOSITORY / "tests" / "marks.csv"
OF_FEW = {"reach", "published", "learned_sink", "paper_uas", "paper_head_5_4"}
"""Columns that only causal models, learned sinks and the models of papers have, which are not run."""

LEFT_OUT = re.compile(r"(\(.*\)|…)?")
"""Lines of blocks that say what is left out."""


def rows_of(path: Path) -> list[list[str]]:
    """Read a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.reader(file)]


def write_rows(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    """Write a CSV file whose rows are sorted."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(sorted(rows))


def merge_columns(present: Sequence[str], found: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns of several files of one name in an order that fits all, and else is the present one."""
    names = {name for header in found for name in header} | OF_FEW
    wanted = [name for name in present if name in names]
    for header in found:
        for before, name in zip(["", *header], header, strict=False):
            if name not in wanted:
                wanted.insert(wanted.index(before) + 1 if before else 0, name)
    order: list[str] = []
    while rest := [name for name in wanted if name not in order]:
        before_it = {name: {each for row in found if name in row for each in row[: row.index(name)]} for name in rest}
        order.append(next(name for name in rest if before_it[name] <= {*order}))
    return order


def renew_headers(headers: Iterable[tuple[str, list[str]]]) -> None:
    """Renew the list of the columns of all files."""
    present, found = {name: columns for name, *columns in rows_of(HEADERS)}, dict[str, list[list[str]]]()
    for name, header in headers:
        found.setdefault(name, []).append(header)
    write_rows(HEADERS, [(name, *merge_columns(present.get(name, []), each)) for name, each in found.items()])


def renew_block(page: str, block: str, printed: list[str]) -> None:
    """Replace the lines of a block by those with the same beginnings that a command prints, in their order."""
    rest, path = iter(printed), REPOSITORY / page
    lines = [
        line if LEFT_OUT.fullmatch(line.strip()) else next((new for new in rest if _begins(new) == _begins(line)), None)
        for line in block.splitlines()
    ]
    if None in lines:
        pytest.fail("\n".join([f"{page} must be renewed by hand, because other lines are printed:", *printed]))
    new = "".join(f"{line}\n" for line in lines)
    path.write_text(path.read_text(encoding="utf-8").replace(block, new), encoding="utf-8")


def _begins(line: str) -> str:
    """Return the first cell of a row of a table, the first character of its frame, or other words without numbers."""
    if line[:1] == "│":
        return line.split("│")[1].strip()
    return line[0] if line[:1] in [*"┏┃┡└"] else re.sub(r"\d[\d.,]*", "#", line)


def main() -> None:
    """Run the tests and renew everything. The arguments are those of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        for tests in TESTS:
            command = [sys.executable, "-m", "pytest", "--quiet", *tests, *sys.argv[1:]]
            if subprocess.run(command, cwd=REPOSITORY, env={**os.environ, "RENEW": folder}, check=False).returncode > 1:
                sys.exit("the tests did not end")
        write_rows(MARKS, {tuple(row) for path in (MARKS, *Path(folder).glob("*.csv")) for row in rows_of(path)})


if __name__ == "__main__":
    main()
