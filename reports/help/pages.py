"""The pages that ``--help`` prints: plain text that fills the width of the terminal, with bold headings on a screen.

A page of tyro has a narrow column of descriptions, keeps line breaks of docstrings, and names groups after fields.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...storage.characters import visible
from ...storage.nearest import did_you_mean
from .options import OptionHelp, option_sections

HELP_OPTION = OptionHelp("-h, --help", "", "Show this help and exit.")
HELP_ALL_OPTION = OptionHelp("--help-all", "", "Show the help of all options and exit.")
"""The options that every command has."""

MOST_LINES = 40
"""The lines of a page of help that describes all options. A longer one describes those that most people need."""

_INDENT = "  "
_SENTENCE = re.compile(r".*?[.:](?= [A-Z‘“']|$)|.*")
_MIN_WIDTH = 40


def command_page(name: str, command: type[Any], most_used: Sequence[str], *, whole: bool = True) -> str:
    """The help of one command; if it is not to be ``whole``, a page that would be long describes few options."""
    sections = option_sections(command, most_used)
    sections.setdefault("Further options", []).extend([HELP_OPTION, HELP_ALL_OPTION])
    arguments = [option.value for option in sections.get("Arguments", ())]
    usage = f"{_heading('Usage')} {' '.join([name, *arguments, '[OPTIONS]'])}"
    description = [*flowing(inspect.getdoc(command) or "")]
    listed = ["\n".join([_heading(title), *map(_option, options)]) for title, options in sections.items()]
    page = "\n\n".join([usage, *description, *listed])
    if whole or page.count("\n") < MOST_LINES:
        return page
    described = [
        "\n".join([_heading(title), *map(_option, map(_first_sentence, sections[title]))])
        for title in ("Arguments", "Most used options")
        if title in sections
    ]
    others = [
        option.flag
        for title, options in sections.items()
        for option in options
        if title not in ("Arguments", "Most used options")
    ]
    named = _wrap(", ".join(others), _INDENT)
    hint = f"All options, and what else is to be known, are described by {name} --help-all."
    return "\n\n".join([usage, description[0], *described, f"{_heading('Other options')}\n{named}", *flowing(hint)])


def front_page(name: str, description: str, commands: Mapping[str, str], closing: str) -> str:
    """The help of the program."""
    width = max(map(len, commands)) + 2
    rows = [_wrap(text, f"{_INDENT}{command:<{width}}") for command, text in commands.items()]
    table = "\n".join([_heading("Commands"), *rows])
    hint = f"The options of a command are listed by {name} COMMAND --help."
    usage = f"{_heading('Usage')} {name} COMMAND [OPTIONS]"
    return "\n\n".join([usage, *flowing(description), table, *flowing(hint), *flowing(closing)])


def no_command(word: str | None, commands: Sequence[str]) -> str:
    """The message for arguments that do not begin with the name of a command."""
    names = f"the commands are {', '.join(commands)}; attentionology --help describes them"
    if word is None:
        return f"no command is given; {names}"
    return f"there is no command {visible(word)!r}" + (did_you_mean(word, commands) or f"; {names}")


def flowing(text: str) -> Iterator[str]:
    """The paragraphs of a text, each broken into lines as wide as the terminal."""
    # Paragraphs are separated by empty lines. Within a paragraph, a line that begins with `- ` begins an item of a
    # list, and a line that begins with `$ ` is a command line, which is continued where it is too long.
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield "\n".join(_lay_out(block) for block in blocks(paragraph))


def blocks(paragraph: str) -> list[str]:
    """The items of lists, the command lines and the text between them, each in one line."""
    parts: list[str] = []
    for line in map(str.strip, paragraph.splitlines()):
        if not parts or line.startswith(("- ", "$ ")) or parts[-1].startswith("$ "):
            parts.append(line)
        else:
            parts[-1] += f" {line}"
    return parts


def _lay_out(block: str, indent: str = "") -> str:
    """Return the item of a list, the command line or the text in lines of the terminal's width."""
    if block.startswith("- "):
        return _wrap(block.removeprefix("- "), f"{indent}{_INDENT}- ")
    if block.startswith("$ "):
        return _command_line(block.removeprefix("$ "))
    return _wrap(block, indent)


def _option(option: OptionHelp) -> str:
    """Return the lines about an option, with its default behind the text, or below it if a list ends the text."""
    described = blocks(option.text)
    if option.default and described and not described[-1].startswith("- "):
        described[-1] += f" (default: {option.default})"
    elif option.default:
        described.append(f"(default: {option.default})")
    lines = [_lay_out(block, 3 * _INDENT) for block in described]
    return "\n".join([_wrap(f"{option.flag} {option.value}".strip(), _INDENT), *lines])


def _first_sentence(option: OptionHelp) -> OptionHelp:
    """The option with the first sentence of its description."""
    text = " ".join(option.text.split("\n- ", 1)[0].split())
    return replace(option, text=_SENTENCE.match(text).group())  # type: ignore[union-attr]


def _command_line(text: str) -> str:
    """A command line, continued as a shell takes it where it is too long: before options."""
    lines = [""]
    for words in re.split(r" (?=--)", text):
        if lines[-1] and len(f"{lines[-1]} {words}") > _width() - len(f"{_INDENT}$ "):
            lines.append(words)
        else:
            lines[-1] = f"{lines[-1]} {words}".strip()
    return f"{_INDENT}$ " + f" \\\n{_INDENT}    ".join(lines)


def _wrap(text: str, start: str = "") -> str:
    """A text in lines of the terminal's width; the first begins with ``start``, all others with as many blanks."""
    return textwrap.fill(
        " ".join(text.split()),
        width=_width(),
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _heading(title: str) -> str:
    text = f"{title}:"
    bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") != "dumb"
    return f"\033[1m{text}\033[0m" if bold else text


def _width() -> int:
    """Columns of the terminal, or what the environment variable COLUMNS says."""
    return max(_MIN_WIDTH, shutil.get_terminal_size().columns)
