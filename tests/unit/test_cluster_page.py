"""The command lines of docs/how-to/cluster.md parse, and mean what the page says."""

from __future__ import annotations

import shlex
import tomllib
from importlib.util import find_spec

import pytest
import tyro

from attentionology.analyses.shared.numbers import NUMBERS
from attentionology.scripts.commands import COMMANDS
from tests import documentation


@pytest.mark.slow
def test_the_commands_of_the_page_parse():
    blocks = documentation.blocks("docs/how-to/cluster.md", "bash")
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("attentionology ")]
    assert len(lines) == 6
    shares, workers, engines, dry = [], [], [], []
    for line in lines:
        words = shlex.split(line.replace("$SLURM_ARRAY_TASK_ID", "3"))
        command = tyro.cli(
            COMMANDS[words[1]].load(), args=words[2:], config=(tyro.conf.OmitArgPrefixes,), registry=NUMBERS
        )
        if command.long_run.engine != "ray" or find_spec("ray"):
            command.long_run.check()
        assert command.dry_run or str(command.long_run.parts) == "parts"
        shares.append(command.long_run.share)
        workers.append(command.long_run.workers)
        engines.append((command.long_run.engine, command.long_run.address))
        dry.append(command.dry_run)
    assert shares == [None, None, None, (3, 16), None, None]
    assert workers == [None, 4, None, None, None, None]
    assert engines == [*5 * [("processes", None)], ("ray", "auto")]
    assert dry == [False, False, True, False, False, False]


def test_the_commands_of_ray_exist():
    scripts = pytest.importorskip("ray.scripts.scripts", reason="Ray is not installed (extra 'ray')")
    (block,) = (block for block in documentation.blocks("docs/how-to/cluster.md", "bash") if "ray start" in block)
    lines = [shlex.split(line, comments=True) for line in block.splitlines() if line.startswith("ray ")]
    assert len(lines) == 2
    for line in lines:
        known = scripts.cli.commands[line[1]]
        context = known.make_context(line[1], line[2:])  # parses the options without starting anything
        assert context.params["head"] == ("--head" in line)


def test_ray_is_an_extra():
    project = tomllib.loads((documentation.REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(requirement.startswith("ray") for requirement in project["optional-dependencies"]["ray"])


def test_every_share_of_the_job_array_is_possible():
    (script,) = (block for block in documentation.blocks("docs/how-to/cluster.md", "bash") if "SBATCH" in block)
    first, last = script.split("--array=")[1].split()[0].split("-")
    assert (int(first), f"/{last}" in script) == (1, True)
