"""Makes the parts of the reference that are in the source code: options, Python names, and files of the repository.

A line ``<!-- generated: WHAT ARGUMENTS -->`` on a page is replaced when Sphinx reads it, so that no generated page lies
in the repository. This command prints a part::

    python -m docs.generate commands
    python -m docs.generate names attentionology.probes
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from attentionology.analyses.explanation.contract.registry import BASIC_COLUMNS, registered_tests
from attentionology.reports.help.options import OptionHelp, option_sections
from attentionology.reports.help.pages import HELP_ALL_OPTION, HELP_OPTION, blocks
from attentionology.scripts.cli import COMMANDS, main
from docs import names, search_words

REPOSITORY = Path(__file__).resolve().parents[1]
MARK = re.compile(r"^<!-- generated: (\w+)((?: \S+)*) -->$", re.MULTILINE)
ROOT_PAGES = {"README": "index.md", "CONTRIBUTING": "contributing.md", "CHANGELOG": "changes.md"}
"""The pages of the site that stand for files at the top of the repository."""
ROOT_PAGE = re.compile(rf"\]\((?:\.\./)+({'|'.join(ROOT_PAGES)})\.md((?:#[^)]*)?)\)")
SPECIAL = re.compile(r"([\\`*_\[\]<>$|])")
"""Characters that Markdown reads as markup."""


def complete(app: Any, page: str, source: list[str]) -> None:
    """Put the generated parts into a page: a listener to Sphinx's event ``source-read``."""
    up = "../" * page.count("/")
    text = search_words.with_entries(page, fill_marks(source[0]))
    source[0] = ROOT_PAGE.sub(lambda link: f"]({up}{ROOT_PAGES[link[1]]}{link[2]})", text)


def fill_marks(text: str) -> str:
    """The text of a page with what its marks stand for."""
    return MARK.sub(lambda mark: PARTS[mark[1]](*mark[2].split()), text)


def version() -> str:
    """The version of the project."""
    project: str = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return project


def commands() -> str:
    """What the program prints as its help, and a section for every command with all of its options."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), _columns("80"):  # not those of the terminal that the site is built in
        main(["--help"])
    parts = [f"```text\n{shown.getvalue().rstrip()}\n```", *map(command, COMMANDS)]
    return "\n\n".join(parts)


@contextlib.contextmanager
def _columns(columns: str) -> Iterator[None]:
    """Set the width for which the help is written."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = columns
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def command(name: str) -> str:
    """The section of a command."""
    options = COMMANDS[name].load()
    sections = option_sections(options, COMMANDS[name].most_used)
    sections.setdefault("Further options", []).extend([HELP_OPTION, HELP_ALL_OPTION])
    arguments = [option.value for option in sections.get("Arguments", ())]
    usage = " ".join(["attentionology", name, *arguments, "[OPTIONS]"])
    parts = [f"## {name}", f"```text\n{usage}\n```", markdown(inspect.getdoc(options) or "")]
    parts.append(f"```{{program}} attentionology {name}\n```")
    for title, section in sections.items():
        parts += [f"### {title} of `{name}`" if title in REPEATED else f"### {title}", *map(option_entry, section)]
    return "\n\n".join(parts)


REPEATED = ("Arguments", "Most used options", "Further options")
"""Titles of sections that many commands have, so that they need the name of the command."""


def option_entry(option: OptionHelp) -> str:
    """The entry of an option, to which the role ``option`` refers."""
    default = f"\n\nDefault: `{option.default}`" if option.default else ""
    return f"````{{option}} {f'{option.flag} {option.value}'.strip()}\n{markdown(option.text)}{default}\n````"


def markdown(text: str) -> str:
    """A text of the help as Markdown: options become code, command lines become blocks, all else stays as it is."""
    return "\n\n".join(_paragraph(blocks(paragraph)) for paragraph in re.split(r"\n\s*\n", text.strip()) if paragraph)


