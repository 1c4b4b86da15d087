"""The pages of tables and records: what they name is written, and what is written is named."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest

from attentionology.analyses.surface.statistics import STATISTICS
from docs import generate
from tests import documentation
from tests.every_table import Written, everything_written
from tests.renew import HINT, RENEW, renew_headers
from tests.shown_tables import HEADERS, assert_order

PAGE = "docs/reference/tables.md"
RECORD = "docs/reference/run-json.md"
STANDS_FOR = {
    "STATISTIC": STATISTICS,
    "LAYER-HEAD": [f"{layer}-{head}" for layer in (1, 2, 3) for head in (1, 2, 3, 4)],
}
"""The placeholders in names of columns. A tiny model has three layers of four heads."""

NOT_WRITTEN = {
    ("explain_texts", "null_space"),
    *(("explain_texts", name) for name in ("two_word_jsd", "two_word_gap", "farthest_jsd", "exact")),
    ("probe", "paper_uas"),
    ("dependency", "reach"),
    ("surface", "learned_sink"),
    ("dependency_best", "reach"),
    *((f"norms_{table}", "published") for table in ("mixing", "frequency", "expansion")),
}
"""Columns that only transformers, classifiers with a query or of more than two classes, causal models or learned sinks
have, and numbers of papers about other models."""


def described() -> dict[str, set[str]]:
    """The columns that the page describes, by the name of the table."""
    page = generate.fill_marks((documentation.REPOSITORY / PAGE).read_text(encoding="utf-8"))
    tables: dict[str, set[str]] = {}
    for section in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
        heading, _, body = re.split(r"^## ", section, flags=re.MULTILINE)[0].partition("\n")
        columns = [name for row in re.findall(r"^\| (`.*?) \|", body, re.MULTILINE) for name in names(row)]
        assert len(columns) == len(set(columns)), heading
        tables |= {name: set(columns) for name in re.findall(r"`(\w+)\.csv`", heading)}
    return tables


def names(cell: str) -> list[str]:
    """The columns of a row, with what its placeholders stand for."""
    return [
        column.replace(placeholder, value)
        for column in re.findall(r"`([^`]+)`", cell)
        for placeholder, values in ({key: STANDS_FOR[key] for key in STANDS_FOR if key in column} or {"": [""]}).items()
        for value in values
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory, figures_are_outlines) -> Written:
    return everything_written(tmp_path_factory.mktemp("written"))


@pytest.mark.slow
def test_the_page_describes_all_tables_and_columns(written):
    page = described()
    assert set(page) == set(written.columns)
    for table, columns in written.columns.items():
        expected = page[table] - {name for name in page[table] if (table, name) in NOT_WRITTEN}
        assert expected == {*columns} - ({"map"} - page[table]), table


@pytest.mark.slow
def test_columns_stand_in_their_order(written):
    """In every table as CSV, and in LaTeX, whose columns are those of the page."""
    if RENEW:
        renew_headers(written.headers)
        return
    for file, header in written.headers:
        assert_order(file, header)
    assert {file for file, _ in written.headers} == set(HEADERS), HINT


def keys(value: Any, name: str = "") -> Iterator[str]:
    """The keys of a record, with dots; those of lists end in brackets."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from keys(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for inner in value or [""]:
            yield from keys(inner, f"{name}[]")
    else:
        yield name


def pattern(name: str) -> re.Pattern[str]:
    """What the name of a key on the page stands for: a list of objects is named without their keys."""
    return re.compile(re.escape(name).replace(r"\*", ".+") + (".*" if name.endswith("[]") else r"(\[\].*)?"))


@pytest.mark.slow
def test_the_page_describes_the_records(written):
    page = (documentation.REPOSITORY / RECORD).read_text(encoding="utf-8").partition("## `summary.json`")[0]
    named = [name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)]
    assert len(named) == len(set(named))
    found = {key for record in written.records for key in keys(record)}
    patterns = {name: pattern(name) for name in [*named, *OF_CLASSIFIERS]}
    assert [key for key in sorted(found) if not any(each.fullmatch(key) for each in patterns.values())] == []
    assert [name for name, each in patterns.items() if not any(map(each.fullmatch, found))] == NEVER_HERE
    for summary, record in zip(written.summaries, written.records, strict=True):
        assert summary["run"].items() <= record.items()
        assert record.keys() - summary["run"].keys() <= {"files"}


@pytest.mark.slow
def test_every_table_is_latex(written, tmp_path):
    """The tables have no character that pdflatex does not know, and a paper with all of them compiles."""
    assert len(written.latex) > 20
    for path in written.latex:
        text = path.read_text(encoding="utf-8").partition("\n")[2]  # the first line is a comment
        unknown = {each for each in text if ord(each) > 127 and not unicodedata.name(each).startswith("LATIN")}
        assert not unknown, path
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    inputs = "\n\n".join(rf"\input{{{path}}}" for path in written.latex)
    paper = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{inputs}\end{{document}}"
    (tmp_path / "paper.tex").write_text(paper)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000


OF_CLASSIFIERS = ("model.config.*", "model.vocabulary", "model.classes[]")
"""Keys that the page names in a sentence."""

NEVER_HERE = ["extensions[]", "corpus.files[].origin.*", "corpus.files[].source.*", "left_out.*"]
"""What these runs have no reason to record."""
