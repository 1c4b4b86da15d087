"""The figure of one sentence: which sentence it is, its distances, and the arcs of both trees."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attentionology.analyses.probing.rows import StateTried
from attentionology.analyses.probing.trainings.state_folds import _example
from attentionology.analyses.probing.trainings.state_training import StateOutcome, shown_sentence
from attentionology.analyses.probing.tree_example import TreeExample, TreeExamples, tree_figure
from attentionology.corpora_loaders import Sentence
from attentionology.probes import DepthProbe, DistanceProbe

SENTENCE = Sentence("s1", ("Old", "$dogs$", "bark", "!"), (2, 3, 0, 3), ("amod", "nsubj", "root", "punct"))
PREDICTED = np.array([[0, 2, 1.5, 9], [2, 0, 0.5, 9], [1.5, 0.5, 0, 9], [9, 9, 9, 0]])
LOOKED = {
    "probe": "distance", "layer": 2, "words": list(SENTENCE.words), "heads": list(SENTENCE.heads),
    "kept": [True, True, True, False], "predicted": PREDICTED.tolist(),
}  # fmt: skip
NONE: Any = None


def found(**changes: Any) -> TreeExample | None:
    return TreeExamples().find(NONE, {**LOOKED, **changes}, {})


def test_the_sentence_does_not_depend_on_what_is_found():
    lengths = (3, 20, 12, 10, 10)
    sentences = [Sentence(f"s{n}", ("w",) * n, (0,) * n, ("root",) * n) for n in lengths]
    assert shown_sentence(sentences) == 2
    assert shown_sentence(sentences[3:]) == 0  # of equal ones the first


def test_arcs_are_the_edges_of_both_trees():
    example = found()
    assert example is not None
    figure = tree_figure(example, title="t")
    gold, predicted, of_gold, of_predicted, _ = figure.axes
    arcs = [
        {
            (round(float(x.min()), 6), round(float(x.max()), 6)): (line.get_linestyle(), line.get_color())
            for line in axes.lines
            for x in [np.asarray(line.get_xdata(), dtype=float)]
        }
        for axes in (gold, predicted)
    ]
    # The words 2 and 3 are linked in both trees; word 1 is linked to 2 in one and to 3 in the other. 4 is punctuation.
    assert [{*each} for each in arcs] == [{(0, 1), (1, 2)}, {(0, 2), (1, 2)}]
    assert arcs[0][1, 2] == arcs[1][1, 2]
    assert [arcs[0][0, 1][0], arcs[1][0, 2][0], arcs[0][1, 2][0]] == ["--", "--", "-"]
    assert np.asarray(gold.lines[0].get_ydata(), dtype=float).max() == pytest.approx(
        0.5
    )  # as high as it is wide to one side
    tree = [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]
    for axes, distances in ((of_gold, tree), (of_predicted, PREDICTED)):
        [cells] = axes.collections
        np.testing.assert_array_equal(np.asarray(cells.get_array()).reshape(4, 4), distances)
        assert cells.get_clim() == (0, 3)
        assert [label.get_text() for label in axes.get_xticklabels()] == list(SENTENCE.words)
    assert [axes.get_title(loc="left") for axes in (gold, predicted)] == ["gold", "predicted (distance, layer 2)"]
    [legend] = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"in both trees", "missed", "not in the gold tree"}


def test_words_of_other_trees_have_no_distance_and_long_sentences_no_figure():
    example = found(heads=[0, 3, 0, 3])
    assert example is not None
    gold = tree_figure(example, title="t").axes[2].collections[0].get_array()
    assert np.ma.getmaskarray(np.ma.asarray(gold)).reshape(4, 4).tolist() == [
        [False, True, True, True], *[[True, False, False, False]] * 3
    ]  # fmt: skip
    assert found(words=["w"] * 30) is not None
    assert found(words=["w"] * 31) is None
    assert TreeExamples().find(NONE, None, {}) is None


def test_distances_are_those_of_the_first_run_of_the_chosen_layer():
    def outcome(layer: int, source: str = "model") -> StateOutcome:
        column = StateTried("distance", layer, source, "gold", 1, "uuas", False, None)
        return StateOutcome((column,), np.zeros((1, 1, 2)), example=np.full((4, 4), float(layer)))

    states = SimpleNamespace(outcomes=[outcome(1), outcome(2)], chosen={"distance": 2}, example=1)
    lookup_context: Any = SimpleNamespace(
        trained=SimpleNamespace(states=states), inputs=SimpleNamespace(sentences=[None, SENTENCE])
    )
    lookups = TreeExamples().look(lookup_context)
    assert lookups == {**LOOKED, "predicted": [[2.0] * 4] * 4}
    assert TreeExamples().join([lookups, None]) == lookups
    states.outcomes = [StateOutcome(outcome(2).tried, np.zeros((1, 1, 2)))]  # of a probe without distances
    assert TreeExamples().look(lookup_context) is None


@pytest.mark.parametrize(
    ("changes", "tested", "probe", "kept"),
    [
        ({}, [4, 7], DistanceProbe, True), ({}, [4, 5], DistanceProbe, False), ({}, [4, 7], DepthProbe, False),
        ({"source": "random weights"}, [4, 7], DistanceProbe, False), ({"task": "trees"}, [4, 7], DistanceProbe, False),
        ({"run": 2}, [4, 7], DistanceProbe, False),
    ],
)  # fmt: skip
def test_the_example_is_kept_where_it_is_tested(changes, tested, probe, kept):
    setting: Any = SimpleNamespace(example=7)
    training: Any = SimpleNamespace(**{"source": "model", "task": "gold", "run": 1, **changes})
    other = Sentence("s0", ("Go",), (0,), ("root",))
    split: Any = SimpleNamespace(maps=SimpleNamespace(tested=tested), test=SimpleNamespace(sentences=[other, SENTENCE]))
    given = [np.zeros((1, 1)), PREDICTED] if probe is DistanceProbe else [np.zeros(1), np.zeros(4)]
    example = _example(probe(), setting, training, split, given)
    assert (example is PREDICTED) == kept
    assert (example is not None) == kept
