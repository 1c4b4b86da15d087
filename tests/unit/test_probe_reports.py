"""What a run of trained probes leaves on disk, in the page and in the terminal."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from attentionology.analyses.contract import Titles
from attentionology.analyses.probing.attachment import Attempt, Task, attachment
from attentionology.analyses.probing.figures import (
    by_bin,
    lengths_figure,
    methods_figure,
    training_figure,
    weights_figure,
)
from attentionology.analyses.probing.head_weights import head_weights
from attentionology.analyses.probing.section import ProbeResults, probe_section
from attentionology.analyses.probing.terminal import probe_table
from attentionology.reports.format import interval, percent
from attentionology.reports.page import Section, write_report
from attentionology.scripts.terminal import Terminal
from tests.maps import random_corpus
from tests.unit.test_reports import RUN

SENTENCES, _ = random_corpus(0)
WORDS = sum(map(len, SENTENCES))
ATTENTION = ("attention", "attention+words")
PUBLISHED = {"right-branching": 26, "attention": 61}


@dataclass(frozen=True)
class Case:
    """What was run."""

    probes: tuple[str, ...] = (*ATTENTION, "words+distances")
    runs: int = 3
    copies: int = 0
    control: bool = True
    tree: bool = False
    replicates: int = 30
    published: bool = False
    folds: int = 1
    epochs: int = 1
    dev: bool = False
    shape: tuple[int, int] = (2, 3)


def results(case: Case, sentences: Sequence[Any] = SENTENCES) -> ProbeResults:
    """Everything right at random."""
    rng = np.random.default_rng(0)
    attempts, history = [], []

    def attempt(method: str, rate: float, run: int = 1, task: Task = "dependencies", decoding: str = "argmax") -> None:
        attempts.append(Attempt(method, task, decoding, run, rng.random(WORDS) < rate))

    for name, rate in (("right-branching", 0.25), ("best offset", 0.3), ("best single head", 0.4)):
        attempt(name, rate)
    tried = [(name, name) for name in case.probes]
    tried += [(f"{name}, random weights", name) for name in case.probes if name in ATTENTION and case.copies]
    for method, name in tried:
        twin = method != name
        for run in range(1, 1 + case.runs * (case.copies if twin else 1)):
            attempt(method, 0.2 if twin else 0.6, run)
            tasks: list[Task] = ["dependencies"]
            if case.tree:
                attempt(method, 0.65, run, decoding="tree")
            if case.control and not twin:
                attempt(method, 0.5, run, task="control")
                tasks.append("control")
            history += [
                {"method": method, "task": task, "run": run, "fold": fold, "epoch": epoch, "loss": 2.0 / epoch,
                 "train_uas": 0.5, "dev_uas": 0.1 * epoch if case.dev else None}
                for task in tasks for fold in range(1, case.folds + 1) for epoch in range(1, case.epochs + 1)
            ]  # fmt: skip
    shape = (2, *case.shape)
    weights = {
        name: head_weights(
            [{relation: (arcs, rng.normal(size=shape), rng.normal(size=shape)) for relation, arcs in
              (("nsubj", 60), ("<rel>", 7))} for _ in range(case.runs)],
            rng.integers(0, 100, shape), 100,
        )
        for name in case.probes if name in ATTENTION
    }  # fmt: skip
    named = {method for method, _ in tried}
    pairs = [pair for pair in (("attention", "best offset"), ("attention+words", "attention")) if pair[0] in named]
    return ProbeResults(
        tables=attachment(sentences, attempts, contrasts=pairs, replicates=case.replicates),
        weights=weights,
        history=pd.DataFrame(history),
        published=PUBLISHED if case.published else None,
        min_count=35,
        facts=("trained on much", "map “weight”"),
        notes=("Words without a vector: 3.", "mind the <gap>"),
    )


def written(folder: Path, found: ProbeResults, folds: int = 1) -> tuple[Section, str]:
    """The section, and the page."""
    section = probe_section(found, Titles("$model$ <b>", "c"))
    run = {**RUN, "control": None, "probes": {"splits": [{"train": 5}] * folds}}
    write_report(folder, run=run, sections=[section])
    return section, (folder / "report.html").read_text()


class Tables(HTMLParser):
    """The tables of a page, as lists of rows of texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.bold: list[tuple[str, str]] = []
        self.widths: list[str] = []
        self.grey: list[str] = []
        self._inside = ""
        self._rare = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
            self._rare = given.get("class") == "rare"
        elif tag in ("td", "th") and self.tables:
            self.tables[-1][-1].append("")
        self.widths += [given["style"] or ""] if tag in ("i", "b") and "style" in given else []
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag in ("td", "th", "tr", "table", "b", "i") else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside in ("td", "th", "span", "b", "i") and self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data
            if self._inside == "b":
                self.bold.append((self.tables[-1][-1][0], data))
            if self._rare and len(self.tables[-1][-1]) == 1:
                self.grey.append(data)

    def headed(self, *names: str) -> list[dict[str, str]]:
        """Rows of the one table with these columns, by column."""
        (table,) = [table for table in self.tables if set(names) <= set(table[0])]
        return [dict(zip(table[0], row, strict=True)) for row in table[1:]]


