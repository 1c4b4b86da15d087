"""Tables as CSV hold exactly what is in them; the explorer shows the columns that say so."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pandas as pd
import pytest
from rich.console import Console

from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.shared.measures import head_measures
from attentionology.engine.results.explorer import MOST_FINDINGS, _findings, _for_all_heads
from attentionology.reports.columns import Explored, Schema, TableColumn, bar, bounds
from attentionology.reports.explorer.data import Measure
from attentionology.reports.finding import Finding
from attentionology.reports.table import ShownTable
from attentionology.reports.tables import write_csv
from tests.dependency import explored_dependency, made_results
from tests.maps import RELATIONS, batch_of, random_corpus
from tests.shown_tables import in_terminal, on_page, read_terminal


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
    wide, narrow = (read_terminal(table.terminal(width), width) for width in (80, 70))
    assert "heading 5" in wide
    assert narrow.count("heading") == 6
    assert "heading 5" not in narrow


def test_names_are_neither_markup_of_a_terminal_nor_of_a_page():
    name = "[/x] [red]<b>{{ 1 }}"
    table = ShownTable("t", "T", [TableColumn("relation", "text", "", "relation")], [{"relation": name}])
    assert in_terminal(table, 200) == on_page(table) == [{"relation": name}]


def test_the_explorer_shows_columns_of_heads():
    shown = Explored("Errors", "{column}, {kind}", counted="total", low_is_best=True)
    errors = TableColumn("error low high", "share", "the share of errors of {kind}", explored=shown)
    plain = TableColumn("size", "number", "the size", explored=Explored("Sizes", "size", note="How large.", center=0))
    heads = pd.DataFrame(
        {
            "layer": [1, 0, 0],
            "head": [0, 1, 0],
            "error": [0.3, 0.2, 0.1],
            "low": [0.25, 0.15, 0.05],
            "high": [0.35, 0.25, 0.123456],
            "size": [3.0, float("nan"), 1.0],
            "total": [9, 9, 9],
        }
    )
    hidden = TableColumn("total", "count", "their number")
    schema = Schema("heads", "A head.", (errors, plain, hidden, TableColumn("", "", "", "empty")))
    error, size = head_measures(schema, heads, "test/{}".format, {"kind": "{norms}"}, kind="norm")
    assert (error.id, error.group, error.label, error.kind) == ("test/error", "Errors", "error, {norms}", "norm")
    assert (vars(error)["values"], error.unit, error.n, error.low_is_best) == ((0.1, 0.2, 0.3), "%", 9, True)
    assert (error.low, error.high) == ((0.05, 0.15, 0.25), (0.1235, 0.25, 0.35))
    assert (error.note, size.note) == ("The share of errors of {norms}.", "How large.")
    assert (vars(size)["values"], size.unit, size.n, size.low, size.center) == ((1.0, None, 3.0), "", None, None, 0)
    (only,) = head_measures(schema, heads.drop(columns="error"), str)
    assert only.id == "size"
    unbounded = head_measures(schema, heads.assign(low=float("nan")), str, {"kind": ""})
    assert next(unbounded).low is None


def test_intervals_are_of_the_replicates_that_draw_the_relation():
    sentences, maps = random_corpus(0, sentences=2)
    metric = DependencyAccuracy(RELATIONS, 2, 3, replicates=50)
    metric.update(batch_of(sentences, maps))
    _, replicates = metric.split_counts()
    assert (replicates.total == 0).any()  # some replicates draw neither sentence
    tables = metric.compute()
    measures = explored_dependency(made_results(tables.cells, tables.best, min_count=1), metric, "weight").measures
    assert all(None not in (measure.low or (None,)) for measure in measures)


def test_maps_that_all_heads_share_are_said_to_be_so_where_they_are_repeated():
    shared = Measure("m", "g", "l", None, "", (0.1, 0.2), (0.05, None), (0.3, 0.4), note="The share.")
    repeated = _for_all_heads(shared, 2, 3)
    assert (vars(repeated)["values"], repeated.low) == ((0.1,) * 3 + (0.2,) * 3, (0.05,) * 3 + (None,) * 3)
    assert repeated.high == (0.3,) * 3 + (0.4,) * 3
    assert repeated.note == "The share. All heads of a layer share one map."
    assert _for_all_heads(shared, 2, 1) == shared
    assert _for_all_heads(Measure("m", "g", "l", None, "", (0.1, 0.2)), 2, 2).low is None


def test_each_analysis_gives_its_first_findings_before_any_gives_its_others():
    """They are listed by analysis, those that are left out are its last ones, and equal ones are told apart."""
    many, one, few = (
        [Finding(name * number, "#") for number in range(1, n + 1)] for name, n in zip("abc", (11, 1, 3), strict=True)
    )
    assert [finding.text for finding in _findings([many, one, few], MOST_FINDINGS)] == [
        "a",
        "aa",
        "aaa",
        "aaaa",
        "aaaaa",
        "aaaaaa",
        "b",
        "c",
        "cc",
        "ccc",
    ]
    assert _findings([many], MOST_FINDINGS) == tuple(many[:MOST_FINDINGS])
    equal = [Finding("a", "#"), Finding("a", "#")]
    assert len(_findings([equal, many], MOST_FINDINGS)) == MOST_FINDINGS


@pytest.mark.parametrize("width", [40, 100])
def test_a_terminal_shows_all_notes_below_the_table(width):
    columns = [TableColumn("word", "text", "", "word")]
    lines = read_terminal(
        ShownTable("t", "Title", columns, [{"word": "the"}], notes=("A.", "B.", "C.")).terminal(width), width
    )
    assert [line.strip() for line in lines.splitlines()][-3:] == ["A.", "B.", "C."]
    assert lines.startswith("Title")


def test_brackets_are_explained_only_where_there_are_some():
    rows = [{"rate": 0.5, "rate_low": low, "rate_high": 0.75} for low in (0.75, 0.25)]
    columns = [TableColumn("rate rate_low rate_high", "share", "", "rate", beside=bounds("rate"))]
    explained = "A note. In square brackets: 95 % intervals"
    for number, width, is_there in ((1, 150, False), (2, 150, True), (2, 50, False)):
        shown = ShownTable("t", "Title", columns, rows[:number], notes=("A note.",))
        assert (explained in read_terminal(shown.terminal(width), width)) == is_there
    for number, is_there in ((1, False), (2, True)):
        some = ShownTable("t", "Title", [replace(columns[0], help="Help.")], rows[-number:])
        assert ("intervals; a value without one does not vary" in read_terminal(some.terminal(150), 150)) == is_there
        assert ("Help. A value without an interval does not vary" in some.legend) == is_there
    offset = TableColumn("rate", "share", "", "rate", beside=lambda row: "(+1)", beside_in="any")
    assert "In square" not in read_terminal(
        ShownTable("t", "Title", [offset], rows, notes=("A note.",)).terminal(150), 150
    )
    assert shown.latex().startswith("% Title\n\\begin{tabular}{r}\n")


@pytest.mark.parametrize(
    ("look", "color"), [("passes", 32), ("fails", 31), ("undecided", 33), ("strong", 1), ("weak", 2)]
)
def test_a_terminal_has_a_color_or_weight_for_each_verdict(look, color):
    columns = [TableColumn("verdict", "text", "", "verdict", look=lambda row: row["verdict"])]
    shown = io.StringIO()
    console = Console(width=100, file=shown, force_terminal=True, color_system="standard", no_color=False)
    console.print(ShownTable("t", "Title", columns, [{"verdict": look}]).terminal(100))
    assert f"\x1b[{color}m{look}" in shown.getvalue()


@pytest.mark.parametrize(
    ("length", "mark", "drawn"),
    [
        (0.25, 0.5, '<i style="width:25.0%"></i><b style="left:50.0%"></b>'),
        (0.25, float("nan"), '<i style="width:25.0%"></i>'),
        (float("nan"), 0.5, '<i style="width:0%"></i><b style="left:50.0%"></b>'),
    ],
)
def test_bars_without_a_value_are_empty(length, mark, drawn):
    column = bar("found", "offset")
    assert column.markup
    assert column.markup({"found": length, "offset": mark}) == f'<span class="bar">{drawn}</span>'
