"""Heads that find copies of a piece: against maps made by hand, loops over all cells, and what the demo model does."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch

import attentionology
from attentionology.analyses.contract import OptionError
from attentionology.analyses.shared.options import CountOptions
from attentionology.analyses.surface.detectors import (
    DetectorScores,
    labels_of,
    masked_places,
    repeat_pieces,
    whole_words,
)
from attentionology.analyses.surface.options import SurfaceOptions
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import MapBatch
from tests import tiny
from tests.shown_tables import percent

LENGTH = 12


def batch(maps: np.ndarray, ids: list[str], labels: tuple[str, ...] = ()) -> MapBatch:
    """Inputs of one layer and one head, of which the first and the last position are special."""
    n = maps.shape[-1]
    special = torch.zeros(len(ids), n, dtype=torch.bool)
    special[:, [0, -1]] = True
    return MapBatch(
        torch.from_numpy(maps).float()[:, None, None],
        torch.full((len(ids),), n),
        special,
        tuple(Sentence(name, ("w",) * (n - 2)) for name in ids),
        labels=(labels,) * len(ids),
        level="token",
    )


def scores(metric: DetectorScores) -> pd.DataFrame:
    return metric.compute().set_index("pattern")


def shifted_map(offset: int, rows: range) -> np.ndarray:
    """All attention of some rows goes to one offset; that of others is uniform."""
    n = 2 * LENGTH + 2
    full = np.full((n, n), 1 / n)
    for q in rows:
        full[q] = 0
        full[q, q + offset] = 1
    return full


@pytest.mark.parametrize(
    ("pattern", "offset", "rows"),
    [
        ("previous", -1, range(LENGTH + 2, 2 * LENGTH + 1)),
        ("same-back", -LENGTH, range(LENGTH + 2, 2 * LENGTH + 1)),
        ("after-back", 1 - LENGTH, range(LENGTH + 2, 2 * LENGTH + 1)),
        ("before-back", -1 - LENGTH, range(LENGTH + 2, 2 * LENGTH + 1)),
        ("same-ahead", LENGTH, range(1, LENGTH)),
        ("after-ahead", LENGTH + 1, range(1, LENGTH)),
        ("before-ahead", LENGTH - 1, range(1, LENGTH)),
    ],
)
def test_a_shifted_diagonal_is_found_whole(pattern, offset, rows):
    metric = DetectorScores(1, 1, causal=False, length=LENGTH, first=1)
    metric.update(batch(shifted_map(offset, rows)[None], ["random 1"]))
    found = scores(metric)
    assert found.loc[pattern, "score"] == pytest.approx(1, abs=1e-9)
    assert found.loc[pattern, "control"] == pytest.approx(0, abs=1e-9)
    assert found.loc[pattern, "rows"] == LENGTH - 1
    assert found.drop(pattern)["score"].max() < 0.1


def test_masked_pieces_attend_to_their_copy():
    places = masked_places(LENGTH)
    assert places == [2, 7]
    metric = DetectorScores(1, 1, causal=False, length=LENGTH, first=1)
    back = shifted_map(-LENGTH, [1 + LENGTH + place for place in places])  # type: ignore[arg-type]
    metric.update(batch(np.stack([back, back]), ["mask-back 1", "mask-ahead 1"]))
    found = scores(metric)
    assert list(found.index) == ["mask-back", "mask-ahead"]
    assert found.loc["mask-back", "score"] == pytest.approx(1, abs=1e-9)
    assert found.loc["mask-ahead", "score"] == pytest.approx(1 / (2 * LENGTH + 2), abs=1e-7)  # these rows are uniform


def test_uniform_attention_has_the_score_of_its_candidates():
    labels = ("[CLS]", "a", "b", "a", "a", "c", "[SEP]")
    uniform = np.full((1, 7, 7), 1 / 7)
    metric = DetectorScores(1, 1, causal=False)
    metric.update(batch(uniform, ["x"], labels))
    found = scores(metric)
    # Row 3 has one earlier copy and row 4 has two; the piece after a copy may be the row itself, as in row 4.
    assert found["rows"].to_dict() == {"previous": 4, "same-back": 2, "after-back": 2}
    np.testing.assert_allclose(found["score"], [1 / 7, 1.5 / 7, 1.5 / 7], rtol=1e-6)
    np.testing.assert_allclose(found["score"], found["uniform"], rtol=1e-6)
    np.testing.assert_allclose(found["mul"], [4 / 49, 3 / 49, 3 / 49], rtol=1e-6)
    triangle = np.tril(np.ones((7, 7)))[None]
    causal = DetectorScores(1, 1, causal=True)
    causal.update(batch(triangle / triangle.sum(-1, keepdims=True), ["x"], labels))
    assert scores(causal).loc["same-back", "score"] == pytest.approx((1 / 4 + 2 / 5) / 2, rel=1e-6)


def test_without_repeats_there_are_no_rows_and_no_values():
    metric = DetectorScores(1, 1, causal=False)
    metric.update(batch(np.full((1, 4, 4), 0.25), ["x"], ("[CLS]", "a", "b", "[SEP]")))
    assert list(scores(metric).index) == ["previous"]


def test_scores_of_any_text_are_those_of_loops():
    rng = np.random.default_rng(0)
    labels = ("[CLS]", *rng.choice(list("abcd"), 12).tolist(), "[SEP]")
    alpha = rng.dirichlet(np.ones(14), (1, 14))
    metric = DetectorScores(1, 1, causal=False)
    metric.update(batch(alpha, ["x"], labels))
    found = scores(metric)
    inner = range(1, 13)
    for name, shift in (("same-back", 0), ("after-back", 1)):
        cells = [(q, k + shift) for q in inner for k in range(1, q) if labels[k] == labels[q] and k + shift < 13]
        rows = {q for q, _ in cells}
        expected = sum(alpha[0, q, k] for q, k in cells) / len(rows)
        control = 0.0
        for distance, count in Counter(q - k for q, k in cells).items():
            others = [alpha[0, q, q - distance] for q in inner if q - distance >= 1 and (q, q - distance) not in cells]
            matches = [alpha[0, q, k] for q, k in cells if q - k == distance]
            control += count * np.mean(others or matches)
        assert found.loc[name, "rows"] == len(rows)
        np.testing.assert_allclose(found.loc[name, ["score", "control"]].astype(float), [expected, control / len(rows)])


def test_labels_need_more_than_random_weights_and_than_the_control():
    base = {"layer": 1, "head": 1, "pattern": "same-back", "score": 0.6, "random_weights": 0.1, "gain_low": 0.4}
    assert labels_of(pd.DataFrame([base]), causal=False) == {(1, 1): ("duplicate",)}
    weak = {**base, "score": 0.49}
    assert labels_of(pd.DataFrame([weak]), causal=False) == {(1, 1): ("weak-duplicate",)}
    for change in ({"score": 0.09}, {"random_weights": 0.7}, {"gain_low": -0.1}, {"gain_low": np.nan}):
        assert labels_of(pd.DataFrame([{**base, **change}]), causal=False) == {}
    after = pd.DataFrame([{**base, "pattern": "after-back"}])
    assert labels_of(after, causal=False) == {}  # never induction
    assert labels_of(after, causal=True) == {(1, 1): ("induction",)}


def test_sequences_are_read_twice_and_masked_in_one_copy():
    encoder = tiny.encoder()
    encoder.tokenizer.mask_token = "[MASK]"
    inputs, first, length = repeat_pieces(encoder, 2, None, seed=3)
    assert (first, length) == (1, 31)  # in 64 positions
    assert [segment.id for segment in inputs[:3]] == ["random 1", "mask-back 1", "mask-ahead 1"]
    plain, back, ahead = ([*segment.pieces.ids] for segment in inputs[:3])
    once, again = plain[1:32], plain[32:63]
    assert once == again
    assert len(set(once)) == length
    assert set(once) <= {*whole_words(encoder)}
    mask = encoder.tokenizer.mask_token_id
    differ = [index for index, (one, other) in enumerate(zip(plain, back, strict=True)) if one != other]
    assert differ == [32 + place for place in masked_places(31)]
    assert {back[index] for index in differ} == {mask}
    assert [index for index, piece in enumerate(ahead) if piece == mask] == [1 + place for place in masked_places(31)]
    assert repeat_pieces(encoder, 2, None, seed=3)[0] == inputs
    assert repeat_pieces(encoder, 1, 40, seed=3)[2] == 19
    with pytest.raises(OptionError, match="takes 18 pieces"):
        repeat_pieces(encoder, 1, 20, seed=3)
    assert {segment.id.partition(" ")[0] for segment in repeat_pieces(tiny.encoder("gpt2"), 1, None, 0)[0]} == {
        "random"
    }


@pytest.mark.slow
def test_the_demo_model_has_one_head_of_copies_and_none_of_induction():
    options = [SurfaceOptions(detectors=20, gradients="none"), CountOptions(replicates=50)]
    treebank = load_treebank(SAMPLE_TREEBANK, limit=3)
    run = attentionology.analyze("demo", treebank, analyses="surface", options=options)
    table = run.tables["detectors"].query("text == 'repeated'")
    same = table.query("pattern == 'same-back'").set_index(["layer", "head"])["score"]
    assert same.idxmax() == (3, 10)
    assert same.max() == pytest.approx(0.49, abs=0.03)
    assert same.mean() == pytest.approx(0.019, abs=0.003)
    assert table.query("pattern == 'after-back'")["score"].max() < 0.02
    assert table.query("pattern == 'previous'").set_index(["layer", "head"])["score"][1, 3] > 0.97
    assert table["random_weights"].max() < 0.012
    heads = run.tables["surface"].set_index(["layer", "head"])
    assert "weak-duplicate" in heads["labels"][3, 10].split()
    assert not any("induction" in labels for labels in heads["labels"])
    (finding,) = [each.text for each in run.explorer().findings if "read twice" in each.text]
    assert re.match(r"4\d\.\d % \[4\d\.\d, 4\d\.\d\] of the attention of head 3-10 goes to an earlier copy in", finding)
    row = table.query("pattern == 'same-back' and layer == 3 and head == 10").iloc[0]
    assert row["random_weights"] > max(row["control"], row["uniform"])
    assert f"(strongest baseline, all heads with random weights: {percent(row['random_weights'])} %)" in finding
    assert "induction" not in finding
