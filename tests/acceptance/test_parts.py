"""Corpora that are counted in parts, by several processes and again after an interruption: always the same results."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pandas as pd
import psutil  # type: ignore[import-untyped]
import pytest

from attentionology import CorpusOptions, CountOptions, ModelOptions, analyze
from attentionology.analyses import SurfaceOptions
from attentionology.analyses.shared.part_options import PartOptions
from attentionology.engine.counting import parts as engine_parts
from attentionology.extractors.maps import batching
from attentionology.scripts.cli import main
from tests import tiny

TREE = "# sent_id = {id}\n1\t{first}\t_\t{tag}\t_\t_\t2\t{relation}\t_\t_\n2\t{second}\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
MORE = "3\t.\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_\n"
pytestmark = pytest.mark.usefixtures("short_windows")

WHOLE_WINDOW, WINDOW = batching.WINDOW, 32
"""The number of sentences of a window, and a smaller one in its place, with which three windows are counted soon."""

ANALYSES = ("surface",)
TABLES = ("heads", "offsets", "layers", "counts")


Tables = dict[str, pd.DataFrame]


PROGRAM = f"""
import sys
from attentionology.engine.counting import parts
from attentionology.extractors.maps import batching
from attentionology.scripts.cli import main

parts.WINDOW = batching.WINDOW = {WINDOW}
if __name__ == "__main__":
    sys.exit(main())
"""
"""The command with short windows, as a process of its own; its workers import this file, too."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny model, and treebanks of three short windows and of two whole ones. Sentences are short."""
    folder = tmp_path_factory.mktemp("parts")
    tiny.save(folder / "model", max_position_embeddings=64)
    words = ("cats", "dogs", "the", "word", "unbelievable")
    rows = []
    for i in range(WHOLE_WINDOW + 100):
        tree = TREE.format(
            id=f"s{i}", first=words[i % 5], tag="NOUN", relation="nsubj" if i % 7 else "dep", second=words[i % 3]
        )
        rows.append(tree + (MORE if i % 2 else ""))
    for name, number in (("long", 2 * WINDOW + 20), ("longer", len(rows))):
        (folder / f"{name}.conllu").write_text("\n".join(rows[:number]) + "\n", encoding="utf-8")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def plain(folder):
    return counted(folder)


def counted(folder: Path, parts: PartOptions | None = None, corpus: str = "long", **changes: Any) -> Tables:
    """The tables of a run without a report; ``warned`` receives its warnings."""
    analyses, warned = changes.pop("analyses", ANALYSES), changes.pop("warned", [])
    options: list[Any] = [
        ModelOptions(model=str(changes.pop("model", folder / "model"))),
        CorpusOptions(corpus=(str(folder / f"{corpus}.conllu"),)),
        SurfaceOptions(gradients="none", reach=changes.pop("reach", 5)),
        *([parts] if parts else []),
    ]
    if "dependency" in analyses:
        options.append(CountOptions(replicates=30))
    run = analyze(analyses=analyses, options=options, **changes)
    warned += run.record["warnings"]
    tables = {name: getattr(run["surface"].tables, name) for name in TABLES}
    return {**tables, "best": run["dependency"].best} if "dependency" in analyses else tables


def equal(first: Tables, second: Tables) -> bool:
    return first.keys() == second.keys() and all(first[name].equals(second[name]) for name in first)


def command(folder: Path, *options: object) -> list[str]:
    given = ["--model", folder / "model", "--corpus", folder / "long.conllu", "--analyses", *ANALYSES]
    return ["analyze", *map(str, [*given, "--gradients", "none", *options])]


def test_parts_are_the_whole(folder, plain, tmp_path):
    both = ("dependency", "surface")
    whole = counted(folder, analyses=both)
    assert equal(counted(folder, PartOptions(parts=tmp_path / "both"), analyses=both), whole)
    assert equal(counted(folder, PartOptions(parts=tmp_path / "parts")), plain)
    files = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    assert len(files) == 3
    assert equal(counted(folder, PartOptions(parts=tmp_path / "parts")), plain)
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()} == files


@pytest.mark.parametrize(("shares", "order"), [(3, (2, 3, 1)), (7, (7, 2, 1, 3))])
def test_shares_in_any_order_are_the_whole(folder, plain, shares, order, tmp_path, capsys):
    for share in order:
        assert main(command(folder, "--parts", tmp_path, "--part", f"{share}/{shares}")) == 0
    assert "3 of 3 parts" in capsys.readouterr().out
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert equal(counted(folder, PartOptions(parts=tmp_path)), plain)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


@pytest.mark.slow
def test_several_processes_count_the_same(folder, monkeypatch):
    for module in (batching, engine_parts):  # these workers import nothing that shortens their windows
        monkeypatch.setattr(module, "WINDOW", WHOLE_WINDOW)
    assert equal(counted(folder, PartOptions(workers=2), corpus="longer"), counted(folder, corpus="longer"))


