"""What the Markdown files of the project say, taken out of them so that it can be tried."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
USER_PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
PAGES = [*USER_PAGES, REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "CHANGELOG.md"]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a language on a page of the repository."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return [code for marked, code in _BLOCK.findall(text) if marked == language]


def files(page: str) -> dict[str, str]:
    """The files that a page shows: a block whose paragraph before it ends with the name of a file and a colon."""
    return dict(_FILE.findall((REPOSITORY / page).read_text(encoding="utf-8")))
