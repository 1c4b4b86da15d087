"""A store is made once, and another one where its maps would differ."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors.tokens.pieces import Pieces, Segment
from tests import tiny
from tests.unit.map_store.stores import SENTENCES, store, tensors


def test_a_store_is_made_once(tmp_path):
    first, used = store(tmp_path), tiny.encoder()
    told: list[int] = []
    used.tokenizer(["the", "the man"], padding=True, truncation=True, max_length=9)  # leaves its traces
    relabelled = [dataclasses.replace(s, id=s.id + "'", relations=("dep",) * len(s)) for s in SENTENCES]
    again = store(tmp_path, used, relabelled, batch_cells=1, advance=told.append)
    assert (again.made, sum(told), again.folder, again.bytes) == (0, 10, first.folder, first.bytes)
    assert again.sentences == tuple(relabelled)
    assert again.log == first.log
    assert all(map(torch.equal, tensors(again), tensors(first)))


def other_tokenizer():
    encoder = tiny.encoder()
    encoder.tokenizer.backend_tokenizer.normalizer = None
    return encoder


def written_to():
    encoder = tiny.encoder()
    with torch.no_grad():
        encoder.model.encoder.layer[0].output.dense.bias[0] += 1e-3
    return encoder


def test_another_store_is_another_folder(tmp_path):
    """Whatever maps depend on makes a store of its own, beside those that are there."""
    changes: list[dict[str, Any]] = [
        {},
        {"sentences": SENTENCES[:9]},
        {"sentences": [*SENTENCES[:9], Sentence("of 8", ("the",) * 8)]},
        {"sentences": SENTENCES[::-1]},
        {"kind": "rollout"},
        {"kind": "norm"},
        {"kind": "norm", "merge": "vector"},
        {"normalize": "row"},
        {"max_length": 60},
        {"ff_bias": "fixed"},
        {"encoder": tiny.encoder(seed=1)},
        {"encoder": tiny.encoder(layer_norm_eps=1e-5)},
        {"encoder": written_to()},
        {"encoder": other_tokenizer()},
    ]
    stores = [store(tmp_path, **changed) for changed in changes]
    assert all(one.made == len(one) > 0 for one in stores)
    assert len({one.folder for one in stores}) == len(stores)
    assert len({(one.folder / "made_of.json").read_text(encoding="utf-8") for one in stores}) == len(stores)
    assert store(tmp_path).made == 0


def test_the_words_of_one_sentence_do_not_run_into_the_next(tmp_path):
    a, b = Sentence("a", ("the", "man")), Sentence("b", ("her",))
    first = store(tmp_path, sentences=[a, b])
    other = store(tmp_path, sentences=[Sentence("a", ("the",)), Sentence("b", ("man", "her"))])
    assert other.folder != first.folder


def test_segments_of_other_pieces_are_not_the_same(tmp_path):
    def segment(ids, types=None):
        pieces = Pieces(ids, ["?"] * 4, [0, 1, 2, 3], [True, False, False, True], 0, 0, types)
        return Segment(id="s", words=("a", "b"), pieces=pieces)

    stored = [store(tmp_path, sentences=[s]) for s in
              (segment([1, 20, 30, 2]), segment([1, 20, 31, 2]), segment([1, 20, 30, 2], [0, 0, 1, 1]))]  # fmt: skip
    assert [s.made for s in stored] == [1, 1, 1]
    assert not torch.equal(stored[0][0].maps, stored[1][0].maps)
    assert not torch.equal(stored[0][0].maps, stored[2][0].maps)
