"""What reaches the terminal: no control character, no traceback, and the nearest name to an unknown one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.markup import escape
from rich.table import Table

from attentionology.analyses.alignment.decisions import symmetrize
from attentionology.analyses.explanation.contract.options import ExplanationTestOptions
from attentionology.analyses.shared.record import closing_lines, flat_options
from attentionology.engine.results.run import Run
from attentionology.extractors import get_kind
from attentionology.extractors.translation import CrossMapMaker
from attentionology.probes import make_probe
from attentionology.reports.streams import say_json
from attentionology.reports.table import Terminal
from attentionology.scripts.cli import check_command, main
from attentionology.storage.characters import visible
from attentionology.storage.errors import AttentionologyError
from attentionology.storage.nearest import did_you_mean

SIGNS = {
    "\x1b": "\\u001b",
    "\x07": "\\u0007",
    "\r": "\\u000d",
    "\t": "\\u0009",
    "\x9b": "\\u009b",
    "\x7f": "\\u007f",
    "\u202e": "\\u202e",
    "\u2066": "\\u2066",
    "\u2028": "\\u2028",
    "\udcff": "\\udcff",
}


@pytest.mark.parametrize(("sign", "shown"), SIGNS.items(), ids=ascii)
def test_control_characters_are_shown(sign, shown):
    assert visible(f"a{sign}b\n") == f"a{shown}b\n"


def test_letters_of_all_scripts_stay():
    text = "naïve “雪” שלום مرحبا می\u200cخواهم 👩\u200d🚀 [bold]\n"
    assert visible(text) == text


@pytest.mark.parametrize(("sign", "shown"), list(SIGNS.items())[:-1], ids=ascii)
def test_tables_are_laid_out_with_what_is_shown(capsys, sign, shown):
    table = Table("relation", title=escape(f"of{sign}"), caption=escape(f"in{sign}file"))
    table.add_row(escape(f"[red]{sign}:cat:"))
    Terminal(60).print(table)
    out = capsys.readouterr().out
    for text in (f"of{shown}", f"in{shown}file", f"[red]{shown}:cat:"):
        assert text in out
    assert sign not in out
    assert len({len(line) for line in out.splitlines() if set(line) & set("┃│└")}) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_says_the_same_in_any_encoding(monkeypatch, encoding):
    value = {"label": "".join(SIGNS) + "é雪👩", "n": 1}
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    say_json(json.dumps(value, ensure_ascii=False) + "\n")
    text = written.getvalue().decode(encoding)
    assert json.loads(text) == value
    assert not set(SIGNS) & set(text)


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        (["analyze", "--corpus", "a\x1b[31mb.conllu"], 1, "a\\u001b[31mb.conllu"),
        (["analyze", "--corpus", "a\nb\r.conllu"], 1, "a\\u000ab\\u000d.conllu"),
        (["analyze", "--nonsense\x07"], 2, "--nonsense\\u0007"),
        (["analyze", "--analyses", "no\u202e"], 2, "no\\u202e"),
        (["analyze", "--out", "run\udcff"], 1, "run\\udcff: this name is not UTF-8"),
    ],
    ids=["escape", "line ends", "unknown option", "bidirectional", "not UTF-8"],
)
def test_messages_show_control_characters(arguments, status, shown, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == status
    error = capsys.readouterr().err
    assert shown in error
    assert not set("\x1b\x07\r\u202e") & set(error)


@pytest.mark.parametrize("date", ["x", "", "-1", "1e9", "9" * 12, "1700000000"])
def test_a_date_that_libraries_could_not_read_is_refused(date, monkeypatch, capsys):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", date)
    status = main(["analyze", "--nonsense"])  # is 2 if the date is a number
    message = f"SOURCE_DATE_EPOCH must be a number of seconds since 1970, or unset, not {date!r}"
    assert (status, message in capsys.readouterr().err) == ((2, False) if date == "1700000000" else (1, True))
    assert main(["--version"]) == 0


COMMANDS = [["--version"], ["analyze", "--help"]]


def command(arguments: list[str], **streams) -> subprocess.CompletedProcess[str]:
    process = [sys.executable, "-m", "attentionology", *arguments]
    return subprocess.run(process, text=True, check=False, **streams)


def closed_pipe() -> int:
    """The end for writing of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_help_that_nobody_reads_ends_quietly(arguments):
    pipe = closed_pipe()
    done = command(arguments, stdout=pipe, stderr=subprocess.PIPE)
    os.close(pipe)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", COMMANDS[1:], ids=" ".join)
