"""What the program says if its arguments do not begin with the name of a command, and that it runs as a module."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from attentionology.scripts.cli import main


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
