"""What the Markdown files of the project say, taken out of them so that it can be tried."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
USER_PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
PAGES = [*USER_PAGES, REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "CHANGELOG.md"]

_BLOCK = re.compile(r"^```(\w*|\{code-cell\} python3)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WRITTEN = re.compile(r"^%%writefile (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a language on a page of the repository."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return [code for marked, code in _BLOCK.findall(text) if marked == language]


def python(page: Path) -> list[str]:
    """The Python blocks of a page, except those below a comment ``<!-- not run: REASON -->``."""
    text = _NOT_RUN.sub("", page.read_text(encoding="utf-8"))
    return [code for marked, code in _BLOCK.findall(text) if marked == "python"]


def files(page: str) -> dict[str, str]:
    """The files that a page shows or writes.

    A shown file is a block whose paragraph before it ends with the name of a file and a colon.
    """
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return dict([*_FILE.findall(text), *_WRITTEN.findall(text)])


def commands(page: str) -> Iterator[list[str]]:
    """The command lines of attentionology in the code blocks of a page, as words, without comments.

    A line may begin with a prompt or with the folder of the environment, may be continued with backslashes, and may be
    one of a shell's loops or lists. Blocks below a comment ``<!-- not run: REASON -->`` are left out.
    """
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    for _, code in _SHELL.findall(_NOT_RUN.sub("", text)):
        for line in code.replace("\\\n", " ").splitlines():
            if match := _COMMAND.match(line):
                yield list(itertools.takewhile(lambda word: word not in _ENDS, shlex.split(match[1], comments=True)))


_ENDS = ("|", ">", "2>", "2>&1", "&&", "||", ";")
_NOT_RUN = re.compile(r"^<!-- not run: .+? -->\n+```.*?^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```(|bash|console|sh|text|\{code-cell\}[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"[$!]?\s*(?:\.venv/bin/)?attentionology ((?:[a-z]+ |--version).*|[a-z]+)$")
