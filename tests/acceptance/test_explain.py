"""``attentionology explain`` as a user meets it."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from attentionology.analyses.explanation.batch import examine
from attentionology.analyses.explanation.names import TESTS
from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import TransformerAttention, load_classifier
from attentionology.probes.classifiers import train
from attentionology.scripts.cli import main
from tests import tiny

GOOD, BAD = ("good", "great", "fine"), ("bad", "awful", "poor")
FILLERS = ("the", "a", "film", "story", "was", "of", "with", "it", "that", "plot", "long", "in")
TABLES = ("curve", "flips", "models", "regularizers", "summary", "texts", "training", "verdicts")
FIGURES = ("adversarial", "curve", "permutation", "regularizers", "removal", "seeds", "single", "tau", "training")
ALL = "(all)"
OF_ONE_MODEL = "correlation,permutation,adversarial,uniform,erasure,removal,single-token,eraser"
FEWEST = 30  # texts that a verdict needs


def run(*arguments: object) -> int:
    return main(["explain", *map(str, arguments)])


def table(folder: Path, name: str = "texts") -> pd.DataFrame:
    return pd.read_csv(folder / "tables" / f"explain_{name}.csv")


def columns(rows: pd.DataFrame, *beginnings: str) -> list[str]:
    """Names of the columns that begin so."""
    return [name for name in map(str, rows.columns) if name.startswith(beginnings)]


def record(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text())


def said(text: str) -> str:
    """What the terminal says, however it is broken into lines."""
    return " ".join(text.split())


def files_of(folder: Path) -> dict[str, bytes]:
    """What a run says, without times, paths and what it found in the cache."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".csv", ".svg", ".safetensors")
    }


def texts(count: int, seed: int) -> list[str]:
    """Lines of label and text; one word decides the label."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(count):
        words = [str(word) for word in rng.choice(FILLERS, size=rng.integers(2, 9))]
        words.insert(int(rng.integers(len(words) + 1)), str(rng.choice(GOOD if i % 2 else BAD)))
        lines.append(f"{i % 2} {' '.join(words)}")
    return lines


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Training, dev and test texts of two classes."""
    folder = tmp_path_factory.mktemp("texts")
    for name, count, seed in (("train", 160, 0), ("dev", 40, 1), ("test", 40, 2)):
        (folder / f"{name}.txt").write_text("\n".join(texts(count, seed)) + "\n")
    return folder


SMALL = ("--encoder", "average", "--dimensions", 8, "--epochs", 4, "--learning-rate", 0.01, "--replicates", 20)
QUICK = ("--draws", 5, "--steps", 3)


def everything(files: Path, tests: str = "all") -> tuple[object, ...]:
    data = ("--data", files / "train.txt", "--dev", files / "dev.txt", "--test", files / "test.txt")
    trained = () if tests != "all" else ("--seeds", 2, "--adversary-epochs", 2, "--lambdas", 0.01)
    return (*data, *SMALL, *QUICK, "--tests", tests, *trained)


