"""``attentionology probe`` as a user meets it."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.probes import AttentionProbe, Checkpoint, load_probe, training
from tests import tiny
from tests.acceptance.probing import run, table
from tests.written import results


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """Vectors of two of three words of the sample treebank, lower-cased."""
    words = sorted({word.lower() for s in load_treebank(SAMPLE_TREEBANK) for word in s.words})
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt.gz"
    lines = [f"{w} {' '.join(f'{x:.3f}' for x in rng.normal(size=6))}" for i, w in enumerate(words) if i % 3]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


LIMIT = 10
SMALL = ("--recipe", "paper", "--limit", LIMIT, "--folds", 2, "--seeds", 2, "--replicates", 50)


@pytest.fixture(scope="module")
def done(model, vectors, tmp_path_factory):
    """A finished run with everything on, and its cache."""
    folder = tmp_path_factory.mktemp("done")
    assert run("--model", model, "--vectors", vectors, "--tree", *SMALL, "--out", folder / "run") == 0
    return folder


class TestResults:
    def test_one_table_has_all_methods(self, done):
        methods = table(done / "run")
        assert list(methods[methods["decoding"] == "argmax"]["method"]) == [
            "right-branching",
            "best offset",
            "best offset of the gold relation",
            "best single head",
            "attention",
            "attention+words",
            "words+distances",
            "attention, random weights",
            "attention+words, random weights",
        ]
        trained = methods[methods["method"].isin(["attention", "attention+words", "words+distances"])]
        assert (trained["runs"] == 2).all()
        assert sorted(trained["decoding"]) == ["argmax"] * 3 + ["tree"] * 3
        assert trained["selectivity"].notna().sum() == 3

    def test_right_branching_is_what_the_trees_say(self, done):
        sentences = load_treebank(SAMPLE_TREEBANK, limit=LIMIT)
        right = total = 0
        for sentence in sentences:
            for i, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1):
                if relation != "punct":
                    total += 1
                    right += head == i + 1
        row = table(done / "run").iloc[0]
        assert (row["method"], row["correct"], row["total"]) == ("right-branching", right, total)

    def test_counts_add_up(self, done):
        methods, runs = table(done / "run"), table(done / "run", "probe_runs")
        own = runs[runs["task"] == "dependencies"].groupby(["method", "decoding"])["correct"].sum()
        relations = table(done / "run", "probe_by_relation")
        relations = relations[relations["relation"] != "punct"].groupby(["method", "decoding"])["correct"].sum()
        lengths = table(done / "run", "probe_by_length").groupby(["method", "decoding"])["correct"].sum()
        for row in methods.to_dict("records"):
            key = (row["method"], row["decoding"])
            assert row["correct"] == own[key] == relations[key] == lengths[key]
            assert row["uas"] == pytest.approx(row["correct"] / row["runs"] / row["total"], abs=1e-12)

    def test_record(self, done, vectors):
        record = json.loads((done / "run" / "run.json").read_text())
        words = [word for s in load_treebank(SAMPLE_TREEBANK, limit=LIMIT) for word in s.words]
        with gzip.open(vectors, "rt") as file:
            known = {line.split(" ")[0] for line in file}
        unknown = record["vectors"]["unknown_words"]["test"]
        assert unknown["words"] == len(words)
        assert unknown["unknown"] == sum(word.lower() not in known for word in words)
        assert record["vectors"]["dimensions"] == 6
        assert [split["train"] + split["test"] for split in record["probes"]["splits"]] == [LIMIT, LIMIT]
        assert record["probes"]["recipe"]["learning_rate"] == 0.002
        assert record["cache"]["bytes"]["test"] > 0
        assert any("steps, which may be too few" in warning for warning in record["warnings"])
        page = (done / "run" / "report.html").read_text()
        assert "words without a vector in the test sentences" in page.lower()

    def test_weights_in_the_table_are_those_of_the_saved_probes(self, done):
        heads = table(done / "run", "probe_weights")
        own = heads[heads["probe"] == "attention"]["weight"].to_numpy().reshape(2, 3, 4)
        folders = sorted((done / "run" / "probes").glob("attention-seed*"))
        assert len(folders) == 4
        arcs = table(done / "run", "probe_weights_by_relation")
        assert (
            arcs[arcs["probe"] == "attention"]["arcs"].sum() == arcs[arcs["probe"] == "attention+words"]["arcs"].sum()
        )
        probes = [load_probe(folder) for folder in folders]
        by_fold = np.stack([probe.coef_ for probe in probes if isinstance(probe, AttentionProbe)])
        assert (own >= by_fold.min(0) - 1e-6).all()
        assert (own <= by_fold.max(0) + 1e-6).all()

    def test_nothing_is_left_but_maps(self, done):
        assert not list((done / "cache" / "training").iterdir())
        assert sorted(path.name for path in done.iterdir()) == ["cache", "run"]


class TestCache:
    def test_maps_are_used_again(self, done, model, vectors, capsys):
        out = done / "again"
        assert run("--model", model, "--vectors", vectors, "--tree", *SMALL, "--out", out, "--json") == 0
        summary = json.loads(capsys.readouterr().out)
        assert summary["run"]["cache"]["sentences_made"] == {"test": 0}
        assert summary["run"]["sentences"]["read"] == LIMIT
        assert results(out) == results(done / "run")

    @pytest.mark.slow
    def test_interrupted_run_goes_on_to_the_same_result(self, done, model, vectors, tmp_path, monkeypatch, capsys):
        arguments = ("--model", model, "--vectors", vectors, "--tree", *SMALL, "--out", tmp_path / "run")
        monkeypatch.setattr(Checkpoint, "due", lambda _: True)
        step, steps = training._step, 0

        def interrupted(*given):
            nonlocal steps
            steps += 1
            if steps % 37 == 0:
                raise KeyboardInterrupt
            step(*given)

        monkeypatch.setattr(training, "_step", interrupted)
        stopped = 0
        while (status := run(*arguments)) == 130:
            assert "the same command goes on where it stopped" in capsys.readouterr().err
            assert not (tmp_path / "run").exists()
            stopped += 1
        assert status == 0
        assert stopped > 3
        # Two folds, two seeds; three probes, twice for the control task and two on random weights.
        assert steps == LIMIT * 2 * (3 + 3 + 2) + stopped
        assert json.loads((tmp_path / "run" / "run.json").read_text())["probes"]["continued_after_interruption"] > 0
        assert results(tmp_path / "run") == results(done / "run")

    @pytest.mark.slow
    def test_half_precision(self, done, model, tmp_path):
        small = ("--model", model, "--controls", "none", *SMALL)
        assert run(*small, "--out", tmp_path / "half", "--cache-type", "float16") == 0
        half, full = table(tmp_path / "half"), table(done / "run")
        full = full[full["decoding"] == "argmax"].iloc[: len(half)]
        assert np.abs(half["uas"].to_numpy() - full["uas"].to_numpy()).max() < 0.02
        sizes = [
            json.loads((f / "run.json").read_text())["cache"]["bytes"]["test"]
            for f in (tmp_path / "half", done / "run")
        ]
        assert sizes[0] < 0.51 * sizes[1]


@pytest.mark.slow
def test_train_dev_and_test(model, vectors, tmp_path):
    text = SAMPLE_TREEBANK.read_text(encoding="utf-8").strip().split("\n\n")
    for name, part in (("train", text[:60]), ("dev", text[60:80]), ("test", text[80:110])):
        (tmp_path / f"{name}.conllu").write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
    files = [word for name in ("train", "dev", "test") for word in (f"--{name}", tmp_path / f"{name}.conllu")]
    options = ("--recipe", "tuned", "--epochs", 4, "--seeds", 1, "--controls", "none", "--cache", tmp_path / "maps")
    assert run("--model", model, *files, "--vectors", vectors, *options, "--out", tmp_path / "run") == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["probes"]["splits"] == [{"train": 60, "dev": 20, "test": 30}]
    assert record["sentences"]["read"] == 30
    assert record["treebanks"]["train"]["sentences"]["read"] == 60
    history = table(tmp_path / "run", "probe_training")
    assert history["dev_uas"].notna().all()
    assert history.groupby("method")["epoch"].max().between(2, 4).all()
    # Without dev sentences a tenth of the training sentences takes their place.
    without = [*files[:2], *files[4:]]
    assert run("--model", model, *without, *options, "--out", tmp_path / "held") == 0
    [split] = json.loads((tmp_path / "held" / "run.json").read_text())["probes"]["splits"]
    assert split["train"] + split["dev"] == 60
    assert split["dev"] > 0


def test_model_without_special_tokens(tmp_path):
    model = tiny.save(tmp_path / "gpt2", "gpt2", n_positions=512)
    options = ("--limit", 8, "--folds", 2, "--seeds", 1, "--controls", "none")
    assert run("--model", model, *options, "--out", tmp_path / "run") == 0
    assert "ROOT has no feature" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("kind", ["norm", pytest.param("attnresln", marks=pytest.mark.slow)])
def test_other_maps(model, tmp_path, kind):
    options = ("--map", kind, "--recipe", "paper", "--limit", 8, "--folds", 2, "--seeds", 1)
    assert run("--model", model, *options, "--controls", "random-init", "--out", tmp_path / "run") == 0
    heads = table(tmp_path / "run", "probe_weights")
    assert len(heads) == 2 * 3 * (4 if kind == "norm" else 1)
    assert f"map “{kind}”" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--probe", "attention+words"], 2, "reads word vectors; give --vectors"),
        (["--probe", "mlp"], 2, "choose from: attention, attention+words, words+distances"),
        (["--probe", "attention", "--vectors", "VECTORS"], 2, "--vectors is for"),
        (["--controls", "shuffle"], 2, "unknown control 'shuffle'"),
        (["--controls", "none", "task"], 2, "--controls are task, random-init[:K] and decay, or none"),
        (["--controls", "random-init:0"], 2, "K at least 1"),
        (["--train", "SAMPLE"], 2, "--train needs --test"),
        (["--train", "SAMPLE", "--test", "SAMPLE", "--folds", "3"], 2, "--folds is for one treebank"),
        (["--train", "SAMPLE", "--test", "SAMPLE"], 1, "--train and --test both have this file"),
        (["--folds", "1000000000"], 2, "--folds must be from 2 to 157, the number of sentences, not 1000000000"),
        (["--folds", "13", "--limit", "12"], 2, "--folds must be from 2 to 12, the number of sentences, not 13"),
        (["--learning-rate", "nan"], 2, "--learning-rate must be finite"),
        (["--controls", "random-init", "random-init:2"], 2, "--controls are task, random-init[:K] and decay, or none"),
        (["--map", "norms"], 2, "unknown map kind 'norms'"),
        (["--merge", "vector"], 2, "not made of vectors"),
        (["--ff-bias", "fixed"], 2, "--ff-bias is for maps"),
        (["--test", "nowhere.conllu"], 1, "nowhere.conllu: there is no such file"),
        (["--vectors", "nowhere.txt"], 1, "nowhere.txt: there is no such file"),
        (["--vectors", "HOLES"], 1, "holes.txt:2: the vector of 'of' has 2 numbers, but that of line 1 has 3"),
        (["--vectors", "OTHER"], 1, "no word of the treebanks has a vector"),
        (["--limit", "1"], 1, "too few sentences"),
    ],
)
def test_what_cannot_be(arguments, status, message, model, vectors, tmp_path, capsys):
    (tmp_path / "holes.txt").write_text("the 1 2 3\nof 1 2\n")
    (tmp_path / "other.txt").write_text("zyzzyva 1 2 3\n")
    files = {"VECTORS": vectors, "SAMPLE": SAMPLE_TREEBANK}
    files |= {"HOLES": tmp_path / "holes.txt", "OTHER": tmp_path / "other.txt"}
    given = [files.get(word, word) for word in arguments]
    assert run("--model", model, *given, "--out", tmp_path / "run") == status
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_cache_cannot_be_among_the_results(overwrite, model, tmp_path, capsys):
    for cache in ("run", "run/cache"):
        assert run("--model", model, "--out", tmp_path / "run", "--cache", tmp_path / cache, *overwrite) == 1
        assert "would be in the results folder" in capsys.readouterr().err
    (tmp_path / "file").write_text("no folder")
    assert run("--model", model, "--out", tmp_path / "run", "--cache", tmp_path / "file") == 1
    assert "is a file, not a folder" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_dev_sentences_must_have_something_to_stop_by(model, tmp_path, capsys):
    (tmp_path / "dev.conllu").write_text("1\t!\t_\tPUNCT\t_\t_\t0\tpunct\t_\t_\n\n")
    options = ("--dev", tmp_path / "dev.conllu", "--limit", 12, "--recipe", "tuned")
    assert run("--model", model, *options, "--out", tmp_path / "run") == 1
    assert "no dev word but punctuation has a head" in capsys.readouterr().err


@pytest.mark.slow
def test_stopping_by_what_is_tested_is_said(model, tmp_path):
    (tmp_path / "dev.conllu").write_bytes(SAMPLE_TREEBANK.read_bytes() + b"\n")
    options = ("--limit", 12, "--folds", 2, "--seeds", 1, "--epochs", 2, "--controls", "none")
    for recipe in ("tuned", "paper"):
        given = ("--recipe", recipe, "--dev", tmp_path / "dev.conllu", *options)
        assert run("--model", model, *given, "--out", tmp_path / recipe) == 0
        warnings = json.loads((tmp_path / recipe / "run.json").read_text())["warnings"]
        assert any("also occur word for word among the dev sentences" in warning for warning in warnings) == (
            recipe == "tuned"
        )


def test_trees_without_their_library_are_refused_before_any_work(model, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("attentionology.analyses.probing.options.find_spec", lambda _: None)
    assert run("--model", model, "--tree", "--out", tmp_path / "run") == 2
    assert "attentionology[tree]" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_probes_know_more_than_single_heads(demo_encoder, data_file, tmp_path):
    """On a part of EWT; all of it, with more seeds, is in docs/how-to/probe.md."""
    del demo_encoder
    files: list[object] = []
    for name, n in (("train", 450), ("dev", 120)):
        text = data_file(f"ud/en_ewt-{name}.conllu").read_text(encoding="utf-8")
        (tmp_path / f"{name}.conllu").write_text("\n\n".join(text.split("\n\n")[:n]) + "\n\n", encoding="utf-8")
        files += ["--train" if name == "train" else "--test", tmp_path / f"{name}.conllu"]
    vectors = data_file("glove/glove.6B.50d.top9163.txt.gz")
    options = ("--recipe", "paper", "--learning-rate", 0.01, "--seeds", 1, "--replicates", 0)
    assert run(*files, "--vectors", vectors, *options, "--out", tmp_path / "run") == 0
    uas = table(tmp_path / "run").set_index("method")["uas"].to_dict()
    every_head = table(tmp_path / "run", "probe_weights")["accuracy"]
    assert uas["attention"] > every_head.max() + 0.03
    assert uas["attention"] > uas["best single head"] + 0.03
    assert uas["attention"] > uas["best offset"] + 0.10
    assert uas["attention+words"] > uas["attention"] + 0.015
    assert uas["attention+words"] > uas["words+distances"] + 0.05
    assert uas["attention+words, random weights"] < uas["attention+words"] - 0.2
    selectivity = table(tmp_path / "run").set_index("method")["selectivity"]
    assert (selectivity[["attention", "attention+words"]] > 0.04).all()


@pytest.mark.slow
def test_few_sentences_are_trained_on_for_longer_in_all_rows(model, tmp_path, capsys):
    options = ("--limit", 24, "--folds", 2, "--seeds", 1, "--replicates", 0)
    assert run("--model", model, *options, "--out", tmp_path / "run") == 0
    out = " ".join(capsys.readouterr().out.split())
    page = (tmp_path / "run" / "report.html").read_text()
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    steps = min(split["train"] + split["dev"] for split in record["probes"]["splits"])
    reason = f"one epoch would have {steps} steps, fewer than 3,000"
    assert 5 < steps <= 12
    assert f"Recipe “tuned”, because {reason}." in out
    assert f"recipe “tuned”, because {reason}" in page
    assert "which may be too few" not in out
    assert record["options"]["recipe"] == record["probes"]["recipe_name"] == "tuned"
    assert record["probes"]["recipe_reason"] == reason
    assert record["probes"]["recipe"]["epochs"] == 20
    assert all(split["dev"] for split in record["probes"]["splits"])
    epochs = table(tmp_path / "run", "probe_training").groupby(["method", "task"])["epoch"].max()
    assert len(epochs) == 3  # the probe, its control task, and random weights
    assert (epochs > 1).all()


@pytest.mark.slow
def test_the_attention_probe_is_above_the_best_single_head(demo_encoder, data_file, tmp_path):
    """On few sentences the recipe of the paper leaves it below, which says nothing about attention."""
    del demo_encoder
    options = ("--test", data_file("ud/en_ewt-dev.conllu"), "--limit", 150, "--folds", 2, "--seeds", 1)
    uas = {}
    for name, given in (("auto", ()), ("paper", ("--recipe", "paper"))):
        assert run(*options, *given, "--controls", "none", "--replicates", 0, "--out", tmp_path / name) == 0
        uas[name] = table(tmp_path / name).set_index("method")["uas"]
    assert uas["paper"]["attention"] < uas["paper"]["best single head"]
    assert uas["auto"]["attention"] > uas["auto"]["best single head"] + 0.03
