"""``attentionology explain`` in parts, in several processes, and in shares: the same numbers in every case."""

from __future__ import annotations

import random

import pytest

from attentionology.analyses.explanation.examination import parts as parts_module
from attentionology.analyses.explanation.examination.parts import TextExamination
from attentionology.scripts.cli import main

TABLES = ("explain_texts", "explain_summary", "explain_verdicts", "explain_models")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts of 3 to 14 words with one word that decides."""
    folder, source = tmp_path_factory.mktemp("explain"), random.Random(0)
    for name, number in (("train", 80), ("test", 260)):
        lines = []
        for index in range(number):
            words = [source.choice(["a", "the", "film", "plot", "was", "so"]) for _ in range(3 + index % 12)]
            words[source.randrange(len(words))] = ("dull", "fine")[index % 2]
            lines.append(f"{index % 2} {' '.join(words)} {index}")
        (folder / f"{name}.txt").write_text("\n".join(lines))
    return folder


def explain(folder, out, *arguments, draws=3, dimensions=8):
    texts = ("--data", folder / "train.txt", "--test", folder / "test.txt", "--cache", folder / "cache")
    tests = ("--tests", "permutation", "single-token", "--draws", draws, "--replicates", "20")
    small = ("--encoder", "lstm", "--dimensions", dimensions, "--epochs", "1")
    return main(["explain", *map(str, (*texts, *tests, *small, "--out", folder / out, *arguments))])


def tables(folder, out):
    return {name: (folder / out / "tables" / f"{name}.csv").read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def whole(folder):
    assert explain(folder, "whole") == 0
    return tables(folder, "whole")


@pytest.fixture
def examined(monkeypatch):
    """How many texts each part that is examined in this process has."""
    lengths: list[int] = []
    table = TextExamination.table

    def noted(self, part):
        lengths.append(sum(map(len, part)))
        return table(self, part)

    monkeypatch.setattr(TextExamination, "table", noted)
    return lengths


def test_parts_and_shares_make_the_tables_of_one_run(folder, whole, examined, capsys):
    """Two shares, then the report, for which nothing is left to examine."""
    parts = ("--parts", folder / "parts")
    assert explain(folder, "parts", *parts, "--part", "1/2") == 0
    assert "1 of 2 parts is in" in capsys.readouterr().out
    first = list(examined)
    assert explain(folder, "parts", *parts, "--part", "2/2") == 0
    assert "The same command without --part makes the report." in capsys.readouterr().out
    assert sum(examined) == 260
    assert 0 < sum(first) < 260
    assert not (folder / "parts" / "run.json").exists()
    assert explain(folder, "from-parts", *parts) == 0
    assert sum(examined) == 260, "no text is examined twice"
    assert tables(folder, "from-parts") == whole


def test_an_interrupted_run_continues_and_damaged_parts_are_noticed(folder, whole, examined, monkeypatch):
    parts = ("--parts", folder / "interrupted")
    table = TextExamination.table

    def killed(self, part):
        if len(examined) == 1:
            raise KeyboardInterrupt
        return table(self, part)

    # The process is interrupted in its second part.
    with monkeypatch.context() as patch:
        patch.setattr(TextExamination, "table", killed)
        assert explain(folder, "interrupted-run", *parts) != 0
    files = sorted((folder / "interrupted").iterdir())
    assert len(files) == 1
    content = bytearray(files[0].read_bytes())
    content[-1] ^= 1
    files[0].write_bytes(bytes(content))
    examined.clear()
    assert explain(folder, "interrupted-run", *parts) == 0
    assert sum(examined) == 260, "the part that was finished is damaged"
    assert tables(folder, "interrupted-run") == whole
    assert files[0].name in (folder / "interrupted-run" / "run.json").read_text()


@pytest.mark.slow
def test_processes_make_the_tables_of_one_run(folder, whole, examined):
    assert explain(folder, "processes", "--workers", 2) == 0
    assert examined == [], "other processes examine the texts"
    assert tables(folder, "processes") == whole


def test_parts_of_other_texts_models_and_options_have_other_names(folder, whole, monkeypatch):
    names = []
    path = parts_module.PartFiles.path

    def noted(self, part):
        names.append(path(self, part).name)
        return path(self, part)

    monkeypatch.setattr(parts_module.PartFiles, "path", noted)
    parts = ("--parts", folder / "names", "--part", "1/9")
    made = []
    for arguments, options in (
        ((), {}),
        (("--seed", 1), {}),
        (("--limit", 259), {}),
        ((), {"draws": 4}),
        ((), {"dimensions": 9}),
    ):
        names.clear()
        explain(folder, "names", *parts, *arguments, **options)
        made.append(names[0])
    assert len(set(made)) == 5


def test_what_cannot_be_shared_is_refused(folder, capsys):
    assert explain(folder, "refused", "--part", "1/2") == 2
    assert "--part needs --parts" in capsys.readouterr().err
    line = ["explain", "--test", str(folder / "test.txt"), "--model", "demo", "--workers", "2", "--finetune"]
    assert main([*line, "--data", str(folder / "train.txt"), "--out", str(folder / "refused")]) == 2
    assert "--workers is for small classifiers" in capsys.readouterr().err