@pytest.fixture(scope="module")
def done(files, tmp_path_factory):
    """A finished run of all tests, and its cache."""
    folder = tmp_path_factory.mktemp("done")
    assert run(*everything(files), "--out", folder / "run") == 0
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A tiny classifier of three classes on disk that reads up to 64 pieces."""
    folder = tmp_path_factory.mktemp("bert")
    tiny.classifier("bert").save_pretrained(folder)
    tiny.fresh_tokenizer("wordpiece").save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    """The beginnings of sentences with a label each; the last is too long for the tiny model."""
    words = [sentence.words[:5] for sentence in load_treebank(SAMPLE_TREEBANK, limit=12)]
    path = tmp_path_factory.mktemp("sentences") / "sentences.tsv"
    labels = [("no", "maybe", "yes")[i % 3] for i in range(len(words))]
    lines = [f"{label}\t{' '.join(own)}" for label, own in zip(labels, words, strict=True)]
    path.write_text("\n".join(["label\ttext", *lines, f"yes\t{'the ' * 80}"]) + "\n")
    return path


class TestResults:
    def test_all_tests_have_their_tables_and_figures(self, done):
        assert [path.name for path in sorted((done / "run" / "tables").iterdir())] == [
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
        own = record(done / "run")["training"]
        assert (own["trained"], own["from_cache"]) == (len(models), 0)
        history = table(done / "run", "training")
        assert set(history["model"]) == set(models["model"])
        assert (history.loc[history["role"] != "adversary", "dev_auc"].notna()).all()

    def test_accuracy_is_what_the_texts_say(self, done, files):
        found, models = table(done / "run"), table(done / "run", "models").set_index("model")
        labels = [int(line[0]) for line in (files / "test.txt").read_text().splitlines()]
        assert list(found["label"]) == labels
        assert list(found["id"]) == [f"test.txt:{i}" for i in range(1, len(labels) + 1)]
        assert list(found["correct"]) == [float(p == y) for p, y in zip(found["predicted"], labels, strict=True)]
        assert models.loc["base", "accuracy"] == pytest.approx(found["correct"].mean(), abs=1e-12)
        for name, column in (
            ("uniform", "uniform_retrained_correct"),
            *((f"guided by {guide}", f"guided_{guide}_correct") for guide in ("uniform", "own", "base", "adversary")),
        ):
            assert models.loc[name, "accuracy"] == pytest.approx(found[column].mean(), abs=1e-12)
        assert found["correct"].mean() > 0.9

    def test_summary_is_the_means_of_the_texts(self, done):
        found, summary = table(done / "run"), table(done / "run", "summary")
        assert set(summary["predicted"]) == {ALL, "0", "1"}
        for row in summary.to_dict("records"):
            rows = found if row["predicted"] == ALL else found[found["predicted"] == int(row["predicted"])]
            values = rows[row["measure"]].dropna()
            assert (row["n"], row["undefined"]) == (len(values), len(rows) - len(values))
            assert row["mean"] == pytest.approx(values.mean(), abs=1e-12, nan_ok=True)

    def test_verdicts_are_differences_of_columns(self, done):
        found, judged = table(done / "run"), table(done / "run", "verdicts")
        for row in judged.to_dict("records"):
            difference = (found[row["larger"]] - found.assign(epsilon=0.05)[row["smaller"]]).dropna()
            assert row["n"] == len(difference)
            assert row["difference"] == pytest.approx(difference.mean(), abs=1e-12)
            assert row["larger_mean"] - row["smaller_mean"] == pytest.approx(row["difference"], abs=1e-12)
            assert row["low"] <= row["high"]
            decided = "passes" if row["low"] > 0 else "fails" if row["high"] < 0 else "undecided"
            assert row["verdict"] == (decided if row["n"] >= FEWEST else "undecided")

    def test_no_verdict_depends_on_the_other_tests(self, done, files, tmp_path, monkeypatch):
        """Nor on the order in which they are given."""
        # Figures take most of the time.
        monkeypatch.setattr("attentionology.analyses.explanation.section.explain_figures", lambda *_: {})
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

    def test_flips_add_up(self, done):
        found, flips = table(done / "run"), table(done / "run", "flips")
        assert (flips[["both", "only_top", "only_random", "neither"]].sum(axis=1) == flips["n"]).all()
        for row in flips.to_dict("records"):
            assert row["both"] + row["only_top"] == found[f"single_{row['measure']}_top_flip"].sum()
            assert row["both"] + row["only_random"] == found[f"single_{row['measure']}_random_flip"].sum()

    def test_values_have_their_bounds(self, done):
        found = table(done / "run")
        assert (found["adversarial_jsd"] <= found["exact_jsd"] + 1e-6).all()
        assert (found["exact_jsd"] <= found["ceiling_jsd"] + 1e-9).all()
        assert (found["ceiling_jsd"] <= math.log(2) + 1e-6).all()
        assert (found["adversarial_tvd"] <= 0.05 + 1e-6).all()
        for column in columns(found, "tau_"):
            assert found[column].dropna().between(-1, 1).all()

    def test_curve_has_seeds_adversaries_and_texts(self, done):
        curve = table(done / "run", "curve")
        assert list(curve["kind"]) == ["seed"] * 2 + ["adversary"] * 2 + ["per text"] * 2
        assert list(curve.loc[curve["kind"] == "adversary", "lambda"]) == [0.0, 0.01]

    def test_json_is_valid_and_says_the_same(self, done, files, tmp_path, capsys):
        model, tests = done / "run" / "classifier.safetensors", ("--tests", "correlation,erasure,removal")
        given = ("--model", model, "--test", files / "test.txt", *tests, "--replicates", 20, "--json")
        assert run(*given, "--out", tmp_path / "run") == 0

        def refused(constant: str) -> None:
            raise AssertionError(constant)

        printed = json.loads(capsys.readouterr().out, parse_constant=refused)
        means, judged = table(tmp_path / "run", "summary"), table(tmp_path / "run", "verdicts")
        means = means[means["predicted"] == ALL]
        assert [row["measure"] for row in printed["explain_summary"]] == list(means["measure"])
        assert [row["verdict"] for row in printed["explain_verdicts"]] == list(judged["verdict"])
        assert {row["verdict"] for row in printed["explain_verdicts"]} <= {"passes", "fails", "undecided"}


class TestTheSameAgain:
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
            ("attentionology.analyses.explanation.tested.examine", stops_examining),
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
        assert files_of(tmp_path / "run") == files_of(done / "run")

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

    def test_order_of_the_texts_does_not_matter(self, done, files, tmp_path):
        lines = (files / "test.txt").read_text().splitlines()
        (tmp_path / "test.txt").write_text("\n".join(reversed(lines)) + "\n")
        tests = ("--tests", "correlation,adversarial,removal,eraser", "--draws", 5)
        options = ("--steps", 0, "--replicates", 20, *tests)
        model = done / "run" / "classifier.safetensors"
        assert run("--model", model, "--test", tmp_path / "test.txt", *options, "--out", tmp_path / "run") == 0
        turned = table(tmp_path / "run").iloc[::-1].reset_index(drop=True)
        measured = [name for name in columns(turned, "") if name != "id"]  # also what is drawn at random
        before = table(done / "run")[measured]
        pd.testing.assert_frame_equal(turned[measured], before, check_exact=False, rtol=0, atol=1e-5)


class TestTransformers:
    def test_one_that_classifies_already(self, bert, sentences, tmp_path, capsys):
        options = ("--draws", 5, "--steps", 3, "--replicates", 20)
        assert run("--model", bert, "--test", sentences, *options, "--out", tmp_path / "run") == 0
        found = table(tmp_path / "run")
        assert len(found) == 12
        model = transformers.AutoModelForSequenceClassification.from_pretrained(bert).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
        lines = [line.split("\t")[1] for line in sentences.read_text().splitlines()[1:13]]
        with torch.no_grad():
            own = [model(**tokenizer(line, return_tensors="pt")).logits[0].double().softmax(-1) for line in lines]
        assert list(found["predicted"]) == [int(p.argmax()) for p in own]
        np.testing.assert_allclose(found["probability"], [float(p.max()) for p in own], atol=1e-5)
        assert {"null_space", "adversarial_jsd", "uniform_tvd", "comprehensiveness_attention"} <= set(found)
        assert not {"exact_jsd", "conicity", "seed_jsd"} & set(found)

        skipped = record(tmp_path / "run")["sentences"]["skipped"]
        assert [(one["file"], one["line"]) for one in skipped] == [(str(sentences), 14)]
        assert "too long" in skipped[0]["reason"]
        printed = said(capsys.readouterr().out)
        assert "Tested texts that the model cannot read, left out: 1" in printed
        assert "too long" in (tmp_path / "run" / "report.html").read_text()

    def test_where_attention_is_changed_matters(self, bert, sentences, tmp_path):
        options = ("--tests", "permutation", "--draws", 5, "--replicates", 0, "--limit", 12)
        moved = {}
        for name, scope in (
            ("last", ()),
            ("first", ("--layer", 1)),
            ("heads", ("--heads", 1, 2)),
            ("all", ("--query", "all")),
            ("special", ("--special", "renormalise")),
        ):
            assert run("--model", bert, "--test", sentences, *options, *scope, "--out", tmp_path / name) == 0
            moved[name] = table(tmp_path / name)["permutation_tvd"].mean()
            scoped = record(tmp_path / name)["model"]["scope"]
            assert scoped["layer"] == (1 if name == "first" else 3)
            assert scoped["heads"] == ([1, 2] if name == "heads" else "all")
        assert len({round(value, 9) for value in moved.values()}) == 5

    def test_own_attention_put_back_changes_nothing(self, bert, sentences):
        model, files = load_classifier(str(bert))
        attention = TransformerAttention(model, tiny.fresh_tokenizer("wordpiece"), files=files)
        words = [tuple(line.split("\t")[1].split()) for line in sentences.read_text().splitlines()[1:9]]
        for batch in attention.batches(words):
            with torch.no_grad():
                state = attention.encode([words[i] for i in batch])
                put_back = attention.decode(state, state.alpha[:, None])[:, 0]
                own = model(input_ids=state.ids, attention_mask=state.inside.long()).logits
            torch.testing.assert_close(put_back, own, atol=1e-5, rtol=0)

    def test_one_that_is_fine_tuned(self, bert, files, tmp_path, capsys):
        data = ("--data", files / "dev.txt", "--test", files / "test.txt")
        options = (
            "--epochs",
            1,
            "--seeds",
            1,
            "--learning-rate",
            0.001,
            "--replicates",
            0,
            "--draws",
            5,
            "--limit",
            20,
        )
        tests = ("--tests", "correlation", "permutation", "uniform", "seeds")
        assert run("--model", bert, "--finetune", *data, *options, *tests, "--out", tmp_path / "run") == 0
        assert list(table(tmp_path / "run", "models")["model"]) == ["base", "uniform", "seed 1"]
        assert record(tmp_path / "run")["model"]["classes"] == ["0", "1"]
        assert "Fine-tuned without dropout." in said(capsys.readouterr().out)
        saved = ("--model", tmp_path / "run" / "model", "--test", files / "test.txt", "--replicates", 0, "--draws", 5)
        again = ("--limit", 20, "--tests", "correlation", "permutation", "--out", tmp_path / "again")
        assert run(*saved, *again) == 0
        before, after = table(tmp_path / "run"), table(tmp_path / "again")
        pd.testing.assert_frame_equal(after, before[list(after)], check_exact=True)

    def test_labels_may_be_numbers(self, bert, sentences, tmp_path):
        numbered = sentences.read_text()
        for number, name in enumerate(("no", "maybe", "yes")):
            numbered = numbered.replace(f"\n{name}\t", f"\n{number}\t")
        (tmp_path / "sentences.tsv").write_text(numbered)
        options = ("--tests", "permutation", "--draws", 2, "--replicates", 0)
        assert run("--model", bert, "--test", tmp_path / "sentences.tsv", *options, "--out", tmp_path / "numbers") == 0
        assert run("--model", bert, "--test", sentences, *options, "--out", tmp_path / "names") == 0
        pd.testing.assert_frame_equal(table(tmp_path / "numbers"), table(tmp_path / "names"))

    def test_pieces_in_place_of_words_are_refused(self, bert):
        """The tests delete and reorder words; they could not say anything of pieces."""
        model, _ = load_classifier(bert)
        pieces = TransformerAttention(model, tiny.fresh_tokenizer("wordpiece"), level="piece")
        with pytest.raises(ValueError, match="level='word'"):
            examine(pieces, ["a"], [("unquestionably", "fine")], {})


class TestOddTexts:
    def test_one_word_unknown_words_and_lines_without_text(self, done, files, tmp_path):
        odd = ["", "1", "0 ", "1 good", "0 bad", "1 zzz yyy xxx", "0 qqq", "1 <b>good</b> & $x$ film", "0 the film",
               "1 the film"]  # fmt: skip
        lines = [*(files / "test.txt").read_text().splitlines(), *odd]
        (tmp_path / "test.txt").write_text("\n".join(lines) + "\n")
        options = ("--cache", done / "cache", "--out", tmp_path / "run")
        given = [tmp_path / "test.txt" if one == files / "test.txt" else one for one in everything(files, OF_ONE_MODEL)]
        assert run(*given, *options) == 0
        found = table(tmp_path / "run").set_index("id")
        assert len(found) == 47
        for line in (44, 45, 47):  # one word: there is only one attention
            row = found.loc[f"test.txt:{line}"]
            assert row["words"] == 1
            assert row["max_attention"] == 1
            assert row[columns(found, "tau_", "permutation_", "exact_", "single_attention_")].isna().all()
        own = record(tmp_path / "run")
        assert own["sentences"]["unknown_words"] == 7
        assert own["texts"]["test"]["remarks"] == [
            "Blank lines that were skipped: 1.",
            f"2 texts without a word were skipped, the first is {tmp_path / 'test.txt'}:42.",
            "Texts that repeat an earlier one: 1; of these, repeats of a text that occurs with more than one label: 1.",
        ]
        page = (tmp_path / "run" / "report.html").read_text()
        assert "2 texts without a word were skipped" in page
        assert "<b>good</b>" not in page

    def test_labels_with_blanks_and_signs(self, tmp_path, capsys):
        labels = ("very $bad$", "<b>so so</b>", "good & 'fine'")
        lines = [f'"{labels[i % 3]}","{("bad", "meh", "good")[i % 3]} film {i % 7}"' for i in range(90)]
        (tmp_path / "texts.csv").write_text("\n".join(["kind,words", *lines]) + "\n")
        options = ("--text-column", "words", "--label-column", "kind", "--tests", "correlation,permutation,removal")
        assert run("--data", tmp_path / "texts.csv", *SMALL, *options, "--out", tmp_path / "run") == 0
        assert record(tmp_path / "run")["model"]["classes"] == sorted(labels)
        assert set(table(tmp_path / "run")["label"]) <= set(labels)
        assert "<b>so so</b>" not in (tmp_path / "run" / "report.html").read_text()
        assert "<b>so so</b>" in said(capsys.readouterr().out)

    def test_a_model_that_says_one_thing_only_is_said_to(self, files, tmp_path, capsys):
        (tmp_path / "train.txt").write_text("1 x y\n" * 30 + "0 x y\n" * 30)
        data = ("--data", tmp_path / "train.txt", "--dev", files / "dev.txt", "--test", files / "test.txt")
        assert run(*data, *SMALL, "--tests", "correlation,removal", "--out", tmp_path / "run") == 0
        printed = said(capsys.readouterr().out)
        assert "The model gives every tested text the same class." in printed
        assert "of the tested words are unknown to the model" in printed


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--data", "UNSEEN"], 1, "unseen.txt:3: the label 'maybe' does not occur in training, where there are: 0, 1"),
        (["--test", "NOWHERE"], 1, "nowhere.txt: there is no such file"),
        (["--test", "CSV"], 1, "texts.csv:1: expected columns 'text' and 'label', found 'kind', 'words'"),
        (["--test", "LATIN"], 1, "latin.txt:1: the file is not UTF-8"),
        (["--test", "WORDLESS"], 1, "wordless.txt: the file holds no text"),
        (["--data", "ONE"], 1, "a classifier needs two classes"),
        (["--data", "FIVE"], 1, "too few texts"),
        (["--min-words", "50"], 1, "no text has the length that is asked for"),
        (["--tests", "correlation,colour"], 2, "unknown test 'colour'; choose from: correlation, permutation,"),
        (["--epsilon", "nan"], 2, "--epsilon must be between 0 and 1, not nan"),
        (["--layer", "1"], 2, "--layer is for transformers: --model MODEL"),
        (["--finetune"], 2, "--finetune is for a transformer: --model MODEL"),
        (["--strength", "2"], 2, "--strength is for --regularizer tying, mlm or conicity"),
        (["--text-column", "label"], 2, "--text-column and --label-column cannot be the same"),
        (["--text-column", "01", "--label-column", "1"], 2, "--text-column and --label-column cannot be the same"),
        (["--encoder", "lstm", "--dimensions", "5", "--regularizer", "residual"], 2, "multiple of 2"),
        (["--vectors", "OTHER"], 1, "not one word of the texts has a vector"),
        (["--vectors", "OTHER", "--dimensions", "8"], 2, "--dimensions"),
        (["--tests", "erasure", "--lambdas", "0.1"], 2, "--lambdas"),
    ],
)
def test_what_cannot_be(arguments, status, message, files, tmp_path, capsys):
    contents = {
        "unseen": "0 a film\n1 a story\nmaybe a plot\n",
        "one": "".join(f"1 film {i}\n" for i in range(60)),
        "five": "".join(f"{i % 2} film {i}\n" for i in range(5)),
        "wordless": "1\n0\n\n",
        "other": "zyzzyva 1 2 3\n",
    }
    names = {name.upper(): tmp_path / f"{name}.txt" for name in (*contents, "latin", "nowhere")}
    for name, content in contents.items():
        (tmp_path / f"{name}.txt").write_text(content)
    names["LATIN"].write_bytes(b"1 caf\xe9\n")
    names["CSV"] = tmp_path / "texts.csv"
    names["CSV"].write_text("kind,words\n1,a film\n")
    given: list[object] = [names.get(word, word) for word in arguments]
    if arguments == ["--data", "UNSEEN"]:
        given = ["--test", names["UNSEEN"]]
    if "--data" not in given:
        given = ["--data", files / "train.txt", *given]
    given += [] if "--tests" in given else ["--tests", "permutation"]
    assert run(*given, "--epochs", 1, "--replicates", 0, "--out", tmp_path / "run") == status
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "run").exists()


class TestWhatATransformerCannot:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--layer", "9"], "layers 1 to 3"),
            (["--heads", "9"], "heads 1 to 4"),
            (["--tests", "seeds"], "--tests seeds: it trains models, and nothing is trained in this run"),
            (["--encoder", "cnn"], "--encoder is for the classifiers that are trained here, not for --model"),
            (["--score", "colour"], "unknown map kind 'colour'; choose from: alti"),
        ],
    )
    def test_is_said(self, arguments, message, bert, sentences, tmp_path, capsys):
        assert run("--model", bert, "--test", sentences, *arguments, "--out", tmp_path / "run") in (1, 2)
        assert message in capsys.readouterr().err
        assert not (tmp_path / "run").exists()

    def test_without_a_head(self, sentences, tmp_path, capsys):
        tiny.model("bert").save_pretrained(tmp_path / "model")
        tiny.fresh_tokenizer("wordpiece").save_pretrained(tmp_path / "model")
        assert run("--model", tmp_path / "model", "--test", sentences, "--out", tmp_path / "run") == 1
        assert "has no trained classification head; fine-tune one with --finetune" in capsys.readouterr().err

    def test_architectures_that_hide_their_attention(self, sentences, tmp_path, capsys):
        tiny.classifier("deberta").save_pretrained(tmp_path / "model")
        tiny.fresh_tokenizer("bytes").save_pretrained(tmp_path / "model")
        assert run("--model", tmp_path / "model", "--test", sentences, "--out", tmp_path / "run") == 1
        assert "attention of this architecture cannot be replaced" in capsys.readouterr().err


def test_a_search_that_cannot_find_anything_is_refused(tmp_path, capsys):
    """Three classes have no exact solution, so without steps there is no test to run."""
    lines = [f"{i % 3} {('bad', 'meh', 'good')[i % 3]} film {i}" for i in range(60)]
    (tmp_path / "three.txt").write_text("\n".join(lines) + "\n")
    options = ("--tests", "adversarial", "--steps", 0)
    assert run("--data", tmp_path / "three.txt", *SMALL, *options, "--out", tmp_path / "run") in (1, 2)
    assert "--steps" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_regularizers_that_do_not_fit_are_left_out(files, tmp_path, capsys):
    data = ("--data", files / "train.txt", "--test", files / "test.txt")
    options = ("--encoder", "cnn", "--dimensions", 6, "--tests", "regularizers", "--epochs", 1, "--replicates", 0)
    assert run(*data, *options, "--out", tmp_path / "run") == 0
    assert set(table(tmp_path / "run", "regularizers")["regularizer"]) == {"none", "concat", "mlm", "conicity"}
    printed = said(capsys.readouterr().out)
    for name in ("residual", "tying"):
        assert f"regularizer {name} (the size of the states of 'cnn' must be a multiple of 4, not 6)" in printed


def test_cache_cannot_be_among_the_results(files, tmp_path, capsys):
    for cache in ("run", "run/cache"):
        options = ("--out", tmp_path / "run", "--cache", tmp_path / cache)
        assert run("--data", files / "train.txt", *SMALL, *options) == 2
        assert "would be in the results folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_papers_on_sentiment(data_file, tmp_path):
    """Attention ranks words as gradients do where there is no context, less so where there is (on a part of SST-2)."""
    train, dev = data_file("classification/sst2.train.txt"), data_file("classification/sst2.dev.txt")
    lines = train.read_text(encoding="utf-8").splitlines()
    (tmp_path / "train.txt").write_text("\n".join(lines[::3]) + "\n", encoding="utf-8")
    found = {}
    for encoder, epochs in (("average", 3), ("lstm", 2)):
        data = ("--data", tmp_path / "train.txt", "--test", dev, "--encoder", encoder, "--epochs", epochs)
        options = ("--dimensions", 50, "--tests", "correlation,adversarial", "--steps", 0, "--limit", 200)
        assert run(*data, *options, "--replicates", 0, "--out", tmp_path / encoder) == 0
        found[encoder] = table(tmp_path / encoder)
    tau = {encoder: rows["tau_gradient"].mean() for encoder, rows in found.items()}
    assert tau["average"] > 0.45
    assert tau["average"] > tau["lstm"] + 0.1
    assert 0.6 < found["lstm"]["exact_jsd"].mean() < math.log(2)
    assert (found["lstm"]["exact_jsd"] <= found["lstm"]["ceiling_jsd"] + 1e-9).all()