def _paragraph(parts: list[str]) -> str:
    lines = [f"```console\n{part}\n```" if part.startswith("$ ") else _escape(part) for part in parts]
    gaps = ["\n" if line.startswith("- ") and before.startswith("- ") else "\n\n" for before, line in pairwise(lines)]
    return "".join(text for pair in zip(["", *gaps], lines, strict=True) for text in pair)


def _escape(text: str) -> str:
    """A line of prose without markup, except for options and for the terms that items of lists explain."""
    item = re.match(r"- (?:([\w:-]+(?:, [\w:-]+)*): )?", text)
    start = "" if item is None else f"- **{item[1]}**: " if item[1] else "- "
    prose = SPECIAL.sub(r"\\\1", text[item.end() if item else 0 :])
    return start + re.sub(r"(?<![\w-])--[a-z][\w-]*", lambda option: f"`{option[0]}`", prose)


def repository_file(path: str) -> str:
    """The text of a file at the top of the repository, with its links as they are from a page in ``docs``."""

    def from_docs(link: re.Match[str]) -> str:
        if link[1].startswith(("http:", "https:", "#")):
            return link[0]
        return f"]({link[1].removeprefix('docs/') if link[1].startswith('docs/') else f'../{link[1]}'})"

    return re.sub(r"\]\(([^)\s]+)\)", from_docs, (REPOSITORY / path).read_text(encoding="utf-8"))


def pages(folder: str, *first: str) -> str:
    """Entries of a table of contents: the pages of a folder, some of them first."""
    there = sorted(path.stem for path in (REPOSITORY / "docs" / folder).glob("*.md"))
    ordered = [*(name for name in first if name in there), *(name for name in there if name not in first)]
    return "\n".join(f"{folder}/{name}" for name in ordered)


def public_names() -> str:
    """A table of the public names, with what each is."""
    rows = [f"| {{py:obj}}`{name} <attentionology.{name}>` | {summary} |" for name, summary in _summaries()]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


def _summaries() -> Iterator[tuple[str, str]]:
    """The first sentence of the docstring of each public name."""
    for name in names.of("attentionology"):
        paragraph = " ".join(names.docstring("attentionology", name).split("\n\n")[0].split())
        first = re.split(r"(?<!et al)(?<=\.) (?=[A-Z`])", paragraph)[0]
        parts = re.split(r"``?([^`]+)``?", first)  # every second part is code
        yield name, "".join(f"`{part}`" if i % 2 else _escape(part) for i, part in enumerate(parts))


def explain_columns() -> str:
    """The columns of ``explain_texts.csv``, as the tests of attention as an explanation declare them."""
    tests = registered_tests()
    basic = {name: column for name, column in BASIC_COLUMNS.items() if name not in NOT_PER_TEXT}
    rows = [
        f"| `{name}` | {UNITS.get(unit := column.unit.partition(',')[0], unit)} | {test} | {column.label} |"
        for test, columns in [("", basic), *((f"`{name}`", test.columns) for name, test in tests.items())]
        for name, column in columns.items()
    ]
    return "\n".join(["| column | type | test | meaning |", "|---|---|---|---|", *rows])


def tables(analysis: str, file: str = "columns") -> str:
    """The tables of an analysis, as its columns are declared in one of its files."""
    module = import_module(f"attentionology.analyses.{analysis}.{file}")
    return "\n\n".join(schema.reference() for schema in module.SCHEMAS)


NOT_PER_TEXT = ("accuracy", "epsilon")
"""What has a label like a column, but is the same for all texts."""

UNITS = {"%": "share", "": "text"}
"""Types of the page for units of tables and figures."""


PARTS: dict[str, Callable[..., str]] = {
    "commands": commands,
    "explain_columns": explain_columns,
    "names": names.reference,
    "pages": pages,
    "public_names": public_names,
    "file": repository_file,
    "tables": tables,
}
"""What a mark can ask for."""


if __name__ == "__main__":
    print(PARTS[sys.argv[1]](*sys.argv[2:]))
