"""The numbers on the pages are those that the demo model gives on the sample treebank."""

from __future__ import annotations

import re
import shlex

import pytest

from attentionology.scripts.cli import main
from tests.documentation import REPOSITORY, USER_PAGES
from tests.renew import HINT, LEFT_OUT, RENEW, renew_block

FROM = re.compile(r"^<!-- from: (.+?) -->\n+```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block that shows what a command prints, below a comment with the command. Blocks may leave lines out."""

SHOWN = [
    (str(page.relative_to(REPOSITORY)), command, block)
    for page in USER_PAGES
    for command, block in FROM.findall(page.read_text(encoding="utf-8"))
]
GEOGRAPHY = "in full"


@pytest.fixture(scope="module")
def printed(tmp_path_factory, demo_encoder, figures_are_outlines):
    """A function from a command to the lines that it prints."""
    lines: dict[str, list[str]] = {}

    def run(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
        if command == "make demo":
            makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
            command = re.search(r"^demo:.*\n\t\$\(BIN\)/(.+)$", makefile, re.MULTILINE)[1]  # type: ignore[index]
        if command not in lines:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(tmp_path_factory.mktemp("demo"))
                patch.setenv("COLUMNS", "130")
                assert main(shlex.split(command)[1:]) == 0
            lines[command] = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        return lines[command]

    return run


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command", "block"), SHOWN, ids=[f"{page}-{i}" for i, (page, *_) in enumerate(SHOWN)])
def test_what_the_pages_show_is_what_the_command_prints(page, command, block, printed, capsys):
    out = printed(command, capsys)
    if RENEW:
        renew_block(page, block, out)
        return
    lines = [line.rstrip() for line in block.splitlines() if not LEFT_OUT.fullmatch(line.strip())]
    assert len(lines) > 5
    missing = "\n".join(line for line in lines if line not in out)
    assert not missing, f"{page}: `{command}` no longer prints, on 130 columns:\n{missing}\n{HINT}"


def test_pages_show_the_demo():
    assert {page for page, command, _ in SHOWN if command == "make demo"} >= {"README.md", "docs/how-to/surface.md"}
