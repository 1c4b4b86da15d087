"""Probes and baselines as estimators: streams, precision, what is not fitted, and saved files that are broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.extractors import MapBatch
from attentionology.probes import TUNED, AttentionProbe, AttentionWordsProbe, Probe, TrainingError, load_probe
from attentionology.storage.sealed import ANYWHERE, read_json, write_json
from tests.maps import batch_of, random_corpus
from tests.probing import CAT, VECTORS, batches_of, blank, chain, predictors


@pytest.fixture(scope="module")
def batches() -> list[MapBatch]:
    return batches_of(1)


class TestDemandingUsers:
    """What people try with ``from probes import …``."""

    def test_streams_are_lists(self, batches):
        for predictor in predictors():
            score = predictor.fit(batches).score(batches)
            heads = predictor.predict(batches)
            assert predictor.fit(iter(batches)).score(iter(batches)) == score
            assert all((a == b).all() for a, b in zip(predictor.predict(iter(batches)), heads, strict=True))

    def test_dev_sentences_may_be_a_stream(self, batches):
        for recipe in (TUNED, replace(TUNED, patience=None, epochs=2)):
            one = AttentionProbe(recipe=recipe).fit(batches[:20], iter(batches[20:]))
            other = AttentionProbe(recipe=recipe).fit(batches[:20], batches[20:])
            assert one.history_ == other.history_
            assert (one.coef_ == other.coef_).all()

    def test_nothing_at_all(self):
        for probe in predictors()[3:]:
            with pytest.raises(TrainingError, match="no sentence to learn from"):
                probe.fit([])
            with pytest.raises(TrainingError, match="no sentence to learn from"):
                probe.fit(iter([]))
        fitted = AttentionProbe().fit(blank(CAT))
        assert fitted.predict([]) == []
        assert np.isnan(fitted.score([]))

    def test_fit_that_fails_leaves_what_was_learned(self, batches):
        probe = AttentionProbe().fit(batches)
        before = probe.coef_.copy()
        with pytest.raises(TrainingError):
            probe.fit(blank(chain(2, None, None)))
        assert (probe.coef_ == before).all()
        assert probe.shape_ == (2, 3)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
    def test_maps_of_other_precision(self, batches, dtype):
        rounded = [replace(b, maps=b.maps.to(dtype).float()) for b in batches]
        given = [replace(b, maps=b.maps.to(dtype)) for b in batches]
        for predictor in predictors():
            expected = predictor.fit(rounded).predict(rounded)
            assert all((a == b).all() for a, b in zip(predictor.fit(given).predict(given), expected, strict=True))

    def test_without_special_tokens_the_root_scores_zero(self, batches):
        bare = [MapBatch(b.maps[..., 1:-1, 1:-1], b.lengths - 2, b.special[:, 1:-1], b.sentences) for b in batches]
        for probe in (AttentionProbe(), AttentionWordsProbe(VECTORS)):
            for batch, scores in zip(bare, probe.fit(bare).scores(bare), strict=True):
                assert scores.shape == (len(batch.sentences[0]), len(batch.sentences[0]) + 1)
                assert (scores[:, 0] == 0).all()
                assert (scores[:, 1:] != 0).all()

    def test_one_word_has_itself_and_the_root(self):
        pytest.importorskip("ufal.chu_liu_edmonds")
        one = blank(chain(1, 0, relations=["root"]), layers=2, heads=3)
        for probe in predictors()[4:]:
            assert isinstance(probe, Probe)
            (scores,) = probe.fit(one).scores(one)
            assert scores.shape == (1, 2)
            assert probe.predict(one, "tree")[0].tolist() == [0]

    def test_batches_of_any_size_give_the_same_heads(self):
        sentences, maps = random_corpus(9)
        together, apart = batch_of(sentences, maps), [batch_of([s], [m]) for s, m in zip(sentences, maps, strict=True)]
        for predictor in predictors():
            expected = predictor.fit(apart).predict(apart)
            found = predictor.fit([together]).predict([together])
            assert all((a == b).all() for a, b in zip(found, expected, strict=True))
            assert predictor.score([together]) == predictor.score(apart)

    def test_scores_that_are_read_in_part_change_nothing_around(self, batches):
        probe = AttentionProbe().fit(batches)
        expected = AttentionProbe(random_state=1).fit(batches).coef_
        threads = torch.get_num_threads()
        torch.set_num_threads(2)
        scores = probe.scores(batches)
        next(scores)
        assert not torch.is_inference_mode_enabled()
        assert torch.get_num_threads() == 2
        assert (AttentionProbe(random_state=1).fit(batches).coef_ == expected).all()
        assert len(list(scores)) == len(batches) - 1
        torch.set_num_threads(threads)

    def test_argmax_and_tree_are_decoded_from_the_scores(self, batches):
        pytest.importorskip("ufal.chu_liu_edmonds")
        probe = AttentionProbe().fit(batches)
        for batch, scores in zip(batches, probe.scores(batches), strict=True):
            assert probe.predict([batch])[0].tolist() == [max(range(len(row)), key=row.__getitem__) for row in scores]
            heads = probe.predict([batch], "tree")[0]
            assert (heads == 0).sum() == 1
            assert (heads != np.arange(1, len(heads) + 1)).all()

    def test_maps_that_are_not_numbers(self, batches):
        broken = [replace(batches[0], maps=batches[0].maps * float("nan"))]
        with pytest.raises(TrainingError, match="'s0' is nan"):
            AttentionProbe().fit(broken)


def description(saved: Path) -> dict[str, Any]:
    """What ``probe.json`` says, without its seal."""
    return read_json(saved / "probe.json", ANYWHERE)


class TestBrokenFiles:
    @pytest.fixture
    def saved(self, tmp_path: Path) -> Path:
        AttentionProbe().fit(batches_of(1)).save(tmp_path / "probe")
        return tmp_path / "probe"

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"layers": 7}, "weights do not fit the description"),
            ({"recipe": {"epoch": 1}}, "damaged: TypeError"),
            ({"probe": "mlp"}, "unknown probe 'mlp'"),
        ],
    )
    def test_description_of_something_else(self, saved, changes, message):
        write_json(saved / "probe.json", description(saved) | changes, ANYWHERE)
        with pytest.raises(ValueError, match=message):
            load_probe(saved)

    def test_what_was_loaded_is_saved_the_same(self, saved, tmp_path):
        load_probe(str(saved)).save(str(tmp_path / "again"))
        for name in ("probe.json", "probe.safetensors"):
            assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()
