"""Processes that are interrupted or killed while they make a store, or that share one."""

from __future__ import annotations

import pytest
import torch

from attentionology.storage.cache_log import CacheLog
from attentionology.storage.durable import locked, unfinished_name
from tests.programs import REPOSITORY, Programs
from tests.unit.map_store.stores import contents, store, tensors


def test_interrupted_making_loses_the_part_it_was_in(tmp_path):
    whole = store(tmp_path / "whole", batch_cells=200)
    names = sorted(path.name for path in whole.folder.iterdir())
    for after in (1, 4, 5, 7, 10):
        done = 0

        def interrupt(n, after=after):
            nonlocal done
            done += n
            if done >= after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store(tmp_path / str(after), batch_cells=200, advance=interrupt)
        resumed = store(tmp_path / str(after), batch_cells=200)
        finished = (done - 1) // 4 * 4 if done < 10 else 8
        assert resumed.made == 10 - finished
        assert resumed.log == whole.log
        assert [len(b.maps) for b in resumed] == [1] * 10
        assert all(map(torch.equal, tensors(resumed), tensors(whole)))
        assert sorted(path.name for path in resumed.folder.iterdir()) == names  # nothing half written is left


def test_nothing_is_left_of_processes_that_were_killed(tmp_path):
    first = store(tmp_path)
    left = first.folder / unfinished_name("0000-000.safetensors")
    alive = first.folder / unfinished_name("0001.json")
    left.write_bytes(b"half")
    alive.write_bytes(b"half")
    with locked(alive, wait=True) as held:
        assert held
        store(tmp_path)
        assert not left.exists()
        assert alive.exists()
    store(tmp_path)
    assert not alive.exists()


MAKING = """
import os, signal, sys
from attentionology.extractors.maps import store_writer
from attentionology.storage import durable
from tests.unit.map_store.stores import store

store_writer.WINDOW, store_writer._SHARD_BYTES = 4, 3000
flush = durable.flush
for step in map(int, sys.argv[2:]):
    child = os.fork()
    if not child:
        left = step

        def killed(path):
            global left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            flush(path)

        durable.flush = killed
        store(f"{sys.argv[1]}/{step}", batch_cells=1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""Each file is flushed twice: before it gets its name, and its folder after. The imports are shared by all steps."""


def numbers(programs: Programs, code: str, *arguments: object) -> list[int]:
    """The numbers that a process of its own prints."""
    done = programs.run("-c", code, *arguments, folder=REPOSITORY)
    done.check_returncode()
    return [int(number) for number in done.stdout.split()]


@pytest.mark.slow
def test_killed_while_it_writes(programs, tmp_path):
    whole = store(tmp_path / "whole", batch_cells=1)
    steps = (1, 4, 9, 14)
    assert numbers(programs, MAKING, tmp_path, *steps) == [-9] * len(steps)
    for step in steps:
        log = CacheLog()
        resumed = store(tmp_path / str(step), batch_cells=1, cache_log=log)
        assert resumed.made == (10 if step < 9 else 6), step
        assert contents(resumed.folder) == contents(whole.folder), step
        assert log.warnings() == [], step  # what an interruption leaves is not damage


SHARING = """
import os, sys
from attentionology.extractors.maps import store_writer
from tests.unit.map_store.stores import store

store_writer.WINDOW = 2
other = os.fork()
made = store(sys.argv[1]).made
os.write(1, f"{made}\\n".encode())
if not other:
    os._exit(0)
assert os.waitpid(other, 0)[1] == 0
"""


@pytest.mark.slow
def test_processes_that_share_a_store_make_each_part_once(programs, tmp_path):
    made = numbers(programs, SHARING, tmp_path)
    assert len(made) == 2
    assert sum(made) == 10
