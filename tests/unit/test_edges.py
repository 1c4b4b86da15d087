"""Which edges and heads are found, against loops over sentences, and the trees of what links words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attentionology.analyses.contract import OptionSet
from attentionology.analyses.counting.resampling import poisson_weights
from attentionology.analyses.probing.edges import Arcs, Edges
from attentionology.analyses.probing.rows import STATES, Attempt, StateCounts, Tested, TestedSentence
from attentionology.analyses.probing.state_options import StateProbeOptions
from attentionology.analyses.probing.trainings.state_training import _Trainer
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Sentence
from tests.probing_results import counts_of_attempts

REPLICATES = 40


def made(number: int) -> list[Sentence]:
    """Random trees with punctuation, several roots and words without a head."""
    rng = np.random.default_rng(3)
    sentences = []
    for index in range(number):
        n = int(rng.integers(2, 12))
        order = rng.permutation(n).tolist()  # each word depends on one before it in this order
        heads: list[int | None] = [0] * n
        for place, word in enumerate(order[1:], start=1):
            heads[word] = None if rng.random() < 0.1 else order[int(rng.integers(0, place))] + 1
        heads[order[-1]] = 0 if rng.random() < 0.2 else heads[order[-1]]
        names = rng.choice(["nsubj", "obl:tmod", "punct"], n, p=[0.5, 0.25, 0.25]).tolist()
        relations = tuple("root" if head == 0 else name for head, name in zip(heads, names, strict=True))
        sentences.append(Sentence(f"s{index}", ("w",) * n, tuple(heads), relations))
    return sentences


def distance(heads: Any, one: int, other: int) -> int | None:
    """The number of edges between two words, by walking from word to word; None if there is no path."""
    reached, steps = {one}, 0
    while other not in reached:
        linked = {head - 1 for word, head in enumerate(heads) if head and word in reached}
        linked |= {word for word, head in enumerate(heads) if head and head - 1 in reached}
        if linked <= reached:
            return None
        reached, steps = reached | linked, steps + 1
    return steps


def naive_edges(sentence: Sentence) -> list[tuple[int, int]]:
    """Join the nearest words that are not joined yet, row by row."""
    words = [word for word, name in enumerate(sentence.relations) if name != "punct"]
    pairs = [(distance(sentence.heads, a, b), a, b) for a in words for b in words if a < b]
    group = {word: word for word in words}
    edges = []
    for _, a, b in sorted((d, a, b) for d, a, b in pairs if d is not None):
        if group[a] != group[b]:
            group = {word: group[a] if of == group[b] else of for word, of in group.items()}
            edges.append((a, b))
    return sorted(edges)


def naive_groups(sentence: Sentence, edge: tuple[int, int]) -> set[tuple[str, str]]:
    a, b = edge
    length = "1" if b - a == 1 else "2" if b - a == 2 else "3-5" if b - a <= 5 else "6+"
    side, relation = "through punctuation", "through punctuation"
    if sentence.heads[a] == b + 1:
        side, relation = "head on the right", sentence.relations[a]
    if sentence.heads[b] == a + 1:
        side, relation = "head on the left", sentence.relations[b]
    between = all(sentence.relations[word] == "punct" for word in range(a + 1, b))
    chain = "in the chain" if between else "not in the chain"
    return {("all", "all"), ("length", length), ("direction", side), ("chain", chain), ("relation", relation)}


def test_groups_and_scores_of_edges_are_those_of_loops():
    sentences = made(60)
    arcs = Arcs.of_trees([TestedSentence(each.id, each.heads, each.relations) for each in sentences])
    every = [(index, edge) for index, sentence in enumerate(sentences) for edge in naive_edges(sentence)]
    assert arcs.sentence.tolist() == [index for index, _ in every]
    names = {(by, name) for by, name, _ in arcs.groups}
    assert {("direction", "through punctuation"), ("length", "6+"), ("relation", "obl:tmod")} < names
    found = np.random.default_rng(0).random((2, len(every))) < 0.6
    weights = poisson_weights([sentence.id for sentence in sentences], REPLICATES, 0).astype(float)
    rows = list(arcs.scores(found, weights))
    assert {(row["by"], row["group"]) for row in rows} == names
    for row in rows:
        in_group = [
            (index, number) for number, (index, edge) in enumerate(every)
            if (row["by"], row["group"]) in naive_groups(sentences[index], edge)
        ]  # fmt: skip
        assert row["total"] == len(in_group) > 0
        assert row["found"] == sum(int(found[run, number]) for run in (0, 1) for _, number in in_group)
        assert row["share"] == pytest.approx(row["found"] / (2 * row["total"]))
        scores = []
        for drawn in weights:
            of = sum(drawn[index] for index, _ in in_group)
            right = sum(drawn[index] * found[:, number].mean() for index, number in in_group)
            scores += [right / of] if of else []
        bounds = np.quantile(scores, [0.025, 0.975])
        assert [row["share_low"], row["share_high"]] == pytest.approx(bounds.tolist())
    by_relation = [row for row in rows if row["by"] == "relation"]
    assert sum(row["total"] for row in by_relation) == len(every)
    assert by_relation[-1]["group"] == "through punctuation"


def counts_of(sentences: list[Sentence], edges: list[np.ndarray], attempts: list[Attempt]) -> Tested:
    given: Any = counts_of_attempts(sentences, attempts, replicates=REPLICATES)
    metric = StateCounts(1)
    metric.update(np.zeros((len(sentences), 1, 2)), edges)
    given.metrics[STATES] = metric
    return Tested(OptionSet([CountOptions()]), given)


def test_heads_on_either_side_and_runs_of_one_source_are_counted_together():
    sentences = made(30)
    every = sum(len(naive_edges(sentence)) for sentence in sentences)
    words = sum(map(len, sentences))
    right = np.random.default_rng(1).random(words) < 0.5
    edges = [np.ones(every, dtype=bool), np.zeros(every, dtype=bool), np.ones(every, dtype=bool)]
    counts = counts_of(sentences, edges, [Attempt("arcs, random weights", "dependencies", "argmax", 1, right)])
    tried = [["distance", 3, "model"], ["distance", 3, "model"], ["distance", -1, "chain"]]
    answer = Edges().find(counts, {"tried": tried, "chosen": {"distance": 3, "arcs": 2}}, {})
    assert answer is not None
    table = answer.edges
    whole = table[(table["score"] == "uuas") & (table["by"] == "all")]
    assert whole[["source", "runs", "share"]].to_numpy().tolist() == [["model", 2, 0.5], ["chain", 1, 1.0]]
    assert whole["layer"].tolist()[0] == 3
    assert np.isnan(whole["layer"].tolist()[1])
    of_heads = table[table["score"] == "uas"].set_index("group")
    flat = [
        (head, word, name) for sentence in sentences
        for word, (head, name) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1)
    ]  # fmt: skip
    for name, belongs in (
        ("all", lambda head, word: True), ("head on the left", lambda head, word: head < word),
        ("head on the right", lambda head, word: head > word),
    ):  # fmt: skip
        numbers = [n for n, (head, word, of) in enumerate(flat) if head and of != "punct" and belongs(head, word)]
        assert of_heads.loc[name, "total"] == len(numbers)
        assert of_heads.loc[name, "found"] == right[numbers].sum()
    assert set(of_heads["layer"]) == {2}


def test_edges_of_another_corpus_are_an_error():
    counts = counts_of(made(5), [np.ones(2, dtype=bool)], [Attempt("a", "dependencies", "argmax", 1, RIGHT)])
    with pytest.raises(ValueError, match="2 edges were counted, and the trees have"):
        Edges().find(counts, {"tried": [["distance", 0, "model"]], "chosen": {}}, {})


RIGHT = np.ones(sum(map(len, made(5))), dtype=bool)


def test_links_are_scored_like_the_probe_in_every_run_and_fold():
    sentences = [sentence for sentence in made(20) if len(naive_edges(sentence)) > 1][:6]
    rng = np.random.default_rng(2)
    runs = [[rng.normal(size=(len(s), len(s))) for s in sentences] for _ in range(2)]
    folds = ([0, 2, 4], [1, 3, 5])
    splits: Any = [
        SimpleNamespace(
            train=SimpleNamespace(sentences=[sentences[n] for n in folds[1 - number]]),
            test=SimpleNamespace(sentences=[sentences[n] for n in tested]),
            maps=SimpleNamespace(tested=tested),
        )
        for number, tested in enumerate(folds)
    ]
    options: Any = SimpleNamespace(states=StateProbeOptions())
    trainer = _Trainer(options, SimpleNamespace(sentences=sentences), SimpleNamespace())  # type: ignore[arg-type]
    links = {"attention": [[[run[n] for n in tested] for tested in folds] for run in runs]}
    outcomes = list(trainer.floors(["distance", "depth"], splits, links))
    said = [(each.tried[0].probe, each.tried[0].source, each.tried[0].run, each.edges is None) for each in outcomes]
    assert said == [
        ("distance", "chain", 1, False), ("distance", "attention", 1, False), ("distance", "attention", 2, False),
        ("depth", "depth by place", 1, True),
    ]  # fmt: skip
    for outcome, run in zip(outcomes[1:3], runs, strict=True):
        found = []
        for number, (sentence, scores) in enumerate(zip(sentences, run, strict=True)):
            words = [word for word, name in enumerate(sentence.relations) if name != "punct"]
            pairs = sorted((-max(scores[a, b], scores[b, a]), a, b) for a in words for b in words if a < b)
            group, tree = {word: word for word in words}, []
            for _, a, b in pairs:
                if group[a] != group[b]:
                    group = {word: group[a] if of == group[b] else of for word, of in group.items()}
                    tree.append((a, b))
            right = [edge in tree for edge in naive_edges(sentence)]
            assert outcome.fractions[number, 0].tolist() == [sum(right), len(right)]
            found += right
        assert outcome.edges is not None
        assert outcome.edges.tolist() == found
