"""The citation file says what the project says of itself."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from tests.documentation import USER_PAGES

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def citation():
    return yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))


def test_it_agrees_with_the_project_file(citation):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
    assert citation["authors"][0]["name"] in (REPOSITORY / "LICENSE").read_text(encoding="utf-8")


def test_the_documentation_names_the_references(citation):
    pages = "".join(page.read_text(encoding="utf-8") for page in USER_PAGES)
    cited = {(paper["authors"][0]["family-names"], paper["year"]) for paper in citation["references"]}
    for name, year in cited:
        assert isinstance(year, int)
        assert name in pages
    assert {("Clark", 2019), ("Kobayashi", 2020), ("Kobayashi", 2021), ("Kobayashi", 2024), ("DeYoung", 2020)} <= cited
