"""``attentionology analyze`` as a user meets it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

from attentionology.corpora_loaders import load_treebank
from attentionology.scripts.cli import main
from tests import tiny
from tests.corpora import sample_blocks, write_blocks


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny model on disk."""
    folder = tmp_path_factory.mktemp("model")
    tiny.save(folder, max_position_embeddings=40)
    return str(folder)


@pytest.fixture
def corpus(tmp_path):
    """Four sentences: a usual one, one with a missing head, one with an odd word, one that is too long."""
    long = "\n".join(f"{i}\tword\t_\tX\t_\t_\t{i - 1}\tdep\t_\t_" for i in range(1, 42))
    path = tmp_path / "corpus.conllu"
    path.write_text(
        "# sent_id = usual\n1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tman\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
        "# sent_id = no-head\n1\tthe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tman\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
        "# sent_id = odd\n1\t\u200b\t_\tX\t_\t_\t2\tdet\t_\t_\n2\tman\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
        f"# sent_id = long\n{long}\n",
        encoding="utf-8",
    )
    return str(path)


def run(*arguments):
    return main(["analyze", *map(str, arguments)])


def test_demo_runs_without_options_but_out(demo_encoder, tmp_path, capsys):
    assert run("--out", tmp_path / "run", "--limit", 5) == 0
    out = capsys.readouterr().out
    assert "3-9" in out
    assert "verified by sha256" in out
    assert str(tmp_path / "run" / "report.html") in out.replace("\n", "")


def test_record_tells_what_was_read_and_what_was_not(model, corpus, tmp_path):
    options = ("--analyses", "dependency", "--out", tmp_path / "run")
    assert run("--model", model, "--corpus", corpus, *options) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["sentences"] == {
        "read": 3,
        "words": 6,
        "words_without_head": 1,
        "unknown_words": 1,
        "substituted_words": 1,
        "skipped": [{"id": "long", "file": corpus, "line": 13, "reason": "too long: 125 pieces, the limit is 40"}],
    }
    assert record["corpus"]["files"][0]["words"] == 47
    assert record["options"]["map"] == "weight"
    assert record["model"]["files"].keys() == {"model.safetensors"}
    stages = {
        "read the corpus",
        "load the model",
        "plan",
        "dependency, rules",
        "examples",
        "results",
        "tables and figures",
    }
    assert set(record["seconds"]) == stages
    cells = pd.read_csv(tmp_path / "run" / "tables" / "dependency.csv")
    assert cells.groupby("relation")["total"].first().to_dict() == {
        "all": 5, "all-nopunct": 5, "all-nopunct-noroot": 2, "det": 2, "root": 3, "dep": 0,
    }  # fmt: skip  # roots are called root here, so punctuation would be called punct: it is known that there is none


def test_json_summary_is_all_that_is_printed(model, corpus, tmp_path, capsys):
    options = ("--analyses", "dependency", "--json", "--out", tmp_path / "run")
    assert run("--model", model, "--corpus", corpus, *options) == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert captured.err == ""
    assert summary["run"]["sentences"]["read"] == 3
    assert {row["relation"] for row in summary["dependency_best"]} >= {"all", "det", "root"}


def test_control_stands_beside_the_model(model, tmp_path):
    options = ("--analyses", "dependency", "--replicates", 20, "--limit", 12)
    assert run("--model", model, "--control", "random-init:2", *options, "--out", tmp_path / "run") == 0
    control = pd.read_csv(tmp_path / "run" / "tables" / "dependency_control.csv")
    best = pd.read_csv(tmp_path / "run" / "tables" / "dependency_best.csv")
    assert set(control["copy"]) == {1, 2}
    expected = control.groupby("relation")["accuracy"].mean().loc[best["relation"]]
    assert best["control_accuracy"].tolist() == pytest.approx(expected.tolist(), nan_ok=True)
    one, two = (control[control["copy"] == k]["correct"].tolist() for k in (1, 2))
    assert one != two


