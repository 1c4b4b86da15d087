"""What may be written to the paths that users name: one policy for files, results folders and folders that are kept."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attentionology
from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.alignment import write_links
from attentionology.corpora_loaders.sample.translation import SAMPLE_GOLD, SAMPLE_PAIRS
from attentionology.engine.analyze import AnalyzeJob
from attentionology.engine.grid import Grid
from attentionology.extractors import store_maps
from attentionology.probes import AttentionProbe, batch_from_array
from attentionology.reports.explorer.data import Explorer
from attentionology.reports.explorer.view import ExplorerView
from attentionology.reports.run_folder import RunFolder, RunFolderError, files_of_run
from attentionology.scripts.cli import main
from attentionology.storage.errors import AttentionologyError
from attentionology.storage.paths import TargetError, check_file, check_kept_folder, path_identity, read_paths
from tests import tiny
from tests.written import contents


def finished(folder: Path, *files: str) -> Path:
    """A folder like that of a run."""
    for name in ("report.html", *files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("old")
    record = {"command": "attentionology analyze", "versions": {"attentionology": "0.1.0"}}
    (folder / "run.json").write_text(json.dumps({**record, "files": files_of_run(folder)}))
    return folder


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """The current folder, which has a file, and beside it a run."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here" / "file.html").write_text("mine")
    finished(tmp_path / "run")
    return Path(tmp_path)


def as_file(path: Path | str, **options: Any) -> object:
    return check_file(path, **options)


def as_kept(path: Path | str, *, overwrite: bool = False, **options: Any) -> object:
    return check_kept_folder(path, **options)


def as_results(path: Path | str, **options: Any) -> object:
    return RunFolder(path, **options)


KINDS = pytest.mark.parametrize("check", [as_file, as_kept, as_results])
EITHER = pytest.mark.parametrize("overwrite", [False, True])


@KINDS
@EITHER
def test_nothing_is_written_into_the_folder_of_a_run(place, check, overwrite):
    (place / "link").symlink_to(place / "run")
    for path in (place / "run" / "new.html", "../run/deep/new.html", "../link/new.html", "../run/report.html/x.html"):
        with pytest.raises(TargetError, match=r"the folder of a run, which has no other files|is a file, not a folder"):
            check(path, overwrite=overwrite)
    (place / "elsewhere").symlink_to(place / "run" / "new.html")  # to what does not exist
    with pytest.raises(TargetError, match="the folder of a run"):
        check(place / "elsewhere", overwrite=overwrite)


@KINDS
@EITHER
def test_places_that_cannot_be(place, check, overwrite):
    Path("circle").symlink_to("circle")
    for path, message in (
        ("file.html/new", "cannot create file.html/new: .*file.html is a file, not a folder"),
        ("~/new", "in place of ~; write "),
        ("circle", "form a circle"),
    ):
        with pytest.raises(TargetError, match=message):
            check(path, overwrite=overwrite)


@EITHER
def test_what_is_read_is_never_replaced_under_any_name(place, overwrite):
    file = place / "here" / "file.html"
    (place / "link").symlink_to(file)
    os.link(file, place / "twin")
    for path in ("file.html", "./../here/file.html", file, place / "link", place / "twin"):
        with pytest.raises(TargetError, match="is read by this command"):
            check_file(path, overwrite=overwrite, reads=["demo", "file.html"])
        assert check_file(path, overwrite=True, reads=["demo"]) == Path(path).resolve()
    with pytest.raises(TargetError, match=r"is a file of .*here, which this command reads"):
        check_file("file.html", overwrite=overwrite, reads=[place / "here"])
    assert check_file("new.html", reads=[place / "here"]) == place / "here" / "new.html"
    with pytest.raises(TargetError, match="is read by this command"):
        check_kept_folder(".", reads=[place / "here"])
    assert read_paths(["demo", "file.html/of/archive.txt"]) == [Path("file.html")]


def test_files_are_replaced_only_if_that_is_asked_for(place):
    with pytest.raises(TargetError, match=r"file\.html exists; use --overwrite"):
        check_file("file.html")
    assert check_file("file.html", overwrite=True) == place / "here" / "file.html"
    for path, message in ((place, "is a folder, not a file"), ("/dev/null", "is a device, not a file")):
        with pytest.raises(TargetError, match=message):
            check_file(path, overwrite=True)
    assert check_kept_folder(place) == place
    with pytest.raises(TargetError, match="is a file, not a folder"):
        check_kept_folder("file.html")
    with pytest.raises(TargetError, match="is the folder of a run"):
        check_kept_folder(place / "run")
    for check in (check_file, check_kept_folder):
        with pytest.raises(TargetError, match="would be in the results folder"):
            check("out/new", out="out")


def test_runs_of_a_survey_are_made_again_in_its_folder(tmp_path):
    finished(tmp_path / "survey", "runs/m-t/run.json")
    finished(tmp_path / "survey" / "runs" / "m-t")
    assert RunFolder(tmp_path / "survey" / "runs" / "m-t", overwrite=True)
    with pytest.raises(RunFolderError, match="the folder of a run"):
        RunFolder(tmp_path / "survey" / "runs" / "other", overwrite=True)


def test_identity_of_paths(place):
    names = ["file.html", "./file.html", place / "here" / "file.html", "../here//file.html"]
    assert len(set(map(path_identity, names))) == 1
    assert path_identity("org/model/") == path_identity("org/model") != path_identity("org/other")
    assert path_identity(".") == path_identity(place / "here")


