"""Results that nobody reads, and results with control characters in them, through every command as a process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.results import run
from attentionology.engine.results.part import Part, sections_of
from attentionology.scripts.cli import main
from tests import tiny
from tests.programs import UNREAD

TREE = "# sent_id = {id}\n1\tCats\t_\tNOUN\t_\t_\t2\t{relation}\t_\t_\n2\tsleep\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
RELATION = "n\x1b[31m\x07subj\u202e[bold]"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with a tiny model, a treebank and labeled texts, and words of the command line that read them."""
    folder = tmp_path_factory.mktemp("inputs")
    tiny.save(folder / "model", max_position_embeddings=512)
    (folder / "labeled.txt").write_text("".join(f"{i % 2} word{i % 2} and word{i}\n" for i in range(80)))
    odd = folder / "odd\x1b[31m\r.conllu"
    odd.write_text("".join(TREE.format(id=f"s{i}", relation=RELATION) for i in range(8)), encoding="utf-8")
    small = ["--limit", "6", "--replicates", "0"]
    model = ["--model", str(folder / "model")]
    classifier = ["--encoder", "none", "--epochs", "1", "--tests", "erasure", "--replicates", "0"]
    return {
        "analyze": ["analyze", *model, *small, "--analyses", "dependency"],
        "probe": ["probe", *model, *small, "--folds", "2", "--seeds", "1", "--controls", "none"],
        "explain": ["explain", "--data", str(folder / "labeled.txt"), *classifier],
        "doctor": ["doctor", *model, "--sentences", "2"],
        "odd": ["--corpus", str(odd)],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "json_too"),
    [("analyze", False), ("analyze", True), ("probe", False), ("explain", True), ("doctor", False)],
)
def test_results_that_nobody_reads_are_kept_and_end_quietly(inputs, programs, name, json_too, tmp_path):
    arguments = [*inputs[name], *(["--json"] if json_too else [])]
    if name != "doctor":
        arguments += ["--out", str(tmp_path / "out")]
    done = programs.run("-m", "attentionology", *arguments, folder=tmp_path, out=UNREAD)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "attentionology:" not in done.stderr
    assert (tmp_path / "out" / "run.json").is_file() == (name != "doctor")


def test_tables_are_printed_before_the_figures_are_drawn(inputs, monkeypatch, capsys, tmp_path):
    before = []

    def drawn(*arguments):
        before.append(capsys.readouterr().out)
        return sections_of(*arguments)

    monkeypatch.setattr(run, "sections_of", drawn)
    assert main([*inputs["analyze"], "--out", str(tmp_path / "out")]) == 0
    after = capsys.readouterr().out
    assert [text.count("Best attention head per relation") for text in (*before, after)] == [1, 0]
    assert "Report:" in after


def test_an_error_in_what_is_printed_keeps_the_results(inputs, monkeypatch, tmp_path):
    monkeypatch.setattr(Part, "show", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main([*inputs["analyze"], "--out", str(tmp_path / "out")])
    assert (tmp_path / "out" / "run.json").is_file()


@pytest.mark.slow
def test_a_full_output_keeps_the_results(inputs, programs, tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    arguments = [*inputs["analyze"], "--out", tmp_path / "out"]
    done = programs.run("-m", "attentionology", *arguments, folder=tmp_path, out="/dev/full")
    assert done.returncode == 1
    assert done.stderr.count("cannot write to the standard output") == 1
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out" / "run.json").is_file()


def test_control_characters_of_a_treebank_are_shown_in_the_terminal_and_in_json(inputs, tmp_path, capsys):
    shown = []
    for number, options in enumerate(([], ["--json"])):
        assert main([*inputs["analyze"], *inputs["odd"], *options, "--out", str(tmp_path / str(number))]) == 0
        shown.append(capsys.readouterr().out)
        assert not set("\x1b\x07\r\u202e") & set(shown[-1])
    assert "n\\u001b[31m\\u0007subj\\u202e[bold]" in shown[0]
    assert RELATION in json.loads(shown[1])["run"]["corpus"]["relations"]


def test_control_characters_of_file_names_are_shown(inputs, tmp_path, capsys):
    file = tmp_path / "test\x1b[31m\r\u202e.conllu"
    file.write_bytes(SAMPLE_TREEBANK.read_bytes())
    assert main([*inputs["probe"], "--train", str(file), "--test", "sample", "--out", str(tmp_path / "o\x07")]) == 2
    arguments = [word for word in inputs["probe"] if word not in ("--folds", "2")]
    other = tmp_path / "other.conllu"
    other.write_text(TREE.format(id="a", relation="nsubj"))
    assert main([*arguments, "--train", str(file), "--test", str(other), "--out", str(tmp_path / "o\x07")]) == 0
    out = capsys.readouterr().out
    assert "test\\u001b[31m\\u000d\\u202e.conllu" in " ".join(out.split())
    assert "o\\u0007" in out
    assert not set("\x1b\x07\r\u202e") & set(out)
