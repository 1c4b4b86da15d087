"""Word maps on disk: the same maps as without a disk, made once, and made again where they would be others."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, save

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import ExtractionError, ExtractionLog, extract, register_kind, store_maps
from attentionology.extractors.kinds import registry
from attentionology.extractors.maps import store_writer as module
from attentionology.extractors.tokens.pieces import Pieces, Segment
from attentionology.storage.cache_log import CacheLog
from attentionology.storage.durable import StorageError
from attentionology.storage.partial import locked, unfinished_name
from tests import tiny
from tests.damage import DAMAGE

WORDS = ("the", "unbelievable", "man", "\u200b", "saw", "her", "¿")


def sentence(n: int, name: str = "") -> Sentence:
    return Sentence(name or f"of {n}", tuple(WORDS[(n + i) % len(WORDS)] for i in range(n)))


SENTENCES = [sentence(n) for n in (3, 1, 9, 4, 12, 2, 7, 5, 6, 8)]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(module, "WINDOW", 4)
    monkeypatch.setattr(module, "_SHARD_BYTES", 3000)


def store(folder, encoder=None, sentences=SENTENCES, **options):
    return store_maps(encoder or tiny.encoder(), sentences, folder, **options)


def extracted(sentences, **options):
    """Each sentence's map and special positions as `extract` gives them for it alone."""
    for one in sentences:
        (batch,) = extract(tiny.encoder(), [one], log=ExtractionLog(), **options)
        yield batch


def tensors(stored):
    return [batch.maps for batch in stored]


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


def test_parts_are_cut_into_shards(tmp_path):
    stored = store(tmp_path, batch_cells=1)
    assert len(list(stored.folder.glob("*.json"))) == 3 + 1
    assert len(list(stored.folder.glob("*.safetensors"))) == 2 + 3 + 2
    assert [b.maps.shape[-1] - 2 for b in stored] == [3, 1, 9, 4, 12, 2, 7, 5, 6, 8]
    assert set(stored._open) == {(2, 0), (2, 1)}  # of one part at a time


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
        assert dataclasses.asdict(found.log) == dataclasses.asdict(log)
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
    try:
        register_kind("test-huge", "α · 10⁶, for this test")(lambda layer: layer.alpha * 1e6)
        assert store(tmp_path, kind="test-huge")[0].maps.max() > 1e5
        with pytest.raises(ExtractionError, match=r"sentence 'of 9': a map is too large for float16; use float32"):
            store(tmp_path, kind="test-huge", dtype="float16")
    finally:
        registry._KINDS.pop("test-huge", None)


def test_a_store_is_made_once(tmp_path):
    first, used = store(tmp_path), tiny.encoder()
    told: list[int] = []
    used.tokenizer(["the", "the man"], padding=True, truncation=True, max_length=9)  # leaves its traces
    relabelled = [dataclasses.replace(s, id=s.id + "'", relations=("dep",) * len(s)) for s in SENTENCES]
    again = store(tmp_path, used, relabelled, batch_cells=1, advance=told.append)
    assert (again.made, sum(told), again.folder, again.bytes) == (0, 10, first.folder, first.bytes)
    assert again.sentences == tuple(relabelled)
    assert again.log == first.log
    assert all(map(torch.equal, tensors(again), tensors(first)))


def other_tokenizer():
    encoder = tiny.encoder()
    encoder.tokenizer.backend_tokenizer.normalizer = None
    return encoder


def written_to():
    encoder = tiny.encoder()
    with torch.no_grad():
        encoder.model.encoder.layer[0].output.dense.bias[0] += 1e-3
    return encoder


@pytest.mark.parametrize(
    "changed",
    [
        {"sentences": SENTENCES[:9]},
        {"sentences": [*SENTENCES[:9], Sentence("of 8", ("the",) * 8)]},
        {"sentences": SENTENCES[::-1]},
        {"kind": "rollout"},
        {"kind": "norm", "merge": "vector"},
        {"normalize": "row"},
        {"max_length": 60},
        {"ff_bias": "fixed"},
        {"encoder": tiny.encoder(seed=1)},
        {"encoder": tiny.encoder(layer_norm_eps=1e-5)},
        {"encoder": written_to()},
        {"encoder": other_tokenizer()},
    ],
    ids=lambda changed: " ".join(changed),
)
def test_another_store_is_another_folder(tmp_path, changed):
    base = {"kind": "norm"} if "merge" in changed else {}
    first = store(tmp_path, **base)
    other = store(tmp_path, **changed)
    assert other.made == len(other) > 0
    assert other.folder != first.folder
    assert store(tmp_path, **base).made == 0
    made_of = [json.loads((s.folder / "made_of.json").read_text(encoding="utf-8")) for s in (first, other)]
    assert made_of[0] != made_of[1]


