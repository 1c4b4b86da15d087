"""The source distribution and the wheel: what they hold, and that the wheel works beside folders of any name."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.acceptance.conftest import REPOSITORY
from tests.unit.test_house import LEVELS

pytest.importorskip("hatch_fancy_pypi_readme", reason="the build backend is not installed (extra 'dev')")


def build(project: Path, out: Path, target: str) -> Path:
    """Build one distribution of a project and return it."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out), "--target", target]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The source distribution of the repository, unpacked."""
    archive = build(REPOSITORY, tmp_path_factory.mktemp("sdist"), "sdist")
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as packed:
        assert all(member.isfile() or member.isdir() for member in packed), "a link"
        packed.extractall(folder, filter="data")
    (project,) = folder.iterdir()
    return project


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    """The wheel that is built from the source distribution, as pip does."""
    return build(unpacked, tmp_path_factory.mktemp("wheel"), "wheel")


def package_files() -> set[str]:
    """The files that an installed toolkit consists of: not the sources that the page's script is built from."""
    front = REPOSITORY / "src" / "attentionology"
    own = {path.name for path in front.iterdir() if path.is_file()}
    inside = {path.as_posix() for room in LEVELS for path in files_below(room)}
    page = {name for name in inside if name.startswith("reports/page/")}
    folders = ("reports/page/src/", "reports/page/test/")
    sources = {name for name in page if name.startswith(folders) or name.endswith((".json", ".mjs"))}
    return {f"attentionology/{name}" for name in own | inside - sources}


def files_below(name: str) -> set[Path]:
    """The files of a folder of the repository, except for caches and what npm installs."""
    files = (path.relative_to(REPOSITORY) for path in (REPOSITORY / name).rglob("*") if path.is_file())
    return {path for path in files if not {"__pycache__", "node_modules"} & set(path.parts)}


@pytest.mark.slow
def test_source_distribution_has_what_development_needs(unpacked):
    pages = {path.name for pattern in ("*.md", "*.cff", "*.toml", "*.txt") for path in REPOSITORY.glob(pattern)}
    for name in {"LICENSE", "Makefile", *pages}:
        assert (unpacked / name).read_bytes() == (REPOSITORY / name).read_bytes()
    for name in (*LEVELS, "tests", "benchmarks", "docs"):
        unpacked_files = {path.relative_to(unpacked) for path in (unpacked / name).rglob("*") if path.is_file()}
        assert unpacked_files == files_below(name)


def test_wheel_holds_the_packages_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as packed:
        assert not any(stat.S_ISLNK(entry.external_attr >> 16) for entry in packed.infolist())
        names = {name for name in packed.namelist() if not name.split("/")[0].endswith(".dist-info")}
    assert names == package_files()
    assert {"attentionology/analyses/norms/section.html.j2", "attentionology/py.typed"} <= names
    assert any(name.endswith("sample/en_sample.conllu") for name in names)
    assert {"attentionology/reports/page/explorer.js", "attentionology/reports/page/page.css"} <= names


def rendered(text: str) -> list[Token]:
    """What a package index shows for a text in Markdown, in one sequence."""
    blocks = MarkdownIt("commonmark").enable("table").parse(text)
    return [token for block in blocks for token in (block.children if block.type == "inline" else [block]) or []]


def words(tokens: list[Token]) -> str:
    """The text of a page without its pictures."""
    return "".join(token.content for token in tokens if token.type != "image")


@pytest.mark.parametrize("distribution", ["sdist", "wheel"])
def test_description_has_the_text_of_the_readme_without_links_into_the_repository(unpacked, wheel, distribution):
    if distribution == "sdist":
        metadata = (unpacked / "PKG-INFO").read_text(encoding="utf-8")
    else:
        with zipfile.ZipFile(wheel) as packed:
            (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
            metadata = packed.read(name).decode()
    header, _, description = metadata.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in header.splitlines()
    readme = rendered((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    shown = rendered(description)
    links = [token.attrs["href"] for token in shown if token.type == "link_open"]
    assert links == [href for token in readme if str(href := token.attrs.get("href", "")).startswith("https://")] != []
    assert [token for token in shown if token.type == "image"] == []
    before, after, last = words(shown).partition("MIT license; the sample treebank is CC0.")
    assert before + after == words(readme)
    assert last == "The documentation that this text mentions is in the folder docs of the source distribution."


def test_wheel_of_the_repository_is_that_of_the_source_distribution(wheel, tmp_path):
    with zipfile.ZipFile(build(REPOSITORY, tmp_path, "wheel")) as direct, zipfile.ZipFile(wheel) as other:
        assert {name: direct.read(name) for name in direct.namelist()} == {
            name: other.read(name) for name in other.namelist()
        }


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import attentionology; print(attentionology.__file__, attentionology.load_treebank)"),
        ("-m", "attentionology", "analyze", "--help"),
    ],
)
def test_wheel_works_beside_folders_with_the_names_of_its_packages(wheel, tmp_path, arguments):
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    for room in LEVELS:
        (tmp_path / "work" / room).mkdir(parents=True)
        (tmp_path / "work" / room / "__init__.py").write_text("raise ImportError('the wrong package')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "COLUMNS": "100"}
    command = [sys.executable, *arguments]
    process = subprocess.run(
        command, cwd=tmp_path / "work", env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert str(tmp_path / "site") in process.stdout or "--analyses" in process.stdout


@pytest.mark.slow
def test_an_installation_needs_no_checkout(wheel, tmp_path):
    """The wheel is installed by pip into an environment that has the dependencies and nothing of the repository."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    programs = environment / "bin"
    install = ["install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(programs / "python"), *install], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}

    def run(*arguments: str) -> str:
        command = [str(programs / "attentionology"), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert run("--version").split()[-1] == version
    options = ("--limit", "5", "--analyses", "dependency", "--replicates", "0")
    printed = run("analyze", *options, "--out", "run")
    assert "Sentences read: 5" in printed
    assert (tmp_path / "run" / "report.html").is_file()
    assert "Sentence pairs read: 1" in run("align", "--limit", "1", "--replicates", "0", "--out", "aligned")
