"""Tables as CSV hold exactly what is in them."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
from rich.console import Console

from attentionology.reports.columns import TableColumn
from attentionology.reports.table import ShownTable
from attentionology.reports.tables import write_csv


@pytest.mark.parametrize(
    "cell",
    ["=1+1", "+1", "-1", "@SUM(A1)", "'=1", "\t=1", "a\rb", "a\r\nb", "a\nb", '"', 'a,"b"', " a ", "é雪", "\x1b[31m"],
    ids=ascii,
)
def test_cells_come_back_as_they_were(tmp_path, cell):
    """Cells like formulas too: nothing is put before them for the sake of spreadsheets."""
    write_csv(pd.DataFrame({"relation": [cell, "nsubj"], "n": [1, 2]}), tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["relation", "n"], [cell, "1"], ["nsubj", "2"]]
    assert list(pd.read_csv(tmp_path / "t.csv")["relation"]) == [cell, "nsubj"]


def test_only_what_needs_them_has_quotes(tmp_path):
    write_csv(pd.DataFrame({"relation": ["=1", "a,b"], "n": [0.5, 2]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == b'relation,n\n=1,0.5\n"a,b",2.0\n'


def test_headings_take_several_lines_before_one_of_them_is_cut():
    columns = [TableColumn(f"c{i}", "text", "", f"heading {i}") for i in range(6)]
    table = ShownTable("t", "T", columns, [{f"c{i}": "cell" for i in range(6)}], wide=40)

    def printed(width):
        text = io.StringIO()
        Console(width=width, file=text).print(table.terminal(width))
        return text.getvalue()

    assert "heading 5" in printed(80)
    assert printed(70).count("heading") == 6
    assert "heading 5" not in printed(70)