def test_the_words_of_one_sentence_do_not_run_into_the_next(tmp_path):
    a, b = Sentence("a", ("the", "man")), Sentence("b", ("her",))
    first = store(tmp_path, sentences=[a, b])
    other = store(tmp_path, sentences=[Sentence("a", ("the",)), Sentence("b", ("man", "her"))])
    assert other.folder != first.folder


def test_segments_of_other_pieces_are_not_the_same(tmp_path):
    def segment(ids, types=None):
        pieces = Pieces(ids, ["?"] * 4, [0, 1, 2, 3], [True, False, False, True], 0, 0, types)
        return Segment(id="s", words=("a", "b"), pieces=pieces)

    stored = [store(tmp_path, sentences=[s]) for s in
              (segment([1, 20, 30, 2]), segment([1, 20, 31, 2]), segment([1, 20, 30, 2], [0, 0, 1, 1]))]  # fmt: skip
    assert [s.made for s in stored] == [1, 1, 1]
    assert not torch.equal(stored[0][0].maps, stored[1][0].maps)
    assert not torch.equal(stored[0][0].maps, stored[2][0].maps)


@pytest.mark.parametrize("after", [1, 4, 5, 7, 10])
def test_interrupted_making_loses_the_part_it_was_in(tmp_path, after):
    whole = store(tmp_path / "whole", batch_cells=200)
    done = 0

    def interrupt(n):
        nonlocal done
        done += n
        if done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store(tmp_path / "cut", batch_cells=200, advance=interrupt)
    resumed = store(tmp_path / "cut", batch_cells=200)
    finished = (done - 1) // 4 * 4 if done < 10 else 8
    assert resumed.made == 10 - finished
    assert resumed.log == whole.log
    assert [len(b.maps) for b in resumed] == [1] * 10
    assert all(map(torch.equal, tensors(resumed), tensors(whole)))
    names = [sorted(path.name for path in s.folder.iterdir()) for s in (whole, resumed)]
    assert names[0] == names[1]  # nothing half written is left


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", ["0001-001.safetensors", "0001.json"])
def test_a_damaged_file_is_noticed_said_and_made_again(tmp_path, name, damage):
    first = store(tmp_path, batch_cells=1)
    whole = contents(first.folder)
    damage(first.folder / name)
    log = CacheLog()
    again = store(tmp_path, batch_cells=1, cache_log=log)
    assert again.made == 4
    assert [found.path for found in log.discarded] == [first.folder / name]
    [warning] = log.warnings()
    assert str(first.folder / name) in warning
    assert contents(first.folder) == whole
    assert all(map(torch.equal, tensors(again), tensors(first)))
    assert store(tmp_path, cache_log=(later := CacheLog())).made == 0
    assert later.warnings() == []


@pytest.mark.parametrize("name", ["0001-000.safetensors", "0001.json"])
def test_a_missing_file_is_made_again(tmp_path, name):
    first = store(tmp_path)
    whole = contents(first.folder)
    (first.folder / name).unlink()
    log = CacheLog()
    assert store(tmp_path, cache_log=log).made == 4
    assert contents(first.folder) == whole
    # A part without its record is one that was interrupted, which is no damage.
    assert [found.path.name for found in log.discarded] == ([name] if name.endswith("safetensors") else [])


@pytest.mark.parametrize("pair", [("0000-000.safetensors", "0001-000.safetensors"), ("0000.json", "0001.json")])
def test_swapped_files_are_noticed(tmp_path, pair):
    first = store(tmp_path)
    whole = contents(first.folder)
    a, b = (first.folder / name for name in pair)
    a.rename(tmp_path / "a")
    b.rename(a)
    (tmp_path / "a").rename(b)
    log = CacheLog()
    assert store(tmp_path, cache_log=log).made == 8
    assert {found.path for found in log.discarded} == {a, b}
    assert contents(first.folder) == whole


