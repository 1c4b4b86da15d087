"""``attentionology explain`` on texts and models of all kinds, and what it refuses."""

from __future__ import annotations

import math

import pytest

from tests.acceptance.explain.explaining import OF_ONE_MODEL, SMALL, columns, everything, record, run, said, table
from tests.outlines import FIGURES


class TestOddTexts:
    @pytest.mark.slow
    def test_one_word_unknown_words_and_lines_without_text(self, files, tmp_path):
        odd = ["", "1", "0 ", "1 good", "0 bad", "1 zzz yyy xxx", "0 qqq", "1 <b>good</b> & $x$ film", "0 the film",
               "1 the film"]  # fmt: skip
        lines = [*(files / "test.txt").read_text().splitlines(), *odd]
        (tmp_path / "test.txt").write_text("\n".join(lines) + "\n")
        given = [tmp_path / "test.txt" if one == files / "test.txt" else one for one in everything(files, OF_ONE_MODEL)]
        with FIGURES.in_full():  # which escape what labels and texts hold
            assert run(*given, "--out", tmp_path / "run") == 0
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
            f"Tags and entities of HTML are read as words; the first of 1 text is {tmp_path / 'test.txt'}:48.",
            "Blank lines that were skipped: 1.",
            f"2 texts without words were skipped; the first is {tmp_path / 'test.txt'}:42.",
            "Texts that repeat an earlier one: 1; of these, repeats of a text that occurs with more than one label: 1.",
        ]
        page = (tmp_path / "run" / "report.html").read_text()
        assert "2 texts without words were skipped" in page
        assert "<b>good</b>" not in page

    @pytest.mark.slow
    def test_labels_with_blanks_and_signs(self, tmp_path, capsys):
        labels = ("very $bad$", "<b>so so</b>", "good & 'fine'")
        lines = [f'"{labels[i % 3]}","{("bad", "meh", "good")[i % 3]} film {i % 7}"' for i in range(90)]
        (tmp_path / "texts.csv").write_text("\n".join(["kind,words", *lines]) + "\n")
        options = ("--text-column", "words", "--label-column", "kind", "--tests", "correlation,permutation,removal")
        with FIGURES.in_full():
            assert run("--data", tmp_path / "texts.csv", *SMALL, *options, "--out", tmp_path / "run") == 0
        assert record(tmp_path / "run")["model"]["classes"] == sorted(labels)
        assert set(table(tmp_path / "run")["label"]) <= set(labels)
        assert "<b>so so</b>" not in (tmp_path / "run" / "report.html").read_text()
        assert "<b>so so</b>" in said(capsys.readouterr().out)


@pytest.mark.slow
def test_regularizers_that_do_not_fit_are_left_out(files, tmp_path, capsys):
    data = ("--data", files / "train.txt", "--test", files / "test.txt")
    options = ("--encoder", "cnn", "--dimensions", 6, "--tests", "regularizers", "--epochs", 1, "--replicates", 0)
    assert run(*data, *options, "--out", tmp_path / "run") == 0
    assert set(table(tmp_path / "run", "regularizers")["regularizer"]) == {"none", "concat", "mlm", "conicity"}
    printed = said(capsys.readouterr().out)
    for name in ("residual", "tying"):
        assert f"regularizer {name} (the size of the states of 'cnn' must be a multiple of 4, not 6)" in printed


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--data", "UNSEEN"], 1, "unseen.txt:3: the label 'maybe' does not occur in training, where there are: 0, 1"),
        (["--test", "NOWHERE"], 1, "nowhere.txt: there is no such file"),
        (["--test", "CSV"], 1, "texts.csv:1: expected columns 'text' and 'label', found 'kind', 'words'"),
        (["--test", "LATIN"], 1, "latin.txt:1: the file is not UTF-8"),
        (["--test", "WORDLESS"], 1, "wordless.txt: the file contains no text"),
        (["--data", "ONE"], 1, "a classifier needs two classes"),
        (["--data", "FIVE"], 1, "too few texts"),
        (["--min-words", "50"], 1, "no text has the length that is asked for"),
        (["--tests", "correlation,colour"], 2, "unknown test 'colour'; choose from: correlation, permutation,"),
        (["--epsilon", "nan"], 2, "--epsilon must be between 0 and 1, not nan"),
        (["--layer", "1"], 2, "--layer is for transformers: --model MODEL"),
        (["--finetune"], 2, "--finetune is for a transformer: --model MODEL"),
        (["--strength", "2"], 2, "--strength is for --regularizer tying, mlm or conicity"),
        (["--text-column", "label"], 2, "--text-column, --label-column and --query-column cannot be the same"),
        (["--text-column", "01", "--label-column", "1"], 2, "--query-column cannot be the same"),
        (["--encoder", "lstm", "--dimensions", "5", "--regularizer", "residual"], 2, "multiple of 2"),
        (["--vectors", "OTHER"], 1, "no word of the texts has a vector"),
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


def test_a_search_that_cannot_find_anything_is_refused(bert, sentences, tmp_path, capsys):
    """What depends on the attention of a transformer is unknown, so without steps there is no test to run."""
    options = ("--tests", "adversarial", "--steps", 0)
    assert run("--model", bert, "--test", sentences, *options, "--out", tmp_path / "run") in (1, 2)
    assert "--steps" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_three_classes_have_a_farthest_attention_on_two_words(tmp_path, capsys):
    lines = [f"{i % 3} a {('bad', 'meh', 'good')[i % 3]} film {'it is ' * (i % 2)}{i}" for i in range(240)]
    (tmp_path / "three.txt").write_text("\n".join(lines) + "\n")
    options = ("--tests", "adversarial", "--steps", 0)
    assert run("--data", tmp_path / "three.txt", *SMALL, *options, "--out", tmp_path / "run") == 0
    texts = table(tmp_path / "run")
    assert not {"exact_jsd", "adversarial_jsd"} & set(texts)
    assert (texts["farthest_jsd"] == texts["two_word_jsd"]).all()
    assert (texts["two_word_jsd"] <= texts["ceiling_jsd"]).all()
    assert (texts["exact"] == (texts["ceiling_jsd"] - texts["farthest_jsd"] < 1e-6)).all()
    assert (texts["two_word_gap"] == 1e-9).all()
    (verdict,) = table(tmp_path / "run", "verdicts").to_dict("records")
    assert (verdict["smaller"], verdict["smaller_mean"]) == (
        "farthest_jsd",
        pytest.approx(texts["farthest_jsd"].mean()),
    )
    assert verdict["verdict"] == ("fails" if verdict["high"] < 0 else "undecided")
    summary = table(tmp_path / "run", "summary")
    assert "two_word_gap" not in set(summary["measure"])
    page = said((tmp_path / "run" / "report.html").read_text())
    assert "the maximum is computed among attentions on one or two words" in page
    assert "JSD of the farthest attention on two words with the same output" in said(capsys.readouterr().out)
    other = [line for line in page.split("<p") if "other attention, same output" in line]
    assert any("the output changes by 0.05 at most" in line for line in other)
