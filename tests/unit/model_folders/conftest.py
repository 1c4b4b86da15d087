"""The folder of a tiny model, which a test may change."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from tests.unit.model_folders.folders import INDEX, SHARDS, WEIGHTS, save


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("saved"))


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


@pytest.fixture
def shards(folder: Path) -> Path:
    """The same in two files with an index."""
    weights = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    shard_of = {name: SHARDS[number % 2] for number, name in enumerate(sorted(weights))}
    for shard in SHARDS:
        part = {name: weights[name] for name in weights if shard_of[name] == shard}
        save_file(part, folder / shard, metadata={"format": "pt"})
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": shard_of}))
    return folder