def test_a_file_of_another_store_is_noticed(tmp_path):
    first, other = store(tmp_path), store(tmp_path, tiny.encoder(seed=1))
    whole = contents(first.folder)
    shutil.copy(other.folder / "0000-000.safetensors", first.folder)
    shutil.copy(other.folder / "0002.json", first.folder)
    assert store(tmp_path).made == 4 + 2
    assert contents(first.folder) == whole


def test_a_shard_from_another_making_of_the_same_store_is_noticed(tmp_path):
    first, other = store(tmp_path / "a"), store(tmp_path / "b", batch_cells=1)
    assert first.folder.name == other.folder.name
    shutil.copy(other.folder / "0000-000.safetensors", first.folder)
    log = CacheLog()
    assert store(tmp_path / "a", cache_log=log).made == 4
    assert "does not belong to the other files" in log.warnings()[0]


def test_a_store_of_the_first_versions_is_made_again_and_said(tmp_path):
    """They wrote plain safetensors, and the sizes of these into a plain JSON."""
    first = store(tmp_path)
    whole = contents(first.folder)
    for path in first.folder.glob("*-*.safetensors"):
        path.write_bytes(save(load(path.read_bytes())))
    for path in first.folder.glob("0*.json"):
        facts = json.loads(path.read_text())
        sizes = [shard.stat().st_size for shard in sorted(first.folder.glob(f"{path.stem}-*"))]
        path.write_text(
            json.dumps({key: facts[key] for key in facts if key not in ("seal", "shards")} | {"bytes": sizes})
        )
    (first.folder / "0000-007.safetensors").write_bytes(b"of a larger part")
    log = CacheLog()
    assert store(tmp_path, cache_log=log).made == 10
    assert contents(first.folder) == whole
    [warning] = log.warnings()
    assert "older version" in warning
    assert "2 more files" in warning


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


def test_maps_that_change_after_they_were_checked(tmp_path):
    stored = store(tmp_path, batch_cells=1)
    maps = [maps.clone() for maps in tensors(stored)]
    shard = stored.folder / "0000-000.safetensors"
    whole = shard.read_bytes()
    stored._open.clear()  # the type checker of the tests looks at one of them, drawn at random
    shard.write_bytes(bytes(len(whole)))
    with pytest.raises(ExtractionError, match=r"0000-000\.safetensors: the stored maps have changed since"):
        list(stored)
    shard.unlink()
    with pytest.raises(ExtractionError, match=r"No such file.*the same command makes them again"):
        list(stored)
    shard.write_bytes(whole)  # as another process writes it: another file of the same content
    assert all(map(torch.equal, tensors(stored), maps))


def refuse_to_write(monkeypatch):
    """As a read-only disk does; permissions alone do not keep root from writing."""

    def refused(*_, **__):
        raise PermissionError(errno.EROFS, "Read-only file system")

    for name in ("mkdir", "touch", "write_bytes", "unlink", "replace"):
        monkeypatch.setattr(Path, name, refused)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)


def test_a_whole_store_is_only_read(tmp_path, monkeypatch):
    maps = tensors(store(tmp_path))
    mkdir = Path.mkdir
    refuse_to_write(monkeypatch)
    monkeypatch.setattr(Path, "mkdir", mkdir)
    again = store(tmp_path)
    assert again.made == 0
    assert all(map(torch.equal, tensors(again), maps))


def test_what_is_damaged_in_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    first = store(tmp_path)
    DAMAGE[2](first.folder / "0001-000.safetensors")
    mkdir = Path.mkdir
    refuse_to_write(monkeypatch)
    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(StorageError, match=r"0001-000\.safetensors: its content .* cannot be deleted; choose another"):
        store(tmp_path)


def test_a_cache_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="cannot be made: Not a directory"):
        store(tmp_path / "file")
    folder = store(tmp_path).folder
    shutil.rmtree(folder)
    folder.write_text("mine")
    with pytest.raises(StorageError, match=f"{folder.name}: the folder cannot be made: File exists"):
        store(tmp_path)