CASES = [
    Case(),
    Case(runs=1, replicates=0, control=False),
    Case(probes=("words+distances",), published=True),
    Case(probes=("attention",), tree=True, published=True, copies=1),
    Case(runs=2, copies=2, tree=True, folds=4, epochs=3, dev=True),
    Case(runs=1, copies=2),
    Case(probes=("attention",), runs=1, shape=(1, 1), folds=2),
]


@dataclass(frozen=True)
class Written:
    """A case, what it found and what became of that."""

    case: Case
    found: ProbeResults
    folder: Path
    section: Section
    page: str

    @property
    def shown(self) -> Tables:
        return Tables(self.page)


@pytest.fixture(scope="module", params=CASES, ids=str)
def run(request, tmp_path_factory) -> Written:
    folder, found = tmp_path_factory.mktemp("run"), results(request.param)
    return Written(request.param, found, folder, *written(folder, found, request.param.folds))


@pytest.fixture(scope="module")
def usual(tmp_path_factory) -> Written:
    folder, found = tmp_path_factory.mktemp("usual"), results(Case())
    return Written(Case(), found, folder, *written(folder, found))


def test_page_says_what_the_tables_say(run):
    case, found, page, shown = run.case, run.found, run.page, run.shown
    methods = found.tables.methods
    argmax = methods[methods["decoding"] == "argmax"].to_dict("records")
    rows = shown.headed("method", "UAS %")
    assert [row["method"] for row in rows] == [row["method"] for row in argmax]
    columns = set(rows[0])
    assert ("sd over runs" in columns) == (case.runs * max(case.copies, 1) > 1)
    assert ("as a tree %" in columns) == case.tree
    assert ("control task %" in columns) == ("selectivity" in columns) == case.control
    assert ("paper %" in columns) == case.published
    for row, own in zip(rows, argmax, strict=True):
        assert row["UAS %"] == f"{percent(own['uas'])} {interval(own['uas_low'], own['uas_high'])}"
        assert row["with punctuation %"] == percent(own["uas_all"])
        assert row["without roots %"] == percent(own["uas_noroot"])
        if case.control:
            assert row["control task %"] == percent(own["control_accuracy"])
            assert row["selectivity"] == percent(own["selectivity"], sign=True)
        if "sd over runs" in columns:
            assert row["sd over runs"] == percent(own["uas_sd"])
        if case.tree:
            as_tree = methods[(methods["method"] == own["method"]) & (methods["decoding"] == "tree")]["uas"]
            assert row["as a tree %"] == (percent(float(as_tree.iloc[0])) if len(as_tree) else "–")
        if case.published:
            paper = PUBLISHED.get(own["method"])
            assert row["paper %"] == ("–" if paper is None else f"{paper}.0")
        assert f"width:{percent(own['uas'])}%" in shown.widths
    assert ("in brackets a 95 % bootstrap interval" in page) == (case.replicates > 0)
    assert f"Mean over {case.runs} training run{'s' if case.runs > 1 else ''}" in page
    assert f"n = {argmax[0]['total']} words" in page
    assert ("Hewitt &amp; Liang" in page) == case.control
    assert ("best set of heads that is a tree" in page) == case.tree
    assert ("Which heads the probes use" in page) == bool(found.weights)
    assert ("of the first fold" in page) == (case.folds > 1)
    assert "mind the &lt;gap&gt;" in page
    assert "<gap>" not in page
    assert set(run.section.figures) == {"probe", "probe_lengths", "probe_training"} | (
        {"probe_weights"} if found.weights else set()
    )
    weighted = shown.headed("weight", "accuracy of the head alone %") if len(found.weights) == 1 else []
    for row, own in zip(
        weighted, found.weights["attention"].heads.nlargest(10, "weight").to_dict("records") if weighted else (),
        strict=True,
    ):  # fmt: skip
        assert row["head"] == f"{own['layer']}-{own['head']}"
        assert row["direction"] == own["direction"].replace("->", "→")
        assert row["weight"] == f"{own['weight']:.2f}".replace("-0.00", "0.00")
        assert row["accuracy of the head alone %"] == percent(own["accuracy"])


