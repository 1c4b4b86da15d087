"""The results of ``attentionology explain``, and that they are the same again."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.explanation.contract.options import TESTS
from attentionology.probes.classifiers import train
from tests.acceptance.explain.explaining import (
    ALL,
    FEWEST,
    FIGURES,
    OF_ONE_MODEL,
    SMALL,
    TABLES,
    columns,
    everything,
    record,
    run,
    said,
    table,
)
from tests.written import results


class TestResults:
    def test_all_tests_have_their_tables_and_figures(self, done):
        assert [path.name for path in sorted((done / "run" / "tables").glob("*.csv"))] == [
            f"explain_{name}.csv" for name in TABLES
        ]
        assert [path.name for path in sorted((done / "run" / "figures").glob("*.svg"))] == [
            f"explain_{name}.svg" for name in FIGURES
        ]
        ran = record(done / "run")
        assert ran["left_out"] == {}
        assert list(ran["options"]["tests"]) == list(TESTS)
        judged = set(table(done / "run", "verdicts")["test"])
        assert judged == set(TESTS) - {"regularizers"}

    def test_every_model_is_listed_and_trained_once(self, done):
        models = table(done / "run", "models")
        assert list(models["model"]) == [
            *("base", "uniform", "seed 1", "seed 2", "λ = 0", "λ = 0.01"),
            *("guided by uniform", "guided by own", "guided by base", "guided by adversary"),
            *("concat", "residual", "tying", "mlm", "conicity"),
        ]
        training = record(done / "run")["training"]
        assert (training["trained"], training["from_cache"]) == (len(models), 0)
        history = table(done / "run", "training")
        assert set(history["model"]) == set(models["model"])
        assert (history.loc[history["role"] != "adversary", "dev_auc"].notna()).all()

    def test_accuracy_is_what_the_texts_say(self, done, files):
        texts, models = table(done / "run"), table(done / "run", "models").set_index("model")
        labels = [int(line[0]) for line in (files / "test.txt").read_text().splitlines()]
        assert list(texts["label"]) == labels
        assert list(texts["id"]) == [f"test.txt:{i}" for i in range(1, len(labels) + 1)]
        assert list(texts["correct"]) == [float(p == y) for p, y in zip(texts["predicted"], labels, strict=True)]
        assert models.loc["base", "accuracy"] == pytest.approx(texts["correct"].mean(), abs=1e-12)
        for name, column in (
            ("uniform", "uniform_retrained_correct"),
            *((f"guided by {guide}", f"guided_{guide}_correct") for guide in ("uniform", "own", "base", "adversary")),
        ):
            assert models.loc[name, "accuracy"] == pytest.approx(texts[column].mean(), abs=1e-12)
        assert texts["correct"].mean() > 0.9

    def test_summary_is_the_means_of_the_texts(self, done):
        texts, summary = table(done / "run"), table(done / "run", "summary")
        assert set(summary["predicted"]) == {ALL, "0", "1"}
        for row in summary.to_dict("records"):
            rows = texts if row["predicted"] == ALL else texts[texts["predicted"] == int(row["predicted"])]
            values = rows[row["measure"]].dropna()
            assert (row["n"], row["undefined"]) == (len(values), len(rows) - len(values))
            assert row["mean"] == pytest.approx(values.mean(), abs=1e-12, nan_ok=True)

    def test_verdicts_are_differences_of_columns(self, done):
        texts, judged = table(done / "run"), table(done / "run", "verdicts")
        for row in judged.to_dict("records"):
            difference = (texts[row["larger"]] - texts.assign(epsilon=0.05)[row["smaller"]]).dropna()
            assert row["n"] == len(difference)
            assert row["difference"] == pytest.approx(difference.mean(), abs=1e-12)
            assert row["larger_mean"] - row["smaller_mean"] == pytest.approx(row["difference"], abs=1e-12)
            assert row["low"] <= row["high"]
            decided = "passes" if row["low"] > 0 else "fails" if row["high"] < 0 else "undecided"
            assert row["verdict"] == (decided if row["n"] >= FEWEST else "undecided")

    @pytest.mark.slow
    def test_no_verdict_depends_on_the_other_tests(self, done, files, tmp_path, monkeypatch):
        """Nor on the order in which they are given."""
        # Figures take most of the time.
        monkeypatch.setattr("attentionology.analyses.explanation.showing.section.explain_figures", lambda *_: {})
        everywhere = table(done / "run", "verdicts")
        judged = [name for name in TESTS if name != "regularizers"]
        rng = np.random.default_rng(0)
        subsets = [[name] for name in judged]
        subsets += [rng.permutation(judged)[: rng.integers(2, len(judged))].tolist() for _ in range(8)]
        # the cheapest of the others, so that no pair of two tests that share numbers is missing
        subsets += [list(pair) for pair in itertools.combinations(("permutation", "adversarial", "seeds"), 2)]
        for number, tests in enumerate(subsets):
            trained = []
            for option, value, users in (
                ("--draws", 5, {"permutation", "adversarial", "seeds", "imitation"}),
                ("--steps", 3, {"adversarial"}),
                ("--seeds", 2, {"seeds"}),
                ("--adversary-epochs", 2, {"imitation"}),
                ("--lambdas", 0.01, {"imitation"}),
            ):
                trained += [option, value] if users & set(tests) else []
            data = ("--data", files / "train.txt", "--dev", files / "dev.txt", "--test", files / "test.txt")
            out = tmp_path / str(number)
            options = ("--tests", ",".join(tests), *trained, "--cache", done / "cache", "--out", out)
            assert run(*data, *SMALL, *options) == 0
            expected = everywhere[everywhere["test"].isin(tests)].reset_index(drop=True)
            assert set(expected["test"]) == set(tests)
            pd.testing.assert_frame_equal(table(out, "verdicts"), expected, check_exact=True)

    def test_values_have_their_bounds(self, done):
        texts = table(done / "run")
        assert (texts["adversarial_jsd"] <= texts["exact_jsd"] + 1e-6).all()
        assert (texts["exact_jsd"] <= texts["ceiling_jsd"] + 1e-9).all()
        assert (texts["ceiling_jsd"] <= math.log(2) + 1e-6).all()
        assert (texts["adversarial_tvd"] <= 0.05 + 1e-6).all()
        for column in columns(texts, "tau_"):
            assert texts[column].dropna().between(-1, 1).all()


class TestTheSameAgain:
    @pytest.mark.slow
    def test_interrupted_runs_go_on_and_end_alike(self, done, files, tmp_path, monkeypatch, capsys):
        options = (*everything(files), "--out", tmp_path / "run", "--cache", tmp_path / "cache")
        trained = []

        def stops(*arguments, **options):
            trained.append(1)
            if len(trained) == 4:
                raise KeyboardInterrupt
            return train(*arguments, **options)

        def stops_examining(*arguments, **options):
            raise KeyboardInterrupt

        for name, broken in (
            ("attentionology.probes.classifiers.trainings.train", stops),
            ("attentionology.analyses.explanation.examination.subject.examine", stops_examining),
        ):
            with monkeypatch.context() as patched:
                patched.setattr(name, broken)
                assert run(*options) == 130
            assert "the same command goes on where it stopped" in capsys.readouterr().err
            assert not (tmp_path / "run").exists()
        kept = sorted((tmp_path / "cache" / "classifiers").glob("*.safetensors"))
        assert len(kept) == 3
        kept[0].write_bytes(kept[0].read_bytes()[:100])  # as if the disk had been full
        assert run(*options) == 0
        assert record(tmp_path / "run")["training"]["from_cache"] == 2
        assert results(tmp_path / "run") == results(done / "run")

    def test_a_saved_classifier_gives_the_same_numbers(self, done, files, tmp_path, capsys):
        model = done / "run" / "classifier.safetensors"
        options = ("--draws", 5, "--steps", 3, "--replicates", 20)
        assert run("--model", model, "--test", files / "test.txt", *options, "--out", tmp_path / "run") == 0
        before, after = table(done / "run"), table(tmp_path / "run")
        pd.testing.assert_frame_equal(after, before[list(after)], check_exact=True)
        of_other_models = columns(before, "seed_", "guided_", "imitation_", "uniform_retrained_")
        assert list(after) == [name for name in before if name not in of_other_models]
        assert record(tmp_path / "run")["model"]["weights_sha256"] == record(done / "run")["model"]["weights_sha256"]
        printed = said(capsys.readouterr().out)
        for test in ("seeds", "guided", "regularizers"):
            assert f"Not run: {test} (it trains models, and nothing is trained in this run)" in printed

    def test_texts_do_not_depend_on_those_beside_them(self, done, files, tmp_path):
        options = (*everything(files, f"{OF_ONE_MODEL},seeds"), "--seeds", 2, "--cache", done / "cache")
        assert run(*options, "--limit", 15, "--out", tmp_path / "run") == 0
        few, all_of_them = table(tmp_path / "run").set_index("id"), table(done / "run").set_index("id")
        assert len(few) == 15
        same = all_of_them.loc[few.index, list(few)].drop(columns=["adversarial_jsd", "adversarial_tvd"])
        pd.testing.assert_frame_equal(few[list(same)], same, check_exact=False, rtol=0, atol=1e-5)
