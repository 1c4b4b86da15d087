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
from tests.mutate import copy_files
from tests.unit.test_house import LEVELS

pytest.importorskip("hatch_fancy_pypi_readme", reason="the build backend is not installed (extra 'dev')")


def build(project: Path, out: Path, target: str) -> Path:
    """Build one distribution of a project and return it."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out), "--target", target]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone of the files that git knows, as git makes it on Windows: a link would be a text file."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("these files are not in a git repository")
    known = copy_files(tmp_path_factory.mktemp("known"))
    folder = tmp_path_factory.mktemp("clones") / "attentionology"
    author = ("-c", "user.name=Nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false")
    for arguments in (
        ("init", "--quiet"),
        ("add", "--all"),
        (*author, "commit", "--quiet", "--message", "All files"),
        ("clone", "--quiet", "-c", "core.symlinks=false", str(known), str(folder)),
    ):
        subprocess.run(["git", *arguments], cwd=known, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def unpacked(clone, tmp_path_factory):
    """The source distribution of the clone, unpacked."""
    archive = build(clone, tmp_path_factory.mktemp("sdist"), "sdist")
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
    own = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed"}
    inside = {path.as_posix() for room in LEVELS for path in files_below(REPOSITORY / room, REPOSITORY)}
    page = {name for name in inside if name.startswith("reports/page/")}
    folders = ("reports/page/src/", "reports/page/test/")
    sources = {name for name in page if name.startswith(folders) or name.endswith((".json", ".mjs"))}
    return {f"attentionology/{name}" for name in own | inside - sources}


def files_below(folder: Path, base: Path) -> set[Path]:
    """The paths from a base of the files of a folder, except for caches and what npm installs or git stores."""
    files = (path.relative_to(base) for path in folder.rglob("*") if path.is_file())
    return {path for path in files if not {"__pycache__", "node_modules", ".git"} & set(path.parts)}


def test_source_distribution_has_each_file_of_a_clone_once(clone, unpacked):
    described = {Path("PKG-INFO")}
    assert files_below(unpacked, unpacked) - described == files_below(clone, clone)
    for path in files_below(clone, clone):
        assert (unpacked / path).read_bytes() == (clone / path).read_bytes(), path


def test_source_distribution_does_not_depend_on_links(clone, unpacked, tmp_path):
    linked = shutil.copytree(clone, tmp_path / "linked")
    subprocess.run([sys.executable, "hatch_build.py"], cwd=linked, check=True)
    with tarfile.open(build(linked, tmp_path / "built", "sdist")) as packed:
        names = [member.name.partition("/")[2] for member in packed]
    assert sorted(names) == sorted(path.as_posix() for path in files_below(unpacked, unpacked))


def test_wheel_holds_the_packages_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as packed:
        assert not any(stat.S_ISLNK(entry.external_attr >> 16) for entry in packed.infolist())
        names = {name for name in packed.namelist() if not name.split("/")[0].endswith(".dist-info")}
    assert names == package_files()
    assert {"attentionology/analyses/norms/shares.html.j2", "attentionology/py.typed"} <= names
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


@pytest.mark.parametrize("project", ["clone", "repository"])
def test_wheel_of_a_clone_is_that_of_the_source_distribution(project, wheel, clone, tmp_path):
    """The repository has the links of an editable installation, and a clone does not."""
    folder = {"clone": clone, "repository": REPOSITORY}[project]
    with zipfile.ZipFile(build(folder, tmp_path, "wheel")) as direct, zipfile.ZipFile(wheel) as other:
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


def environment_beside(folder: Path) -> Path:
    """An environment that has the dependencies of this one, but nothing of the repository."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def variables() -> dict[str, str]:
    """The variables of a process that finds what is installed, and nothing of the repository."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}


def install(programs: Path, *what: str) -> None:
    """Install something by pip into an environment, without a network."""
    options = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--no-build-isolation"]
    command = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", *options, *what]
    subprocess.run(command, check=True)


def test_an_editable_installation_is_live(clone, tmp_path):
    """What is changed in a clone is seen by the next import, and the links are none of git's business."""
    project = shutil.copytree(clone, tmp_path / "clone")
    programs = environment_beside(tmp_path / "environment")
    install(programs, "--editable", str(project))
    status = subprocess.run(["git", "status", "--short"], cwd=project, capture_output=True, text=True, check=True)
    assert status.stdout == ""
    for name, line in (("__init__.py", "FACE = 1"), ("storage/__init__.py", "ROOM = 2"), ("storage/new.py", "NEW = 3")):
        with (project / name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    code = "import attentionology as a, attentionology.storage.new as new; print(a.FACE, a.storage.ROOM, new.NEW)"
    command = [str(programs / "python"), "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=variables(), capture_output=True, text=True, check=False)
    assert done.stdout == "1 2 3\n", done.stderr


@pytest.mark.slow
def test_an_installation_needs_no_checkout(wheel, tmp_path):
    """The wheel is installed by pip into an environment that has the dependencies and nothing of the repository."""
    programs = environment_beside(tmp_path / "environment")
    install(programs, str(wheel))

    def run(*arguments: str) -> str:
        command = [str(programs / "attentionology"), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=variables(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert run("--version").split()[-1] == version
    options = ("--limit", "5", "--analyses", "dependency", "--replicates", "0")
    printed = run("analyze", *options, "--out", "run")
    assert "Sentences read: 5" in printed
    assert (tmp_path / "run" / "report.html").is_file()
    assert "Sentence pairs read: 1" in run("align", "--limit", "1", "--replicates", "0", "--out", "aligned")