def test_files_are_those_promised_and_give_back_the_tables(run):
    case, found = run.case, run.found
    names = {"probe", "probe_runs", "probe_by_relation", "probe_by_length", "probe_contrasts", "probe_training"}
    drawn = {"probe", "probe_lengths", "probe_training"}
    if found.weights:
        names |= {"probe_weights", "probe_weights_by_relation", "probe_weights_correlation"}
        drawn.add("probe_weights")
    assert {path.name for path in (run.folder / "tables").iterdir()} == {f"{name}.csv" for name in names}
    files = {path.name: path.stat().st_size for path in (run.folder / "figures").iterdir()}
    assert set(files) == {f"{name}.{kind}" for name in drawn for kind in ("svg", "png")}
    assert min(files.values()) > 1000

    def read(name: str) -> pd.DataFrame:
        return pd.read_csv(run.folder / "tables" / f"{name}.csv")

    methods = read("probe")
    if case.published:
        paper = methods.pop("paper_uas")
        expected = [PUBLISHED.get(m, math.nan) / 100 if d == "argmax" else math.nan
                    for m, d in zip(methods["method"], methods["decoding"], strict=True)]  # fmt: skip
        np.testing.assert_allclose(paper, expected)
    pd.testing.assert_frame_equal(methods, found.tables.methods, check_dtype=False)
    pd.testing.assert_frame_equal(read("probe_runs"), found.tables.runs, check_dtype=False)
    pd.testing.assert_frame_equal(read("probe_by_relation"), found.tables.relations, check_dtype=False)
    pd.testing.assert_frame_equal(read("probe_by_length"), found.tables.lengths, check_dtype=False)
    assert len(read("probe_training")) == len(found.history)
    for part in ("heads", "relations", "correlations") if found.weights else ():
        ending = {"heads": "", "relations": "_by_relation", "correlations": "_correlation"}[part]
        table = read(f"probe_weights{ending}")
        assert table.columns[0] == "probe"
        for name, of_probe in found.weights.items():
            own = table[table["probe"] == name].drop(columns="probe").reset_index(drop=True)
            pd.testing.assert_frame_equal(own, getattr(of_probe, part), check_dtype=False)


def test_summary_is_strict_json(run):
    found = run.found
    summary = json.loads((run.folder / "summary.json").read_text(), parse_constant=pytest.fail)
    for row, own in zip(summary["probe"], found.tables.methods.to_dict("records"), strict=True):
        for name, value in own.items():
            missing = isinstance(value, float) and math.isnan(value)
            assert row[str(name)] == (None if missing else pytest.approx(value)), name
    assert summary["probe_notes"] == list(found.notes)
    assert list(summary["probe_weights"]) == list(found.weights)
    assert len(summary["probe_contrasts"]) == len(found.tables.contrasts)
    none = summary["probe"][0]  # right-branching
    assert none["uas_sd"] is None
    assert none["control_accuracy"] is None


