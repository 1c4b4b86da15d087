"""Word maps on disk are the same maps as without a disk."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import ExtractionError, ExtractionLog, extract, register_kind
from attentionology.extractors.kinds import registry
from attentionology.extractors.tokens.text_fit import TextFit
from tests import tiny
from tests.unit.map_store.stores import SENTENCES, extracted, sentence, store, tensors


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"kind": "norm", "merge": "vector"}, {"kind": "rollout", "normalize": "row", "batch_cells": 100}],
    ids=["weight", "vectors", "rollout"],
)
def test_stored_maps_are_the_maps_in_the_order_of_the_corpus(tmp_path, options):
    stored = store(tmp_path, **options)
    assert (len(stored), stored.made, stored.kind) == (10, 10, options.get("kind", "weight"))
    assert stored.sentences == tuple(SENTENCES)
    for batch, alone, own in zip(stored, extracted(SENTENCES, **options), SENTENCES, strict=True):
        assert batch.sentences == (own,)
        assert (batch.kind, batch.level, batch.noise) == (alone.kind, "word", alone.noise)
        torch.testing.assert_close(batch.maps, alone.maps, atol=1e-6, rtol=1e-5)
        assert batch.special.tolist() == alone.special.tolist()
        assert batch.lengths.tolist() == alone.lengths.tolist() == [len(own) + 2]
        assert stored.shape == alone.maps.shape[1:3]
    shards = list(stored.folder.glob("*.safetensors"))
    assert stored.bytes == sum(shard.stat().st_size for shard in shards)


def test_parts_are_cut_into_shards(tmp_path):
    stored = store(tmp_path, batch_cells=1)
    assert len(list(stored.folder.glob("*.json"))) == 3 + 1
    assert len(list(stored.folder.glob("*.safetensors"))) == 2 + 3 + 2
    assert [b.maps.shape[-1] - 2 for b in stored] == [3, 1, 9, 4, 12, 2, 7, 5, 6, 8]
    assert set(stored._open) == {"0002-000.safetensors", "0002-001.safetensors"}  # of one part at a time


def test_sentences_that_cannot_be_read_are_left_out_and_told(tmp_path):
    twice = sentence(70)
    told: list[int] = []
    given = [twice, SENTENCES[0], twice, *SENTENCES[1:]]
    log = ExtractionLog()
    list(extract(tiny.encoder(), given, max_length=35, log=log))
    stored = store(tmp_path, sentences=given, max_length=35, advance=told.append)
    again = store(tmp_path, sentences=given, max_length=35)
    assert {len(one.sentence) for one in log.skipped} == {70, 12}
    for found in (stored, again):
        # Maps that were stored are read without their pieces, so nothing is known of how the words were cut.
        assert dataclasses.asdict(found.log) == dataclasses.asdict(dataclasses.replace(log, fit=TextFit()))
        assert [len(s) for s in found.sentences] == [3, 1, 9, 4, 2, 7, 5, 6, 8]
        assert [b.maps.shape[-1] - 2 for b in found] == [3, 1, 9, 4, 2, 7, 5, 6, 8]
    assert (sum(told), stored.made, again.made) == (12, 12, 0)


def test_no_sentence_can_be_read(tmp_path):
    with pytest.raises(ExtractionError, match=r"none of the 2 sentences could be read: of 70: too long: \d+ pieces"):
        store(tmp_path, sentences=[sentence(70), sentence(80)])


def test_half_precision(tmp_path):
    whole, half = store(tmp_path), store(tmp_path, dtype="float16")
    assert half.made == 10
    assert half.bytes < whole.bytes
    for a, b in zip(whole, half, strict=True):
        assert b.maps.dtype == torch.float32
        assert torch.equal(b.maps, a.maps.half().float())
        assert not torch.equal(b.maps, a.maps)
    assert torch.equal(half[2].exact([0])[0], half[2].maps[0])


def test_values_beyond_half_precision_are_refused(tmp_path):
    with mock.patch.dict(registry._KINDS):
        register_kind("test-huge", "α · 10⁶, for this test")(lambda layer: layer.alpha * 1e6)
        assert store(tmp_path, kind="test-huge")[0].maps.max() > 1e5
        with pytest.raises(ExtractionError, match=r"sentence 'of 9': a map is too large for float16; use float32"):
            store(tmp_path, kind="test-huge", dtype="float16")


def test_a_sentence_that_is_there_twice(tmp_path):
    a, b, c = sentence(5), sentence(3), sentence(6)
    stored = store(tmp_path, sentences=[a, b, a, c, b, a])
    assert [s.id for s in stored.sentences] == ["of 5", "of 3", "of 5", "of 6", "of 3", "of 5"]
    for batch, alone in zip(stored, extracted([a, b, a, c, b, a]), strict=True):
        torch.testing.assert_close(batch.maps, alone.maps, atol=1e-6, rtol=1e-5)


def test_subsets_and_slices(tmp_path):
    stored = store(tmp_path)
    maps = tensors(stored)
    for part, chosen in [
        (stored.subset([7, 0, 7]), [7, 0, 7]),
        (stored[2:9:3], [2, 5, 8]),
        (stored[::-1], list(range(9, -1, -1))),
        (stored[1:][3:5], [4, 5]),
        (stored[4:4], []),
    ]:
        assert part.sentences == tuple(SENTENCES[i] for i in chosen)
        assert [b.sentences[0] for b in part] == [SENTENCES[i] for i in chosen]
        assert len(part) == len(chosen)
        assert all(torch.equal(b.maps, maps[i]) for b, i in zip(part, chosen, strict=True))
    assert torch.equal(stored[-1].maps, maps[9])
    with pytest.raises(IndexError):
        stored[10]


def test_relabeled(tmp_path):
    stored = store(tmp_path)[3:6]
    new = [dataclasses.replace(s, heads=(0,) * len(s)) for s in SENTENCES[3:6]]
    relabeled = stored.relabeled(new)
    assert [b.sentences[0].heads for b in relabeled] == [s.heads for s in new]
    assert all(map(torch.equal, tensors(relabeled), tensors(stored)))
    for wrong in (new[::-1], new[:2], [*new[:2], Sentence("of 2", ("the", "men"))]):
        with pytest.raises(ValueError, match="not the sentences whose maps are stored"):
            stored.relabeled(wrong)


@pytest.mark.slow
def test_exact_maps(tmp_path):
    options: dict[str, Any] = {"kind": "norm", "merge": "vector", "normalize": "row"}
    stored = store(tmp_path, **options)[::-1]
    for index in (0, 3):
        batch = stored[index]
        exact, same = batch.exact([0, 0])
        (alone,) = extract(tiny.encoder(), [batch.sentences[0]], **options)
        assert exact.dtype == torch.float64
        assert torch.equal(exact, alone.exact([0])[0])
        assert torch.equal(exact, same)
        assert not torch.equal(exact.float(), exact)
        assert batch.exact([]) == []
