"""``--trees enhanced`` on a real treebank, in parts, and for several treebanks at once."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from attentionology import load_treebank
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.scripts.cli import main
from tests.maps import batch_of
from tests.reference.naive_enhanced import assert_equal, recount

EWT = "ud/en_ewt-dev.conllu"


@pytest.mark.parametrize("coarse", [False, True])
def test_counts_on_english_are_those_of_a_recount(data_file, coarse):
    path = data_file(EWT)
    treebank = load_treebank(path, limit=60)
    text = "\n\n".join(path.read_text(encoding="utf-8").split("\n\n")[:60])
    generator = np.random.default_rng(0)
    maps = [generator.random((1, 2, len(s) + 2, len(s) + 2), dtype=np.float32) for s in treebank]
    counts = DependencyAccuracy(tuple(treebank.enhanced_relations), 1, 2, coarse=coarse, trees="enhanced", replicates=0)
    counts.update(batch_of(list(treebank), maps))
    assert_equal(*counts.compute()[::-1], recount(text, maps, coarse=coarse))
    words = counts.compute().best.set_index("relation")["total"]
    assert words["all"] + counts.left_out[2] == sum(map(len, treebank))


@pytest.mark.slow
def test_parts_give_the_same_files(data_file, model, tmp_path):
    given = ["analyze", "--model", model, "--corpus", str(data_file(EWT)), "--limit", "1100", "--coarse"]
    given += ["--analyses", "dependency", "--trees", "enhanced", "--replicates", "10"]
    assert main([*given, "--out", str(tmp_path / "whole")]) == 0
    assert main([*given, "--parts", str(tmp_path / "parts"), "--out", str(tmp_path / "parted")]) == 0
    for name in ("dependency.csv", "dependency_best.csv", "dependency_best.tex"):
        whole, parted = (tmp_path / run / "tables" / name for run in ("whole", "parted"))
        assert whole.read_bytes() == parted.read_bytes()
    records = [json.loads((tmp_path / run / "run.json").read_text()) for run in ("whole", "parted")]
    assert records[0]["dependency"] == records[1]["dependency"]
    assert records[0]["dependency"]["left_out"]["roots"] > 900


def test_a_survey_counts_enhanced_dependencies_where_there_are_any(model, data_file, tmp_path, capsys):
    paths = [str(data_file(EWT)), str(data_file("ud/fr_gsd-dev.conllu"))]
    columns = [sentence.deps for sentence in load_treebank(paths[0], limit=8)]
    given = ["survey", "--models", model, "--treebanks", *paths, "--limit", "8", "--replicates", "0"]
    given += ["--trees", "enhanced", "--relation", "nmod:of"]
    assert main([*given, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert main([*given, "--out", str(tmp_path / "out")]) == 3  # one of the cells failed
    cells = pd.read_csv(tmp_path / "out" / "tables" / "survey_cells.csv").set_index("treebank")
    assert cells.loc["en_ewt-dev", "status"] == "ok"
    assert "leave out --trees enhanced" in str(cells.loc["fr_gsd-dev", "reason"])
    assert "leave out --trees enhanced" in " ".join(out.split())
    roots = sum(cell.startswith("0:") for words in columns for word in words for cell in word.split("|"))
    (left_out,) = json.loads((tmp_path / "out" / "run.json").read_text())["survey"]["left_out_heads"]
    assert (left_out["treebank"], left_out["roots"]) == ("en_ewt-dev", roots)
    said = " ".join((capsys.readouterr().out + (tmp_path / "out" / "report.html").read_text()).split())
    assert f"{roots} heads that are the root" in said
    assert f"on en_ewt-dev, {roots} (root) and {left_out['empty_nodes']} (empty node)." in said
