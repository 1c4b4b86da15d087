"""What reaches the terminal: no control character of a corpus, and no traceback when nobody reads."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.markup import escape
from rich.table import Table

from attentionology.reports.streams import say_json, visible
from attentionology.reports.table import Terminal
from attentionology.scripts.cli import main
from tests.programs import UNREAD

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


COMMANDS = [
    ["--help"],
    ["--version"],
    *([name, "--help"] for name in ("analyze", "compare", "probe", "explain", "doctor")),
]


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
@pytest.mark.parametrize("arguments", COMMANDS[:3], ids=" ".join)
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


@pytest.mark.slow
def test_a_message_that_nobody_reads_keeps_its_status(programs, tmp_path):
    arguments = ["analyze", "--corpus", str(tmp_path / "none")]
    done = programs.run("-m", "attentionology", *arguments, folder=tmp_path, err=UNREAD)
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("option", ["--limit", "--replicates", "--seed", "--min-count"])
@pytest.mark.parametrize("number", ["1_0", "１", " 3", "1e3", "", "9" * 20, "9" * 5000], ids=lambda number: number[:5])
def test_numbers_on_the_command_line(option, number, capsys):
    """What only Python reads as a number is refused, and what no count can be."""
    assert main(["analyze", option, number]) == 2
    assert f"Error parsing {option}" in capsys.readouterr().err


def test_too_little_memory_is_one_line(monkeypatch, capsys):
    def run(*_):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory\nframe #1")

    monkeypatch.setattr("attentionology.scripts.doctor.Doctor.run", run)
    assert main(["doctor"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "out of memory" in error


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
