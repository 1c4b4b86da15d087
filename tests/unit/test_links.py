"""The links of an editable installation: git holds none, and they lead to the packages on every system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hatch_build import link_packages
from tests.documentation import REPOSITORY

PROJECT = """
[tool.hatch.build.targets.wheel]
only-include = ["__init__.py", "room"]
"""


def test_git_holds_no_links():
    """On Windows, a clone has text files in their place, and a wheel would be made of these."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("these files are not in a git repository")
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "pyproject.toml" in listed.stdout
    assert [line for line in listed.stdout.splitlines() if line.startswith("120000")] == []


def refuse(*arguments: object, **options: object) -> None:
    """Refuse a symbolic link as Windows does."""
    raise OSError("a required privilege is not held by the client")


@pytest.mark.parametrize("system", ["linux", "win32"])
def test_links_lead_to_packages(system, tmp_path, monkeypatch):
    """They do so again after a file was replaced, as git does it. On Windows, the link to a file is then cut."""
    if system == "win32":
        monkeypatch.setattr(sys, "platform", system)
        monkeypatch.setattr(Path, "symlink_to", refuse)
        monkeypatch.setitem(sys.modules, "_winapi", SimpleNamespace(CreateJunction=os.symlink))
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "room").mkdir()
    folder = tmp_path / "src" / "attentionology"
    for text in ("one", "two"):
        (tmp_path / "new").write_text(text)
        (tmp_path / "new").replace(tmp_path / "__init__.py")
        link_packages(tmp_path)
        assert sorted(path.name for path in folder.iterdir()) == ["__init__.py", "room"]
        assert (folder / "__init__.py").read_text() == text
        assert (folder / "room").samefile(tmp_path / "room")


def test_a_link_that_cannot_be_made_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "symlink_to", refuse)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    with pytest.raises(OSError, match="privilege"):
        link_packages(tmp_path)