def test_relations_are_a_row_each_with_the_best_in_bold(usual):
    found, shown = usual.found, usual.shown
    rows = shown.headed("relation", "attention+words", "best offset")
    table = found.tables.relations
    assert [row["relation"] for row in rows] == list(dict.fromkeys(table["relation"]))
    for row in rows:
        own = table[table["relation"] == row["relation"]]
        assert row["n"] == str(own["total"].iloc[0])
        for method, uas in zip(own["method"], own["uas"], strict=True):
            assert row[method] == percent(uas)
        best = {percent(own["uas"].max())} if own["uas"].max() else set()
        assert {text for name, text in shown.bold if name == row["relation"]} == best
        assert (row["relation"] in shown.grey) == (own["total"].iloc[0] < 35)
    assert 0 < len(shown.grey) < len(rows)


def test_contrasts(usual):
    rows = usual.shown.headed("difference of", "points of UAS")
    for row, own in zip(rows, usual.found.tables.contrasts.to_dict("records"), strict=True):
        assert (row["difference of"], row["and"]) == (own["first"], own["second"])
        ends = interval(own["low"], own["high"])
        assert row["points of UAS"] == f"{percent(own['difference'], sign=True)} {ends}"
        assert ends.startswith("[")


def test_strange_names_break_nothing(tmp_path):
    strange = {"attention": "[red]", "attention+words": "<b>x</b>", "best offset": "$\\foo_{$ {{ 1 }}"}
    relations = {"det": "<b>", "nsubj": "[/x]", "obj": "{{", "nsubj:pass": "$\\foo$"}
    found = results(Case(tree=True))
    renamed = {
        part: getattr(found.tables, part).replace({"method": strange, "relation": relations, "first": strange,
                                                   "second": strange})
        for part in found.tables._fields
    }  # fmt: skip
    changed = found._replace(
        tables=found.tables._replace(**renamed),
        history=found.history.replace({"method": strange}),
        weights={strange[name]: weights for name, weights in found.weights.items()},
        facts=("word vectors: [bold]x[/bold].txt",),
    )
    shown = Tables(page := written(tmp_path, changed)[1])
    assert "<b>x</b>" not in page
    assert "<td><b></td>" not in page
    assert "<rel>" not in page
    names = [row["method"] for row in shown.headed("method", "UAS %")]
    assert set(strange.values()) <= set(names)
    assert {row["relation"] for row in shown.headed("n", "[red]")} >= set(relations.values())
    assert "$\\foo_{$ {{ 1 }}" in (tmp_path / "figures" / "probe.svg").read_text()
    for width in (130, 90):
        terminal = Terminal(width)
        with terminal.capture() as captured:
            terminal.print(probe_table(changed, width=width))
        printed = captured.get()
        rows = [line.strip("│ ") for line in printed.splitlines()]
        for method, uas in changed.tables.methods.set_index("method")["uas"].items():
            assert any(row.startswith(f"{method} ") and percent(uas) in row for row in rows)
        assert "Word vectors: [bold]x[/bold].txt." in printed
        assert "\\[" not in printed


def cells(found: ProbeResults, width: int) -> list[list[str]]:
    """Header and rows of the table for a terminal of this width with intervals."""
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(probe_table(found, width=width))
    lines = [line for line in out.getvalue().splitlines() if line[:1] in ("┃", "│")]
    return [[cell.strip() for cell in line.strip("┃│").replace("┃", "│").split("│")] for line in lines]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_terminal_shows_the_same(case):
    found = results(case)
    header, *rows = cells(found, 150)
    methods = found.tables.methods
    argmax = methods[methods["decoding"] == "argmax"].to_dict("records")
    expected = {"": [row["method"] for row in argmax], "UAS": [percent(row["uas"]) for row in argmax]}
    if case.runs * max(case.copies, 1) > 1:
        expected["sd"] = [percent(row["uas_sd"]) for row in argmax]
    if case.replicates:
        expected["95 % interval"] = [interval(row["uas_low"], row["uas_high"]) for row in argmax]
    if case.tree:
        by_method = methods[methods["decoding"] == "tree"].set_index("method")["uas"]
        expected["tree"] = [percent(by_method.get(row["method"], math.nan)) for row in argmax]
    if case.control:
        expected["control task"] = [percent(row["control_accuracy"]) for row in argmax]
        expected["selectivity"] = [percent(row["selectivity"], sign=True) for row in argmax]
    if case.published:
        expected["paper"] = [percent(PUBLISHED.get(row["method"], math.nan) / 100) for row in argmax]
    assert header == list(expected)
    assert [dict(zip(header, row, strict=True)) for row in rows] == [
        dict(zip(expected, row, strict=True)) for row in zip(*expected.values(), strict=True)
    ]


