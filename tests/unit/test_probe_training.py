import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from safetensors.torch import save

from attentionology.corpora_loaders import Sentence, WordVectors
from attentionology.probes import (
    PAPER,
    TUNED,
    AttentionProbe,
    AttentionWordsProbe,
    Checkpoint,
    Recipe,
    TrainingError,
    WordsDistancesProbe,
    load_probe,
)
from attentionology.probes.training import shuffle_blocks
from tests.damage import become_a_folder, flip_last_bit
from tests.maps import batch_of, random_corpus

VECTORS = WordVectors(
    np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32), {f"w{i}": i for i in range(12)}, sha256="abc"
)
TUNED_SHORT = replace(TUNED, epochs=6)


def told_by_one_head(seed=0, sentences=60, layers=2, heads=2):
    """Maps in which head 2 of layer 2 points from dependents to heads, and its [CLS] gets what points to the root."""
    texts, maps = random_corpus(seed, sentences, layers, heads)
    for sentence, array in zip(texts, maps, strict=True):
        array *= 0.3
        for i, head in enumerate(sentence.heads, start=1):
            array[1, 1, i, head or 0] = 1.0
    return [batch_of([text], [array]) for text, array in zip(texts, maps, strict=True)]


@pytest.fixture(scope="module")
def batches():
    return told_by_one_head()


@pytest.fixture(scope="module")
def fitted(batches):
    """A probe that learned from all batches."""
    return AttentionProbe().fit(batches)


def probes(recipe):
    return [
        AttentionProbe(recipe=recipe),
        AttentionWordsProbe(VECTORS, recipe=recipe),
        WordsDistancesProbe(VECTORS, hidden=8, recipe=recipe),
    ]


def weights(probe):
    return {name: parameter.detach().numpy() for name, parameter in probe.scorer_.named_parameters()}


class TestLearning:
    def test_finds_the_head_that_knows(self, batches):
        probe = AttentionProbe(recipe=Recipe(epochs=10, learning_rate=0.1)).fit(batches[:40])
        assert probe.score(batches[40:]) > 0.95
        assert probe.coef_[0, 1, 1] == probe.coef_.max()
        assert probe.history_[-1]["loss"] < probe.history_[0]["loss"] / 2

    def test_seed_decides(self, batches):
        one, same, other = (AttentionProbe(random_state=seed).fit(batches) for seed in (1, 1, 2))
        assert (one.coef_ == same.coef_).all()
        assert not (one.coef_ == other.coef_).any()

    def test_number_of_threads_does_not_matter(self, batches):
        threads = torch.get_num_threads()
        found = []
        for n in (1, 2):
            torch.set_num_threads(n)
            found.append(AttentionWordsProbe(VECTORS).fit(batches))
            assert torch.get_num_threads() == n
        torch.set_num_threads(threads)
        assert all((a == b).all() for a, b in zip(*(weights(probe).values() for probe in found), strict=True))

    def test_weight_decay_shrinks(self, batches):
        recipes = [Recipe(epochs=5, weight_decay=decay) for decay in (0.0, 50.0)]
        free, decayed = (np.abs(AttentionProbe(recipe=recipe).fit(batches).coef_).sum() for recipe in recipes)
        assert decayed < free / 5

    def test_words_without_a_head_teach_nothing(self):
        sentence = Sentence("s", ("a", "b"), (None, None), ("x", "y"))
        silent = batch_of([sentence], [np.ones((2, 2, 4, 4), dtype=np.float32)])
        known = told_by_one_head(sentences=3)
        assert (AttentionProbe().fit([*known, silent]).coef_ == AttentionProbe().fit(known).coef_).all()
        with pytest.raises(TrainingError, match="no word with a head"):
            AttentionProbe().fit([silent])