MAKING = """
import os, signal, sys
from pathlib import Path
from attentionology.extractors.maps import store_writer as map_store
from attentionology.storage import durable
from tests.unit.test_map_store import SENTENCES, store

map_store.WINDOW, map_store._SHARD_BYTES = 4, 3000
flush, left = durable.flush, int(sys.argv[2])

def killed(path):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    flush(path)

durable.flush = killed
store(sys.argv[1], batch_cells=1)
"""
"""Each file is flushed twice: before it gets its name, and its folder after."""


@pytest.mark.parametrize("step", [1, 4, 9, 14])
def test_killed_while_it_writes(tmp_path, step):
    whole = store(tmp_path / "whole", batch_cells=1)
    command = [sys.executable, "-c", MAKING, str(tmp_path / "cut"), str(step)]
    root = Path(__file__).parent.parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}", "OMP_NUM_THREADS": "1"}
    assert subprocess.run(command, check=False, env=environment, cwd=root).returncode == -9
    log = CacheLog()
    resumed = store(tmp_path / "cut", batch_cells=1, cache_log=log)
    assert resumed.made == (10 if step < 9 else 6)
    assert contents(resumed.folder) == contents(whole.folder)
    assert log.warnings() == []  # what an interruption leaves is not damage


def test_processes_that_share_a_store_make_each_part_once(tmp_path):
    code = "import sys\nfrom tests.unit.test_map_store import *\nmodule.WINDOW = 2\nprint(store(sys.argv[1]).made)"
    command = [sys.executable, "-c", code, str(tmp_path)]
    root = Path(__file__).parent.parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}", "OMP_NUM_THREADS": "1"}
    both = [subprocess.Popen(command, env=environment, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(int(process.communicate()[0]) for process in both) == 10
    assert [process.returncode for process in both] == [0, 0]


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


def test_relabelled(tmp_path):
    stored = store(tmp_path)[3:6]
    new = [dataclasses.replace(s, heads=(0,) * len(s)) for s in SENTENCES[3:6]]
    relabelled = stored.relabelled(new)
    assert [b.sentences[0].heads for b in relabelled] == [s.heads for s in new]
    assert all(map(torch.equal, tensors(relabelled), tensors(stored)))
    for wrong in (new[::-1], new[:2], [*new[:2], Sentence("of 2", ("the", "men"))]):
        with pytest.raises(ValueError, match="not the sentences whose maps are stored"):
            stored.relabelled(wrong)


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


Usage = namedtuple("Usage", "free")


def needed(sentences, bytes_per_cell=4):
    return sum((len(s) + 2) ** 2 for s in sentences) * 3 * 4 * bytes_per_cell


def test_the_disk_is_too_small(tmp_path, monkeypatch):
    assert needed(SENTENCES) == 33_456
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(33_455 - 300))
    message = r"the word maps need 33\.5 kB, and 33\.2 kB are free in .*or float16"
    with pytest.raises(ExtractionError, match=message):
        store(tmp_path)
    assert not list(tmp_path.rglob("*.safetensors"))
    assert store(tmp_path, dtype="float16").made == 10


def test_only_what_is_still_to_be_made_needs_space(tmp_path, monkeypatch):
    # The sentence of 70 words has no map, and the parts that are there have their space.
    sentences = [*SENTENCES, sentence(70)]
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(needed(SENTENCES)))
    stored = store(tmp_path, sentences=sentences)
    assert stored.made == 11
    next(stored.folder.glob("0001-*.safetensors")).unlink()
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(needed(SENTENCES[4:8]) - 1))
    with pytest.raises(ExtractionError, match="need"):
        store(tmp_path, sentences=sentences)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(needed(SENTENCES[4:8])))
    assert store(tmp_path, sentences=sentences).made == 4


def test_a_disk_that_is_full_half_way(tmp_path, monkeypatch):
    whole = Path.write_bytes

    def full(path, content):
        if "safetensors" not in path.name:
            return whole(path, content)
        path.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        message = (
            r"0000-000\.safetensors: cannot be written: No space left on device \(9\.6 kB needed, [\d.,]+ .B free\)"
        )
        with pytest.raises(StorageError, match=message):
            store(tmp_path)
    assert [path.name for path in tmp_path.glob("*/*")] == ["made_of.json"]
    assert store(tmp_path).made == 10
