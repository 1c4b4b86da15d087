"""Results folders: whole or not at all, and nothing but what a run has written is ever deleted."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from attentionology.analyses.shared.cache_folder import cache_folder
from attentionology.analyses.shared.input_options import paths_read
from attentionology.reports.run_folder import RunFolder, RunFolderError, files_of_run
from attentionology.storage import durable
from attentionology.storage.durable import REPLACED, lock, lock_file, unfinished_name

RECORD: dict[str, Any] = {
    "command": "attentionology analyze --out run",
    "options": {},
    "versions": {"python": "3.11", "attentionology": "0.1.0"},
}


def write_run(folder: Path, text: str = "", *, old: bool = False) -> None:
    """What a run leaves, with the list of its files or, as the first versions did, without it."""
    for name in ("report.html", "summary.json", "tables/best.csv", "figures/best.svg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    record = RECORD if old else {**RECORD, "files": files_of_run(folder)}
    (folder / "run.json").write_text(json.dumps(record))


def run(target: Path, text: str = "", **options: Any) -> None:
    with RunFolder(target, **options) as folder:
        write_run(folder.path, text)


def everything(folder: Path) -> dict[str, bytes | None]:
    paths = sorted(folder.rglob("*"))
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in paths}


def test_appears_only_when_complete(tmp_path):
    target = tmp_path / "deep" / "run"
    with RunFolder(target) as folder:
        (folder.path / "run.json").write_text("{}")
        assert not target.exists()
        assert f"-{os.getpid()}-" in folder.path.name
    assert (target / "run.json").read_text() == "{}"
    assert [p.name for p in target.parent.iterdir()] == ["run"]


@pytest.mark.parametrize("interruption", [ValueError, KeyboardInterrupt])
def test_interrupted_run_leaves_nothing(tmp_path, interruption):
    with pytest.raises(interruption), RunFolder(tmp_path / "run") as folder:  # noqa: PT012
        (folder.path / "table.csv").write_text("half")
        raise interruption
    assert list(tmp_path.iterdir()) == []


def test_results_may_be_read_by_others_as_the_umask_says(tmp_path):
    before = os.umask(0o027)
    try:
        run(tmp_path / "run")
    finally:
        os.umask(before)
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o750


def test_overwrite_replaces_a_run_wholly(tmp_path):
    with RunFolder(tmp_path / "run") as folder:
        (folder.path / "old.csv").write_text("")
        write_run(folder.path, "old")
    run(tmp_path / "run", "new", overwrite=True)
    assert not (tmp_path / "run" / "old.csv").exists()
    assert (tmp_path / "run" / "tables" / "best.csv").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_interrupted_overwrite_keeps_the_old_run(tmp_path):
    run(tmp_path / "run", "old")
    before = everything(tmp_path)
    with pytest.raises(RunFolderError, match="--overwrite"):
        RunFolder(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt), RunFolder(tmp_path / "run", overwrite=True):
        raise KeyboardInterrupt
    assert everything(tmp_path) == before


def test_overwrite_through_a_symbolic_link_replaces_what_it_points_to(tmp_path):
    run(tmp_path / "run", "old")
    (tmp_path / "latest").symlink_to("run")
    run(tmp_path / "latest", "new", overwrite=True)
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "run" / "report.html").read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["latest", "run"]


def test_folder_that_appeared_meanwhile_is_not_touched_and_nothing_is_lost(tmp_path):
    message = "the finished results are in"
    with pytest.raises(RunFolderError, match=message) as caught, RunFolder(tmp_path / "run") as folder:  # noqa: PT012
        write_run(folder.path, "mine")
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "thesis.tex").write_text("years")
    assert (tmp_path / "run" / "thesis.tex").read_text() == "years"
    kept = Path(str(caught.value).rsplit(" ", 1)[1])
    assert (kept / "report.html").read_text() == "mine"
    run(tmp_path / "other")  # sweeps beside it
    assert (kept / "report.html").read_text() == "mine"


OF_OTHERS = ("notes.txt", "tables/deep/a.csv", "figures/talk.pptx", ".git/HEAD", "probes/x/mine.json")


class TestOverwrite:
    def test_never_deletes_what_is_no_run(self, tmp_path):
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter.tex").write_text("years")
        with pytest.raises(RunFolderError, match="left alone"):
            RunFolder(tmp_path / "thesis", overwrite=True)
        assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years"

    @pytest.mark.parametrize(
        "record",
        [
            "{}",
            "[]",
            "\udcff",
            "[" * 100_000,
            json.dumps({"name": "my experiment", "versions": {"torch": "2"}}),
            json.dumps({**RECORD, "command": "attentionology-like train"}),
            json.dumps({**RECORD, "versions": {"python": "3.11"}}),
        ],
        ids=range(7),
    )
    def test_run_json_of_other_programs_does_not_count(self, tmp_path, record):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "run.json").write_text(record, errors="surrogateescape")
        with pytest.raises(RunFolderError, match=r"no run\.json written by attentionology.* left alone"):
            RunFolder(tmp_path / "run", overwrite=True)
        assert (tmp_path / "run" / "run.json").exists()

    @pytest.mark.parametrize(
        ("name", "old"), [("tables/mine.csv", False), *((name, old) for name in OF_OTHERS for old in (False, True))]
    )
    def test_stops_at_files_of_others_and_names_them(self, tmp_path, old, name):
        write_run(tmp_path / "run", old=old)
        (tmp_path / "run" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / name).write_text("mine")
        before = everything(tmp_path)
        with pytest.raises(RunFolderError, match=f"holds {name}, which no run has written; nothing was deleted"):
            RunFolder(tmp_path / "run", overwrite=True)
        assert everything(tmp_path) == before

    def test_a_link_to_a_folder_is_a_file_of_others(self, tmp_path):
        write_run(tmp_path / "run")
        (tmp_path / "corpora").mkdir()
        (tmp_path / "run" / "corpora").symlink_to(tmp_path / "corpora")
        with pytest.raises(RunFolderError, match="holds corpora"):
            RunFolder(tmp_path / "run", overwrite=True)

    def test_stops_at_a_file_that_came_during_the_run(self, tmp_path):
        write_run(tmp_path / "run", "old")

        def run_meanwhile():
            with RunFolder(tmp_path / "run", overwrite=True) as new:
                write_run(new.path, "new")
                (tmp_path / "run" / "notes.txt").write_text("mine")

        with pytest.raises(RunFolderError, match=r"holds notes\.txt"):
            run_meanwhile()
        assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
        assert (tmp_path / "run-2" / "report.html").read_text() == "new"

    @pytest.mark.parametrize("old", [False, True], ids=["files named", "older version"])
    def test_runs_of_all_versions_are_recognized(self, tmp_path, old):
        write_run(tmp_path / "run", "old", old=old)
        for name in ("classifier.safetensors", "probes/attention-seed0/probe.json", "model/config.json") if old else ():
            (tmp_path / "run" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "run" / name).write_text("")
        (tmp_path / "run" / "tables" / ".DS_Store").write_text("")
        run(tmp_path / "run", "new", overwrite=True)
        assert (tmp_path / "run" / "report.html").read_text() == "new"

    def test_what_the_run_reads_is_not_deleted(self, tmp_path):
        write_run(tmp_path / "run")
        model = tmp_path / "run" / "report.html"
        with pytest.raises(RunFolderError, match=r"holds .*report\.html, which this run reads"):
            RunFolder(tmp_path / "run", overwrite=True, reads=["demo", model])
        run(tmp_path / "run", overwrite=True, reads=[tmp_path / "elsewhere", tmp_path])


def test_options_that_name_files_to_read():
    assert paths_read("demo", ("sample", "a.conllu"), None, (), Path("v.txt")) == [Path("a.conllu"), Path("v.txt")]


class TestPlaces:
    def test_a_file_in_place_of_the_folder(self, tmp_path):
        (tmp_path / "run").write_text("mine")
        for overwrite in (False, True):
            with pytest.raises(RunFolderError, match="is a file, not a folder"):
                RunFolder(tmp_path / "run", overwrite=overwrite)
        assert (tmp_path / "run").read_text() == "mine"

    def test_inside_a_file(self, tmp_path):
        (tmp_path / "file").write_text("mine")
        with pytest.raises(RunFolderError, match=r"cannot create .*: .*file is a file"):
            run(tmp_path / "file" / "deep" / "run")
        assert (tmp_path / "file").read_text() == "mine"

    @pytest.mark.parametrize("where", [".", "inside"])
    def test_the_current_folder(self, tmp_path, monkeypatch, where):
        write_run(tmp_path / "run")
        (tmp_path / "run" / "inside").mkdir()
        monkeypatch.chdir(tmp_path / "run" / where)
        for overwrite in (False, True):
            with pytest.raises(RunFolderError, match="current folder"):
                RunFolder(tmp_path / "run", overwrite=overwrite)

    def test_a_folder_that_may_not_be_written(self, tmp_path, monkeypatch):
        def refused(*_, **__):
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(Path, "mkdir", refused)
        with pytest.raises(RunFolderError, match=r"cannot create .*run: Permission denied"):
            run(tmp_path / "run")


Usage = namedtuple("Usage", "free")


@pytest.mark.parametrize("by_name", [False, True])
def test_a_full_disk_is_named_with_true_sizes(tmp_path, monkeypatch, by_name):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(4_200_000))
    with pytest.raises(RunFolderError) as caught, RunFolder(tmp_path / "run") as folder:  # noqa: PT012
        (folder.path / "tables").mkdir()
        (folder.path / "tables" / "a.csv").write_bytes(bytes(1234))
        raise OSError(errno.ENOSPC, "No space left on device", *([str(folder.path / "b.csv")] if by_name else []))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'run'}: No space left on device")
    assert "1.2 kB of results" in message
    assert "4.2 MB are free" in message
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_became_too_large_is_the_largest_one(tmp_path):
    with pytest.raises(RunFolderError) as caught, RunFolder(tmp_path / "run") as folder:  # noqa: PT012
        for name, count in (("a.csv", 10), ("b.csv", 1234), ("c.csv", 100)):
            (folder.path / name).write_bytes(bytes(count))
        raise OSError(errno.EFBIG, "File too large")
    assert str(caught.value).startswith(f"{tmp_path / 'run' / 'b.csv'}: File too large: only 1.2 kB of it")
    with pytest.raises(OSError, match="File too large: '/elsewhere'"), RunFolder(tmp_path / "run"):
        raise OSError(errno.EFBIG, "File too large", "/elsewhere")


def test_another_full_disk_is_not_mistaken_for_that_of_the_results(tmp_path):
    error = OSError(errno.ENOSPC, "No space left on device", "/elsewhere/model.bin")
    with pytest.raises(OSError, match="/elsewhere") as caught, RunFolder(tmp_path / "run"):
        raise error
    assert caught.value is error


class TestLeftovers:
    """Of processes that were killed. `locked` stands for a process that is alive: each lock has one owner at a time."""

    def left(self, folder: Path, kind: str = "partial", name: str = "other") -> Path:
        path = folder / unfinished_name(name, kind)
        write_run(path, "half")
        lock_file(path).touch()
        return path

    def test_of_living_processes_are_not(self, tmp_path):
        left = self.left(tmp_path)
        before = everything(left)
        with lock(left, wait=True) as held:
            assert held
            run(tmp_path / "run")
        assert everything(left) == before

    def test_of_other_hosts_are_not_swept(self, tmp_path, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(durable, "_HOST", "elsewhere")
            left = self.left(tmp_path)
        run(tmp_path / "run")
        assert left.exists()

    def test_of_a_version_that_locked_the_path_itself_are_not(self, tmp_path):
        left = self.left(tmp_path)
        lock_file(left).unlink()
        run(tmp_path / "run")
        assert left.exists()

    def test_locks_of_what_is_gone_are_swept(self, tmp_path):
        """A process may be killed when it has a lock, and before the file that the lock is for."""
        for name in (unfinished_name("other"), unfinished_name("other", REPLACED)):
            lock_file(tmp_path / name).touch()
        (tmp_path / ".poetry.lock").touch()  # of somebody else
        run(tmp_path / "run")
        assert sorted(path.name for path in tmp_path.iterdir()) == [".poetry.lock", "run"]

    @pytest.mark.parametrize(
        "name",
        [
            ".run.partial",
            ".run.123.partial",
            "other.attentionology-h-1-00000000.partial",
            ".x.attentionology-1.partial",
        ],
    )
    def test_of_others_are_not_swept(self, tmp_path, name):
        (tmp_path / name).mkdir()
        lock_file(tmp_path / name).touch()
        run(tmp_path / "run")
        assert (tmp_path / name).exists()
        assert lock_file(tmp_path / name).exists()

    def test_those_in_a_cache_are_swept(self, tmp_path):
        left = [self.left(tmp_path / "cache" / name, name="a") for name in (".", "training", "model-weight-0")]
        cache_folder(tmp_path / "cache", tmp_path / "run")
        assert not any(path.exists() for path in left)

    def test_without_locks_nothing_is_swept(self, tmp_path, monkeypatch):
        left = self.left(tmp_path)

        def unknown(*_):
            raise OSError(errno.ENOTSUP, "Operation not supported")

        monkeypatch.setattr(fcntl, "flock", unknown)
        run(tmp_path / "run")
        assert left.exists()
        assert (tmp_path / "run" / "run.json").exists()

    def test_a_run_killed_while_it_replaced_another_gives_it_back(self, tmp_path):
        self.left(tmp_path, REPLACED, "run")
        with pytest.raises(RunFolderError, match="exists"):
            RunFolder(tmp_path / "run")
        assert (tmp_path / "run" / "report.html").read_text() == "half"
        assert [p.name for p in tmp_path.iterdir()] == ["run"]

    def test_a_run_killed_after_it_replaced_another_is_tidied(self, tmp_path):
        write_run(tmp_path / "run", "new")
        self.left(tmp_path, REPLACED, "run")
        run(tmp_path / "second")
        assert (tmp_path / "run" / "report.html").read_text() == "new"
        assert sorted(p.name for p in tmp_path.iterdir()) == ["run", "second"]

    def test_a_process_that_is_killed_loses_its_lock(self, tmp_path):
        code = (
            "import os, signal, sys; from attentionology.reports.run_folder import RunFolder\n"
            "with RunFolder(sys.argv[1]) as folder:\n"
            "    (folder.path / 'half.csv').write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
        )
        assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=False).returncode == -9
        left, its_lock = sorted(tmp_path.iterdir())
        assert its_lock == lock_file(left)
        assert (left / "half.csv").read_text() == "half"
        run(tmp_path / "run")
        assert [p.name for p in tmp_path.iterdir()] == ["run"]
