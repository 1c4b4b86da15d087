"""``attentionology grid``: every combination of some options, with one table."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.contract import OptionError
from attentionology.engine.analyze import AnalyzeJob
from attentionology.engine.grid import DONE, Grid, check_cells, in_short, numbers_of, shown_grid, spread
from attentionology.engine.grid_page import compared_number, grid_findings, matrix
from attentionology.scripts.cli import main
from tests.shown_tables import on_page

TESTS = "--tests permutation --epochs 1 --replicates 10"


def grid(*arguments: object) -> int:
    return main(["grid", *map(str, arguments)])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("texts"), np.random.default_rng(0)
    for name, words in (("a", "up down"), ("b", "good bad")):
        labels = rng.integers(0, 2, 60)
        lines = [
            f"{y} {' '.join(rng.choice(['it', 'is', 'so'], 4))} {words.split()[y]} {k}" for k, y in enumerate(labels)
        ]
        (folder / f"{name}.txt").write_text("\n".join(lines))
    (folder / "one-class.txt").write_text("\n".join(f"1 text number {k}" for k in range(40)))
    return folder


@pytest.fixture(scope="module")
def done(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("grid") / "grid"
    vary = (f"data={files}/a.txt,{files}/one-class.txt,{files}/b.txt", "encoder=average,none", "seed=0,1")
    line = ("explain", "--vary", *vary, "--over", "seed", f"--arguments={TESTS}", "--out", out)
    return line, grid(*line), out


def test_a_row_for_each_cell_with_the_numbers_of_its_run(done, files):
    _, status, out = done
    table = pd.read_csv(out / "grid.csv")
    assert status == 3
    assert list(table.columns[:5]) == ["data", "encoder", "seed", "status", "folder"]
    expected = [
        (f"{files}/{d}.txt", e, s) for d in ("a", "one-class", "b") for e in ("average", "none") for s in (0, 1)
    ]
    assert list(table[["data", "encoder", "seed"]].itertuples(index=False, name=None)) == expected
    failed = table["data"].str.contains("one-class")
    assert (table["status"] == "done").tolist() == (~failed).tolist()
    assert table.loc[failed, "status"].str.contains("one-class.txt: all training texts have the label '1'").all()
    for row in table[~failed].to_dict("records"):
        tables = out / row["folder"] / "tables"
        base = pd.read_csv(tables / "explain_models.csv").iloc[0]
        assert (row["accuracy"], row["macro_f1"]) == (base["accuracy"], base["macro_f1"])
        summary = pd.read_csv(tables / "explain_summary.csv")
        overall = summary[summary["predicted"] == "(all)"].set_index("measure")["mean"]
        assert row["permutation_tvd"] == overall["permutation_tvd"]
        [verdict] = pd.read_csv(tables / "explain_verdicts.csv").to_dict("records")
        assert row[verdict["question"]] == verdict["verdict"]
        run = json.loads((out / row["folder"] / "run.json").read_text())
        assert run["options"]["encoder"] == row["encoder"]
        assert run["seed"] == row["seed"]
        assert run["options"]["data"] == [row["data"]]
    assert table.loc[~failed, "permutation_tvd"].nunique() > 4


def test_means_over_the_seeds(done, files):
    _, _, out = done
    table, over = pd.read_csv(out / "grid.csv"), pd.read_csv(out / "grid_over_seed.csv")
    assert set(over["data"]) == {f"{files}/a.txt", f"{files}/b.txt"}
    for row in over.to_dict("records"):
        cells = table[(table["data"] == row["data"]) & (table["encoder"] == row["encoder"])][row["quantity"]].to_numpy()
        assert row["n"] == len(cells) == 2
        assert row["mean"] == pytest.approx(sum(cells) / 2)
        assert row["sd"] == pytest.approx(np.sqrt(((cells - cells.mean()) ** 2).sum()))
    assert {"accuracy", "permutation_tvd"} <= set(over["quantity"])
    tex = (out / "grid_over_seed.tex").read_text()
    first = over[over["quantity"] == "accuracy"].iloc[0]
    assert f"{first['mean']:.3f} $\\pm$ {first['sd']:.3f}" in tex


def test_the_page_leads_from_numbers_to_the_pages_of_cells(done):
    _, _, out = done
    table = pd.read_csv(out / "grid.csv")
    page = (out / "index.html").read_text(encoding="utf-8")
    finished = table[table["status"] == "done"]
    for row in finished.to_dict("records"):
        address = f"{row['folder']}/report.html"
        assert (out / address).is_file()
        assert f'<a href="{address}">{row["accuracy"]:.3f}</a>' in page
        assert f'<a href="{address}">report</a>' in page
    assert page.count("report.html") == 2 * len(finished)
    assert re.search(r"4 cells failed: cells/005-one_class.txt-average-0 \(", page)
    assert page.count(">failed</td>") == 4
    assert '<h2 id="grid-accuracy-by-data-encoder-seed">' in page


def test_the_first_number_that_differs_is_compared():
    cells = pd.DataFrame(
        {"lr": ["1", "2", "1", "2"], "seed": ["0", "0", "1", "1"], "status": "done", "folder": list("abcd"),
         "same": 0.5, "uas": [0.25, np.nan, 0.5, 0.75], "las": [0.1, 0.2, 0.3, 0.4]}
    )  # fmt: skip
    assert compared_number(cells, ["lr", "seed"]) == "uas"
    assert compared_number(cells.assign(uas=1.0, las=1.0), ["lr", "seed"]) == "same"
    shown = matrix(cells, ["lr", "seed"])
    assert shown is not None
    assert on_page(shown) == [
        {"lr": "1", "seed 0": "0.250", "seed 1": "0.500"}, {"lr": "2", "seed 0": "–", "seed 1": "0.750"},
    ]  # fmt: skip
    shades = [column.shade(row) for row in shown.rows for column in shown.columns if column.shade]
    assert shades == pytest.approx([0, 0.125, 0, 0.25], abs=0.01)  # from the least to the largest
    assert matrix(cells.drop(columns=["same", "uas", "las"]), ["lr", "seed"]) is None


def test_people_read_the_first_numbers_of_cells_and_of_how_many_their_means_are():
    """Failed cells are no part of means, and a quantity that fewer cells have says so."""
    names = ["accuracy", "macro_f1", "f1", "tau loo", "exact_jsd", "sixth"]
    numbers = [[0.5, 0.4, np.nan], [0.7, 0.5, 0.25], [0.9, 0.9, 0.75], [0.1, 0.1, 0.1], [0.6, 0.2, 0.125]]
    cells = [("a", "x"), ("a", "y"), ("a", "z"), ("b", "x"), ("b", "y")]
    table = pd.DataFrame([{"encoder": e, "data": d, "status": "done", "folder": "f"} for e, d in cells])
    table[names] = [[*row, 1.5, 2.5, 3.5] for row in numbers]
    table.loc[3, "status"] = "too few texts"
    table.loc[3, names] = np.nan
    over = spread(table, ["encoder", "data"], "data")
    shown, means = shown_grid(table, ["encoder", "data"], over, "data")
    failed, missing = on_page(shown)[3], on_page(shown)[0]
    assert list(missing) == ["encoder", "data", "status", *names[:5]]
    assert missing == {
        "encoder": "a",
        "data": "x",
        "status": "done",
        "accuracy": "0.500",
        "macro_f1": "0.400",
        "f1": "–",
        "tau loo": "1.500",
        "exact_jsd": "2.500",
    }
    assert [failed[name] for name in ("status", *names[:5])] == ["too few texts", *["–"] * 5]
    rest = {"tau loo": "1.500 ± 0.000", "exact_jsd": "2.500 ± 0.000"}
    assert on_page(means) == [
        {
            "encoder": "a", "n": "3", "accuracy": "0.700 ± 0.200", "macro_f1": "0.600 ± 0.265",
            "f1": "0.500 ± 0.354 (n = 2)", **rest,
        },
        {"encoder": "b", "n": "1", "accuracy": "0.600 ± –", "macro_f1": "0.200 ± –", "f1": "0.125 ± –",
         "tau loo": "1.500 ± –", "exact_jsd": "2.500 ± –"},
    ]  # fmt: skip
    assert means.title == "Means ± standard deviations over data"
    assert (shown.notes, means.notes) == (("The first 5 of 6 numbers; grid.csv has all.",), ())
    (five,) = shown_grid(table.drop(columns="sixth"), ["encoder", "data"], None, "")
    assert five.notes == ()


def test_people_read_why_a_table_of_cells_has_no_numbers():
    """Analyses such as surface have no score. A grid whose cells all failed has no numbers for another reason."""
    table = pd.DataFrame({"limit": ["1", "2"], "status": ["done", "too short"], "folder": ["f", "g"]})
    for number, notes in ((None, 1), (0.5, 0)):
        (shown,) = shown_grid(table if number is None else table.assign(accuracy=number), ["limit"], None, "")
        assert [note.startswith("A grid has no numbers of these analyses: ") for note in shown.notes] == [True] * notes
    (failed,) = shown_grid(table.assign(status="too short"), ["limit"], None, "")
    assert failed.notes == ()
    of, over = shown_grid(table, ["limit"], spread(table, ["limit"], "limit"), "limit")
    assert (len(of.notes), on_page(over)) == (1, [])


def test_the_numbers_of_a_run_are_those_of_its_tables(tmp_path):
    """Of models, the tested one; of measures, those over all texts; and a kind of map or a corpus is named."""
    tables: dict[str, list[dict[str, object]]] = {
        "dependency_best": [{"relation": "obj", "map": "norm", "accuracy": 0.9, "heldout_accuracy": 0.11}],
        "coreference_best": [{"candidates": "all", "type": "he", "corpus": "c", "heldout_accuracy": 0.12}],
        "alignment_best": [{"setting": "AWI", "measure": "norm", "heads": "all", "error_rate": 0.13,
                            "mean_error_rate": 0.14, "largest_error_rate": 0.99}],
        "probe": [{"method": "words", "decoding": "tree", "uas": 0.15, "uas_all": 0.9}],
        "explain_models": [{"role": "base", "accuracy": 0.16, "macro_f1": 0.17, "f1": 0.18, "auc": 0.9},
                           {"role": "seed", "accuracy": 0.9, "macro_f1": 0.9, "f1": 0.9, "auc": 0.9}],
        "explain_summary": [{"measure": "tau_loo", "predicted": "yes", "mean": 0.9, "median": 0.9},
                            {"measure": "tau_loo", "predicted": "(all)", "mean": 0.19, "median": 0.9}],
        "explain_verdicts": [{"question": "Does it?", "verdict": "fails", "meaning": "It does not."}],
    }  # fmt: skip
    (tmp_path / "tables").mkdir()
    for name, rows in tables.items():
        pd.DataFrame(rows).to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
    assert {command: numbers_of(command, tmp_path) for command in ("analyze", "align", "probe", "explain")} == {
        "analyze": {"obj norm": 0.11, "all he c": 0.12},
        "align": {"AWI norm all": 0.13, "AWI norm all mean": 0.14},
        "probe": {"words tree": 0.15},
        "explain": {"accuracy": 0.16, "macro_f1": 0.17, "f1": 0.18, "tau_loo": 0.19, "Does it?": "fails"},
    }


@pytest.mark.slow
def test_cells_that_are_there_are_not_run_again(done, capsys):
    line, _, out = done
    folders = sorted((out / "cells").glob("0*"))
    before = {folder.name: (folder / "run.json").stat().st_mtime_ns for folder in folders}
    assert len(before) == 8
    table = (out / "grid.csv").read_bytes()
    shutil.rmtree(folders[0])
    assert grid(*line, "--json") == 3
    after = {folder.name: (folder / "run.json").stat().st_mtime_ns for folder in folders}
    assert {name for name in before if before[name] != after[name]} == {folders[0].name}
    assert (out / "grid.csv").read_bytes() == table
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["cells"]) == 12
    assert shown["over"][0]["n"] == 2


@pytest.mark.slow
def test_models_that_align(tmp_path, capsys):
    vary = ("limit=20,40",)
    common = "--arguments=--replicates 0"
    assert grid("align", "--vary", *vary, common, "--over", "limit", "--out", tmp_path / "g") == 0
    assert "Means ± standard deviations over limit" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "g" / "grid.csv")
    best = pd.read_csv(tmp_path / "g" / table["folder"][1] / "tables" / "alignment_best.csv")
    for row in best.to_dict("records"):
        name = f"{row['setting']} {row['measure']} {row['heads']}"
        assert table[name][1] == row["error_rate"]
        assert table[f"{name} mean"][1] == row["mean_error_rate"]


def test_cells_write_figures_in_the_formats_that_they_are_given(tmp_path):
    arguments = "--arguments=--limit 2 --analyses surface --replicates 0 --figures png"
    assert grid("analyze", "--vary", "seed=0,1", arguments, "--out", tmp_path / "g") == 0
    cells = sorted((tmp_path / "g" / "cells").iterdir())
    assert len(cells) == 2
    for cell in cells:
        drawn = {path.name for path in (cell / "figures").iterdir()}
        assert {name.replace(".svg", ".png") for name in drawn if name.endswith(".svg")} < drawn


def test_a_cell_without_memory_is_named_and_the_others_are_run(tmp_path, monkeypatch):
    prepare = AnalyzeJob.prepare

    def fail_once(job, **inputs):
        if job.seed == 0:
            raise MemoryError
        return prepare(job, **inputs)

    monkeypatch.setattr(AnalyzeJob, "prepare", fail_once)
    arguments = "--arguments=--limit 2 --analyses surface --replicates 0"
    assert grid("analyze", "--vary", "seed=0,1", arguments, "--out", tmp_path / "g") == 3
    first, second = pd.read_csv(tmp_path / "g" / "grid.csv")["status"]
    assert "out of memory" in first
    assert "--batch-cells" in first
    assert second == "done"


def test_an_error_that_the_toolkit_does_not_know_ends_a_grid(tmp_path, monkeypatch):
    monkeypatch.setattr(AnalyzeJob, "prepare", lambda job, **inputs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        grid("analyze", "--vary", "seed=0,1", "--arguments=--limit 2", "--out", tmp_path / "g")


def test_command_lines_of_all_cells(files, tmp_path, capsys):
    data = f"data={files}/a.txt+{files}/b.txt"
    assert grid("explain", "--vary", data, "seed=3,4", "--commands", "--out", tmp_path / "g") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert f"--data {files}/a.txt {files}/b.txt --seed 3 --out {tmp_path}/g/cells/001-" in first
    assert "--seed 4" in second
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain"], "--vary NAME=VALUE,VALUE is missing"),
        (["explain", "--vary", "seed"], "--vary takes NAME=VALUE,VALUE, not 'seed'"),
        (["explain", "--vary", "seed=1,1"], "a value is given twice"),
        (["explain", "--vary", "seed=1", "--over", "encoder"], "--over encoder: this option does not vary"),
        (["explain", "--vary", "seed=1", "--arguments=--seed 2"], "--seed is varied"),
        (
            ["explain", "--vary", "seed=1", "--arguments=--data 'x"],
            "is no part of a command line: No closing quot",
        ),
        (["explain", "--vary", "data=x,./x"], "--vary data: a value is given twice"),
        (
            ["explain", "--vary", "seed=1", "--arguments=--out here"],
            "--out, --overwrite and --json are options of the grid",
        ),
        (["explain", "--vary", "sede=1"], "--sede"),
        (["compare", "--vary", "seed=1"], "grid runs analyze, align, probe, explain, not compare"),
    ],
)
def test_refusals(arguments, message, tmp_path, capsys):
    assert grid(*arguments, "--out", tmp_path / "g") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "g").exists()


def test_options_that_every_cell_refuses_are_refused_before_any_is_begun(files, tmp_path, capsys):
    for arguments, status, message in (
        (f"--data {files}/a.txt --tests nope", 2, "unknown test 'nope'"),
        ("--data nowhere.txt", 1, "nowhere.txt: there is no such file"),
    ):
        assert grid("explain", "--vary", "seed=0,1", f"--arguments={arguments}", "--out", tmp_path / "g") == status
        assert message in capsys.readouterr().err
    assert not (tmp_path / "g").exists()


def test_cells_are_begun_if_one_of_them_takes_its_options_or_is_done(tmp_path):
    def refuse(number):
        raise OptionError(f"no {number}")

    asked, cell = Grid("analyze", {"seed": ("0", "1")}, (), tmp_path), {"seed": "0"}
    none = [partial(refuse, 1), partial(refuse, 2)]
    with pytest.raises(OptionError, match="no 1"):
        check_cells(asked, none)
    check_cells(asked, [none[0], lambda: None])
    check_cells(asked, [lambda: None, none[1]])
    folder = asked.folder_of(cell)
    folder.mkdir(parents=True)
    line, ours = shlex.join(["attentionology", *asked.words_of(cell)]), {"versions": {"attentionology": "0.4"}}
    (folder / "run.json").write_text(json.dumps({"command": "attentionology analyze --seed 3", **ours}))
    assert not asked.is_done(cell)
    (folder / "run.json").write_text(json.dumps({"command": line, **ours}))
    assert asked.is_done(cell)
    check_cells(asked, none)


def test_people_read_the_names_of_files_without_folders():
    values = ("/data/en/a.txt+/data/en/b.txt", "/data/fr/c.txt")
    cells = Grid(
        "explain", {"data": values, "seed": ("0", "1")}, ("--test", "/data/t.txt", "--dev=/data/d.txt"), Path("g")
    )
    reasons = ["/data/fr/c.txt:3: no label", "/data/t.txt: empty", "/data/d.txt: empty and/or short", DONE]
    table = pd.DataFrame({"data": [v for v in values for _ in "01"], "seed": [*"0101"], "status": reasons})
    short = in_short(table, cells)
    assert short["status"].tolist() == ["c.txt:3: no label", "t.txt: empty", "d.txt: empty and/or short", DONE]
    assert short["data"].tolist() == ["a+b"] * 2 + ["c"] * 2
    assert short["seed"].tolist() == [*"0101"]
    assert table["data"][0] == values[0]


def test_the_largest_and_the_smallest_number_are_found_with_their_cells():
    cells = pd.DataFrame(
        {"lr": ["1", "1", "2", "2"], "seed": ["0", "1", "0", "1"], "status": "done", "folder": list("abcd"),
         "same": 0.5, "uas": [0.25, 0.5, 0.875, np.nan]}
    )  # fmt: skip
    (found,) = grid_findings(cells, ["lr", "seed"])
    assert found.text.startswith(
        "0.875 is the largest uas of 3 runs, that of lr 2, seed 0; the smallest is 0.250, that of lr 1, seed 0. No "
    )
    assert (found.number, found.address) == ("0.875", "c/report.html")
    (means,) = grid_findings(cells, ["lr", "seed"], spread(cells, ["lr", "seed"], "seed"), "seed")
    assert means.text.startswith(
        "0.875 ± – (n = 1) is the largest mean uas over seed, of 2 means, that of lr 2; the smallest is 0.375 ± 0.177 "
        "(n = 2), that of lr 1."
    )
    (alike,) = grid_findings(cells.drop(columns="uas"), ["lr", "seed"])
    assert alike.text == "0.500 is the same of 4 runs, which are all alike."
    assert grid_findings(cells.drop(columns=["uas", "same"]), ["lr", "seed"]) == []
    assert grid_findings(cells.iloc[:1], ["lr", "seed"]) == []