def test_damaged_parts_are_named_and_counted_again(folder, plain, tmp_path, capsys):
    counted(folder, PartOptions(parts=tmp_path))
    first, second, third = sorted(tmp_path.iterdir())
    content, warned = first.read_bytes(), list[str]()
    first.write_bytes(content[: len(content) // 2] + bytes(len(content) - len(content) // 2))
    second.write_bytes(b"")
    third.rename(third.with_name(first.name + "x"))
    assert equal(counted(folder, PartOptions(parts=tmp_path), warned=warned), plain)
    assert first.read_bytes() == content
    assert {path for path in (first, second, third) if str(path) in "".join(warned)} == {first, second}
    first.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert main(command(folder, "--parts", tmp_path, "--part", "1/1")) == 0
    assert f"Warning: The cache file {first} could not be used" in capsys.readouterr().out


@pytest.mark.slow
def test_parts_of_other_runs_are_never_used(folder, plain, tmp_path):
    options = PartOptions(parts=tmp_path / "parts")
    counted(folder, options)
    number = len(list((tmp_path / "parts").iterdir()))
    changed = counted(folder, options, reach=3)
    assert len(changed["offsets"]) < len(plain["offsets"])
    assert len(list((tmp_path / "parts").iterdir())) == 2 * number
    assert equal(counted(folder, options, seed=1), counted(folder, seed=1))
    text = (folder / "long.conllu").read_text(encoding="utf-8")
    (folder / "other.conllu").write_text(text.replace("\tcats\t", "\tdogs\t", 1), encoding="utf-8")
    other = counted(folder, options, corpus="other")
    assert equal(other, counted(folder, corpus="other"))
    assert not equal(other, plain)


def test_another_model_has_other_parts(folder, tmp_path):
    model = tmp_path / "model"
    tiny.save(model, seed=1, max_position_embeddings=64)
    (tmp_path / "long.conllu").symlink_to(folder / "long.conllu")
    parts = PartOptions(parts=tmp_path / "parts")
    counted(folder, parts)
    assert equal(counted(tmp_path, parts), counted(tmp_path))


def test_a_model_that_was_moved_has_the_same_parts(folder, plain, tmp_path):
    shutil.copytree(folder / "model", tmp_path / "model")
    counted(folder, PartOptions(parts=tmp_path / "parts"))
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    assert equal(counted(folder, PartOptions(parts=tmp_path / "parts"), model=tmp_path / "model"), plain)
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()} == before


@pytest.mark.slow
def test_a_killed_run_is_continued(folder, plain, programs, tmp_path):
    arguments = command(folder, "--parts", tmp_path / "parts", "--out", tmp_path / "out")
    process = programs.start("-m", "program", *arguments, folder=folder, paths=[folder])
    wait_for_a_part(process, tmp_path / "parts")
    process.kill()
    programs.wait(process)
    assert not (tmp_path / "out").exists()
    counts = list((tmp_path / "parts").glob("*.safetensors"))
    assert 1 <= len(counts) <= 3
    assert equal(counted(folder, PartOptions(parts=tmp_path / "parts")), plain)


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(folder, programs, tmp_path):
    arguments = command(folder, "--parts", tmp_path / "parts", "--workers", 2, "--out", tmp_path / "out")
    process = programs.start("-m", "program", *arguments, folder=folder, paths=[folder])
    deadline = time.monotonic() + 120
    victims: list[psutil.Process] = []
    while not victims and time.monotonic() < deadline and is_running(process):
        servers = [child for child in process.children() if "forkserver" in " ".join(child.cmdline())]
        victims = [worker for server in servers for worker in server.children()]
        time.sleep(0.05)
    assert victims
    os.kill(victims[0].pid, signal.SIGKILL)
    assert programs.wait(process) == 0
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) == 3
    assert (tmp_path / "out" / "run.json").is_file()


@pytest.mark.parametrize("part", ["0/4", "5/4", "4", "a/b", "-1/4", "1/0", ""])
def test_impossible_shares_are_refused(folder, part, tmp_path, capsys):
    assert main(command(folder, "--parts", tmp_path / "parts", f"--part={part}")) == 2
    assert "--part" in capsys.readouterr().err
    assert not (tmp_path / "parts").exists()


def test_other_impossible_options_are_refused(folder, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for options in (["--part", "1/2"], ["--workers", "0"], ["--parts", str(tmp_path / "file")]):
        assert main(command(folder, *options)) == 2
        assert options[0] in capsys.readouterr().err


def wait_for_a_part(process: psutil.Process, parts: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and is_running(process) and not list(parts.glob("*.safetensors")):
        time.sleep(0.02)


def is_running(process: psutil.Process) -> bool:
    return bool(process.status() != psutil.STATUS_ZOMBIE)
