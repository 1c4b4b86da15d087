"""What ``attentionology explain`` refuses, and what it says then."""

from __future__ import annotations

import pytest

from tests.acceptance.explain.explaining import SMALL, run


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


def test_a_search_that_cannot_find_anything_is_refused(tmp_path, capsys):
    """Three classes have no exact solution, so without steps there is no test to run."""
    lines = [f"{i % 3} {('bad', 'meh', 'good')[i % 3]} film {i}" for i in range(60)]
    (tmp_path / "three.txt").write_text("\n".join(lines) + "\n")
    options = ("--tests", "adversarial", "--steps", 0)
    assert run("--data", tmp_path / "three.txt", *SMALL, *options, "--out", tmp_path / "run") in (1, 2)
    assert "--steps" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
