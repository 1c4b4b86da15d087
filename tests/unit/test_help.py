"""``--help`` of every command: complete, laid out for the width of the terminal, the most used options first."""

from __future__ import annotations

import inspect
import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import pytest
import tyro

import attentionology
from attentionology import OptionError, analyses
from attentionology.analyses.option_groups import Bounds, check_bounds
from attentionology.analyses.shared.numbers import NUMBERS
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


def page(capsys, *words: str, whole: bool = True) -> str:
    assert main([*words, "--help-all" if whole else "--help"]) == 0
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
def test_the_first_page_of_help_has_forty_lines_and_names_all_options(name, width, capsys):
    short = page(capsys, name, whole=False)
    assert len(short.splitlines()) <= 40
    assert max(map(len, short.splitlines())) <= width
    named = set(re.findall(r"--[a-z-]*[a-z]", short))
    assert {option.flag for option in options(name) if option.flag} <= named
    if "Other options:" in short:
        assert f"{name} --help-all." in " ".join(short.split())
        assert len(page(capsys, name).splitlines()) > 40
    else:
        assert short == page(capsys, name)


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
    assert capsys.readouterr().out == page(capsys, "doctor", whole=False)
    assert main([*words]) == 0
    assert capsys.readouterr().out == page(capsys)


def test_help_loads_nothing_slow():
    code = (
        "import sys; from attentionology.scripts.cli import main; main(['--help']);"
        "slow = {'numpy', 'pandas', 'torch', 'rich', 'typeguard'};"
        "found = slow & set(sys.modules);"
        "status = [main(words.split()) for words in ('analyze --help', 'doctor --help', '--version')];"
        "heavy = {'torch', 'transformers', 'pandas', 'matplotlib', 'sklearn'};"
        "print(status, *found, *heavy & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[0, 0, 0]"


@dataclass(frozen=True)
class Base:
    """Options of the base. They are inherited."""

    size: Literal["small", "large"] = "small"
    """The size
    of it."""


@dataclass(frozen=True)
class Derived(Base):
    """Options of what is derived."""

    quick: bool = True
    """Not slow."""

    shape: Literal["round", "flat"] | None = None
    """If it has one."""


@dataclass(frozen=True)
class Composed:
    """A command of groups."""

    derived: Derived = field(default_factory=lambda: Derived("large"))


def test_defaults_are_those_of_the_command_and_texts_those_of_the_class_with_the_field():
    size = OptionHelp("--size", "{small,large}", "The size\nof it.", "large")
    shape = OptionHelp("--shape", "{round,flat}", "If it has one.")
    assert option_sections(Composed, ()) == {
        "Most used options": [],
        "Options of what is derived": [size, OptionHelp("--no-quick", "", "Not slow."), shape],
    }


GROUPS = [
    getattr(room, name) for room in (attentionology, analyses) for name in room.__all__ if name.endswith("Options")
]


@pytest.mark.parametrize("kind", GROUPS)
def test_groups_are_checked_without_arguments(kind):
    required = [
        parameter.name
        for parameter in inspect.signature(kind().check).parameters.values()
        if parameter.default is inspect.Parameter.empty
    ]
    assert required == []
    kind().check()


def unbounded(kind: type[Any]) -> list[str]:
    """The options of a command that are a number, or a number or missing, without bounds in their types."""
    found = []
    for name, annotated in get_type_hints(kind, include_extras=True).items():
        plain = get_args(annotated)[0] if get_args(annotated) and hasattr(annotated, "__metadata__") else annotated
        if isinstance(plain, type) and is_dataclass(plain):
            found += unbounded(plain)
        elif {int, float} & {plain, *get_args(plain)} and plain is not bool:
            bounds = [bound for bound in getattr(annotated, "__metadata__", ()) if isinstance(bound, Bounds)]
            found += [] if bounds else [f"{kind.__name__}.{name}"]
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_every_number_on_the_command_line_has_bounds(command):
    kind = COMMANDS[command].load()
    assert unbounded(kind) == []


@dataclass(frozen=True)
class Numbers:
    count: Annotated[int, Bounds(1)] = 1
    missing: Annotated[int | None, Bounds(1)] = None
    rate: Annotated[float, Bounds(0, strict=True)] = 0.5
    decay: Annotated[float, Bounds(0)] = 0.0
    share: Annotated[float, Bounds(0, 1)] = 1.0
    tolerance: Annotated[float, Bounds(0, 1, strict=True)] = 0.5
    free: int = -3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"count": 0}, "--count must be at least 1, not 0"),
        ({"count": "20"}, "--count must be a number, not '20'"),
        ({"missing": -1}, "--missing must be at least 1, not -1"),
        ({"rate": 0.0}, "--rate must be finite and above 0, not 0.0"),
        ({"rate": math.inf}, "--rate must be finite and above 0, not inf"),
        ({"decay": -0.5}, "--decay must be finite and at least 0, not -0.5"),
        ({"share": 1.5}, "--share must be from 0 to 1, not 1.5"),
        ({"share": math.nan}, "--share must be from 0 to 1, not nan"),
        ({"tolerance": 1.0}, "--tolerance must be between 0 and 1, not 1.0"),
    ],
)
def test_numbers_outside_their_bounds_are_refused(values, message):
    assert unbounded(Numbers) == ["Numbers.free"]
    check_bounds(Numbers())
    with pytest.raises(OptionError) as error:
        check_bounds(Numbers(**values))
    assert str(error.value) == message
