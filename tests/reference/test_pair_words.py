"""Attention at the words in which two sentences differ: by position, and to the words that pairs name, by loops."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attentionology
from attentionology import CountOptions, MapOptions, corpora_loaders, load_pairs
from attentionology.analyses.pairs.attractors import ATTRACTORS, _findings, attractors_table
from attentionology.analyses.pairs.positions import POSITIONS, PositionAttention, names_of_positions, positions_table
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapBatch, extract
from tests import tiny

PAIRS = [
    ("The key near the cabinets is old.", "The key near the cabinets are old.", "a", {"head": "key", "attractor": 5}),
    ("The old map of the islands was wrong today.", "The old map of the islands were bad today.", "a",
     {"head": "map", "attractor": "islands"}),
    ("Ann saw herself.", "Ann saw himself.", "b", None),
    ("The boys and the girl that we met do sleep.", "The boys and the girl that we met sleep.", "b",
     {"head": "boys", "attractor": "girl"}),
]  # fmt: skip
PLACES = [(5, 6, 6), (6, 8, 8), (2, 3, 3), (8, 9, 8)]
"""The first word that differs, and the ends of those in each sentence, from 0."""


@pytest.fixture(scope="module")
def run_and_maps(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    rows = [
        {"sentence_good": good, "sentence_bad": bad, "UID": group} | ({"words": words} if words else {})
        for good, bad, group, words in PAIRS
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    corpus, encoder = load_pairs(path), tiny.encoder("bert")
    run = attentionology.analyze(encoder, corpus, options=CountOptions(replicates=0))
    maps = {sentence.id: each for batch in extract(encoder, corpus) for sentence, each in batch.unpadded()}
    return run, [[maps[f"pairs.jsonl:{pair} {end}"] for end in ("good", "bad")] for pair in range(1, 5)]


def test_attention_to_the_words_that_pairs_name_is_that_of_loops(run_and_maps):
    run, maps = run_and_maps
    table = run.tables["pairs_attractors"].set_index(["group", "layer", "head"])
    expected: dict[Any, list[list[float]]] = defaultdict(list)
    for pair, (head_noun, attractor), group in ((0, (1, 4), "a"), (1, (2, 5), "a")):
        start, *stops = PLACES[pair]
        for layer in range(3):
            for head in range(4):
                row = []
                for each, stop in zip(maps[pair], stops, strict=True):
                    for key in (head_noun, attractor):  # [CLS] is at 0
                        cells = [float(each[layer, head, word + 1, key + 1]) for word in range(start, stop)]
                        row.append(sum(cells) / len(cells))
                for name in (group, "all"):
                    expected[name, layer + 1, head + 1].append(row)
    assert set(table.index) == set(expected)  # of the last pair, a sentence has no word that differs
    for key, rows in expected.items():
        head_good, attractor_good, head_bad, attractor_bad = (
            sum(column) / len(rows) for column in zip(*rows, strict=True)
        )
        found = table.loc[key]
        named = ["head_good", "attractor_good", "head_bad", "attractor_bad", "preference", "change"]
        preference = head_good - attractor_good
        change = preference - (head_bad - attractor_bad)
        values = [head_good, attractor_good, head_bad, attractor_bad, preference, change]
        assert found[named].tolist() == pytest.approx(values, abs=1e-6)
        assert (found["pairs"], found["nearer"]) == (2, 2)
        assert np.isnan(found[["preference_low", "change_high", "band_low"]].to_numpy(dtype=float)).all()  # too few
    assert list(run.tables["pairs_attractors"]) == ATTRACTORS.names


def test_attention_by_position_is_that_of_loops_and_adds_up(run_and_maps):
    run, maps = run_and_maps
    table = run.tables["pairs_positions"]
    assert list(table) == POSITIONS.names
    expected: dict[Any, list[list[float]]] = defaultdict(list)
    for pair in (0, 1, 2):  # the sentences of the last one do not have as many words
        start, stop, _ = PLACES[pair]
        n_words = len(PAIRS[pair][0].split())
        for layer in range(3):
            for head in range(4):
                places: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
                for side, each in enumerate(maps[pair]):
                    for key in range(n_words + 2):
                        word = key - 1
                        if key in (0, n_words + 1):
                            place = "special"
                        elif word < start:
                            place = str(word - start) if start - word <= 5 else "before"
                        else:
                            place = "0" if word < stop else str(word - stop + 1)
                        cells = [float(each[layer, head, differ + 1, key]) for differ in range(start, stop)]
                        places[place][side] += sum(cells) / len(cells)
                for place, both in places.items():
                    expected[PAIRS[pair][2], place, layer + 1, head + 1].append(both)
    rows = table.set_index(["group", "position", "layer", "head"])
    assert set(rows.index) == set(expected)
    for key, of_pairs in expected.items():
        good, bad = (sum(column) / len(of_pairs) for column in zip(*of_pairs, strict=True))
        found = rows.loc[key, ["good", "bad", "difference"]].tolist()
        assert found == pytest.approx([good, bad, good - bad], abs=1e-6)
        assert rows.loc[key, "pairs"] == len(of_pairs)
    of_b = table[table["group"] == "b"].groupby(["layer", "head"])[["good", "bad"]].sum()
    assert of_b.to_numpy() == pytest.approx(np.ones((12, 2)), abs=1e-6)
    examples = table.drop_duplicates(["group", "position"]).set_index(["group", "position"])["example"]
    assert (examples["a", "-1"], examples["a", "0"], examples["a", "before"], examples["a", "special"]) == (
        "cabinets", "is", "The", "",
    )  # fmt: skip
    assert list(dict.fromkeys(table["position"][table["group"] == "a"])) == [
        "before", "-5", "-4", "-3", "-2", "-1", "0", "1", "special",
    ]  # fmt: skip


def test_positions_of_a_causal_model_end_at_the_words_that_differ():
    assert names_of_positions([(2, 3, 5), (1, 2, 9)], 5, causal=False) == [
        "-2", "-1", "0", "1", "2", "3", "4", "5", "after", "special",
    ]  # fmt: skip
    assert names_of_positions([(2, 3, 5), (1, 2, 9)], 5, causal=True) == ["-2", "-1", "0", "special"]
    assert names_of_positions([(2, 3, 5), (1, 2, 9)], 0, causal=False) == ["before", "0", "after", "special"]


def test_words_beyond_the_positions_are_counted_together():
    metric = PositionAttention(1, 1, ids=["p"], places=[(3, 4, 6)], positions=["before", "-1", "0", "special"])
    maps = torch.zeros(1, 1, 1, 8, 8)
    maps[..., 4, :] = torch.tensor([0.03, 0.1, 0.2, 0.3, 0.05, 0.15, 0.07, 0.1])
    special = torch.tensor([[True, *[False] * 6, True]])
    batch = MapBatch(maps, torch.tensor([8]), special, (Sentence("p good", tuple("abcdef")),))
    metric.update(batch)  # a causal model would give nothing to the last two words
    found = metric.compute()[0, :, :, 0, 0]
    assert found[0].tolist() == pytest.approx([0.3, 0.3, 0.05, 0.13], abs=1e-6)
    assert np.isnan(found[1]).all()  # the other sentence was not read


def test_what_stands_out_is_shown():
    found = attentionology.analyze("demo", load_pairs("sample"), options=CountOptions(replicates=100))
    table = found.tables["pairs_attractors"]
    rows = {(row["group"], row["why"]): row for row in attractors_table(table).rows}
    of_phrases = table[table["group"] == "number_attractor_phrase"]
    top = rows["number_attractor_phrase", "prefers the head noun"]
    assert (top["layer"], top["head"]) == (4, 2)
    assert top["preference"] == of_phrases["preference"].max()
    assert rows["number_attractor_phrase", "prefers the attractor"]["head"] == 3  # 1-3 attends to the word before
    assert (top["band_low"] < top["change_low"] < top["change"] < top["change_high"] < top["band_high"]) is True
    by_position = {row["group"]: row for row in positions_table(found.tables["pairs_positions"]).rows}
    row = by_position["reflexive_gender"]
    assert (row["layer"], row["head"], row["position"], row["example"]) == (2, 4, "-2", "uncle")
    texts = [finding.text for finding in found.findings]
    assert any("in head 4-2, the most of 72 heads" in text and "-50.0 points in head 1-3" in text for text in texts)


def test_norms_are_no_shares_of_attention(tmp_path):
    """What is said in percent of attention is not said of norms; other kinds are named."""
    sample = Path(corpora_loaders.__file__).parent / "sample" / "minimal_pairs.jsonl"
    lines = [line for line in sample.read_text(encoding="utf-8").splitlines() if "number_attractor_phrase" in line]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    options = [CountOptions(replicates=50), MapOptions(("rollout", "norm"))]
    run = attentionology.analyze("demo", load_pairs(tmp_path / "pairs.jsonl"), options=options)
    assert set(run.tables["pairs_attractors"]["map"]) == {"rollout", "norm"}
    table = run.tables["pairs_attractors"]
    total = table[(table["map"] == "norm") & (table["group"] == "all")]
    assert [finding.text.count("(map “norm”)") for finding in _findings(total, "norm")] in ([1], [1, 1])
    assert not any("norm" in finding.text for finding in run.findings)
