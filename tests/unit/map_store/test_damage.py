"""Files of a store that are damaged, missing or foreign, full disks, and what makes another store."""

from __future__ import annotations

import dataclasses
import errno
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import ExtractionError
from attentionology.extractors.tokens.pieces import Pieces, Segment
from attentionology.storage import durable
from attentionology.storage.cache_log import CacheLog
from attentionology.storage.durable import StorageError
from tests import tiny
from tests.damage import DAMAGE
from tests.unit.map_store.stores import SENTENCES, contents, sentence, store, tensors


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("names", "made", "noticed"),
    [
        (("0001-000.safetensors",), 4, 1),
        (("0001.json",), 4, 0),  # a part without its record is one that was interrupted, which is no damage
        (("0000-000.safetensors", "0001-000.safetensors"), 8, 2),
        (("0000.json", "0001.json"), 8, 2),
    ],
)
def test_missing_and_swapped_files_are_made_again(tmp_path, names, made, noticed):
    first = store(tmp_path)
    whole = contents(first.folder)
    for name, other in zip(names, reversed(names), strict=True):
        (first.folder / name).write_bytes(whole[other])
    if len(names) == 1:
        (first.folder / names[0]).unlink()
    log = CacheLog()
    assert store(tmp_path, cache_log=log).made == made
    assert sorted(found.path.name for found in log.discarded) == list(names[:noticed])
    assert contents(first.folder) == whole


def test_a_shard_from_another_making_of_the_same_store_is_noticed(tmp_path):
    first, other = store(tmp_path / "a"), store(tmp_path / "b", batch_cells=1)
    assert first.folder.name == other.folder.name
    shutil.copy(other.folder / "0000-000.safetensors", first.folder)
    log = CacheLog()
    assert store(tmp_path / "a", cache_log=log).made == 4
    assert "does not belong to the other files" in log.warnings()[0]


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


def test_a_whole_store_is_only_read(tmp_path, monkeypatch):
    """Permissions alone do not keep root from writing."""

    def refused(*_, **__):
        raise PermissionError(errno.EROFS, "Read-only file system")

    maps = tensors(store(tmp_path))
    monkeypatch.setattr(durable, "write_pieces", refused)
    for name in ("touch", "unlink", "replace"):
        monkeypatch.setattr(Path, name, refused)
    again = store(tmp_path)
    assert again.made == 0
    assert all(map(torch.equal, tensors(again), maps))


def test_a_cache_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="file is a file, not a folder"):
        store(tmp_path / "file")
    folder = store(tmp_path).folder
    shutil.rmtree(folder)
    folder.write_text("mine")
    with pytest.raises(StorageError, match=f"{folder.name}: the folder cannot be made: File exists"):
        store(tmp_path)


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
    whole = durable.write_pieces

    def full(path, pieces):
        if "safetensors" not in path.name:
            return whole(path, pieces)
        path.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(durable, "write_pieces", full)
        message = (
            r"0000-000\.safetensors: cannot be written: No space left on device \(9\.6 kB needed, [\d.,]+ .B free\)"
        )
        with pytest.raises(StorageError, match=message):
            store(tmp_path)
    assert [path.name for path in tmp_path.glob("*/*")] == ["made_of.json"]
    assert store(tmp_path).made == 10


def test_a_store_is_made_once(tmp_path):
    first, used = store(tmp_path), tiny.encoder()
    told: list[int] = []
    used.tokenizer(["the", "the man"], padding=True, truncation=True, max_length=9)  # leaves its traces
    relabeled = [dataclasses.replace(s, id=s.id + "'", relations=("dep",) * len(s)) for s in SENTENCES]
    again = store(tmp_path, used, relabeled, batch_cells=1, advance=told.append)
    assert (again.made, sum(told), again.folder, again.bytes) == (0, 10, first.folder, first.bytes)
    assert again.sentences == tuple(relabeled)
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


SEGMENTS = (([1, 20, 30, 2], None), ([1, 20, 31, 2], None), ([1, 20, 30, 2], [0, 0, 1, 1]))


def segment(ids: list[int], segment_ids: list[int] | None) -> Segment:
    pieces = Pieces(ids, ["?"] * 4, [0, 1, 2, 3], [True, False, False, True], 0, 0, segment_ids)
    return Segment(id="s", words=("a", "b"), pieces=pieces)


def test_another_store_is_another_folder(tmp_path):
    """Whatever maps depend on makes a store of its own, beside those that are there."""
    changes: list[dict[str, Any]] = [
        {},
        {"sentences": SENTENCES[:9]},
        {"sentences": [*SENTENCES[:9], Sentence("of 8", ("the",) * 8)]},
        {"sentences": SENTENCES[::-1]},
        {"kind": "rollout"},
        {"kind": "norm"},
        {"kind": "norm", "merge": "vector"},
        {"normalize": "row"},
        {"max_length": 60},
        {"ff_bias": "fixed"},
        {"encoder": tiny.encoder(seed=1)},
        {"encoder": tiny.encoder(layer_norm_eps=1e-5)},
        {"encoder": written_to()},
        {"encoder": other_tokenizer()},
        {"sentences": [Sentence("a", ("the", "man")), Sentence("b", ("her",))]},
        {"sentences": [Sentence("a", ("the",)), Sentence("b", ("man", "her"))]},
        *({"sentences": [segment(*pieces)]} for pieces in SEGMENTS),
    ]
    plain = tiny.encoder()
    stores = [store(tmp_path, **{"encoder": plain, **changed}) for changed in changes]
    assert all(one.made == len(one) > 0 for one in stores)
    assert len({one.folder for one in stores}) == len(stores)
    assert len({(one.folder / "made_of.json").read_text(encoding="utf-8") for one in stores}) == len(stores)
    assert store(tmp_path).made == 0
