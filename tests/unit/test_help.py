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
from attentionology.scripts.cli import COMMANDS, main

SENTENCES = ("analyze", "doctor")
"""The commands whose descriptions must begin like a sentence, too."""

PAGES = [[], *([name] for name in COMMANDS)]
WIDTHS = [80, 140]


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


@pytest.mark.parametrize("words", [["-h"], ["--nonsense", "--help"], ["--limit", "--help"]], ids=" ".join)
def test_help_is_shown_whatever_else_is_said(words, capsys):
    assert main(["doctor", *words]) == 0
    assert capsys.readouterr().out == page(capsys, "doctor")
    assert main([*words]) == 0
    assert capsys.readouterr().out == page(capsys)


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
