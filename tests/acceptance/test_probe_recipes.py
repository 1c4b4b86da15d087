"""Which recipe ``attentionology probe`` trains with by default."""

from __future__ import annotations

import json

import pytest

from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from tests.acceptance.probing import on_disk, run, table


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny model on disk."""
    return on_disk(tmp_path_factory.mktemp("model"), "bert", "wordpiece")


class TestDefaultRecipe:
    """The recipe of the paper where its one epoch is long enough, else the tuned one."""

    OPTIONS = ("--limit", 24, "--folds", 2, "--seeds", 1, "--replicates", 0)

    def record(self, folder):
        return json.loads((folder / "run.json").read_text())

    @pytest.mark.slow
    def test_few_sentences_are_trained_on_for_longer_in_all_rows(self, model, tmp_path, capsys):
        assert run("--model", model, *self.OPTIONS, "--out", tmp_path / "run") == 0
        out = " ".join(capsys.readouterr().out.split())
        page = (tmp_path / "run" / "report.html").read_text()
        record = self.record(tmp_path / "run")
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
    def test_enough_sentences_are_trained_on_as_in_the_paper(self, model, tmp_path, monkeypatch):
        files = {}
        for name, number in (("train", 20), ("test", 10)):
            text = SAMPLE_TREEBANK.read_text(encoding="utf-8").strip().split("\n\n")
            files[name] = tmp_path / f"{name}.conllu"
            files[name].write_text("\n\n".join(text[:number] if name == "train" else text[-number:]) + "\n\n", "utf-8")
        given = ("--train", files["train"], "--test", files["test"], "--seeds", 1, "--controls", "none")
        for fewest, name in ((20, "paper"), (21, "tuned")):
            monkeypatch.setattr("attentionology.probes.recipe.FEWEST_STEPS", fewest)
            assert run("--model", model, *given, "--replicates", 0, "--out", tmp_path / name) == 0
            assert self.record(tmp_path / name)["probes"]["recipe_name"] == name
        probes = self.record(tmp_path / "paper")["probes"]
        assert probes["recipe"]["epochs"] == 1
        assert probes["recipe_reason"] == "one epoch has 20 steps, at least 20"

    def test_sentences_without_a_head_are_no_steps(self, model, tmp_path, monkeypatch):
        monkeypatch.setattr("attentionology.probes.recipe.FEWEST_STEPS", 21)
        without = "1\tword\t_\tX\t_\t_\t_\t_\t_\t_\n\n"
        text = SAMPLE_TREEBANK.read_text(encoding="utf-8").strip().split("\n\n")
        (tmp_path / "train.conllu").write_text("\n\n".join(text[:20]) + "\n\n" + 4 * without, encoding="utf-8")
        (tmp_path / "test.conllu").write_text("\n\n".join(text[-10:]) + "\n\n", encoding="utf-8")
        files = ("--train", tmp_path / "train.conllu", "--test", tmp_path / "test.conllu")
        options = ("--controls", "none", "--seeds", 1, "--replicates", 0)
        assert run("--model", model, *files, *options, "--out", tmp_path / "run") == 0
        probes = self.record(tmp_path / "run")["probes"]
        assert probes["recipe_reason"] == "one epoch would have 20 steps, fewer than 21"
        assert probes["recipe_name"] == "tuned"

    def test_a_number_of_epochs_is_of_the_paper(self, model, tmp_path):
        options = ("--controls", "none", "--epochs", 3, *self.OPTIONS)
        assert run("--model", model, *options, "--out", tmp_path / "run") == 0
        probes = self.record(tmp_path / "run")["probes"]
        assert (probes["recipe_name"], probes["recipe"]["epochs"], probes["recipe"]["patience"]) == ("paper", 3, None)
        assert probes["recipe_reason"] == "the number of epochs was given"

    def test_too_few_to_hold_some_out(self, model, tmp_path):
        options = ("--limit", 2, "--folds", 2, "--seeds", 1, "--replicates", 0, "--controls", "none")
        assert run("--model", model, *options, "--recipe", "tuned", "--out", tmp_path / "tuned") == 1
        assert run("--model", model, *options, "--out", tmp_path / "run") == 0
        probes = self.record(tmp_path / "run")["probes"]
        assert probes["recipe_name"] == "paper"
        assert "too few sentences to hold some out" in probes["recipe_reason"]

    @pytest.mark.slow
    def test_the_attention_probe_is_above_the_best_single_head(self, demo_encoder, data_file, tmp_path):
        """On few sentences the recipe of the paper leaves it below, which says nothing about attention."""
        del demo_encoder
        options = ("--test", data_file("ud/en_ewt-dev.conllu"), "--limit", 150, "--folds", 2, "--seeds", 1)
        uas = {}
        for name, given in (("auto", ()), ("paper", ("--recipe", "paper"))):
            assert run(*options, *given, "--controls", "none", "--replicates", 0, "--out", tmp_path / name) == 0
            uas[name] = table(tmp_path / name).set_index("method")["uas"]
        assert uas["paper"]["attention"] < uas["paper"]["best single head"]
        assert uas["auto"]["attention"] > uas["auto"]["best single head"] + 0.03
