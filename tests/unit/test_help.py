"""``--help`` of every command: complete, laid out for the width of the terminal, the most used options first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest
import tyro
from tyro.conf import arg

from attentionology.analyses.shared.numbers import NUMBERS, OptionalNumber
from attentionology.reports.help.options import OptionHelp, option_sections
from attentionology.reports.help.pages import command_page, flowing
from attentionology.scripts.cli import main
from attentionology.scripts.commands import COMMANDS

SENTENCES = ("analyze", "doctor")
"""The commands whose descriptions must begin like a sentence, too."""

PAGES = [[], *([name] for name in COMMANDS)]
WIDTHS = [80, 140]
MARK = re.compile(r"^ *(?:- |[a-z]+  +)?")
"""What stands before the text of a line: blanks, and perhaps a bullet or the name of a command."""


@pytest.fixture(params=WIDTHS)
def width(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


def page(capsys, *words: str) -> str:
    assert main([*words, "--help"]) == 0
    return str(capsys.readouterr().out)


def options(name: str) -> list[OptionHelp]:
    command = COMMANDS[name]
    return [option for section in option_sections(command.load(), command.most_used).values() for option in section]


def torn(lines: list[str], width: int) -> list[str]:
    """The lines that end although the first word of the next line of their paragraph would fit."""
    column = [len(line) - len(MARK.sub("", line, count=1)) for line in lines]
    return [
        line
        for line, start, below in zip(lines, column, lines[1:], strict=False)
        if line.strip()
        and below.strip()
        and start == len(below) - len(below.lstrip())
        and not below.lstrip().startswith(("-", "$"))
        if len(f"{line} {below.split()[0]}") <= width
    ]


def test_torn_lines_are_seen():
    assert torn(["one two", "three four", "five six"], 13) == ["one two"]
    assert torn(["  - one two", "    three four five"], 18) == ["  - one two"]
    assert torn(["  - one", "    two three", "  - one", "one"], 10) == []


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_text_fills_the_lines(words, width, capsys):
    lines = page(capsys, *words).splitlines()
    assert torn(lines, width) == []
    assert [line for line in lines if len(line) > width] == []
    assert max(map(len, lines)) > 0.9 * width


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_no_default_is_shown_that_is_no_value(words, width, capsys):
    shown = re.findall(r"\(default: (.*?)\)", " ".join(page(capsys, *words).split()))
    assert not {"None", "none given", "False", "True", "", "()"} & set(shown)
    assert words or not shown  # the front page has no options


@pytest.mark.parametrize("name", COMMANDS)
def test_the_most_used_options_come_first(name, width, capsys):
    headings = re.split(r"^(\S.*):\n(?=  --?[a-z])", page(capsys, name), flags=re.MULTILINE)
    assert headings[1] == "Most used options"
    flags = re.findall(r"^  (--[a-z-]+)", headings[2], re.MULTILINE)
    assert flags == [f"--{option.replace('_', '-')}" for option in COMMANDS[name].most_used]
    assert 1 <= len(flags) <= 6


@pytest.mark.parametrize("name", COMMANDS)
def test_headings_are_sentences_about_their_options(name, width, capsys):
    text = page(capsys, name)
    headings = re.findall(r"^(\S.*):\n(?=  --?[a-z])", text, re.MULTILINE)
    assert headings[-1] == "Further options"
    assert all(re.match("Options (of|for) (?!the analysis )", heading) for heading in headings[1:-1])
    assert "-h, --help" in text.split("Further options:")[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_description(name):
    for option in options(name):
        assert option.text.endswith((".", ".)")), option.flag
        assert name not in SENTENCES or option.text[0].isupper(), option.flag
        assert "efault: None" not in option.text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_the_options_and_defaults_that_are_parsed(name, monkeypatch, capsys):
    """Compared with the help of the library that parses them."""
    monkeypatch.setenv("COLUMNS", "100")
    markers = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes)
    with pytest.raises(SystemExit):
        tyro.cli(COMMANDS[name].load(), args=["--help"], config=markers, registry=NUMBERS)
    parsed: dict[str, str] = {}
    for block in re.split(r"\n[│ ] (?=--[a-z])", capsys.readouterr().out)[1:]:
        parsed[block.split()[0]] = re.findall(r"\(default: ([^()]*)\)", " ".join(block.replace("│", " ").split()))[-1]
    unset = ("None", "none", "False")
    shown = {option.flag: option.default for option in options(name) if option.flag}
    assert set(shown) == set(parsed)
    differing = {flag for flag, default in shown.items() if default != parsed[flag]}
    assert all(not shown[flag] and parsed[flag] in unset for flag in differing)


@pytest.mark.parametrize("name", COMMANDS)
def test_values_are_named_alike(name):
    for option in options(name):
        single = re.sub(r" \[([\w=]+) \.\.\.\]$", "", option.value)
        assert re.fullmatch(r"[A-Z]*|([A-Z]+) \1|\{[\w,>-]+\}|K/N|NAME=FILE|NAME=VALUES|random-init\[:K\]", single), (
            option.flag
        )
        assert option.value in (single, f"{single} [{single.split()[0]} ...]" if single else "")


def test_front_page_names_commands_with_their_first_sentence(width, capsys):
    text = " ".join(page(capsys).split())
    for name, command in COMMANDS.items():
        first = " ".join(str(command.load().__doc__).split("\n\n")[0].split())
        assert first.endswith(".")
        assert f" {name} {first}" in text


@pytest.mark.parametrize("words", [["-h"], ["--nonsense", "--help"], ["--limit", "--help"]], ids=" ".join)
def test_help_is_shown_whatever_else_is_said(words, capsys):
    assert main(["doctor", *words]) == 0
    assert capsys.readouterr().out == page(capsys, "doctor")
    assert main([*words]) == 0
    assert capsys.readouterr().out == page(capsys)


def test_help_in_a_pipe_is_plain_and_on_a_terminal_has_bold_headings(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain = page(capsys, "doctor")
    assert "\x1b" not in plain
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    bold = page(capsys, "doctor")
    assert "\x1b[1mMost used options:\x1b[0m" in bold
    assert re.sub(r"\x1b\[\d*m", "", bold) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert page(capsys, "doctor") == plain


def test_help_loads_nothing_slow():
    code = (
        "import sys; from attentionology.scripts.cli import main; main(['--help']);"
        "print(*{'numpy', 'pandas', 'torch', 'rich', 'typeguard', 'attentionology.corpora_loaders.lines'}"
        " & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


@dataclass(frozen=True)
class Base:
    """Options of the base. They are inherited.

    More about them.
    """

    size: OptionalNumber = None
    """The size
    of it."""


@dataclass(frozen=True)
class Derived(Base):
    """Options of what is derived."""

    kind: Literal["small", "large"] = "small"
    """What it is:

    - small things;
    - or large ones.
    """

    quick: bool = True
    """Not slow."""


@dataclass(frozen=True)
class Outer:
    """Options of a group of groups."""

    inner: Derived = field(default_factory=lambda: Derived(kind="large"))

    share: float = 0.25
    """A part."""


@dataclass(frozen=True)
class Composed:
    """A command of groups."""

    outer: Outer = field(default_factory=Outer)

    base: Base = field(default_factory=lambda: Base(size=3))

    names: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")] = ("a", "b")
    """Some names."""


def test_options_of_nested_and_derived_groups():
    """Defaults are those of the command; docstrings come from the class that has the field."""
    kind = OptionHelp("--kind", "{small,large}", "What it is:\n\n- small things;\n- or large ones.", "large")
    size = OptionHelp("--size", "N", "The size\nof it.")
    assert option_sections(Composed, ["names"]) == {
        "Most used options": [OptionHelp("--names", "NAME [NAME ...]", "Some names.", "a b")],
        "Options of what is derived": [size, kind, OptionHelp("--no-quick", "", "Not slow.")],
        "Options of a group of groups": [OptionHelp("--share", "X", "A part.", "0.25")],
        "Options of the base": [OptionHelp("--size", "N", "The size\nof it.", "3")],
    }


def test_most_used_options_must_exist():
    with pytest.raises(ValueError, match="Composed has no option --nothing"):
        option_sections(Composed, ["names", "nothing"])


def test_lists_and_command_lines_in_texts(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    listed = "A list of\nthings:\n- one of them,\n  in two lines that are too long\n- two"
    command = "$ run --first option --second alternative\nand --third"
    assert list(flowing(f"{listed}\n\n{command}")) == [
        "A list of things:\n  - one of them, in two lines that are\n    too long\n  - two",
        "  $ run --first option \\\n      --second alternative\nand --third",
    ]


def test_default_below_a_list_has_a_line_of_its_own(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = "  --kind {small,large}\n      What it is:\n        - small things;\n        - or large ones.\n"
    assert f"{text}      (default: large)\n" in command_page("program", Composed, ["names"])
