"""Word maps on disk are the same maps as without a disk, also after interruptions."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import ExtractionError, ExtractionLog, extract, register_kind
from attentionology.extractors.kinds import registry
from attentionology.extractors.tokens.text_fit import TextFit
from attentionology.storage.cache_log import CacheLog
from tests import tiny
from tests.programs import REPOSITORY, Programs
from tests.unit.map_store.stores import SENTENCES, contents, extracted, sentence, store, tensors


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"kind": "norm", "merge": "vector"}, {"kind": "rollout", "normalize": "row", "batch_cells": 100}],
    ids=["weight", "vectors", "rollout"],
)
def test_stored_maps_are_the_maps_in_the_order_of_the_corpus(tmp_path, options):
    stored = store(tmp_path, **options)
    assert (len(stored), stored.made, stored.kind) == (10, 10, options.get("kind", "weight"))
    assert stored.sentences == tuple(SENTENCES)
    for batch, alone, own in zip(stored, extracted(SENTENCES, **options), SENTENCES, strict=True):
        assert batch.sentences == (own,)
        assert (batch.kind, batch.level, batch.noise) == (alone.kind, "word", alone.noise)
        torch.testing.assert_close(batch.maps, alone.maps, atol=1e-6, rtol=1e-5)
        assert batch.special.tolist() == alone.special.tolist()
        assert batch.lengths.tolist() == alone.lengths.tolist() == [len(own) + 2]
        assert stored.shape == alone.maps.shape[1:3]
    shards = list(stored.folder.glob("*.safetensors"))
    assert stored.bytes == sum(shard.stat().st_size for shard in shards)


def test_sentences_that_cannot_be_read_are_left_out_and_told(tmp_path):
    twice = sentence(70)
    told: list[int] = []
    given = [twice, SENTENCES[0], twice, *SENTENCES[1:]]
    log = ExtractionLog()
    list(extract(tiny.encoder(), given, max_length=35, log=log))
    stored = store(tmp_path, sentences=given, max_length=35, advance=told.append)
    again = store(tmp_path, sentences=given, max_length=35)
    assert {len(one.sentence) for one in log.skipped} == {70, 12}
    for found in (stored, again):
        # Maps that were stored are read without their pieces, so nothing is known of how the words were cut.
        assert dataclasses.asdict(found.log) == dataclasses.asdict(dataclasses.replace(log, fit=TextFit()))
        assert [len(s) for s in found.sentences] == [3, 1, 9, 4, 2, 7, 5, 6, 8]
        assert [b.maps.shape[-1] - 2 for b in found] == [3, 1, 9, 4, 2, 7, 5, 6, 8]
    assert (sum(told), stored.made, again.made) == (12, 12, 0)


def test_no_sentence_can_be_read(tmp_path):
    with pytest.raises(ExtractionError, match=r"none of the 2 sentences could be read: of 70: too long: \d+ pieces"):
        store(tmp_path, sentences=[sentence(70), sentence(80)])


def test_half_precision(tmp_path):
    whole, half = store(tmp_path), store(tmp_path, dtype="float16")
    assert half.made == 10
    assert half.bytes < whole.bytes
    for a, b in zip(whole, half, strict=True):
        assert b.maps.dtype == torch.float32
        assert torch.equal(b.maps, a.maps.half().float())
        assert not torch.equal(b.maps, a.maps)
    assert torch.equal(half[2].exact([0])[0], half[2].maps[0])


def test_values_beyond_half_precision_are_refused(tmp_path):
    with mock.patch.dict(registry._KINDS):
        register_kind("test-huge", "α · 10⁶, for this test")(lambda layer: layer.alpha * 1e6)
        assert store(tmp_path, kind="test-huge")[0].maps.max() > 1e5
        with pytest.raises(ExtractionError, match=r"sentence 'of 9': a map is too large for float16; use float32"):
            store(tmp_path, kind="test-huge", dtype="float16")


def test_a_sentence_that_is_there_twice(tmp_path):
    a, b, c = sentence(5), sentence(3), sentence(6)
    stored = store(tmp_path, sentences=[a, b, a, c, b, a])
    assert [s.id for s in stored.sentences] == ["of 5", "of 3", "of 5", "of 6", "of 3", "of 5"]
    for batch, alone in zip(stored, extracted([a, b, a, c, b, a]), strict=True):
        torch.testing.assert_close(batch.maps, alone.maps, atol=1e-6, rtol=1e-5)


def test_subsets_and_slices(tmp_path):
    stored = store(tmp_path)
    maps = tensors(stored)
    for part, chosen in [
        (stored.subset([7, 0, 7]), [7, 0, 7]),
        (stored[2:9:3], [2, 5, 8]),
        (stored[::-1], list(range(9, -1, -1))),
        (stored[1:][3:5], [4, 5]),
        (stored[4:4], []),
    ]:
        assert part.sentences == tuple(SENTENCES[i] for i in chosen)
        assert [b.sentences[0] for b in part] == [SENTENCES[i] for i in chosen]
        assert len(part) == len(chosen)
        assert all(torch.equal(b.maps, maps[i]) for b, i in zip(part, chosen, strict=True))
    assert torch.equal(stored[-1].maps, maps[9])
    with pytest.raises(IndexError):
        stored[10]


def test_relabeled(tmp_path):
    stored = store(tmp_path)[3:6]
    new = [dataclasses.replace(s, heads=(0,) * len(s)) for s in SENTENCES[3:6]]
    relabeled = stored.relabeled(new)
    assert [b.sentences[0].heads for b in relabeled] == [s.heads for s in new]
    assert all(map(torch.equal, tensors(relabeled), tensors(stored)))
    for wrong in (new[::-1], new[:2], [*new[:2], Sentence("of 2", ("the", "men"))]):
        with pytest.raises(ValueError, match="not the sentences whose maps are stored"):
            stored.relabeled(wrong)


@pytest.mark.slow
def test_exact_maps(tmp_path):
    options: dict[str, Any] = {"kind": "norm", "merge": "vector", "normalize": "row"}
    stored = store(tmp_path, **options)[::-1]
    for index in (0, 3):
        batch = stored[index]
        exact, same = batch.exact([0, 0])
        (alone,) = extract(tiny.encoder(), [batch.sentences[0]], **options)
        assert exact.dtype == torch.float64
        assert torch.equal(exact, alone.exact([0])[0])
        assert torch.equal(exact, same)
        assert not torch.equal(exact.float(), exact)
        assert batch.exact([]) == []


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
