"""Files that are written whole and checked when they are read."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
from packaging.version import Version

from attentionology.storage import durable
from attentionology.storage.durable import (
    StorageError,
    lock,
    lock_file,
    unfinished_name,
    unfinished_path,
    write_durably,
)
from attentionology.storage.sealed import BLANK, DamagedError, check, read_json, read_sealed, write_json, write_sealed
from attentionology.storage.tensors import read_tensors, tensor_content, write_tensors
from tests.damage import DAMAGE


def test_the_digest_is_that_of_the_name_and_the_content_with_a_blank_seal(tmp_path):
    content = b'{"seal": "' + BLANK.encode() + b'", "text": "' + BLANK.encode() + b'"}'
    digest = write_sealed(tmp_path / "a", content, "folder/a")
    assert digest == hashlib.sha256(b"folder/a\0" + content).hexdigest()
    assert (tmp_path / "a").read_bytes() == content.replace(BLANK.encode(), f"sha256:{digest}".encode(), 1)
    assert check(tmp_path / "a", "folder/a") == digest
    with pytest.raises(DamagedError, match="does not match"):
        check(tmp_path / "a", "folder/b")


def test_json_and_tensors_come_back(tmp_path):
    facts = {"ü": [1, None, 0.1], BLANK: "sha256:", "nan": float("inf")}
    write_json(tmp_path / "a.json", facts, "a")
    assert read_json(tmp_path / "a.json", "a") == facts
    assert next(iter(json.loads((tmp_path / "a.json").read_text()))) == "seal"
    tensors = {"__a": torch.ones(3, 0), "b": torch.arange(6.0).view(2, 3).T, BLANK: torch.tensor(7)}
    write_tensors(tmp_path / "a.safetensors", tensors, facts, "a")
    found, also = read_tensors(tmp_path / "a.safetensors", "a")
    assert also == facts
    assert {name: t.tolist() for name, t in found.items()} == {name: t.tolist() for name, t in tensors.items()}


def test_files_of_tensors_are_those_of_safetensors(tmp_path):
    numbers = torch.arange(-3, 3)
    dtypes = (
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64),
        *(torch.uint64, torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *([torch.complex64] if Version(safetensors.__version__) >= Version("0.7") else []),  # which stores it since
    )
    tensors = {f"é{number}": numbers.to(dtype) for number, dtype in enumerate(dtypes)}
    tensors |= {
        "a": numbers.view(2, 3).T,
        "b": torch.tensor(7.0),
        "": torch.empty(0, 3),
        'B"\n\x01\x7f': torch.ones(2, 2),
    }
    text = 'ü"\\\n\x01\x7f\u2028/'
    metadata = {"attentionology": json.dumps({"seal": BLANK, "text": text}, ensure_ascii=False)}
    whole = safetensors.torch.save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata)
    assert tensor_content(tensors, {"text": text}) == whole
    digest = write_tensors(tmp_path / "a", tensors, {"text": text}, "a")
    assert (tmp_path / "a").read_bytes() == whole.replace(BLANK.encode(), f"sha256:{digest}".encode(), 1)
    assert check(tmp_path / "a", "a") == digest


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_damage_is_noticed(tmp_path, damage):
    write_json(tmp_path / "a", {"numbers": list(range(100))}, "a")
    damage(tmp_path / "a")
    for read in (check, read_sealed):
        with pytest.raises(DamagedError, match=r"it (has no SHA-256 digest|is a folder)|does not match its SHA-256"):
            read(tmp_path / "a", "a")
    with pytest.raises(FileNotFoundError):
        check(tmp_path / "b", "b")


def test_every_single_byte_matters(tmp_path):
    path = tmp_path / "a"
    write_tensors(path, {"a": torch.arange(5.0)}, {"b": 1}, "a")
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        with pytest.raises(DamagedError):
            check(path, "a")


def test_a_file_reaches_the_disk_before_its_name_and_its_name_before_anything_else(tmp_path, monkeypatch):
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        events.append(f"sync {'folder' if path.is_dir() else path.read_text()}")
        fsync(descriptor)

    def replaced(self, target):
        events.append(f"replace {target.name}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    write_durably(tmp_path / "deep" / "a", b"content")
    assert events == ["sync content", "replace a", "sync folder"]


@pytest.mark.parametrize(("owner", "failing"), [(durable, "write_pieces"), (Path, "replace")])
def test_what_cannot_be_written_leaves_all_as_it_was(tmp_path, monkeypatch, owner, failing):
    path = tmp_path / "a"
    write_durably(path, b"old")

    def fails(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(owner, failing, fails)
        with pytest.raises(StorageError, match=r"a: cannot be written: Input/output error$"):
            write_durably(path, b"new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a", "old")]
    write_durably(path, b"new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a", "new")]


def test_the_lock_of_an_unfinished_file_is_held_until_the_end(tmp_path):
    with unfinished_path(tmp_path / "a") as path:
        with lock(path, wait=False) as held:
            assert not held
        assert path.parent == tmp_path
    with lock(path, wait=False) as held:
        assert held
    path.unlink()
    with lock(path, wait=False) as held:
        assert held
    assert list(tmp_path.iterdir()) == []


def test_an_unfinished_file_is_never_without_its_lock(tmp_path, monkeypatch):
    touch, locked = Path.touch, []

    def watched(self, **options):
        with lock(self, wait=False) as held:
            locked.append(not held)
        touch(self, **options)

    monkeypatch.setattr(Path, "touch", watched)
    write_durably(tmp_path / "a", b"content")
    assert locked == [True]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_processes_take_turns(tmp_path):
    """Each of three adds 1 to a number 20 times; without a lock, they would read the same number."""
    code = (
        "import sys, time; from pathlib import Path; from attentionology.storage.durable import lock\n"
        "folder = Path(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    with lock(folder, wait=True) as held:\n"
        "        assert held; file = folder / 'n'; number = int(file.read_text()); time.sleep(0.001)\n"
        "        file.write_text(str(number + 1))"
    )
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "n").write_text("0")
    running = [subprocess.Popen([sys.executable, "-c", code, str(folder)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0] * 3
    assert (folder / "n").read_text() == "60"
    assert list(tmp_path.iterdir()) == [folder]


def test_what_cannot_be_locked_is_used_without_a_lock(tmp_path):
    """Nobody can make a file in a folder that is a file."""
    (tmp_path / "file").touch()
    for wait in (False, True):
        with lock(tmp_path / "file" / "store", wait=wait) as held:
            assert not held


def test_names_of_unfinished_files_are_never_too_long():
    for target in ("a", "x" * 255, "ü" * 127, "\udcff" * 200):
        assert len(os.fsencode(lock_file(Path(unfinished_name(target))).name)) <= 255
