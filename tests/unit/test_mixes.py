"""Probes of a mix of layers: the mix against loops, what it learns, and what is said of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.analyses.contract import OptionError
from attentionology.analyses.probing.mixes import Mixes
from attentionology.analyses.probing.rows import MIX, StateTried
from attentionology.analyses.probing.state_options import StateProbeOptions
from attentionology.analyses.probing.state_scores import StateScores, contrast_rows, state_rows
from attentionology.analyses.probing.trainings.state_training import StateOutcome, _choose_layers
from attentionology.corpora_loaders import load_treebank
from attentionology.extractors import StateBatch
from attentionology.probes import (
    ArcAttentionProbe,
    ArcProbe,
    Checkpoint,
    DepthProbe,
    DistanceProbe,
    LabelProbe,
    LayerMix,
    RelationProbe,
    StateRecipe,
    batch_from_array,
    load_state_probe,
)
from tests.state_scores import counts_of, list_columns, random_fractions, sentences

SENTENCES = load_treebank("sample").sentences[:12]
SHORT = StateRecipe(epochs=3, batch=5)
PROBES = [ArcProbe, ArcAttentionProbe, DistanceProbe, DepthProbe, LabelProbe, RelationProbe]


def noise(layers: tuple[int, ...] = (0, 1, 2), seed: int = 0, planted: Any = None) -> list[StateBatch]:
    """Random states, the layer l of which is l + 1 times as long; what is planted is added to layer 1."""
    rng = np.random.default_rng(seed)
    batches = []
    for sentence in SENTENCES:
        states = rng.normal(size=(len(layers), len(sentence), 6)) * (np.array(layers)[:, None, None] + 1)
        if planted is not None:
            states[layers.index(1)] += [planted[tag] for tag in sentence.tags]
        tensor = torch.from_numpy(states.astype(np.float32))[None]
        batches.append(StateBatch(tensor, torch.tensor([len(sentence)]), layers, (sentence,)))
    return batches


MAPS = [
    batch_from_array(sentence, np.random.default_rng(len(sentence)).random((2, 2, len(sentence), len(sentence))))
    for sentence in SENTENCES
]


def mixed_by_hand(batch: StateBatch, mix: LayerMix) -> np.ndarray:
    """γ Σ_l softmax(s)_l h_l, word by word and number by number."""
    powers, gamma = [math.exp(s) for s in mix.s.tolist()], float(mix.gamma.detach())
    states = batch.states[0].double().tolist()
    return np.array([
        [
            gamma * sum(p / sum(powers) * layer[word][axis] for p, layer in zip(powers, states, strict=True))
            for axis in range(6)
        ]
        for word in range(len(states[0]))
    ])  # fmt: skip


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_of_a_mix_reads_the_mixed_states_also_when_it_is_saved_and_loaded(probe, tmp_path):
    states = noise()
    fitted = probe(recipe=SHORT).fit(states, noise(seed=1), mix=True, maps=MAPS, dev_maps=MAPS)
    mix = fitted.mix_
    assert len(set(mix.s.tolist())) == 3  # it has learned
    assert float(mix.gamma.detach()) != 1
    predicted = fitted.predict(states, MAPS)
    by_hand = [
        StateBatch(
            torch.from_numpy(mixed_by_hand(batch, mix).astype(np.float32))[None, None], batch.lengths, (0,),
            batch.sentences,
        )
        for batch in states
    ]  # fmt: skip
    alone = probe(recipe=SHORT).fit(by_hand, maps=MAPS)
    alone.module_ = fitted.module_
    for own, other in zip(predicted, alone.predict(by_hand, MAPS), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-3, atol=1e-4)
    assert fitted.n_parameters == alone.n_parameters + 4
    fitted.save(tmp_path / "probe")
    loaded = load_state_probe(tmp_path / "probe")
    for own, other in zip(predicted, loaded.predict(states, MAPS), strict=True):
        np.testing.assert_array_equal(own, other)
    assert loaded.mix_ is not None
    assert loaded.mix_.layers == (0, 1, 2)
    np.testing.assert_array_equal(loaded.mix_.norms, mix.norms)
    lengths = [
        np.mean([float(np.sqrt((row.double().numpy() ** 2).sum())) for b in states for row in b.states[0, layer]])
        for layer in range(3)
    ]
    np.testing.assert_allclose(mix.norms, lengths, rtol=1e-5)


def test_the_layer_that_has_the_labels_gets_most_of_the_weight():
    tags = {tag for sentence in SENTENCES for tag in sentence.tags}
    planted = dict(zip(sorted(tags), 12 * np.random.default_rng(5).normal(size=(len(tags), 6)), strict=True))
    probe = LabelProbe(recipe=StateRecipe(epochs=30, batch=5, learning_rate=0.02)).fit(noise(planted=planted), mix=True)
    assert probe.mix_ is not None
    assert probe.mix_.softmax.argmax() == 1
    assert probe.mix_.softmax[1] > 0.4


def test_a_training_of_a_mix_that_is_interrupted_goes_on_with_the_same_bits(tmp_path):
    states, dev = noise(), noise(seed=3)
    whole = DistanceProbe(recipe=SHORT).fit(states, dev, mix=True)

    class StoppedError(Exception):
        pass

    def stop(state):
        if state.epoch > 1:
            raise StoppedError

    path = tmp_path / "training.safetensors"
    with pytest.raises(StoppedError):
        DistanceProbe(recipe=SHORT).fit(states, dev, mix=True, report=stop, checkpoint=Checkpoint(path, every=0))
    checkpoint = Checkpoint(path, every=0)
    resumed = DistanceProbe(recipe=SHORT).fit(states, dev, mix=True, checkpoint=checkpoint)
    assert checkpoint.resumed
    for one, other in ((whole.mix_, resumed.mix_), (whole.module_, resumed.module_)):
        assert one is not None
        assert other is not None
        for name, tensor in one.state_dict().items():
            assert torch.equal(tensor, other.state_dict()[name]), name


def test_a_mix_of_other_layers_is_refused():
    with pytest.raises(ValueError, match=r"reads the states of one layer: .*; or a mix of several"):
        DepthProbe(recipe=SHORT).fit(noise())
    with pytest.raises(ValueError, match="a mix reads the states of several layers, and these are of one"):
        DepthProbe(recipe=SHORT).fit(noise((0,)), mix=True)
    probe = DepthProbe(recipe=SHORT).fit(noise(), mix=True)
    with pytest.raises(ValueError, match="trained on a mix of the layers 0, 1, 2, these are states of 1, 2, 3"):
        probe.predict(noise((1, 2, 3)))
    of_one_layer = probe.fit(noise((0,)))
    assert of_one_layer.mix_ is None  # that of the last training


@pytest.mark.parametrize(
    ("given", "chosen", "stored"),
    [
        (("all",), (0, 1, 2, 3), (0, 1, 2, 3)), (("mix",), (), (0, 1, 2, 3)),
        (("all,mix",), (0, 1, 2, 3), (0, 1, 2, 3)), (("2", "0", "mix"), (0, 2), (0, 1, 2, 3)), (("2",), (2,), (2,)),
    ],
)  # fmt: skip
def test_a_mix_needs_the_states_of_all_layers(given, chosen, stored):
    options = StateProbeOptions(layers=given)
    options.check()
    assert (options.chosen(3), options.stored(3)) == (chosen, stored)
    assert options.mixed == ("mix" in ",".join(given))


@pytest.mark.parametrize("given", [("all", "3"), ("all", "mix", "0"), ("mixed",), ()])
def test_other_combinations_of_layers_are_refused(given):
    with pytest.raises(OptionError, match="--layers must be"):
        StateProbeOptions(layers=given).check()


def test_a_mix_is_chosen_only_if_nothing_else_was_probed():
    def outcome(layer: int, dev: float) -> StateOutcome:
        return StateOutcome((StateTried("arcs", layer, "model", "gold", 1, "uas", False, dev),), np.zeros((1, 1, 2)))

    assert _choose_layers([outcome(MIX, 0.9), outcome(0, 0.2), outcome(1, 0.3)]) == {"arcs": 1}
    assert _choose_layers([outcome(MIX, 0.9)]) == {"arcs": MIX}


def test_a_mix_is_a_row_without_a_layer_and_is_compared_with_the_chosen_one():
    columns = list_columns("arcs", (0, 2, MIX))
    of = sentences(30)
    made = random_fractions(of, columns)
    scored = StateScores(counts_of(of, columns, made), made, columns)
    rows = list(state_rows(scored, {"arcs": 2}))
    assert [(row["layer"], row["source"]) for row in rows[:2]] == [(0, "model"), (2, "model")]
    assert rows[2]["source"] == "mix of layers"
    assert math.isnan(rows[2]["layer"])
    places = [c for c, t in enumerate(columns) if t.layer == MIX and (t.source, t.task) == ("model", "gold")]
    assert rows[2]["value"] == pytest.approx(made[:, places, 0].sum() / made[:, places, 1].sum())
    assert not math.isnan(rows[2]["over_random_low"])
    contrasts = [(row[1], row[2]) for row in contrast_rows(scored, {"arcs": 2})]
    assert (2, "mix of layers") in contrasts
    assert [second for layer, second in contrasts if math.isnan(layer)] == ["random weights"]
    assert [scored.row(c)["source"] for c in places] == ["mix of layers"] * 2


def test_shares_of_layers_count_how_long_their_states_are():
    # softmax(ln 3, 0) is 3/4 and 1/4; times the lengths 1 and 9, the shares are 1/4 and 3/4.
    learned = {"gamma": 2.0, "layers": [0, 1], "s": [math.log(3), 0.0], "norms": [1.0, 9.0]}
    lookups = [{"probe": "arcs", "run": 1, "fold": 1, **learned}]
    none: Any = None
    table = Mixes().find(none, lookups, {})
    assert table is not None
    assert table[["layer", "mean_norm", "gamma"]].to_numpy().tolist() == [[0, 1, 2], [1, 9, 2]]
    np.testing.assert_allclose(table["softmax_s"], [0.75, 0.25], rtol=1e-6)
    np.testing.assert_allclose(table["norm_weighted"], [0.25, 0.75], rtol=1e-6)
    assert Mixes().join([lookups, [*lookups]]) == lookups
    assert Mixes().join([lookups, [{**lookups[0], "gamma": 1.0}]]) is None