def test_surface_tokens_and_several_files(model, corpus, tmp_path):
    sample = write_blocks(tmp_path / "sample.conllu", sample_blocks()[7:11])  # with multiword tokens and subtypes
    options = ("--analyses", "dependency", "--tokens", "surface", "--coarse", "--out", tmp_path / "run")
    assert run("--model", model, "--corpus", corpus, sample, *options) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [f["name"] for f in record["corpus"]["files"]] == ["corpus.conllu", "sample.conllu"]
    surface = load_treebank(sample, tokens="surface")
    assert record["corpus"]["counts"]["words"] == 47 + sum(len(s) for s in surface)
    cells = pd.read_csv(tmp_path / "run" / "tables" / "dependency.csv")
    assert not cells["relation"].str.contains(":").any()


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--map", "nope"], 2, "choose from: "),
        (["--analyses", "nope"], 2, "choose from: dependency"),
        (["--control", "random"], 2, "random-init"),
        (["--control", "random-init:0"], 2, "random-init"),
        (["--limit", "0"], 2, "--limit must be at least 1"),
        (["--max-length", "0"], 2, "--max-length must be at least 1"),
        (["--replicates", "-1"], 2, "--replicates"),
        (["--tokens", "characters"], 2, "characters"),
        (["--no-such-option"], 2, "no-such-option"),
        (["--corpus"], 2, "--corpus has no value; it takes FILE"),
        (["--limit", "many"], 2, "is not a whole number"),
        (["--seed", "-1"], 2, "--seed must be from 0"),
        (["--limit", "3", "--limit", "4"], 2, "--limit is given twice"),
        (["--limit=3", "--limit=4"], 2, "--limit is given twice"),
        (["--corpus", "missing.conllu"], 1, "missing.conllu: there is no such file"),
        (["--out", "/dev/null/run"], 1, "cannot create /dev/null/run"),
        (["--model", "./missing"], 1, "no model folder"),
        (["--too-long", "error"], 1, "sentence 'long': too long"),
        (["--max-length", "2"], 1, "none of the 4 sentences could be read"),
        (["--device", "cuda:9"], 1, "cannot use device"),
    ],
)
def test_faults_are_told_and_leave_nothing(model, corpus, tmp_path, capsys, options, status, message):
    arguments = [] if "--out" in options else ["--out", str(tmp_path / "run")]
    if "--model" not in options:
        arguments += ["--model", model]
    if "--corpus" not in options:
        arguments += ["--corpus", corpus]
    assert run(*arguments, *options) == status
    assert message in capsys.readouterr().err
    assert not any("run" in path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# sent_id = s1\n1\tthe\t_\tDET\t_\t_\t7\tdet\t_\t_\n", "a.conllu:2: sentence 's1': the head of word 1 is 7"),
        ("1\tthe\t_\tDET\t_\t_\t0\tall\t_\t_\n", "reserved"),  # for a total
        ("1\tthe\t_\tDET\t_\t_\t_\t_\t_\t_\n", "a.conllu: no word has a head"),
    ],
)
def test_a_corpus_that_cannot_be_used_is_named(model, tmp_path, capsys, text, message):
    (tmp_path / "a.conllu").write_text(text)
    assert run("--model", model, "--corpus", tmp_path / "a.conllu", "--out", tmp_path / "run") == 1
    assert message in capsys.readouterr().err


def test_an_unusable_results_folder_is_noticed_before_the_work(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "attentionology.corpora_loaders.load_treebank", lambda *a, **k: pytest.fail("read the corpus first")
    )
    (tmp_path / "file").write_text("")
    assert run("--model", model, "--out", tmp_path / "file" / "run") == 1
    assert "cannot create" in capsys.readouterr().err


def test_left_over_weights_are_told_in_terminal_record_and_report(model, corpus, tmp_path, capsys):
    folder = Path(shutil.copytree(model, tmp_path / "model"))
    odd, head = "encoder.layer.0.adapter.weight", "cls.predictions.bias"
    weights = {**load_file(folder / "model.safetensors"), odd: torch.ones(3), head: torch.ones(3)}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    options = ("--analyses", "dependency", "--out", tmp_path / "run")
    assert run("--model", folder, "--corpus", corpus, *options) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["model"]["unused_weights"] == {"heads": [head], "others": [odd]}
    assert record["model"]["batching"] == "padded"
    (warning,) = (warning for warning in record["warnings"] if "adapter" in warning)
    assert head not in warning
    assert f"Warning: {warning}" in capsys.readouterr().out
    assert odd in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("command", ["analyze", "doctor", "probe", "explain"])
def test_all_commands_check_the_files_of_a_model(model, corpus, tmp_path, capsys, command):
    folder = Path(shutil.copytree(model, tmp_path / "model"))
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    (tmp_path / "labeled.txt").write_text("".join(f"{i % 2} a b c {i}\n" for i in range(40)))
    options = {
        "analyze": ["--corpus", corpus],
        "doctor": ["--corpus", corpus],
        "probe": ["--test", corpus, "--folds", "2"],
        "explain": ["--data", tmp_path / "labeled.txt", "--finetune"],
    }[command]
    out = [] if command == "doctor" else ["--out", tmp_path / "run"]
    assert main([command, *map(str, ["--model", folder, *options, *out])]) == 1
    error = capsys.readouterr().err
    assert f"{weights}' (5,000 bytes) is not a whole safetensors file" in error
    assert len([line for line in error.splitlines() if line.startswith("attentionology:")]) == 1
    assert "Traceback" not in error
    assert not (tmp_path / "run").exists()


def test_without_bootstrap_there_are_no_intervals(model, corpus, tmp_path):
    options = ("--analyses", "dependency", "--replicates", 0, "--out", tmp_path / "run")
    assert run("--model", model, "--corpus", corpus, *options) == 0
    best = pd.read_csv(tmp_path / "run" / "tables" / "dependency_best.csv")
    assert best[["accuracy_low", "gain_high"]].isna().all(axis=None)
    assert best["accuracy"].notna().any()


def test_interrupt_is_clean(model, corpus, tmp_path, capsys, monkeypatch):
    from attentionology.analyses.dependency.accuracy import DependencyAccuracy

    def interrupt(self, groups=()):
        raise KeyboardInterrupt

    monkeypatch.setattr(DependencyAccuracy, "compute", interrupt)
    assert run("--model", model, "--corpus", corpus, "--out", tmp_path / "run") == 130
    assert capsys.readouterr().err == "attentionology: interrupted; no results were written\n"
    assert [p.name for p in tmp_path.iterdir()] == ["corpus.conllu"]


def test_same_command_same_tables(model, tmp_path):
    for name, cells in (("one", 2**17), ("two", 3000)):
        options = ("--analyses", "dependency", "--replicates", 50, "--limit", 12, "--batch-cells", cells)
        assert run("--model", model, *options, "--out", tmp_path / name) == 0
    for table in ("dependency.csv", "dependency_best.csv"):
        assert (tmp_path / "one/tables" / table).read_bytes() == (tmp_path / "two/tables" / table).read_bytes()