def test_terminal_leaves_intervals_out_where_it_is_narrow_and_says_what_there_is_to_say():
    found = results(Case(tree=True, published=True))
    for width in (150, 80):
        out = io.StringIO()
        Console(file=out, width=width, highlight=False).print(probe_table(found, width=width))
        printed = out.getvalue()
        assert ("95 % interval" in printed) == (width == 150)
        assert max(map(len, printed.splitlines())) <= width
        assert "Trained on much.\n" in "\n".join(line.rstrip() for line in printed.splitlines())
        assert "mind the <gap>" in printed
        row = found.tables.contrasts.iloc[0]
        difference = f"attention − best offset: {percent(row['difference'], sign=True)}"
        assert f"{difference} {interval(row['low'], row['high'])}" in printed


def test_lengths_are_put_in_bins():
    lengths = pd.DataFrame(
        [("a", "argmax", length, 2, correct, total, 0.0) for length, correct, total in
         ((0, 3, 2), (1, 8, 10), (2, 1, 1), (3, 4, 4), (4, 0, 4), (8, 2, 1), (9, 1, 1), (40, 0, 1))]
        + [("b", "argmax", length, 1, 1, 1, 0.0) for length in (1, 5, 7)],
        columns=["method", "decoding", "length", "runs", "correct", "total", "uas"],
    )  # fmt: skip
    assert by_bin(lengths).to_numpy().tolist() == [
        ["a", "root", 2, 3 / 2 / 2],
        ["a", "1", 10, 8 / 2 / 10],
        ["a", "2", 1, 0.5],
        ["a", "3–4", 8, 4 / 2 / 8],
        ["a", "5–8", 1, 1.0],
        ["a", "9+", 2, 1 / 2 / 2],
        ["b", "1", 1, 1.0],
        ["b", "5–8", 2, 1.0],
    ]


def test_bins_add_up_to_the_score():
    found = results(Case())
    own = found.tables.lengths[found.tables.lengths["decoding"] == "argmax"]
    bins = by_bin(own)
    for method, rows in bins.groupby("method"):
        row = found.tables.methods.set_index("method").loc[str(method)]
        assert (rows["uas"] * rows["total"]).sum() / rows["total"].sum() == pytest.approx(row["uas"])
        assert rows["total"].sum() == row["total"]


def test_figure_of_methods_shows_scores_intervals_and_marks():
    found = results(Case(tree=True))
    methods = found.tables.methods.assign(paper_uas=np.nan)
    methods.loc[methods["method"] == "attention", "paper_uas"] = 0.61
    methods.loc[methods["decoding"] == "tree", "paper_uas"] = np.nan
    argmax = methods[methods["decoding"] == "argmax"].reset_index(drop=True)
    axes = methods_figure(methods, title="t").axes[0]
    widths = [patch.get_width() for patch in axes.patches]  # type: ignore[attr-defined]
    assert widths == pytest.approx((100 * argmax["uas"]).tolist())
    ends = [list(map(float, np.asarray(line.get_xdata()))) for line in axes.lines]
    assert ends == [pytest.approx([100 * low, 100 * high]) for low, high in
                    zip(argmax["uas_low"], argmax["uas_high"], strict=True)]  # fmt: skip
    marks = {str(c.get_label()): np.asarray(c.get_offsets()).tolist() for c in axes.collections}
    places = dict(zip(argmax["method"], argmax.index, strict=True))
    assert marks["control task"] == [
        [pytest.approx(100 * row["control_accuracy"]), places[row["method"]]]
        for row in argmax.to_dict("records") if not math.isnan(row["control_accuracy"])
    ]  # fmt: skip
    assert marks["as a tree"] == [
        [pytest.approx(100 * row["uas"]), places[row["method"]]]
        for row in methods[methods["decoding"] == "tree"].to_dict("records")
    ]
    assert marks["paper, on the Penn Treebank"] == [[61.0, places["attention"]]]


