"""The command lines of docs/cluster.md parse, and mean what the page says."""

from __future__ import annotations

import shlex

import tyro

from attentionology.analyses.shared.numbers import NUMBERS
from attentionology.scripts.commands import COMMANDS
from tests import documentation


def test_the_commands_of_the_page_parse():
    blocks = documentation.blocks("docs/cluster.md", "bash")
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("attentionology ")]
    assert len(lines) == 4
    shares, workers = [], []
    for line in lines:
        words = shlex.split(line.replace("$SLURM_ARRAY_TASK_ID", "3"))
        command = tyro.cli(
            COMMANDS[words[1]].load(), args=words[2:], config=(tyro.conf.OmitArgPrefixes,), registry=NUMBERS
        )
        command.long_run.check()
        assert str(command.long_run.parts) == "parts"
        shares.append(command.long_run.share)
        workers.append(command.long_run.workers)
    assert shares == [None, None, (3, 16), None]
    assert workers == [None, 4, None, None]


def test_every_share_of_the_job_array_is_possible():
    (script,) = (block for block in documentation.blocks("docs/cluster.md", "bash") if "SBATCH" in block)
    first, last = script.split("--array=")[1].split()[0].split("-")
    assert (int(first), f"/{last}" in script) == (1, True)
