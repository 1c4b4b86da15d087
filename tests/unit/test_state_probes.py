"""Probes of hidden states: exact trees, planted labels, noise, naive scores, and trainings that go on."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch

from attentionology.corpora_loaders import CorpusError, Sentence, load_treebank
from attentionology.extractors import StateBatch
from attentionology.probes import (
    ArcAttentionProbe,
    ArcProbe,
    AttentionProbe,
    Checkpoint,
    DepthProbe,
    DistanceProbe,
    LabelProbe,
    Recipe,
    RelationProbe,
    SingleHead,
    StateRecipe,
    TrainingError,
    batch_from_array,
    control_labels,
    control_trees,
    decayed,
    labels,
    scored,
    tree_depths,
    tree_distances,
)
from attentionology.probes.states.annotation import cartesian_tree, kept_words
from attentionology.probes.states.codelength import in_order
from attentionology.probes.states.examples import Reading
from attentionology.probes.states.tree_scores import (
    Fraction,
    correlate_depths,
    correlate_distances,
    mean_by_length,
    minimum_edges,
    score_edges,
    score_root,
    spearman,
)

SENTENCES = load_treebank("sample").sentences[:24]
SHORT = StateRecipe(epochs=4, batch=5)


def batch_of(sentence: Sentence, states: np.ndarray, layer: int = 1) -> StateBatch:
    tensor = torch.from_numpy(np.asarray(states, dtype=np.float32))
    return StateBatch(tensor[None, None], torch.tensor([len(sentence)]), (layer,), (sentence,))


def module_of(probe) -> Any:
    """Return the module of a probe, whose parameters have names that only its class knows."""
    return probe.module_


def noise(sentences=SENTENCES, dim: int = 6, seed: int = 0) -> list[StateBatch]:
    rng = np.random.default_rng(seed)
    return [batch_of(sentence, rng.normal(size=(len(sentence), dim))) for sentence in sentences]


def path_states(sentence: Sentence, dim: int) -> np.ndarray:
    """Give each word the sum of the axes of the words on its path to the root, which has none."""
    states = np.zeros((len(sentence), dim))
    for word in range(len(sentence)):
        at = word
        while sentence.heads[at]:
            states[word, at] += 1
            at = (sentence.heads[at] or 0) - 1
    return states


def edges_by_search(heads) -> np.ndarray:
    """Count edges between words, breadth first, from each word."""
    n = len(heads)
    neighbors: dict[int, set[int]] = {word: set() for word in range(n)}
    for word, head in enumerate(heads):
        if head:
            neighbors[word].add(head - 1)
            neighbors[head - 1].add(word)
    found = np.full((n, n), -1)
    for start in range(n):
        found[start, start] = 0
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            for other in neighbors[here]:
                if found[start, other] < 0:
                    found[start, other] = found[start, here] + 1
                    waiting.append(other)
    return found


HEADS = [
    (2, 0, 2),
    (2, 3, 0, 3, 4),
    (0,),
    (0, 0, 1),  # two roots
    (None, 1, 0, 3),  # a word without a head, and one below it
    (None, None),
]


@pytest.mark.parametrize("heads", [*HEADS, *(sentence.heads for sentence in SENTENCES[:8])])
def test_distances_are_numbers_of_edges(heads):
    distances = edges_by_search(heads)
    np.testing.assert_array_equal(tree_distances(heads), distances)
    depths = []
    for word in range(len(heads)):
        roots = [distances[word, root] for root, head in enumerate(heads) if head == 0]
        depths.append(max(roots, default=-1))  # one root at most is in the tree of a word
    assert tree_depths(heads).tolist() == depths


@pytest.mark.parametrize("heads", [(1,), (2, 1), (2, 3, 4, 2), (3, 1, 0, 5, 4)])
def test_heads_that_form_a_cycle_are_refused(heads):
    with pytest.raises(ValueError, match="the heads form a cycle"):
        tree_distances(heads)


def test_the_control_tree_is_built_from_the_smallest_priority_down():
    def naive(priorities, first, last, head, heads):
        if first == last:
            return
        root = min(range(first, last), key=lambda word: (priorities[word], word))
        heads[root] = head
        naive(priorities, first, root, root + 1, heads)
        naive(priorities, root + 1, last, root + 1, heads)

    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 7, 20):
        priorities = rng.integers(0, 6, size=n).tolist()  # with ties
        heads = [0] * n
        naive(priorities, 0, n, 0, heads)
        assert cartesian_tree(priorities) == heads


def test_control_trees_depend_on_words_and_their_order_alone():
    sentence = Sentence(
        "s", ("The", "old", "dog", "the", "cat"), (3, 3, 0, None, 3), ("det", "amod", "root", "x", "obj")
    )
    [one] = control_trees([sentence], seed=5)
    [other] = control_trees(
        [Sentence("t", ("the", "OLD", "dog", "The", "cat"), (2, 0, 2, None, 2), sentence.relations)], 5
    )
    assert one.heads == other.heads
    assert one.heads[3] is None
    assert one.relations == sentence.relations
    seeds = {control_trees([sentence], seed)[0].heads for seed in range(20)}
    assert len(seeds) > 5


def test_control_labels_have_the_distribution_of_the_training_words():
    def gold(sentence):
        return labels(sentence, "upos")

    controlled = control_labels(gold, SENTENCES, seed=2)
    drawn: dict[str, str | None] = {}
    for sentence in SENTENCES:
        for word, label in zip(sentence.words, controlled(sentence), strict=True):
            assert drawn.setdefault(word.lower(), label) == label
    assert set(drawn.values()) <= {label for sentence in SENTENCES for label in gold(sentence)}
    shares = Counter(label for sentence in SENTENCES for label in gold(sentence))
    names = [f"w{number}" for number in range(3000)]
    many = Counter(controlled(Sentence("m", tuple(names), tags=("X",) * len(names))))
    for label, count in shares.most_common(5):
        expected = count / shares.total()
        assert abs(many[label] / 3000 - expected) < 4 * (expected * (1 - expected) / 3000) ** 0.5


def test_control_labels_of_pairs_depend_on_both_words():
    words = tuple(f"w{number}" for number in range(40))
    heads = (0, *[1] * 39)
    sentence = Sentence("s", words, heads, ("root", *[f"r{n % 7}" for n in range(39)]))
    moved = Sentence("t", ("other", *words[1:]), heads, sentence.relations)
    probe = RelationProbe()
    controlled = probe.control([sentence], 0)
    assert controlled(sentence)[0] is None
    same = [one == two for one, two in zip(controlled(sentence)[1:], controlled(moved)[1:], strict=True)]
    assert sum(same) < 20  # as the head word differs
    assert controlled(sentence) == probe.control([sentence], 0)(sentence)


def test_labels_are_those_of_the_columns():
    sentence = Sentence(
        "s",
        ("Dogs", "bark", "loudly", "!"),
        (2, 0, None, 2),
        ("nsubj:x", "root", "advmod", "punct"),
        tags=("NOUN", "VERB", "_", "PUNCT"),
        feats=("Number=Plur", "Number=Plur|Tense=Pres", "_", "_"),
    )
    assert labels(sentence, "upos") == ["NOUN", "VERB", None, "PUNCT"]
    assert labels(sentence, "relation") == ["nsubj:x", "root", None, None]
    assert labels(sentence, "relation:coarse") == ["nsubj", "root", None, None]
    assert labels(sentence, "feats:Number") == ["Plur", "Plur", None, None]
    with pytest.raises(CorpusError, match="the words have no xpos"):
        labels(sentence, "xpos")
    for key in ("pos", "feats", "feats:", "relation:fine"):
        with pytest.raises(ValueError, match="unknown label"):
            labels(sentence, key)
    assert kept_words(sentence).tolist() == [True, True, True, False]


@pytest.mark.parametrize("words", [1, 2, 7])
def test_decayed_states_are_means_of_neighbors_whose_weights_halve(words):
    states = torch.randn(words, 3, generator=torch.Generator().manual_seed(1))
    for place, row in enumerate(decayed(states).tolist()):
        weights = [0.5 ** abs(other - place) for other in range(words)]
        expected = [sum(map(float.__mul__, weights, of)) / sum(weights) for of in zip(*states.tolist(), strict=True)]
        assert row == pytest.approx(expected, abs=1e-6)


def test_the_smallest_tree_is_that_of_all_trees():
    rng = np.random.default_rng(1)
    pairs = list(itertools.combinations(range(5), 2))
    for _ in range(20):
        distances = rng.random((6, 6))
        distances = distances + distances.T
        kept = np.array([True, True, False, True, True, True])
        words = np.flatnonzero(kept)

        def connects(edges, words=words):
            reached = {int(words[0])}
            for _ in words:
                reached |= {b for a, b in edges if a in reached} | {a for a, b in edges if b in reached}
            return len(reached) == len(words)

        trees = (
            [(int(words[a]), int(words[b])) for a, b in edges]
            for edges in itertools.combinations(pairs, len(words) - 1)
        )
        smallest = min(filter(connects, trees), key=lambda edges: sum(distances[a, b] for a, b in edges))
        assert minimum_edges(distances, kept) == set(smallest)


def test_edges_past_punctuation_and_of_several_trees():
    # 1 → 2 → 3, of which 2 is punctuation: words 1 and 3 are linked in the gold tree of the others.
    gold = tree_distances((2, 3, 0))
    kept = np.array([True, False, True])
    assert score_edges(gold.astype(float), gold, kept) == Fraction(1, 1)
    two_trees = tree_distances((0, 1, 0, 3))
    assert score_edges(np.ones((4, 4)), two_trees, np.ones(4, dtype=bool)).of == 2
    assert score_edges(np.ones((1, 1)), np.zeros((1, 1), dtype=int), np.ones(1, dtype=bool)) == Fraction(0, 0)


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(3)
    gold = tree_distances((2, 3, 0, 3, 4, 3))
    predicted = rng.random((6, 6))
    expected = [scipy.stats.spearmanr(row, of_word).statistic for row, of_word in zip(predicted, gold, strict=True)]
    found, of = correlate_distances(predicted, gold)
    assert of == 6
    assert found == pytest.approx(sum(expected))
    assert correlate_distances(np.ones((6, 6)), gold) == Fraction(0.0, 0)  # constant rows are left out
    depths = tree_depths((2, 3, 0, 3, None, 5))
    of_known = scipy.stats.spearmanr(predicted[0, :4], depths[:4]).statistic
    assert correlate_depths(predicted[0], depths).found == pytest.approx(of_known)
    assert np.isnan(spearman(np.array([1.0]), np.array([1.0])))
    apart = tree_distances((0, 1, 0, 3, 3))
    rows = [(0, 1), (0, 1), (2, 3, 4), (2, 3, 4), (2, 3, 4)]
    known = [scipy.stats.spearmanr(predicted[i, list(c)], apart[i, list(c)]).statistic for i, c in enumerate(rows)]
    assert correlate_distances(predicted[:5, :5], apart).found == pytest.approx(sum(known))


def test_the_root_is_the_word_of_the_smallest_depth_without_punctuation():
    depths = tree_depths((2, 0, 2))
    kept = np.array([True, True, False])
    assert score_root(np.array([3.0, 2.0, 1.0]), depths, kept) == Fraction(1, 1)
    assert score_root(np.array([1.0, 2.0, 0.0]), depths, kept) == Fraction(0, 1)
    assert score_root(np.array([1.0, 2.0]), tree_depths((None, 1)), np.ones(2, dtype=bool)) == Fraction(0, 0)


def test_correlations_are_averaged_within_lengths_first():
    fractions = [Fraction(2.0, 4), Fraction(1.0, 1), Fraction(3.0, 4), Fraction(9.0, 9), Fraction(0.5, 1)]
    lengths = [5, 5, 7, 4, 51]
    assert mean_by_length(fractions, lengths) == pytest.approx((3 / 5 + 3 / 4) / 2)
    assert mean_by_length(fractions, lengths, np.array([0, 2, 0, 1, 1])) == 1.0
    assert np.isnan(mean_by_length(fractions[3:], lengths[3:]))


@pytest.mark.parametrize("is_rotated", [False, True])
def test_a_tree_that_is_in_the_states_is_found_exactly(is_rotated):
    dim = max(map(len, SENTENCES))
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(dim, dim)))
    states = [batch_of(s, path_states(s, dim) @ (rotation if is_rotated else np.eye(dim))) for s in SENTENCES]

    for base in (DistanceProbe, DepthProbe):

        class Exact(base):  # type: ignore[valid-type, misc]
            def make_module(self, dim):
                module = super().make_module(dim)
                module.weight.data = torch.eye(dim)
                return module

        probe = Exact(recipe=StateRecipe(epochs=1, learning_rate=1e-30)).fit(states)
        reading = Reading(states, (), probe.gold)
        with torch.no_grad():
            losses = [float(probe.losses(module_of(probe)(each), each)) for each in reading.in_order()]
        assert sum(losses) / len(SENTENCES) < 1e-5
        tree, correlation = (score.name for score in probe.metrics)
        outcomes = probe.outcomes(states)
        assert all(outcome[tree].found == outcome[tree].of for outcome in outcomes)
        rounded = [
            probe.outcome(predicted.round(3), probe.gold(s), s)[correlation]
            for predicted, s in zip(probe.predict(states), SENTENCES, strict=True)
        ]
        assert all(fraction.found == pytest.approx(fraction.of) for fraction in rounded)
        if not is_rotated:
            assert all(outcome[correlation].found == pytest.approx(outcome[correlation].of) for outcome in outcomes)


def test_distances_and_their_loss_are_those_of_the_definition():
    states = noise(SENTENCES[:7])
    probe = DistanceProbe(rank=3, recipe=StateRecipe(epochs=1, learning_rate=1e-30)).fit(states)
    weight = module_of(probe).weight.detach().double().numpy()
    assert np.abs(weight).max() <= 0.05
    total = 0.0
    for batch, predicted in zip(states, probe.predict(states), strict=True):
        h, s = batch.states[0, 0].double().numpy(), batch.sentences[0]
        expected = np.array([[(((a - b) @ weight) ** 2).sum() for b in h] for a in h])
        np.testing.assert_allclose(predicted, expected, atol=1e-5)
        total += np.abs(expected - edges_by_search(s.heads)).sum() / len(s) ** 2
    reading = Reading(states, (), probe.gold)
    with torch.no_grad():
        loss = sum(float(probe.losses(module_of(probe)(each), each)) for each in reading.in_order())
    assert loss == pytest.approx(total, rel=1e-5)


def test_scores_do_not_change_if_states_and_projection_are_rotated():
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))
    turn = torch.from_numpy(rotation).float()
    states = noise()
    turned = [batch_of(batch.sentences[0], (batch.states[0, 0] @ turn).numpy()) for batch in states]
    probe = DistanceProbe(rank=4, recipe=SHORT).fit(states)
    before = probe.outcomes(states)
    module_of(probe).weight.data = turn.T @ module_of(probe).weight.data
    for one, other in zip(before, probe.outcomes(turned), strict=True):
        assert one["uuas"] == other["uuas"]


@pytest.mark.parametrize("probe", [DistanceProbe, DepthProbe, LabelProbe, ArcProbe, RelationProbe])
def test_sentences_are_read_alike_alone_and_padded(probe):
    states = noise()
    fitted = probe(recipe=SHORT).fit(states)
    together = fitted.predict(states)
    for batch, predicted in zip(states, together, strict=True):
        [alone] = fitted.predict([batch])
        np.testing.assert_allclose(alone, predicted, atol=1e-5)
        assert alone.shape[0] == len(batch.sentences[0])


@pytest.mark.parametrize("probe", [DistanceProbe, DepthProbe, LabelProbe, ArcProbe, RelationProbe])
@pytest.mark.parametrize("stops_after", [1, 2, 3])
def test_a_training_that_is_interrupted_goes_on_with_the_same_bits(probe, stops_after, tmp_path):
    states, dev = noise(), noise(SENTENCES[:6], seed=3)
    whole = probe(recipe=SHORT).fit(states, dev)

    class StoppedError(Exception):
        pass

    def stop(state):
        if state.epoch > stops_after:
            raise StoppedError

    path = tmp_path / "folder" / "training.safetensors"
    path.parent.mkdir()
    with pytest.raises(StoppedError):
        probe(recipe=SHORT).fit(states, dev, report=stop, checkpoint=Checkpoint(path, every=0))
    checkpoint = Checkpoint(path, every=0)
    resumed = probe(recipe=SHORT).fit(states, dev, checkpoint=checkpoint)
    assert checkpoint.resumed
    assert resumed.history_ == whole.history_
    for name, tensor in module_of(whole).state_dict().items():
        assert torch.equal(tensor, module_of(resumed).state_dict()[name]), name


def test_the_best_epoch_is_kept_and_the_rate_falls():
    states, dev = noise(), noise(SENTENCES[:6], seed=3)  # from which nothing can be learned for others
    recipe = StateRecipe(epochs=40, batch=5, learning_rate=0.05, factor=0.5, better=0.001, patience=3)
    probe = LabelProbe(recipe=recipe).fit(states, dev)
    losses = [row["dev_loss"] for row in probe.history_]
    assert len(losses) < 40
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + 3
    rate, lowest = 0.05, float("inf")
    for row in probe.history_:
        assert row["rate"] == pytest.approx(rate)
        if row["dev_loss"] < lowest * (1 - 1e-4):
            lowest = row["dev_loss"]
        else:
            rate /= 2
    reading = Reading(dev, (), probe.gold)
    with torch.no_grad():
        loss = sum(float(probe.losses(module_of(probe)(each), each)) for each in reading.in_order()) / len(dev)
    assert loss == pytest.approx(losses[best])


def test_arcs_keep_the_epoch_that_finds_most_heads_of_dev_sentences():
    states, dev = noise(), noise(SENTENCES[:6], seed=3)
    recipe = replace(ArcProbe.usual, epochs=40, batch=5, learning_rate=0.05, patience=4)
    probe = ArcProbe(recipe=recipe).fit(states, dev)
    scores = [row["dev_score"] for row in probe.history_]
    best = int(np.argmax(scores))  # the first one
    assert len(scores) == best + 1 + 4 < 40
    assert best != int(np.argmin([row["dev_loss"] for row in probe.history_]))
    of = [probe.outcome(scores, probe.gold(batch.sentences[0]), batch.sentences[0])["uas"]
          for batch, scores in zip(dev, probe.predict(dev), strict=True)]  # fmt: skip
    assert scores[best] == pytest.approx(sum(one.found for one in of) / sum(one.of for one in of))
    by_loss = ArcProbe(recipe=replace(recipe, judge="loss")).fit(states, dev)
    assert all("dev_score" not in row for row in by_loss.history_)
    assert min(row["dev_loss"] for row in by_loss.history_) == by_loss.history_[-5]["dev_loss"]
    assert in_order(probe).judge == "loss"  # a code is as short as the loss is small
    with pytest.raises(ValueError, match='must be "loss" or "score"'):
        StateRecipe(judge="uas")  # type: ignore[arg-type]


def test_the_rate_is_that_of_the_scheduler_of_torch():
    from attentionology.probes.states.training import _rate

    losses = [5.0, 4.0, 4.1, 3.9999, 3.5, 3.5, 3.49999, 3.0]
    parameter = torch.nn.Parameter(torch.zeros(1))
    adam = torch.optim.Adam([parameter], 0.01)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(adam, factor=0.1, patience=0)
    history: list[dict[str, float]] = []
    for loss in losses:
        assert _rate(history, StateRecipe(learning_rate=0.01)) == pytest.approx(adam.param_groups[0]["lr"])
        scheduler.step(loss)
        history.append({"dev_loss": loss})


def test_states_are_read_in_units_of_the_training_words():
    states = noise()
    rows = np.concatenate([batch.states[0, 0].numpy() for batch in states]).astype(np.float64)
    constant = [
        batch_of(b.sentences[0], np.pad(b.states[0, 0].numpy(), ((0, 0), (0, 1)), constant_values=7)) for b in states
    ]
    module = module_of(LabelProbe(recipe=SHORT).fit(constant))
    np.testing.assert_allclose(module.mean[:6], rows.mean(0), atol=1e-6)
    np.testing.assert_allclose(module.scale[:6], rows.std(0), rtol=1e-5)
    assert float(module.mean[6]) == 7
    assert float(module.scale[6]) == 1


def test_a_planted_label_is_found_and_its_control_is_not():
    tags = sorted({tag for sentence in SENTENCES for tag in sentence.tags})
    vectors = np.random.default_rng(1).normal(size=(len(tags), 30)) * 3
    states = [batch_of(s, np.stack([vectors[tags.index(tag)] for tag in s.tags])) for s in SENTENCES]
    recipe = StateRecipe(epochs=30, batch=5, learning_rate=0.05)
    probe = LabelProbe(recipe=recipe).fit(states[:16], states[16:])
    outcomes = probe.outcomes(states[16:])
    seen = [tag in probe.classes_ for sentence in SENTENCES[16:] for tag in sentence.tags]
    assert sum(o["accuracy"].found for o in outcomes) == sum(seen) > 100
    control = probe.control([b.sentences[0] for b in states[:16]], 0)
    memorized = LabelProbe(recipe=recipe).fit(states[:16], states[16:], gold=control)
    found = memorized.outcomes(states[16:], gold=control)
    assert sum(o["accuracy"].found for o in found) < 0.5 * sum(o["accuracy"].of for o in found)


def test_a_label_that_training_has_not_seen_is_wrong():
    one = Sentence("a", ("x", "y"), (2, 0), ("det", "root"), tags=("DET", "NOUN"))
    other = Sentence("b", ("x", "z"), (2, 0), ("det", "root"), tags=("DET", "VERB"))
    states = [batch_of(one, np.eye(2)), batch_of(other, np.eye(2))]
    probe = LabelProbe(recipe=StateRecipe(epochs=30, learning_rate=0.1)).fit(states[:1])
    assert probe.classes_ == ("DET", "NOUN")
    assert probe.predict_labels(states) == [["DET", "NOUN"], ["DET", "NOUN"]]
    assert [o["accuracy"] for o in probe.outcomes(states)] == [Fraction(2, 2), Fraction(1, 2)]


def test_arcs_are_scored_as_defined_and_root_has_a_vector_of_its_own():
    states = noise(SENTENCES[:5])
    probe = ArcProbe(rank=4, recipe=SHORT).fit(states)
    m = {name: tensor.double().numpy() for name, tensor in module_of(probe).state_dict().items()}
    for batch, scores in zip(states, probe.predict(states), strict=True):
        h = (batch.states[0, 0].double().numpy() - m["mean"]) / m["scale"]
        candidates = [m["root"], *(row @ m["candidate"] + m["candidate_bias"] for row in h)]
        for word, row in enumerate(h):
            left = row @ m["dependent"] + m["dependent_bias"]
            expected = [left @ c + m["prior"] @ c for c in candidates]
            np.testing.assert_allclose(scores[word], expected, atol=1e-4)
    outcomes = probe.outcomes(states)
    for batch, heads, outcome in zip(states, probe.predict_heads(states), outcomes, strict=True):
        sentence = batch.sentences[0]
        right = [int(head) == gold for head, gold in zip(heads, sentence.heads, strict=True)]
        kept = scored(sentence)
        assert outcome["uas"] == Fraction(int(np.array(right)[kept].sum()), int(kept.sum()))


def test_arcs_and_attention_add_up_to_both_scores():
    rng = np.random.default_rng(0)
    states = noise(SENTENCES[:6])
    arrays = [rng.random((2, 3, len(s), len(s))).astype(np.float32) for s in SENTENCES[:6]]
    maps = [
        batch_from_array(s, array / array.sum(-1, keepdims=True)) for s, array in zip(SENTENCES, arrays, strict=False)
    ]
    both = ArcAttentionProbe(rank=4, recipe=SHORT).fit(states, maps=maps)
    attention = AttentionProbe(recipe=Recipe(epochs=1)).fit(maps)
    attention.scorer_.load_state_dict(module_of(both).attention.state_dict())
    arcs = ArcProbe(rank=4, recipe=SHORT).fit(states)
    weights = module_of(both).state_dict().items()
    module_of(arcs).load_state_dict({name: w for name, w in weights if not name.startswith("attention")})
    summed = [a + b for a, b in zip(arcs.predict(states), attention.scores(maps), strict=True)]
    for one, other in zip(both.predict(states, maps), summed, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    assert module_of(both).attention.weight.shape == (2, 6)
    with pytest.raises(ValueError, match="reads word maps"):
        ArcAttentionProbe(recipe=SHORT).fit(states)
    with pytest.raises(ValueError, match="states of 6 sentences and maps of 5"):
        ArcAttentionProbe(recipe=SHORT).fit(states, maps=maps[:5])


def test_relations_are_told_from_the_states_of_word_and_head():
    states = noise(SENTENCES[:5])
    probe = RelationProbe(recipe=SHORT).fit(states)
    weight, bias = (p.detach().double().numpy() for p in module_of(probe).layers[0].parameters())
    mean, scale = module_of(probe).mean.numpy(), module_of(probe).scale.numpy()
    for batch, scores in zip(states, probe.predict(states), strict=True):
        h = (batch.states[0, 0].double().numpy() - mean) / scale
        for word, head in enumerate(batch.sentences[0].heads):
            if head:
                np.testing.assert_allclose(
                    scores[word], weight @ np.concatenate([h[word], h[head - 1]]) + bias, atol=1e-4
                )
    gold = probe.gold(SENTENCES[0])
    for label, head, relation in zip(gold, SENTENCES[0].heads, SENTENCES[0].relations, strict=True):
        assert label == (relation if head and relation != "punct" else None)


def test_a_hidden_layer_finds_what_a_linear_probe_cannot():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, size=(40, 10, 2))
    sentences = [
        Sentence(f"s{i}", tuple(f"w{j}" for j in range(10)), tags=tuple("X" if a ^ b else "Y" for a, b in row))
        for i, row in enumerate(bits)
    ]
    states = [batch_of(s, row + 0.1 * rng.normal(size=row.shape)) for s, row in zip(sentences, bits, strict=True)]
    recipe = StateRecipe(epochs=60, batch=5, learning_rate=0.02)
    found = {}
    for hidden in (0, 16):
        outcomes = LabelProbe(hidden=hidden, recipe=recipe).fit(states[:30], states[30:]).outcomes(states[30:])
        found[hidden] = sum(o["accuracy"].found for o in outcomes) / 100
    assert found[16] > 0.95
    assert found[0] < 0.75


def test_what_cannot_be_learned_is_refused():
    blank = Sentence("s", ("a", "b"))
    with pytest.raises(TrainingError, match="no sentence to learn from"):
        DistanceProbe().fit([])
    with pytest.raises(TrainingError, match="no word has what the probe 'arcs' learns"):
        ArcProbe().fit([batch_of(blank, np.eye(2))])
    with pytest.raises(CorpusError, match="the words have no upos"):
        LabelProbe().fit([batch_of(blank, np.eye(2))])
    states = noise(SENTENCES[:3])
    layers = [StateBatch(b.states.repeat(1, 2, 1, 1), b.lengths, (1, 2), b.sentences) for b in states]
    with pytest.raises(ValueError, match="reads the states of one layer"):
        DistanceProbe().fit(layers)
    probe = DistanceProbe(recipe=SHORT).fit(states)
    with pytest.raises(ValueError, match="trained on states of 6 dimensions, these have 4"):
        probe.predict(noise(SENTENCES[:1], dim=4))
    with pytest.raises(ValueError, match="must be at least 1"):
        StateRecipe(patience=0)


def test_words_are_linked_by_the_largest_sigmoids_of_scores():
    rng = np.random.default_rng(4)
    pairs = list(itertools.combinations(range(4), 2))
    for _ in range(10):
        scores = np.round(rng.normal(size=(4, 4)) * 3) + rng.random((4, 4)) / 8
        scores[0, 1], scores[2, 3] = 1, -1  # which as distances would be −1 and 1
        sigmoid = 1 / (1 + np.exp(-scores))
        largest: list[tuple[int, int]] = []  # Kruskal's algorithm on the sigmoids, by sets of words
        trees = [{word} for word in range(4)]
        for one, other in sorted(pairs, key=lambda pair: -max(sigmoid[pair], sigmoid[pair[::-1]])):
            mine, others = (next(tree for tree in trees if word in tree) for word in (one, other))
            if mine is not others:
                trees = [tree for tree in trees if tree not in (mine, others)] + [mine | others]
                largest.append((one, other))
        predicted = DistanceProbe().of_links(scores)
        assert predicted is not None
        assert minimum_edges(predicted, np.ones(4, dtype=bool)) == {*largest}


def test_one_head_links_words_in_the_direction_of_more_attention():
    attention = np.array([[0.1, 0.7, 0.2], [0.3, 0.1, 0.1], [0.6, 0.9, 0.0]])
    distances = DistanceProbe().of_links(attention)
    assert distances is not None
    # The pairs (1, 2), (0, 1) and (0, 2) have .9, .7 and .6 in their stronger direction.
    assert minimum_edges(distances, np.ones(3, dtype=bool)) == {(1, 2), (0, 1)}
    assert DepthProbe().of_links(attention) is None  # type: ignore[func-returns-value]
    assert LabelProbe().of_links(attention) is None


def test_the_best_head_gives_the_attention_between_words():
    rng = np.random.default_rng(0)
    batches = [batch_from_array(s, rng.random((2, 3, len(s), len(s))).astype(np.float32)) for s in SENTENCES[:5]]
    head = SingleHead().fit(batches)
    _, layer, number = head.best_
    for batch, attention in zip(batches, head.attention(batches), strict=True):
        np.testing.assert_array_equal(attention, batch.maps[0, layer, number].numpy())