@pytest.mark.parametrize("command", ["compare", "merge"])
def test_a_run_is_recognized_under_all_its_names(place, command, capsys):
    (place / "link").symlink_to(place / "run")
    for name in ("../run/", "./../run", place / "run", place / "link"):
        assert main([command, "../run", str(name), "--out", "out"]) == 2
        assert f"a run is given twice: ../run and {Path(name)}\n" in capsys.readouterr().err


def _probe() -> AttentionProbe:
    sentence = Sentence("s1", ("dog", "barks"), (2, 0), ("nsubj", "root"))
    return AttentionProbe().fit([batch_from_array(sentence, np.full((1, 2, 2, 2), 0.5, dtype=np.float32))])


WRITERS: dict[str, tuple[str, Callable[..., object]]] = {
    "links": ("links.talp", lambda path, **options: write_links(path, [[(0, 0)]], **options)),
    "shown": (
        "head.txt",
        lambda path, **options: attentionology.show(tiny.encoder(), "the cat", head="1-1").save(path, **options),
    ),
    "explorer": (
        "page.html",
        lambda path, **options: ExplorerView(Explorer("m", "c", "sentences", 1, 1)).save(path, **options),
    ),
    "probe": ("probe.json", lambda path, **options: _probe().save(path.parent, **options)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_functions_replace_files_only_if_that_is_asked_for(place, name):
    file, write = WRITERS[name]
    path = place / file
    write(path)
    first = path.read_bytes()
    path.write_text("mine")
    with pytest.raises(AttentionologyError, match=f"{file}|safetensors.* exists; use --overwrite"):
        write(path)
    assert path.read_text() == "mine"
    write(path, overwrite=True)
    assert path.read_bytes() == first
    with pytest.raises(AttentionologyError, match="the folder of a run"):
        write(place / "run" / file, overwrite=True)


def test_maps_are_not_stored_in_the_folder_of_a_run(place):
    with pytest.raises(TargetError, match="is the folder of a run"):
        store_maps(tiny.encoder(), [Sentence("a", ("the",))], place / "run")
    with pytest.raises(TargetError, match="is the folder of a run"):
        Grid("explain", {"seed": ("1",)}, (), place / "run")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["align", *("--source", SAMPLE_PAIRS, "--gold", "gold", "--write", "gold", "--overwrite")], "is read by this"),
        (["align", "--write", "file.html"], "file.html exists"),
        (["align", "--write", "../run/links"], "the folder of a run"),
        (["align", "--write", "out"], "would be in the results folder"),
        (["align", "--write", "file.html", "--dry-run"], "file.html exists"),
        (["analyze", "--parts", "../run"], "is the folder of a run"),
        (["analyze", "--parts", "out/parts"], "would be in the results folder"),
        (["analyze", "--parts", "gold/parts"], "is a file, not a folder"),
        (["analyze", "--parts", "../run/parts", "--part", "1/2"], "the folder of a run"),
        (["survey", "--parts", "out"], "would be in the results folder"),
        (["probe", "--test", "sample", "--folds", "2", "--cache", "../run/cache"], "the folder of a run"),
        (["explain", "--data", "texts", "--cache", "../run/cache"], "the folder of a run"),
        (["grid", "explain", "--vary", "seed=1"], "the folder of a run"),
        (["show", "the cat", "--head", "1-1"], "the folder of a run"),
        (["show", "--corpus", "file.html", "--sentence", "a", "--head", "1-1", "--overwrite"], "is read by this"),
        (["explore", "--text", "file.html", "--overwrite"], "is read by this"),
        (["explore", "the cat"], "file.html exists"),
        (["report", "../run"], "the folder of a run"),
        (["merge", "../run", "../other"], "the folder of a run"),
        (["compare", "../run", "../other"], "the folder of a run"),
        (["analyze"], "the folder of a run"),
        (["analyze"], "in place of ~"),
    ],
    ids=lambda value: " ".join(map(str, value[:1])) if isinstance(value, list) else "",
)
def test_commands_write_nothing_where_nothing_may_be_written(place, arguments, message, capsys, monkeypatch):
    for module in ("stored_run", "merge"):
        monkeypatch.setattr(
            f"attentionology.engine.{module}.states_in", lambda *_: pytest.fail("nothing is to be read")
        )
    finished(place / "other")
    Path("gold").write_bytes(SAMPLE_GOLD.read_bytes())
    Path("texts").write_text("1 a good film\n0 a bad film\n" * 10)
    before = contents(place)
    out = {
        "the folder of a run": "../run/new.html",
        "in place of ~": "~/new",
        "is read by this": "file.html",
        "file.html exists": "file.html",
    }
    own_path = {"--write", "--parts", "--cache"} & {*arguments}
    target = "out" if own_path else out.get(message, "out")
    assert main([*map(str, arguments), "--out", target]) == 1
    assert message in " ".join(capsys.readouterr().err.split())
    assert contents(place) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_command_leaves_nothing(number, tmp_path, monkeypatch, capsys):
    """Such as that of a cluster's time limit, or of a terminal that is closed, unless ``nohup`` has said no."""
    before = signal.getsignal(number)

    def prepare(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.pause()
        raise ZeroDivisionError

    monkeypatch.setattr(AnalyzeJob, "prepare", prepare)
    try:
        signal.signal(number, signal.SIG_DFL)
        assert main(["analyze", "--out", str(tmp_path / "out")]) == 130
        assert "interrupted; no results were written" in capsys.readouterr().err
        assert not list(tmp_path.iterdir())
        signal.signal(number, signal.SIG_IGN)
        with pytest.raises(ZeroDivisionError):
            main(["analyze", "--out", str(tmp_path / "out")])
    finally:
        signal.signal(number, before)
