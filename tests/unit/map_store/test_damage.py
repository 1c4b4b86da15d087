"""Files of a store that are damaged, missing or foreign are noticed and made again."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from safetensors.torch import load, save

from attentionology.extractors import ExtractionError
from attentionology.storage.cache_log import CacheLog
from tests import tiny
from tests.damage import DAMAGE
from tests.unit.map_store.stores import contents, store, tensors


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
