"""Counting on a Ray cluster of two nodes on the loopback interface, one of which dies."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from attentionology import CorpusOptions, CountOptions, ModelOptions, analyze
from attentionology.analyses.shared import part_options
from attentionology.analyses.shared.part_options import PartOptions
from attentionology.analyses.shared.processes import WorkerError
from attentionology.engine.counting import executors
from attentionology.extractors.maps.batching import WINDOW
from attentionology.scripts.cli import main
from tests import tiny
from tests.written import contents

LOOPBACK = "127.0.0.1"
N_PARTS = 6
TREE = "# sent_id = s{i}\n1\tcats\t_\tNOUN\t_\t_\t2\t{relation}\t_\t_\n2\t{verb}\t_\tVERB\t_\t_\t0\troot\t_\t_\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny model and a treebank of six windows."""
    folder = tmp_path_factory.mktemp("ray")
    tiny.save(folder / "model", max_position_embeddings=64)
    trees = (
        TREE.format(i=i, relation="nsubj" if i % 7 else "dep", verb=("word", "dogs", "the")[i % 3])
        for i in range(N_PARTS * WINDOW - 500)
    )
    (folder / "long.conllu").write_text("\n".join(trees) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def cluster(monkeypatch):
    """A Ray cluster of two nodes with one CPU each, without a dashboard and without usage statistics."""
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed (extra 'ray')")
    # Ray reads this variable when it is imported, which may be before; its processes inherit it.
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setattr("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    # The files are not in a folder of pytest, because names of sockets must be short.
    files = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    # Here Ray notes the address of the cluster, wherever its other files are.
    Path("/tmp/ray").mkdir(exist_ok=True)  # noqa: S108
    common = {"num_cpus": 1, "node_ip_address": LOOPBACK, "include_dashboard": False, "temp_dir": files}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=common)
    cluster.add_node(num_cpus=1, node_ip_address=LOOPBACK)
    yield cluster
    cluster.shutdown()
    shutil.rmtree(files, ignore_errors=True)


def run(folder: Path, out: Path, parts: PartOptions | None = None) -> dict[str, bytes]:
    """Run two analyses, and return all tables as bytes."""
    options: list[Any] = [
        ModelOptions(model=str(folder / "model")),
        CorpusOptions(corpus=(str(folder / "long.conllu"),)),
        CountOptions(replicates=30),
        *([parts] if parts else []),
    ]
    analyze(analyses=("dependency", "clusters"), options=options, out=out)
    return contents(out, "tables")


def wait_for(condition, seconds: float = 600) -> None:
    """Wait until a condition holds. On a machine that is busy, starting the processes of Ray takes minutes."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this took too long"
        time.sleep(0.01)


def actors() -> list[psutil.Process]:
    """The processes of actors that have been started by this process."""
    processes = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            if "RayWorker" in " ".join(child.cmdline()):
                processes.append(child)
    return processes


def test_a_killed_worker_and_a_removed_node_change_nothing(folder, cluster, tmp_path):
    plain = run(folder, tmp_path / "plain")
    parts = tmp_path / "parts"
    killed: list[int] = []

    def disturb() -> None:
        wait_for(lambda: len(list(parts.glob("*.safetensors"))) >= 1)
        killed.append(actors()[0].pid)
        os.kill(killed[0], signal.SIGKILL)
        wait_for(lambda: len(list(parts.glob("*.safetensors"))) >= 3)
        cluster.remove_node(next(iter(cluster.worker_nodes)))
        killed.append(len(list(parts.glob("*.safetensors"))))

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    on_ray = run(folder, tmp_path / "ray", PartOptions(parts=parts, engine="ray", address=cluster.address, workers=2))
    disturbing.join()
    assert on_ray == plain
    assert len(killed) == 2
    assert killed[1] < N_PARTS, "the node was removed too late to tell anything"
    wait_for(lambda: not actors())


def test_a_part_that_ends_its_worker_again_and_again_is_named(folder, cluster, tmp_path, monkeypatch):
    class Dying(executors.RayWorker):
        def content(self, number: int) -> tuple[bytes, str]:
            if number == 1:
                os._exit(1)
            return super().content(number)

    monkeypatch.setattr(executors, "RayWorker", Dying)
    options = PartOptions(parts=tmp_path / "parts", engine="ray", address=cluster.address, workers=2)
    with pytest.raises(WorkerError, match=r"the sentences 1,025 to 2,048 cannot be counted on the Ray cluster"):
        run(folder, tmp_path / "out", options)
    assert not (tmp_path / "out").exists()


def test_without_ray_the_extra_is_named_and_an_address_is_for_ray(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(part_options, "find_spec", lambda name: None)
    for options, message in ((["--engine", "ray"], "attentionology[ray]"), (["--address", "auto"], "--engine ray")):
        assert main(["analyze", *options, "--out", str(tmp_path / "out")]) == 2
        assert message in capsys.readouterr().err
