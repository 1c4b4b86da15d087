"""Folders of parts that are shared, read-only or full, and parts that hold more than counts."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from attentionology.engine.counting import parts
from attentionology.extractors import GradientMaker, ModelError
from attentionology.scripts.cli import main
from attentionology.storage.durable import StorageError
from tests import tiny
from tests.acceptance import test_parts
from tests.corpora import sample_blocks, write_blocks
from tests.written import contents

PROGRAM, WINDOW = test_parts.PROGRAM, test_parts.WINDOW
SENTENCES = WINDOW + 12
pytestmark = pytest.mark.usefixtures("short_windows")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny model and sentences of two parts: a whole window, and twelve more."""
    folder = tmp_path_factory.mktemp("folders")
    tiny.save(folder / "model", mask="[MASK]", max_position_embeddings=512)  # gradients are those of masked pieces
    short = [block for block in sample_blocks() if block.count("\n") < 12]
    write_blocks(folder / "long.conllu", (SENTENCES * short)[:SENTENCES])
    return folder


def command(folder: Path, *options: object) -> list[str]:
    given = ["--model", folder / "model", "--corpus", folder / "long.conllu", "--analyses", "surface", *options]
    return ["analyze", *map(str, given)]


@pytest.fixture(scope="module")
def plain(folder):
    assert main(command(folder, "--gradients", "hidden", "--out", folder / "plain")) == 0
    return contents(folder / "plain", "tables")


@pytest.mark.slow
def test_gradients_are_kept_like_all_counts(folder, plain, tmp_path, monkeypatch):
    options = ["--gradients", "hidden", "--parts", tmp_path / "parts"]
    for share in ("2/2", "1/2"):
        assert main(command(folder, *options, "--part", share)) == 0
    assert len(list((tmp_path / "parts").iterdir())) == 3

    def fail(self, batch):
        raise AssertionError("gradients are computed again")

    monkeypatch.setattr(GradientMaker, "of", fail)
    assert main(command(folder, *options, "--out", tmp_path / "out")) == 0
    assert contents(tmp_path / "out", "tables") == plain


def test_a_failure_is_kept_like_a_result(folder, tmp_path, monkeypatch, capsys):
    attempts = []

    def fail(self, batch):
        attempts.append(batch)
        raise ModelError("the loss is not finite")

    monkeypatch.setattr(GradientMaker, "of", fail)
    for out in ("first", "second"):
        options = ["--limit", "20", "--parts", tmp_path / "parts", "--out", tmp_path / out]
        assert main(command(folder, "--gradients", "hidden", *options)) == 1
        assert "the loss is not finite" in capsys.readouterr().err
    assert len(attempts) == 1
    assert len(list((tmp_path / "parts").iterdir())) == 2


@pytest.mark.slow
def test_two_processes_on_the_same_parts_write_the_same(folder, plain, programs, tmp_path):
    options = ["--gradients", "hidden", "--parts", tmp_path / "parts", "--part", "1/1"]
    done = programs.together(*2 * [("-c", PROGRAM, *command(folder, *options))], folder=tmp_path)
    assert [process.returncode for process in done] == [0, 0], done[0].stderr
    assert all("3 of 3 parts" in process.stdout for process in done)
    assert sorted(path.suffix for path in (tmp_path / "parts").iterdir()) == 3 * [".safetensors"]
    assert main(command(folder, *options[:-2], "--out", tmp_path / "out")) == 0
    assert contents(tmp_path / "out", "tables") == plain


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A disk of 1 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("file systems cannot be mounted here")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
def test_a_full_disk_is_named_and_the_parts_are_kept(folder, small_disk, tmp_path, capsys):
    # The part of the last 12 sentences fits, and that of a whole window does not if something else is on the disk.
    options = ["--gradients", "none", "--parts", small_disk]
    assert main(command(folder, *options, "--part", "2/2")) == 0
    (kept,) = small_disk.iterdir()
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    (small_disk / "other").write_bytes(bytes(free))
    capsys.readouterr()
    assert main(command(folder, *options, "--out", tmp_path / "out")) == 1
    message = capsys.readouterr().err
    assert str(small_disk) in message
    assert "needed" in message
    assert "0 B free" in message
    assert "the same command continues" in message
    assert {path.name for path in small_disk.iterdir()} == {kept.name, "other"}
    (small_disk / "other").unlink()
    assert main(command(folder, *options, "--out", tmp_path / "out")) == 0
    assert kept.exists()


def test_a_read_only_folder_is_named_before_anything_is_loaded(folder, small_disk, tmp_path, capsys, monkeypatch):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    monkeypatch.setattr(
        "attentionology.analyses.shared.input_options.load_encoder", lambda *_, **__: pytest.fail("was loaded")
    )
    for options in (["--out", tmp_path / "out"], ["--part", "1/2"]):
        assert main(command(folder, "--parts", small_disk / "parts", *options)) == 1
        message = capsys.readouterr().err
        assert str(small_disk / "parts") in message
        assert "Read-only" in message


def test_the_check_of_a_folder_leaves_nothing(tmp_path, monkeypatch):
    parts.check_folder(tmp_path / "new" / "parts")
    assert list((tmp_path / "new" / "parts").iterdir()) == []

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", forbidden)
    with pytest.raises(StorageError, match="Permission denied"):
        parts.check_folder(tmp_path / "new" / "parts")


def test_a_dry_run_says_what_is_there(folder, tmp_path, capsys):
    options = ["--gradients", "hidden", "--parts", tmp_path / "parts"]
    assert main(command(folder, *options, "--part", "2/2")) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "parts").iterdir()}
    capsys.readouterr()
    assert main(command(folder, *options, "--dry-run", "--json", "--out", tmp_path / "out")) == 0
    forecast = json.loads(capsys.readouterr().out)
    assert (forecast["parts"], forecast["counted"], forecast["inputs"]) == (3, 1, SENTENCES)
    assert not (tmp_path / "out").exists()
    assert {path.name: path.read_bytes() for path in (tmp_path / "parts").iterdir()} == before