def test_a_full_output_is_one_line(arguments):
    with Path("/dev/full").open("w") as full:
        done = command(arguments, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == "attentionology: cannot write to the standard output: No space left on device\n"


@pytest.mark.parametrize("descriptor", [1, 2])
def test_closed_streams(descriptor):
    """As a shell starts a command with ``>&-`` or ``2>&-``."""
    shell = f'exec "$0" -m attentionology --version {descriptor}>&-'
    done = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, text=True, check=False)
    if descriptor == 2:
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("\n") == 1
    else:
        assert done.returncode == 1
        assert done.stderr.startswith("attentionology: cannot write to the standard output: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--limit", "--replicates", "--seed", "--min-count"])
@pytest.mark.parametrize("number", ["1_0", "１", " 3", "1e3", "", "9" * 20, "9" * 5000], ids=lambda number: number[:5])
def test_numbers_on_the_command_line(option, number, capsys):
    """What only Python reads as a number is refused, and what no count can be."""
    assert main(["analyze", option, number]) == 2
    assert f"Error parsing {option}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "takes"),
    [
        ("analyze --failures", "HEAD [HEAD ...]"),
        ("analyze --failures --limit 2", "HEAD [HEAD ...]"),
        ("analyze --ablate-layers --limit 2", "N [N ...]"),
        ("analyze --corpus --limit 2", "FILE [FILE ...]"),
        ("show a --head", "HEAD [HEAD ...]"),
        ("doctor --map", "KIND [KIND ...]"),
    ],
)
def test_an_option_without_its_values_is_not_ignored(words, takes, capsys):
    assert main(words.split()) == 2
    option = next(word for word in words.split() if word.startswith("--"))
    assert capsys.readouterr().err == f"attentionology: {option} has no value; it takes {takes}\n"


def test_an_option_with_values_by_default_may_have_none():
    assert flat_options(check_command(["probe", "--controls"]))["controls"] == ()


