"""Predicted trees beside gold trees: which sentences are shown, where they are from, and what is right in them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from attentionology.analyses.probing.analysis import Probing
from attentionology.analyses.probing.predicted_trees import PredictedTree, PredictedTrees, drawn_probes
from attentionology.analyses.probing.rows import MIX
from attentionology.analyses.probing.trainings.shown import shown_sentences
from attentionology.corpora_loaders import Sentence
from attentionology.engine.stored_run import load_run
from attentionology.reports.drawing import TEXT
from tests.approved_runs import RUNS

WORDS = ("Old", "dogs", "bark", "!", "Hm")
HEADS = (2, 3, 0, 3, None)
RELATIONS = ("amod", "nsubj", "root", "punct", "dep")
TREE = PredictedTree("attention", "s1", "fold 1 of 2 of a.conllu", "tree", WORDS, HEADS, RELATIONS, (2, 2, 0, 3, 1))
NONE: Any = None


def test_a_root_and_a_word_itself_have_no_arrow_and_can_be_right_or_wrong():
    assert TREE.right == (2, 3)  # neither punctuation nor a word without a head
    view = TREE.view()
    assert view.guesses == (1, None, None, 2, 0)  # the second word is predicted to be its own head
    assert view.gold == (1, 2, -1, 2, None)
    assert [view.is_right(row) for row in range(5)] == [True, False, False, True, None]
    assert view.heading == "attention: 2 of 3 heads are right · s1, fold 1 of 2 of a.conllu"


@pytest.mark.parametrize(
    ("tested", "source", "has_folds"),
    [([{0, 2}, {1}], "fold 2 of 2 of a.conllu", True), ([{0, 1, 2}], "the test sentences of a.conllu", False)],
)
def test_a_sentence_says_which_fold_it_is_from(tested, source, has_folds):
    sentence = Sentence("s1", WORDS, HEADS, RELATIONS, file="/data/a.conllu", line=3)
    outcome = SimpleNamespace(training=SimpleNamespace(method="attention"), shown={1: ("tree", [2, 2, 0, 3, 1])})
    untrained = SimpleNamespace(training=SimpleNamespace(method="attention, random weights"), shown={})
    lookup_context: Any = SimpleNamespace(
        inputs=SimpleNamespace(sentences=[NONE, sentence, NONE], splits=[SimpleNamespace(tested=s) for s in tested]),
        trained=SimpleNamespace(outcomes=[outcome, untrained], states=SimpleNamespace(outcomes=[])),
    )
    lookups = PredictedTrees().look(lookup_context)
    (tree,) = PredictedTrees().find(NONE, lookups, {}) or ()
    assert (tree.source, tree.words, tree.predicted) == (source, WORDS, (2, 2, 0, 3, 1))
    assert (tree.layer, tree.name) == (None, "attention")
    assert PredictedTrees().values((tree,), NONE)["has_folds"] == has_folds
    lookup_context.trained.outcomes = [untrained]
    assert PredictedTrees().look(lookup_context) is None
    assert PredictedTrees().find(NONE, None, {}) is None


def test_probes_of_states_are_drawn_with_their_layers_beside_one_of_attention():
    of_attention = [replace(TREE, probe=name) for name in ("attention", "attention+words")]
    of_states = [replace(TREE, probe=f"arcs{n}", layer=layer) for n, layer in enumerate((3, MIX, 0))]
    assert drawn_probes(of_attention) == ["attention", "attention+words"]
    assert drawn_probes(of_states) == ["arcs0 of layer 3", "arcs1 of the mix of layers"]
    values = PredictedTrees().values((*of_attention, *of_states), NONE)
    assert (values["tree_probes"], values["has_chosen_layers"]) == (["attention", "arcs0 of layer 3"], True)
    values = PredictedTrees().values((of_states[1],), NONE)
    assert (values["tree_probes"], values["has_chosen_layers"]) == (["arcs1 of the mix of layers"], False)


def test_sentences_are_chosen_by_their_ids_among_those_that_fit():
    sentences = [Sentence(f"s{n}", ("word",) * (3 + n), (0,) * (3 + n), ("root",) * (3 + n)) for n in range(30)]
    shown = shown_sentences(sentences)
    assert len(shown) == 3
    assert min(shown) >= 2  # words are at least five
    again = shown_sentences(sentences[::-1])
    assert {sentences[number].id for number in shown} == {sentences[::-1][number].id for number in again}
    assert shown_sentences(sentences[29:]) == ()


@pytest.mark.parametrize(
    ("name", "probes", "drawn"),
    [
        ("probe", ["attention"], ["attention"]),
        ("states", ["attention", "arcs", "arcs+attention"], ["attention", "arcs of layer 3"]),
    ],
)
def test_the_heads_of_a_stored_run_are_those_that_its_table_counts(name, probes, drawn):
    """The drawing fits into a page, and has as many right heads as the first run of its way of decoding."""
    run = load_run(RUNS / name)
    (part,) = run.parts
    counts = Probing().counts(run.options, part.counts)
    trees = part.results.answers["predicted_trees"]
    assert [tree.probe for tree in trees] == [probe for probe in probes for _ in range(3)]
    of_sentence = {sentence.id: number for number, sentence in enumerate(counts.sentences)}
    for tree in trees:
        first = next(
            each for each in counts.attempts if (each.method, each.decoding, each.run) == (tree.probe, "tree", 1)
        )
        assert tree.decoding == "tree"
        own = counts.words.scored & (counts.words.sentence == of_sentence[tree.sentence])
        assert tree.right == (int(first.right[own].sum()), int(own.sum()))
    figure = PredictedTrees().draw(trees, part.results, "t")["probe_sentences"]
    assert figure.get_figwidth() <= TEXT
    assert len(figure.axes) == 3 * len(drawn)
    assert drawn_probes(trees) == drawn
