"""What the documentation says about commands, options and names is true."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tyro

from attentionology.analyses.shared.numbers import NUMBERS
from attentionology.reports.help.options import option_sections
from attentionology.scripts.cli import COMMANDS
from docs import generate, names
from tests import documentation
from tests.documentation import PAGES, REPOSITORY, USER_PAGES

IDS = [str(page.relative_to(REPOSITORY)) for page in PAGES]
WITH_COMMANDS = [page for page in IDS if any(documentation.commands(page))]
OTHERS = {
    "--array",
    "--config",
    "--cpus-per-task",
    "--editable",
    "--global",
    "--head",
    "--mem",
    "--only",
    "--time",
    "--version",
}
"""Options of other programs that the pages name."""
OF_EXAMPLES = {"--farthest", "--containing"}
"""Options of the analysis and of the command that the pages teach how to write; the tests of these pages run them."""
GIVEN = {"$SLURM_ARRAY_TASK_ID": "3"}

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b")
ALL_FLAGS = {
    flag
    for command in COMMANDS.values()
    for section in option_sections(command.load(), command.most_used).values()
    for option in section
    for flag in (option.flag, option.flag.replace("--no-", "--"))
} | {"--help"}


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_command_lines_parse(page):
    for words in documentation.commands(page):
        if OF_EXAMPLES & set(words) or words == ["--version"]:
            continue
        words = [GIVEN.get(word, word) for word in words]
        for variable, value in GIVEN.items():
            words = [word.replace(variable, value) for word in words]
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                tyro.cli(
                    COMMANDS[words[0]].load(), args=words[1:], config=(tyro.conf.OmitArgPrefixes,), registry=NUMBERS
                )
        except SystemExit:
            pytest.fail(f"attentionology {' '.join(words)}\n{said.getvalue()}")


@pytest.mark.parametrize("page", IDS)
def test_options_in_prose_exist(page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    if page == "CHANGELOG.md":  # options that were removed or renamed are named in the entries of their versions
        text = text.partition("\n## [0.1.0]")[0]
    code = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    flags = {flag for span in code for flag in FLAG.findall(span)}
    assert flags <= ALL_FLAGS | OTHERS | OF_EXAMPLES


def words(text: str) -> int:
    """How many words the prose of a page has, counted as ``wc`` does, without blocks of code."""
    return len(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split())


def test_guides_can_be_read():
    """All guides together, from the README to the pages about papers, have at most 30,000 words of prose."""
    folders = ("how-to", "explanation", "tutorials", "reproduce")
    guides = [page for folder in folders for page in (REPOSITORY / "docs" / folder).glob("*.md")]
    guides += [REPOSITORY / "README.md", REPOSITORY / "docs/index.md"]
    assert len(guides) > 30
    assert sum(words(page.read_text(encoding="utf-8")) for page in guides) <= 30_000


@pytest.mark.parametrize("page", ["README.md"])
def test_commands_in_tables_parse(page):
    """The commands in the cells of the table in the README."""
    spans = re.findall(r"`attentionology ([^`]+)`", (REPOSITORY / page).read_text(encoding="utf-8"))
    lines = [span for span in spans if " " in span]
    assert len(lines) >= 7
    for line in lines:
        words = shlex.split(line)
        tyro.cli(COMMANDS[words[0]].load(), args=words[1:], config=(tyro.conf.OmitArgPrefixes,), registry=NUMBERS)


def test_readme_is_short_and_its_links_lead_somewhere():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    targets = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.MULTILINE))
    used = set(re.findall(r"\]\[([^\]]+)\]", text))
    assert set(targets) == used
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project.get("urls", {}).get("Repository", "")
    for target in targets.values():
        # A package index shows the README without the files beside it.
        assert target.startswith(address), f"{target} must begin with {address}, the address in pyproject.toml"
        path = re.sub(r"^/?(?:(?:blob|raw|tree|src)/[^/]+/)?", "", target.removeprefix(address))
        assert (REPOSITORY / path).is_file(), target


@pytest.mark.parametrize("page", IDS)
def test_tables_that_are_named_exist(page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    tables = generate.completed((REPOSITORY / "docs/reference/tables.md").read_text(encoding="utf-8"))
    described = set(re.findall(r"`(\w+)\.csv`", tables))
    named = set(re.findall(r"tables/(\w+)\.csv", text))
    named |= {name for name in re.findall(r"`(\w+)\.csv`", text) if name.partition("_")[0] in PREFIXES}
    assert named <= described | {"distance"}  # the table of the analysis that docs/how-to/extend.md makes


PREFIXES = {"dependency", "surface", "norms", "coreference", "probe", "explain", "alignment", "survey", "head"}
"""How the names of tables begin."""


def test_generated_parts():
    """Each mark on a page asks for something that exists, and what is made of it names what it should."""
    marks = {page: generate.MARK.findall(page.read_text(encoding="utf-8")) for page in USER_PAGES}
    assert {part for found in marks.values() for part, _ in found} == set(generate.PARTS)
    commands = generate.commands()
    for name in COMMANDS:
        assert f"\n## {name}\n" in commands
    for flag in ALL_FLAGS - {"--help"}:
        assert flag in commands or flag.replace("--", "--no-") in commands, flag
    assert "````{option} --min-count N\nRelations with fewer than N words" in commands
    assert "] [" not in re.sub(r"```.*?```", "", generate.markdown("Read [CLS] [SEP] --map *x*"))
    assert generate.markdown("The kinds:\n  - a, b-c: x_y\n  - d") == "The kinds:\n\n- **a, b-c**: x\\_y\n- d"


@pytest.mark.slow
def test_generated_parts_are_the_same_on_every_machine():
    """They depend neither on the order of sets nor on the terminal, and name no folder of this machine."""
    program = "import sys; from docs.generate import completed; print(*map(completed, sys.argv[1:]))"
    texts = [page.read_text(encoding="utf-8") for page in USER_PAGES]
    marks = [mark[0] for text in texts for mark in generate.MARK.finditer(text)]
    printed = {
        subprocess.run(
            [sys.executable, "-c", program, *marks],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": "src:.", "PYTHONHASHSEED": seed, "COLUMNS": columns, "FORCE_COLOR": color},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed, columns, color in (("1", "60", "1"), ("2", "200", ""))
    }
    (text,) = printed
    assert len(marks) >= 10
    assert "attentionology COMMAND --help" in text
    assert not re.search(rf"{re.escape(str(REPOSITORY))}|{re.escape(str(Path.home()))}|0x[0-9a-f]{{8}}", text)


def test_public_names_are_in_the_reference():
    pages = [REPOSITORY / "docs/reference/python" / f"{room}.md" for room in ROOMS]
    text = "\n".join(generate.completed(page.read_text(encoding="utf-8")) for page in pages)
    documented = re.findall(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)", text, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert {f"attentionology.{name}" for name in names.of("attentionology")} <= set(documented)
    assert "attentionology.extractors.Level" in documented
    assert "attentionology.probes.classifiers.Vocabulary" in documented


ROOMS = ("corpora_loaders", "extractors", "probes", "analyses", "engine", "reports")