def test_an_interruption_while_options_are_read_is_one_line(monkeypatch, capsys):
    def parse(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tyro.cli", parse)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "attentionology: interrupted\n"


def test_other_errors_of_the_program_are_not_hidden(monkeypatch):
    def run(*_):
        raise RuntimeError("a fault")

    monkeypatch.setattr("attentionology.scripts.doctor.Doctor.run", run)
    with pytest.raises(RuntimeError, match="a fault"):
        main(["doctor"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyse"], "attentionology: there is no command 'analyse'; did you mean 'analyze'?"),
        (["surveys", "--models", "demo"], "attentionology: there is no command 'surveys'; did you mean 'survey'?"),
        (["x"], "attentionology: there is no command 'x'; the commands are analyze, report, merge, "),
        ([], "attentionology: no command is given; the commands are analyze, report, merge, "),
    ],
)
def test_an_unknown_command_is_named_with_the_one_that_was_meant(arguments, message, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.replace("\n", " ").startswith(message)
    assert not printed.out


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "attentionology", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.strip() == version("attentionology")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["analyse"], "analyze"),
        (["analyze", "--analyses", "dependancy"], "dependency"),
        (["analyze", "--map", "wieght"], "weight"),
        (["analyze", "--map", "rollout:wieght"], "rollout:weight"),
        (["analyze", "--control", "random_init"], "random-init"),
        (["analyze", "--model", "demoo"], "demo"),
        (["analyze", "--model", "Demo"], "demo"),
        (["analyze", "--corpus", "sampel"], "sample"),
        (["analyze", "--corpus", "ud:en_ewt:tset"], "ud:en_ewt:test"),
        (["analyze", "--corpus", "ud:en_ewtt:test"], "en_ewt"),
        (["analyze", "--corpus", "ud:xx_pud:test"], "zh_pud"),
        (["align", "--model", "sampl"], "sample"),
        (["align", "--model", "dem", "--method", "similarity"], "demo"),
        (["doctor", "--model", "demmo"], "demo"),
        (["show", "Cats sleep.", "--head", "3-9", "--map", "altii"], "alti"),
        (["probe", "--test", "sample", "--probe", "atention"], "attention"),
        (["probe", "--test", "sample", "--map", "altii"], "alti"),
        (["explain", "--data", "texts", "--tests", "permutations"], "permutation"),
        (["explain", "--test", "texts", "--model", "demoo"], "demo"),
        (["survey", "--maps", "altii"], "alti"),
        (["treebanks", "Frensh"], "French"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:3]),
)
def test_commands_ask_for_the_nearest_name(arguments, nearest, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UD_HOME", raising=False)
    (tmp_path / "texts").write_text("1 a good film\n0 a bad film\n" * 4)
    assert main(arguments) in (1, 2)
    assert f"did you mean {nearest!r}?" in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["texts"]


@pytest.mark.parametrize(
    ("call", "nearest"),
    [
        (lambda: get_kind("atnn"), "attn"),
        (lambda: make_probe("attention+word"), "attention+words"),
        (lambda: ExplanationTestOptions(tests=("al",)).named(), "all"),
        (lambda: CrossMapMaker("nrom"), "norm"),
        (lambda: symmetrize(np.eye(2) > 0, np.eye(2) > 0, "grow-dig"), "grow-diag"),
    ],
    ids=["map kind", "probe", "test", "cross-attention", "symmetrization"],
)
def test_python_asks_for_the_nearest_name(call, nearest):
    with pytest.raises(Exception, match=f"choose from: .*; did you mean '{nearest.replace('+', '[+]')}'[?]$"):
        call()


def test_a_folder_that_looks_like_the_name_of_a_built_in_model_is_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demoo").mkdir()
    assert main(["analyze", "--model", "demoo"]) == 1
    assert "cannot read 'demoo/config.json'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("kind", ["rollout:", "rollout:rollout", "rollout:weight:", ":weight", ""])
def test_a_rollout_names_its_kind(kind):
    with pytest.raises(AttentionologyError, match=r"unknown map kind .*choose from: alti, .*rollout:KIND"):
        get_kind(kind)


def test_nothing_near_is_not_asked_for():
    assert did_you_mean("colour", ["weight", "norm"]) == ""
    assert did_you_mean("NORM", ["weight", "norm"], 3) == "; did you mean 'norm'?"
    assert did_you_mean("s-1", ["s-11", "s-12", "t"], 2) == "; did you mean 's-12' or 's-11'?"
    with pytest.raises(KeyError, match="no results for 'x'"):
        _ = Run(())["x"]


def test_the_last_lines_say_what_was_read_skipped_and_written():
    run: dict[str, Any] = {
        "model": {"name": "m", "revision": None, "shape": "2 layers × 3 heads"},
        "sentences": {"read": 1030, "skipped": []},
        "corpus": {"unit": "sentence pairs"},
        "options": {"model": "m"},
        "warnings": [],
    }
    out = Path("runs") / "mine"
    written = [f"Report: {out / 'report.html'}", f"Tables: {out / 'tables'}"]
    plain = ["", "m, 2 layers × 3 heads", "Sentence pairs read: 1,030, skipped: 0", *written]
    assert closing_lines(run, out) == plain
    of_hub = {**run["model"], "revision": "0123456789abcdef", "offline": True, "causal": True}
    more = {
        "model": of_hub,
        "text_fit": {"summary": "It fits."},
        "options": {"model": "demo"},
        "warnings": ["A.", "B."],
    }
    assert closing_lines({**run, **more, "sentences": {"read": 7, "skipped": [{}] * 1200}}, out) == [
        "",
        "m @ 0123456789ab (from the cache, without the Hub), 2 layers × 3 heads, causal",
        "It fits.",
        "The demo model's weights were verified by sha256.",
        "Sentence pairs read: 7, skipped: 1,200 (see the report)",
        "Warning: A.",
        "Warning: B.",
        *written,
    ]