class TestEarlyStopping:
    def test_takes_the_best_epoch(self, batches):
        recipe = Recipe(epochs=30, learning_rate=0.3, shuffle=True, patience=2)
        probe = AttentionProbe(recipe=recipe).fit(batches[:20], batches[20:])
        scores = [row["dev_uas"] for row in probe.history_]
        best = scores.index(max(scores))
        assert len(scores) == min(30, best + 1 + 3)  # the third epoch without a better score is the last
        assert probe.score(batches[20:]) == max(scores)

    def test_order_is_new_in_every_epoch_and_complete(self):
        items = list(range(2500))
        first, second = (list(shuffle_blocks(items, (0, epoch))) for epoch in (0, 1))
        assert sorted(first) == items
        assert first != second
        assert first == list(shuffle_blocks(items, (0, 0)))
        stretches = [item // 1024 for item in first]
        assert sum(a != b for a, b in pairwise(stretches)) == 2  # one stretch after the other

    def test_patience_takes_dev_sentences_and_order_a_list(self, batches):
        with pytest.raises(ValueError, match="dev"):
            AttentionProbe(recipe=TUNED).fit(batches)
        with pytest.raises(ValueError, match="sequence"):
            AttentionProbe(recipe=Recipe(shuffle=True)).fit(iter(batches))
        with pytest.raises(ValueError, match="read again"):
            AttentionProbe(recipe=Recipe(epochs=2)).fit(iter(batches))


def interrupted(batches, folder):
    """The checkpoint of a training that was stopped."""

    def stop(state):
        if state.sentences == 30:
            raise KeyboardInterrupt

    saved = Checkpoint(folder / "one.safetensors", every=0.0)
    with pytest.raises(KeyboardInterrupt):
        AttentionProbe().fit(batches, report=stop, checkpoint=saved)
    return saved.path


class TestInterruption:
    @pytest.mark.slow
    @pytest.mark.parametrize("recipe", [PAPER, Recipe(epochs=3, weight_decay=0.01), TUNED_SHORT])
    @pytest.mark.parametrize("kind", range(3))
    def test_goes_on_to_the_same_weights(self, batches, tmp_path, recipe, kind):
        def fit(probe, **options):
            return probe.fit(batches[:40], batches[40:], **options)

        straight = fit(probes(recipe)[kind])
        saved = Checkpoint(tmp_path / "training" / "one.safetensors", every=0.0)
        steps = 0
        for stop in (17, 40, 71, 10**9):  # in the first epoch, at its end, in the second, never

            def report(state, stop=stop):
                nonlocal steps
                steps += 1
                if steps > stop:
                    raise KeyboardInterrupt

            resumed = probes(recipe)[kind]
            try:
                fit(resumed, report=report, checkpoint=saved)
            except KeyboardInterrupt:
                assert stop < 10**9
                with pytest.raises(AttributeError):
                    _ = resumed.scorer_
        assert resumed.history_ == straight.history_
        for name, value in weights(straight).items():
            assert (weights(resumed)[name] == value).all(), name
        again = fit(probes(recipe)[kind], checkpoint=saved, report=lambda _: pytest.fail("nothing is left to do"))
        assert all((weights(again)[name] == value).all() for name, value in weights(straight).items())

    @pytest.mark.parametrize("damage", [flip_last_bit, become_a_folder])
    def test_damaged_checkpoint_is_said_and_not_used(self, batches, fitted, tmp_path, damage):
        path = interrupted(batches, tmp_path)
        damage(path)
        saved = Checkpoint(path)
        assert (AttentionProbe().fit(batches, checkpoint=saved).coef_ == fitted.coef_).all()
        assert not saved.resumed
        [warning] = saved.cache_log.warnings()
        assert str(path) in warning

    def test_checkpoint_of_another_training_is_not_used(self, batches, tmp_path):
        path = interrupted(batches, tmp_path)
        path = path.rename(path.with_name("two.safetensors"))
        saved = Checkpoint(path)
        assert saved.load() is None
        assert [found.path for found in saved.cache_log.discarded] == [path]

    def test_whole_checkpoint_is_used_and_nothing_is_said(self, batches, fitted, tmp_path):
        """The training goes on with sentence 30, which had not been saved when it was stopped."""
        saved, told = Checkpoint(interrupted(batches, tmp_path)), []
        probe = AttentionProbe().fit(batches, checkpoint=saved, report=lambda state: told.append(state.sentences))
        assert (told[0], told[-1]) == (30, 60)
        assert (probe.coef_ == fitted.coef_).all()
        assert saved.resumed
        assert saved.cache_log.warnings() == []


class TestSaving:
    @pytest.mark.parametrize("kind", range(3))
    def test_comes_back_the_same(self, batches, tmp_path, kind):
        probe = probes(PAPER)[kind].fit(batches[:40])
        probe.save(tmp_path / "probe")
        loaded = load_probe(tmp_path / "probe", probe.vectors)
        assert type(loaded) is type(probe)
        assert loaded.history_ == probe.history_
        assert loaded.recipe == probe.recipe
        for own, other in zip(probe.scores(batches[40:]), loaded.scores(batches[40:]), strict=True):
            assert (own == other).all()
        described = json.loads((tmp_path / "probe" / "probe.json").read_text())
        assert described["parameters"] == sum(value.size for value in weights(probe).values())

    @pytest.mark.parametrize("damage", [flip_last_bit, become_a_folder])
    @pytest.mark.parametrize("name", ["probe.json", "probe.safetensors"])
    def test_damage_is_noticed(self, fitted, tmp_path, name, damage):
        fitted.save(tmp_path / "probe")
        damage(tmp_path / "probe" / name)
        with pytest.raises(
            (ValueError, IsADirectoryError), match=r"probe (is damaged|is not a saved probe)|Is a directory"
        ):
            load_probe(tmp_path / "probe")

    def test_probes_may_be_moved_but_not_mixed(self, batches, tmp_path):
        for n in (20, 40):
            AttentionProbe().fit(batches[:n]).save(tmp_path / str(n))
        moved = (tmp_path / "20").rename(tmp_path / "elsewhere")
        load_probe(moved)
        (tmp_path / "40" / "probe.safetensors").rename(moved / "probe.safetensors")
        with pytest.raises(ValueError, match=r"probe\.safetensors does not belong to probe\.json"):
            load_probe(moved)

    def test_probes_of_the_first_versions_are_read(self, fitted, tmp_path):
        fitted.save(tmp_path)
        described = json.loads((tmp_path / "probe.json").read_text())
        del described["seal"], described["weights"]
        (tmp_path / "probe.json").write_text(json.dumps(described))
        (tmp_path / "probe.safetensors").write_bytes(
            save({n: p.detach() for n, p in fitted.scorer_.named_parameters()})
        )
        loaded = load_probe(tmp_path)
        assert isinstance(loaded, AttentionProbe)
        assert (loaded.coef_ == fitted.coef_).all()

    def test_other_vectors_are_refused(self, batches, tmp_path):
        AttentionWordsProbe(VECTORS).fit(batches[:5]).save(tmp_path)
        with pytest.raises(ValueError, match="other vectors"):
            load_probe(tmp_path, replace(VECTORS, sha256="def"))
        with pytest.raises(ValueError, match="needs word vectors"):
            load_probe(tmp_path)

    def test_other_maps_are_refused(self, batches):
        probe = AttentionProbe().fit(batches[:5])
        with pytest.raises(ValueError, match="trained on maps 'weight'"):
            probe.score([replace(batches[0], kind="norm")])
        with pytest.raises(ValueError, match=r"\(2, 2\) layers and heads"):
            probe.score(told_by_one_head(sentences=2, heads=3))


def test_a_loss_that_explodes_is_an_error(batches):
    huge = [replace(batch, maps=batch.maps * 1e38) for batch in batches]
    with pytest.raises(TrainingError, match="lower learning rate"):
        AttentionProbe(recipe=Recipe(epochs=5, learning_rate=100.0)).fit(huge)
