"""``attentionology compare`` of runs of ``attentionology probe``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from attentionology.scripts.cli import main

SMALL = ("--recipe", "paper", "--limit", "12", "--folds", "2", "--seeds", "1", "--replicates", "40")


@pytest.fixture(scope="module")
def runs(model, tmp_path_factory):
    """The folders of two runs that probe different kinds of maps on the same treebank."""
    folder = tmp_path_factory.mktemp("runs")
    for kind in ("weight", "norm"):
        words = ["probe", "--model", model, "--map", kind, *SMALL]
        assert main([*words, "--out", str(folder / kind)]) == 0
    return folder


@pytest.mark.slow
def test_two_probe_runs_are_compared_in_pairs(runs, tmp_path, capsys):
    names = [str(runs / kind) for kind in ("norm", "weight")]
    assert main(["compare", *names, "--out", str(tmp_path / "out"), "--min-count", "5"]) == 0
    assert "probe, attachment score (argmax): norm minus weight" in capsys.readouterr().out.replace("\n", " ")
    table = pd.read_csv(tmp_path / "out" / "tables" / "comparison.csv")
    assert set(table["analysis"]) == {"probe"}
    assert set(table["paired"]) == {"paired"}
    assert (table["map_a"] == "norm").all()
    for suffix, kind in (("a", "norm"), ("b", "weight")):
        scores = pd.read_csv(runs / kind / "tables" / "probe.csv").query("decoding == 'argmax'").set_index("method")
        rows = table[table["family"] == "attachment score (argmax)"].set_index("group")
        np.testing.assert_allclose(rows[f"value_{suffix}"], scores.loc[rows.index, "uas"], rtol=1e-12)
    attention = table[(table["group"] == "attention") & (table["family"] == "attachment score (argmax)")].iloc[0]
    assert attention["low"] < attention["difference"] < attention["high"]
    by_relation = table[table["family"] == "attachment score by relation: attention"].set_index("group")
    for suffix, kind in (("a", "norm"), ("b", "weight")):
        scores = pd.read_csv(runs / kind / "tables" / "probe_by_relation.csv")
        scores = scores.query("method == 'attention' and decoding == 'argmax'").set_index("relation")
        np.testing.assert_allclose(by_relation[f"value_{suffix}"], scores.loc[by_relation.index, "uas"], rtol=1e-12)
    tested = by_relation["p_holm"].notna()
    assert tested.any()
    assert (by_relation.loc[tested, "n_a"] >= 5).all()
    assert by_relation.loc[~tested, "reason"].notna().all()
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert [run["name"] for run in record["runs"]] == ["norm", "weight"]
