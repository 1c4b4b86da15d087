"""Stores on disks that are full or can only be read."""

from __future__ import annotations

import errno
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
import torch

from attentionology.extractors import ExtractionError
from attentionology.storage.durable import StorageError
from tests.damage import DAMAGE
from tests.unit.map_store.stores import SENTENCES, sentence, store, tensors


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
