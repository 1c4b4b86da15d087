"""What a run of trained probes leaves on disk, in the page and in the terminal."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.counting.resampling import FEWEST_UNITS
from attentionology.analyses.probing import analysis as probing_analysis
from attentionology.analyses.probing.rows import ProbeResults
from attentionology.analyses.probing.scores import adds, is_selective, methods_table, score_texts
from attentionology.reports.format import interval
from attentionology.reports.page import Section
from attentionology.reports.table import ShownTable
from tests.probing_results import CASES, PUBLISHED, Case, answered, results, weights_of, written
from tests.shown_tables import Cells, Columns, assert_declared, cells, in_terminal, on_page, percent, printed


class Written(NamedTuple):
    """A case, what it found and what became of that."""

    case: Case
    found: ProbeResults
    folder: Path
    section: Section
    page: str

    def rows(self, name: str) -> Cells:
        """A table as the page shows it, without its bars."""
        rows = on_page(table_of(self.section, name))
        return [{heading: text for heading, text in row.items() if heading} for row in rows]


def table_of(section: Section, name: str) -> ShownTable:
    (table,) = (table for table in section.shown if table.name == name)
    return table


def written_in(folder: Path, case: Case) -> Written:
    found = results(case)
    return Written(case, found, folder, *written(folder, found, case.folds))


@pytest.fixture(scope="module", params=CASES, ids=str)
def run(request, tmp_path_factory) -> Written:
    return written_in(tmp_path_factory.mktemp("run"), request.param)


@pytest.fixture(scope="module")
def usual(tmp_path_factory) -> Written:
    return written_in(tmp_path_factory.mktemp("usual"), Case())


def scores(case: Case, found: ProbeResults, *, page: bool) -> Cells:
    """The scores of all methods, written from the table of results."""
    methods, unit = found.methods, " %" if page else ""
    trees = methods[methods["decoding"] == "tree"].set_index("method")["uas"]
    columns: Columns = {"method": "method", "UAS": "% uas uas_low uas_high"}
    if page:
        columns |= {"with punctuation": "% uas_all", "without roots": "% uas_noroot"}
    if case.runs * max(case.copies, 1) > 1:
        columns["sd over runs" if page else "sd"] = "% uas_sd"
    if case.control:
        columns |= {"control task": "% control_accuracy", "selectivity": "+ selectivity"}
    if case.published:
        columns["paper" + unit] = lambda row: percent(PUBLISHED.get(row["method"], math.nan) / 100)
    if case.tree:
        columns["as a tree %" if page else "tree"] = lambda row: percent(trees.get(row["method"], math.nan))
    return cells(methods[methods["decoding"] == "argmax"].to_dict("records"), columns, unit)


def test_page_says_what_the_tables_say(run):
    case, found, page = run.case, run.found, run.page
    rows = scores(case, found, page=True)
    assert run.rows("probe") == rows
    for row in rows:
        assert f"width:{row['UAS %'].split()[0]}%" in page
    assert ("in brackets a 95 % bootstrap interval" in page) == (case.replicates > 0)
    assert f"Mean over {case.runs} training run{'s' if case.runs > 1 else ''}" in page
    assert f"n = {found.methods['total'][0]} words" in page
    assert ("Hewitt &amp; Liang" in page) == case.control
    assert ("best set of heads that is a tree" in page) == case.tree
    assert ("Which heads the probes use" in page) == bool(weights_of(found))
    assert ("of the first fold" in page) == (case.folds > 1)
    assert "mind the &lt;gap&gt;" in page
    assert "<gap>" not in page
    assert set(run.section.figures) == {"probe", "probe_lengths", "probe_training"} | (
        {"probe_weights"} if weights_of(found) else set()
    )
    columns: Columns = {
        "head": lambda row: f"{row['layer']}-{row['head']}",
        "direction": lambda row: row["direction"].replace("->", "→"),
        "weight": lambda row: f"{row['weight']:.2f}".replace("-0.00", "0.00"),
        "accuracy of the head alone": "% accuracy",
    }
    for number, weights in enumerate(weights_of(found).values(), start=1):
        expected = cells(weights.heads.nlargest(10, "weight").to_dict("records"), columns)
        shown = run.rows(f"probe_weights_{number}")
        assert [{name: row[name] for name in expected[0]} for row in shown] == expected
        relations = table_of(run.section, f"probe_weights_by_relation_{number}")
        assert {row["arcs"]: relations.style(row) for row in relations.rows} == {36: "", 7: "rare"}


def test_files_are_those_promised_and_give_back_the_tables(run):
    case, found = run.case, run.found
    names = {"probe", "probe_runs", "probe_by_relation", "probe_by_length", "probe_contrasts", "probe_training"}
    drawn = {"probe", "probe_lengths", "probe_training"}
    if weights_of(found):
        names |= {"probe_weights", "probe_weights_by_relation", "probe_weights_correlation"}
        drawn.add("probe_weights")
    assert {path.name for path in (run.folder / "tables").glob("*.csv")} == {f"{name}.csv" for name in names}
    assert {path.name for path in (run.folder / "figures").iterdir()} == {f"{name}.svg" for name in drawn}

    def read(name: str) -> pd.DataFrame:
        return pd.read_csv(run.folder / "tables" / f"{name}.csv")

    methods = read("probe")
    if case.published:
        paper = methods.pop("paper_uas")
        expected = [PUBLISHED.get(m, math.nan) / 100 if d == "argmax" else math.nan
                    for m, d in zip(methods["method"], methods["decoding"], strict=True)]  # fmt: skip
        np.testing.assert_allclose(paper, expected)
    expected_methods = found.methods.drop(columns="paper_uas", errors="ignore")
    pd.testing.assert_frame_equal(methods, expected_methods, check_dtype=False)
    pd.testing.assert_frame_equal(read("probe_runs"), found.runs.scores, check_dtype=False)
    pd.testing.assert_frame_equal(read("probe_by_relation"), found.relations, check_dtype=False)
    pd.testing.assert_frame_equal(read("probe_by_length"), found.lengths, check_dtype=False)
    assert len(read("probe_training")) == len(found.runs.history)
    for part in ("heads", "relations", "correlations") if weights_of(found) else ():
        ending = {"heads": "", "relations": "_by_relation", "correlations": "_correlation"}[part]
        table = read(f"probe_weights{ending}")
        assert table.columns[0] == "probe"
        for name, of_probe in weights_of(found).items():
            own = table[table["probe"] == name].drop(columns="probe").reset_index(drop=True)
            pd.testing.assert_frame_equal(own, getattr(of_probe, part), check_dtype=False)


def test_columns_are_as_declared(run):
    numbers = {"weight", "weight_sd", "contribution"}
    written = run.section.tables
    assert_declared(written, probing_analysis.SCHEMAS, {*numbers} if weights_of(run.found) else ())


def test_summary_is_strict_json(run):
    found = run.found
    summary = json.loads((run.folder / "summary.json").read_text(), parse_constant=pytest.fail)
    for row, own in zip(summary["probe"], found.methods.to_dict("records"), strict=True):
        for name, value in own.items():
            missing = isinstance(value, float) and math.isnan(value)
            assert row[str(name)] == (None if missing else pytest.approx(value)), name
    assert summary["probe_notes"] == list(found.notes)
    assert list(summary["probe_weights"]) == list(weights_of(found))
    assert len(summary["probe_contrasts"]) == len(found.contrasts)
    none = summary["probe"][0]  # right-branching
    assert none["uas_sd"] is None
    assert none["control_accuracy"] is None


def test_relations_are_a_row_each_with_the_best_in_bold(usual):
    by_relation = usual.found.relations
    table, rows = table_of(usual.section, "probe_relations"), usual.rows("probe_relations")
    assert [row["relation"] for row in rows] == list(dict.fromkeys(by_relation["relation"]))
    rare = 0
    for row, values in zip(rows, table.rows, strict=True):
        own = by_relation[by_relation["relation"] == row["relation"]]
        total = int(own["total"].iloc[0])
        assert row["n"] == (str(total) if total >= 36 else f"({total})")
        for method, uas in zip(own["method"], own["uas"], strict=True):
            assert row[f"{method} %"] == percent(uas)
        best = {percent(own["uas"].max())} if own["uas"].max() else set()
        assert {column.text(values) for column in table.columns if column.look(values) == "strong"} == best
        assert (table.style(values) == "rare") == (total < 36)
        rare += total < 36
    assert 0 < rare < len(rows)


def contrasts(found: ProbeResults) -> Cells:
    columns: Columns = {"difference of": "first", "and": "second", "points of UAS": "+ difference low high"}
    return cells(found.contrasts.to_dict("records"), columns)


def test_contrasts(usual):
    assert usual.rows("probe_contrasts") == contrasts(usual.found)
    assert contrasts(usual.found)[0]["points of UAS"].endswith("]")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_terminal_shows_the_same(case):
    found = results(case)
    assert in_terminal(methods_table(found), 150) == scores(case, found, page=False)


def test_terminal_leaves_intervals_out_where_it_is_narrow_and_says_what_there_is_to_say():
    found = results(Case(tree=True, published=True))
    for width in (150, 80):
        said = printed(methods_table(found).terminal(width), width)
        assert ("95 % intervals" in said) == (width == 150)
        assert max(map(len, said.splitlines())) <= width
        assert any(line.startswith("Trained on much.") for line in said.splitlines())
        assert "mind the <gap>" in said
        row = found.contrasts.iloc[0]
        difference = f"attention − best offset: {percent(row['difference'], '+')}"
        assert f"{difference} {interval(row['low'], row['high'])}" in said


def test_weights_of_nothing_are_left_out(tmp_path):
    found = results(Case(probes=("attention",)))
    section, page = written(tmp_path, answered(found, head_weights=None))
    assert "Which heads the probes use" not in page
    assert not (tmp_path / "tables" / "probe_weights.csv").exists()
    assert section.summary["probe_weights"] == {}


def test_the_headline_of_a_probe_says_what_the_tables_say(usual):
    """Its score beside the control task, and what it adds to something simpler, each with its interval."""
    by_method = {row["method"]: row for row in scores(usual.case, usual.found, page=True)}
    added = {row["difference of"]: row for row in contrasts(usual.found)}
    texts = dict(score_texts(usual.found))
    row, more = by_method["attention"], added["attention"]
    uas, _, limits = row["UAS %"].partition(" ")
    difference, _, bounds = more["points of UAS"].partition(" ")
    total = usual.found.methods["total"][0]
    assert texts["attention"] == (
        f"The probe attention finds the syntactic heads of {uas} % {limits} of {total:,} words of sentences that did "
        f"not train it, as a mean of 3 runs, clearly more than on its control task ({row['control task %']} %, "
        f"{row['selectivity']} points). It finds clearly more than “best offset” ({difference} points {bounds})."
    )
    assert [finding.text for finding in usual.section.findings] == [
        texts[name] for name in ("attention", "attention+words", "words+distances")
    ]
    assert {finding.address for finding in usual.section.findings} == {"#methods"}
    assert 'id="methods"' in usual.page


def test_a_probe_is_clearly_better_only_with_the_whole_interval():
    assert adds({"difference": 0.1, "low": 0.001, "high": 0.2})
    assert not adds({"difference": 0.1, "low": 0.0, "high": 0.2})
    assert not adds({"difference": 0.1, "low": math.nan, "high": math.nan})  # no bootstrap
    assert is_selective({"uas": 0.6, "uas_low": 0.501, "control_accuracy": 0.5})
    assert not is_selective({"uas": 0.6, "uas_low": 0.5, "control_accuracy": 0.5})
    assert not is_selective({"uas": 0.6, "uas_low": math.nan, "control_accuracy": 0.5})


def test_what_a_probe_does_not_clearly_beat_is_named_as_such(usual):
    found = usual.found
    unclear = answered(
        replace(found, methods=found.methods.assign(uas_low=0.1)), contrasts=found.contrasts.assign(low=-0.001)
    )
    texts = dict(score_texts(unclear))
    assert "It finds not clearly more than “best offset” (" in texts["attention"]
    assert ", not clearly more than on its control task (" in texts["attention"]


def test_what_is_said_of_a_probe_under_each_condition():
    row = {"decoding": "argmax", "runs": 1, "total": 1200, "uas": 0.6, "uas_low": 0.55, "uas_high": 0.65}
    control = {"control_accuracy": 0.58, "selectivity": 0.02}
    methods = pd.DataFrame(
        [
            {"method": "attention", **row, **control},
            {"method": "attention", **row, **control, "decoding": "tree", "uas": 0.9},
            {"method": "attention+words", **row, "runs": 2, "control_accuracy": math.nan, "selectivity": math.nan},
            {"method": "words", **row, **control, "total": 0},
            {"method": "other", **row, **control},
        ]
    )
    more, not_more = {"difference": 0.1, "low": 0.05, "high": 0.15}, {"difference": 0.01, "low": -0.01, "high": 0.03}
    contrasts = pd.DataFrame(
        [
            {"first": "attention", "second": "best offset", **more},
            {"first": "attention", "second": "best single head", **not_more},
            {"first": "other", "second": "best offset", **more},
        ]
    )
    begins = "finds the syntactic heads of 60.0 % [55.0, 65.0] of 1,200 words of sentences that did not train it"
    probes = ("attention", "attention+words", "words")
    found = ProbeResults(methods, probes, FEWEST_UNITS, answers={"contrasts": contrasts})
    assert list(score_texts(found)) == [
        (
            "attention",
            f"The probe attention {begins}, not clearly more than on its control task (58.0 %, +2.0 points). It finds "
            "clearly more than “best offset” (+10.0 points [5.0, 15.0]) and not clearly more than “best single head” "
            "(+1.0 points [-1.0, 3.0]).",
        ),
        ("attention+words", f"The probe attention+words {begins}, as a mean of 2 runs."),
    ]
    not_compared = (
        "It is not compared: a claim needs bootstrap replicates and an effective number of 20 sentences or more."
    )
    few = replace(found, probes=("attention",), units=FEWEST_UNITS - 0.01)
    assert dict(score_texts(few)) == {"attention": f"The probe attention {begins}. {not_compared}"}
    without = replace(found, probes=("attention",), methods=methods.assign(uas_low=math.nan, uas_high=math.nan))
    (text,) = dict(score_texts(without)).values()
    assert text.endswith(not_compared)
