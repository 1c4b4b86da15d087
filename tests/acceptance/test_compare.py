"""``attentionology compare``: from the folders of finished runs to a table, figures and a page."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pandas as pd
import pytest

from attentionology.engine.compare import compare
from attentionology.engine.stored_run import load_run
from attentionology.reports.tables import write_csv
from attentionology.scripts.cli import main
from tests import tiny


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folders of runs: two models, another kind of map, and other sentences."""
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(("model-a", "model-b")):
        tiny.save(folder / name, seed=seed, max_position_embeddings=200)
    for name, model, limit, *options in (
        ("a", "model-a", 16),
        ("b", "model-b", 16),
        ("norm", "model-a", 16, "--map", "norm"),
        ("short", "model-a", 8),
    ):
        command = ["--model", str(folder / model), "--limit", str(limit), "--replicates", "50", *options]
        assert main(["analyze", "--analyses", "dependency", *command, "--out", str(folder / name)]) == 0
    return folder


def run_compare(runs, tmp_path, *names, options=("--min-count", "10")):
    folders = [str(runs / name) for name in names]
    return main(["compare", *folders, "--out", str(tmp_path / "out"), *options])


def test_the_command_writes_the_table_of_the_call(runs, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("attentionology.analyses.comparison.differences.FEWEST_UNITS", 0)  # the runs are small
    assert run_compare(runs, tmp_path, "a", "b") == 0
    printed = capsys.readouterr().out
    assert "dependency, relations: model-a minus model-b (in %)" in printed.replace("\n", "")
    assert str(tmp_path / "out" / "report.html") in printed
    comparison = compare(load_run(runs / "a"), load_run(runs / "b"), min_count=10)
    write_csv(comparison.table, tmp_path / "call.csv")
    written = tmp_path / "out" / "tables" / "comparison.csv"
    assert written.read_bytes() == (tmp_path / "call.csv").read_bytes()
    table = pd.read_csv(written)
    assert set(table["paired"]) == {"paired"}
    assert table["run_a"].str.endswith("model-a").all()
    assert table["p_holm"].notna().sum() > 5
    assert (tmp_path / "out" / "figures" / "comparison-dependency-relations.svg").exists()
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert [run["folder"] for run in record["runs"]] == [str(runs / "a"), str(runs / "b")]
    weights = [json.loads((runs / name / "run.json").read_text())["model"]["weights_sha256"] for name in ("a", "b")]
    assert [run["weights_sha256"] for run in record["runs"]] == weights
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Both runs read the same inputs: the intervals are paired." in page
    assert all(sha in page for sha in weights)
    report = os.path.relpath(runs / "a" / "report.html", tmp_path / "out")
    choice = table["choice_a"].dropna().iloc[0].partition(" ")[0]
    assert re.search(f'<a href="{re.escape(report)}#head={choice}&amp;[^"]*kind=weight"><span>{choice}</span>', page)
    assert re.search(r'aria-label="Findings"><ul>\s*<li><a href="[^"]*report.html#head=', page)
    shown = json.loads(page.split('id="explorer-data">', 1)[1].split("</script>", 1)[0])["runs"]
    assert [each["label"] for each in shown] == [run["name"] for run in record["runs"]]
    ids = [[sentence["id"] for sentence in each["sample"]["sentences"]] for each in shown]
    assert ids[0] == ids[1] != []


def test_several_runs_are_compared_with_the_first(runs, tmp_path, capsys):
    options = ("--min-count", "10", "--names", "weight", "norm", "short", "--json")
    assert run_compare(runs, tmp_path, "a", "norm", "short", options=options) == 0
    rows = json.loads(capsys.readouterr().out)["comparison"]
    table = pd.read_csv(tmp_path / "out" / "tables" / "comparison.csv")
    assert len(rows) == len(table)
    sides = table[["run_a", "map_a", "run_b", "map_b", "paired"]].drop_duplicates().to_numpy().tolist()
    assert sides == [
        ["weight", "weight", "norm", "norm", "paired"],
        ["weight", "weight", "short", "weight", "partly paired"],
    ]


@pytest.mark.parametrize(
    ("names", "options", "status", "message"),
    [
        (["a"], (), 2, "at least two runs"),
        (["a", "b"], ("--names", "one"), 2, "a different name"),
        (["a", "absent"], (), 1, "absent"),
        (["a", "model-a"], (), 1, "model-a"),
    ],
)
def test_what_cannot_be_compared_is_refused(runs, tmp_path, capsys, names, options, status, message):
    assert run_compare(runs, tmp_path, *names, options=options) == status
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


PROBING = ("--recipe", "paper", "--limit", "12", "--folds", "2", "--seeds", "1", "--replicates", "40")


@pytest.fixture(scope="module")
def probe_runs(model, tmp_path_factory):
    """The folders of two runs that probe different kinds of maps on the same treebank."""
    folder = tmp_path_factory.mktemp("runs")
    for kind in ("weight", "norm"):
        words = ["probe", "--model", model, "--map", kind, *PROBING]
        assert main([*words, "--out", str(folder / kind)]) == 0
    return folder


@pytest.mark.slow
def test_two_probe_runs_are_compared_in_pairs(probe_runs, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("attentionology.analyses.comparison.differences.FEWEST_UNITS", 0)  # the runs are small
    names = [str(probe_runs / kind) for kind in ("norm", "weight")]
    assert main(["compare", *names, "--out", str(tmp_path / "out"), "--min-count", "5"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "(probe, attachment score (argmax)) differ clearly between “norm” and “weight”" in said
    table = pd.read_csv(tmp_path / "out" / "tables" / "comparison.csv")
    assert set(table["analysis"]) == {"probe"}
    assert set(table["paired"]) == {"paired"}
    assert (table["map_a"] == "norm").all()
    for suffix, kind in (("a", "norm"), ("b", "weight")):
        scores = (
            pd.read_csv(probe_runs / kind / "tables" / "probe.csv").query("decoding == 'argmax'").set_index("method")
        )
        rows = table[table["family"] == "attachment score (argmax)"].set_index("group")
        np.testing.assert_allclose(rows[f"value_{suffix}"], scores.loc[rows.index, "uas"], rtol=1e-12)
    attention = table[(table["group"] == "attention") & (table["family"] == "attachment score (argmax)")].iloc[0]
    assert attention["low"] < attention["difference"] < attention["high"]
    by_relation = table[table["family"] == "attachment score by relation: attention"].set_index("group")
    for suffix, kind in (("a", "norm"), ("b", "weight")):
        scores = pd.read_csv(probe_runs / kind / "tables" / "probe_by_relation.csv")
        scores = scores.query("method == 'attention' and decoding == 'argmax'").set_index("relation")
        np.testing.assert_allclose(by_relation[f"value_{suffix}"], scores.loc[by_relation.index, "uas"], rtol=1e-12)
    tested = by_relation["p_holm"].notna()
    assert tested.any()
    assert (by_relation.loc[tested, "n_a"] >= 5).all()
    assert by_relation.loc[~tested, "reason"].notna().all()
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert [run["name"] for run in record["runs"]] == ["norm", "weight"]