def test_figure_of_methods_without_marks_has_no_legend():
    found = results(Case(control=False, replicates=0))
    figure = methods_figure(found.tables.methods, title="t")
    assert not figure.legends
    assert not figure.axes[0].collections
    assert not figure.axes[0].lines


def test_figure_of_lengths_has_a_line_for_every_method_that_says_something():
    figure = lengths_figure(results(Case(tree=True)).tables.lengths, title="t")
    lines = {str(line.get_label()): line for line in figure.axes[0].lines}
    assert set(lines) == {"best offset", "best single head", "attention", "attention+words", "words+distances"}
    table = by_bin(results(Case()).tables.lengths)
    own = table[table["method"] == "best offset"]
    assert list(np.asarray(lines["best offset"].get_ydata())) == pytest.approx((100 * own["uas"]).tolist())


@pytest.mark.parametrize("dev", [False, True])
def test_figure_of_training_has_a_line_per_run_of_the_first_fold(dev):
    case = Case(runs=2, folds=3, epochs=4, dev=dev)
    loss, _, on_dev = training_figure(results(case).history, title="t").axes
    assert len(loss.lines) == 3 * 2
    assert list(np.asarray(loss.lines[0].get_ydata())) == [2.0, 1.0, 2 / 3, 0.5]
    assert [text.get_text() for text in on_dev.texts] == ([] if dev else ["no dev sentences"])
    if dev:
        assert list(np.asarray(on_dev.lines[0].get_ydata())) == pytest.approx([10.0, 20.0, 30.0, 40.0])


@pytest.mark.parametrize(("epochs", "named"), [(1, [1]), (3, [1, 2, 3]), (20, [1, 5, 9, 13, 17])])
def test_epochs_are_whole_numbers(epochs, named):
    for axes in training_figure(results(Case(runs=1, epochs=epochs)).history, title="t").axes:
        assert axes.get_xticks().tolist() == named
        assert axes.get_xlim() == (0.5, epochs + 0.5)


@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (1, 1), (12, 12)])
def test_figure_of_weights_shows_every_head(shape):
    found = results(Case(shape=shape)).weights
    figure = weights_figure({name: w.heads for name, w in found.items()}, title="t")
    images = [image for axes in figure.axes for image in axes.images]
    assert len(images) == 4
    for k, (name, direction) in enumerate((n, d) for n in ATTENTION for d in ("dep->head", "head->dep")):
        table = found[name].heads
        own = table[table["direction"] == direction]["weight"].to_numpy().reshape(shape)
        np.testing.assert_allclose(np.asarray(images[k].get_array()), own)
        assert images[k].get_clim() == pytest.approx((-table["weight"].abs().max(), table["weight"].abs().max()))


def test_weights_of_nothing_are_left_out(tmp_path):
    found = results(Case(probes=("attention",)))
    none = head_weights([{}], np.zeros((2, 2, 3), dtype=np.int64), 0)
    section, page = written(tmp_path, found._replace(weights={"attention": none}))
    assert "Which heads the probes use" not in page
    assert not (tmp_path / "tables" / "probe_weights.csv").exists()
    assert section.summary["probe_weights"] == {}


def test_same_results_same_pictures(usual, tmp_path):
    written(tmp_path, results(Case()))
    pictures = sorted((tmp_path / "figures").glob("*.svg"))
    assert len(pictures) == 4
    for path in pictures:
        assert path.read_bytes() == (usual.folder / "figures" / path.name).read_bytes(), path.name
