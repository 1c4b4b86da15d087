"""The committed script and styles are what the sources build."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "reports" / "page"


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A copy of the sources, in which npm has installed what package-lock.json names."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed; it builds the script of the page")
    folder = tmp_path_factory.mktemp("page")
    files = "build.mjs biome.json package.json package-lock.json tsconfig.json".split()
    for name in ("src", "test", *files):
        source = FOLDER / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    shutil.copy(FOLDER.parent / "palette.json", folder.parent / "palette.json")
    command = ["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"]
    installed = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"npm cannot install the packages: {installed.stderr.strip()[-300:]}")
    return folder


def test_the_build_gives_the_committed_bytes(modules):
    subprocess.run(["npm", "run", "--silent", "build"], cwd=modules, check=True)
    for name in ("explorer.js", "explorer.css"):
        assert (modules / name).read_bytes() == (FOLDER / name).read_bytes(), f"{name}: run `make page`"


def test_types_rules_and_unit_tests_pass(modules):
    checked = subprocess.run(["npm", "run", "--silent", "check"], cwd=modules, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_script_cannot_end_its_element_and_names_its_licenses():
    text = (FOLDER / "explorer.js").read_text("utf-8")
    assert "</script" not in text.lower()
    assert "<!--" not in text
    assert text.split("*/", 1)[1].isascii()
    for name in ("preact", "d3-scale", "d3-interpolate"):
        assert name in text.split("*/", 1)[0]
    assert "Permission is hereby granted" in text
