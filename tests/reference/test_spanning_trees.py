"""Trees of maps against an enumeration of all trees, and what is said of them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import attentionology
from attentionology.analyses.contract import OptionError
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.options import DependencyOptions
from attentionology.analyses.dependency.rows import read_values
from attentionology.analyses.dependency.spanning import (
    right_words,
    shown_trees,
    spanning_trees,
    tree_counts,
    tree_findings,
    unite_ensembles,
)
from attentionology.analyses.shared.options import CountOptions, EnsembleOptions
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.reports.format import rows_of
from tests import tiny
from tests.dependency import dependency_section, explored_dependency
from tests.maps import batch_of
from tests.reference.naive import around_choices
from tests.shown_tables import as_shown, distinct_table, in_latex, on_page, with_unit

WAYS = ("dep->head", "head->dep", "both")
SHAPE = (2, 2, 3)
TOGETHER = [(0, 5), *((k % 12, (k + 3) % 12) for k in range(18)), (), (7,)]
"""An ensemble for all sentences, then one for each half of each split, one of which is empty."""


def sentence(rng, name):
    """A sentence with one root."""
    n = int(rng.integers(1, 6))
    root = int(rng.integers(n)) + 1
    heads = [0 if i == root else int(rng.choice([h for h in range(1, n + 1) if h != i])) for i in range(1, n + 1)]
    relations = ["root" if head == 0 else str(rng.choice(["det", "obj", "punct"])) for head in heads]
    return Sentence(name, tuple(f"w{i}" for i in range(n)), tuple(heads), tuple(relations))


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(3)
    texts = [sentence(rng, f"s{i}") for i in range(44)]
    texts.insert(5, Sentence("two roots", ("a", "b", "c"), (0, 0, 2), ("root", "root", "det")))
    texts.insert(6, Sentence("unknown", ("a", "b", "c"), (0, None, 2), ("root", "_", "det")))
    return texts, [rng.random((2, 2, len(text) + 2, len(text) + 2), dtype=np.float32) for text in texts]


def maps_of(word_map):
    """The maps of all heads as they are read: by rows, by columns, and as the sum of both."""
    for layer, head in itertools.product(range(2), range(2)):
        inner = word_map[layer, head, 1:-1, 1:-1].astype(np.float64)
        yield from ((layer, head, way, each) for way, each in zip(WAYS, (inner, inner.T, inner + inner.T), strict=True))


def best_tree(scores, root):
    """The best of all trees with this root: the head of each word from 1, 0 for the root."""
    n = len(scores)
    choices = [[-1] if i == root else [h for h in range(n) if h != i] for i in range(n)]

    def reaches_root(heads, word):
        for _ in range(n):
            word = root if word == root else heads[word]
        return word == root

    trees = [heads for heads in itertools.product(*choices) if all(reaches_root(heads, i) for i in range(n))]
    assert len(trees) == (n ** (n - 2) if n > 1 else 1)  # Cayley
    best = max(trees, key=lambda heads: sum(scores[i][h] for i, h in enumerate(heads) if i != root))
    return [head + 1 for head in best]


def scores_of(text, heads):
    """The right words, with and without directions, and the scored words."""
    links = {frozenset((word, head)) for word, head in enumerate(heads, start=1) if head}
    scored = [
        (word, head)
        for word, (head, relation) in enumerate(zip(text.heads, text.relations, strict=True), start=1)
        if head and relation != "punct"
    ]
    directed = sum(heads[word - 1] == head for word, head in scored)
    return directed, sum(frozenset((word, head)) in links for word, head in scored), len(scored)


@pytest.fixture(scope="module")
def made(corpus):
    pytest.importorskip("ufal.chu_liu_edmonds")
    batches = [batch_of(*(part[rows] for part in corpus)) for rows in (slice(4), slice(4, None))]
    read = read_values([[(range(len(batch)), batch)] for batch in batches], str, 3)
    return spanning_trees(tree_counts(read, SHAPE, TOGETHER, 100, 0, divided=False))


@pytest.fixture(scope="module")
def naive(corpus):
    """The sentences that are trees, each with the scores of all heads, of the ensembles and of both chains."""
    rows = []
    for text, word_map in zip(*corpus, strict=True):
        # A sentence of one word has no word that could be scored.
        if len(text) == 1 or text.id in ("two roots", "unknown"):
            continue
        root, n = text.heads.index(0), len(text)
        maps = list(maps_of(word_map))
        by_head = [scores_of(text, best_tree(each, root)) for *_, each in maps]
        means = [np.mean([maps[head][3] for head in heads], axis=0) if heads else None for heads in TOGETHER]
        together = [None if mean is None else scores_of(text, best_tree(mean, root)) for mean in means]
        chains = [
            scores_of(text, [*range(2, n + 1), 0]),
            scores_of(text, [0, *range(1, n)]),
        ]
        rows.append((text.id, by_head, together, chains))
    return rows


def test_scores_of_all_heads_are_those_of_the_best_of_all_trees(made, naive):
    assert (made.sentences, made.left_out) == (len(naive), 2)
    ways = [(layer, head, way) for layer, head in itertools.product((1, 2), (1, 2)) for way in WAYS]
    for index, (layer, head, way) in enumerate(ways):
        [row] = made.heads.query(f"layer == {layer} and head == {head} and direction == '{way}'").to_dict("records")
        directed, undirected, total = np.sum([by_head[index] for _, by_head, *_ in naive], axis=0)
        assert (row["correct"], row["undirected_correct"], row["total"]) == (directed, undirected, total)
        assert (row["uas"], row["uuas"]) == (directed / total, undirected / total)
    assert len(made.heads) == len(ways)


@pytest.mark.parametrize("score", [0, 1])
def test_best_head_and_ensemble_are_chosen_on_the_other_half(made, naive, score):
    of_head, of_ensemble = made.best[made.best["score"] == ("UAS", "UUAS")[score]].to_dict("records")
    ids = [name for name, *_ in naive]
    first = halves(ids, 10, 0)
    hits = np.array([[each[score] for each in by_head] for _, by_head, *_ in naive])
    words = np.array([by_head[0][2] for _, by_head, *_ in naive])
    chains = np.array([[each[score] for each in of_chains] for *_, of_chains in naive])
    whole = 11 - hits.sum(0)[::-1].argmax()  # the last of equals
    layer, head, way = np.unravel_index(whole, SHAPE)
    assert of_head["heads"] == f"{layer + 1}-{head + 1}{('', '←', '↔')[way]}"
    assert (of_head["correct"], of_head["total"]) == (hits.sum(0).max(), words.sum())
    right = together = scored = together_scored = single = 0
    shares = []
    gains = np.zeros((3, len(ids)))
    weights = np.zeros(len(ids))
    of_choices: list[list[float]] = [[], [], []]  # chains and head: the gain of each choice in all sentences
    of_splits: list[list[float]] = [[], [], []]
    for split in range(10):
        of_split = [0, 0]
        before = gains.sum(1)
        for half, choosing in enumerate((first[split], ~first[split])):
            others = ~choosing
            chosen = 11 - hits[choosing].sum(0)[::-1].argmax()
            right += hits[others, chosen].sum()
            scored += words[others].sum()
            number = 1 + 2 * split + half
            if not TOGETHER[number]:
                continue
            found = np.array([each[number][score] for _, _, each, _ in naive])
            together += found[others].sum()
            single += hits[others, chosen].sum()
            together_scored += words[others].sum()
            of_split = [of_split[0] + found[others].sum(), of_split[1] + words[others].sum()]
            weights += words * others
            compared = (chains[:, 0], chains[:, 1], hits[:, chosen])
            for gain, other, in_all in zip(gains, compared, of_choices, strict=True):
                gain += (found - other) * others
                in_all.append((found - other).sum() / words.sum())
        if of_split[1]:
            shares.append(of_split[0] / of_split[1])
            for of_one, gain in zip(of_splits, gains.sum(1) - before, strict=True):
                of_one.append(gain / of_split[1])
    assert (of_head["heldout_correct"], of_head["heldout_total"]) == (right, scored)
    assert (of_ensemble["heldout_correct"], of_ensemble["heldout_total"]) == (together, together_scored)
    assert (of_ensemble["heldout_min"], of_ensemble["heldout_max"]) == pytest.approx((min(shares), max(shares)))
    assert of_ensemble["heads"] == "1-1 + 1-2↔"
    assert of_ensemble["correct"] == sum(each[0][score] for _, _, each, _ in naive)
    for index, chain in enumerate(("next", "previous")):
        accuracy = chains[:, index].sum() / words.sum()
        assert of_head[f"{chain}_accuracy"] == of_ensemble[f"{chain}_accuracy"] == pytest.approx(accuracy)
        assert of_head[f"{chain}_gain"] == pytest.approx(right / scored - accuracy)
        assert of_head[f"{chain}_gain_low"] <= of_head[f"{chain}_gain"] <= of_head[f"{chain}_gain_high"]
    assert of_ensemble["head_gain"] == pytest.approx((together - single) / together_scored)
    assert np.isnan(of_head["head_gain"])
    draws = poisson_weights(ids, 100, 0).astype(float)
    drawn = draws @ hits[:, whole] / (draws @ words)
    assert (of_head["accuracy_low"], of_head["accuracy_high"]) == pytest.approx(
        tuple(np.quantile(drawn, [0.025, 0.975]))
    )
    for name, gain, choices, splits in zip(("next", "previous", "head"), gains, of_choices, of_splits, strict=True):
        drawn = (draws @ gain / (draws @ weights)).tolist()
        ends = around_choices(of_ensemble[f"{name}_gain"], drawn, choices, splits)
        assert (of_ensemble[f"{name}_gain_low"], of_ensemble[f"{name}_gain_high"]) == pytest.approx(ends)


def test_few_sentences_give_no_interval_of_an_ensemble(corpus):
    pytest.importorskip("ufal.chu_liu_edmonds")
    read = read_values([[(range(19), batch_of(*(part[:19] for part in corpus)))]], str, 3)
    best = spanning_trees(tree_counts(read, SHAPE, TOGETHER, 100, 0, divided=False)).best.set_index(["score", "maps"])
    of_ensemble: Any = best.loc[("UAS", "ensemble")]
    assert of_ensemble[["next_gain", "previous_gain", "head_gain"]].notna().all()
    bounds = [f"{name}_gain_{end}" for name in ("next", "previous", "head") for end in ("low", "high")]
    assert of_ensemble[bounds].isna().all()


def test_without_directions_both_chains_are_the_neighbors():
    heads, number, gold = np.array([1, 2, 3, 4]), np.array([0, 1, 3]), np.array([1, 2, 2])  # a b ROOT c
    assert right_words(heads, number, gold).tolist() == [[True, True, False], [True, True, True]]


def test_the_heads_of_all_relations_are_united():
    assert unite_ensembles([[(3, 1), (), (2,)], [(1, 4), (5,), (2,)]]) == [(1, 3, 4), (5,), (2,)]
    assert unite_ensembles([]) == []


def test_the_table_says_what_the_csv_file_says(made):
    best = distinct_table(made.best)
    shown = shown_trees(made._replace(best=best))
    expected = [
        {
            "score": row["score"],
            "maps": row["maps"],
            "heads": row["heads"],
            "n": str(row["total"]),
            "accuracy %": as_shown(row, "accuracy accuracy_low accuracy_high"),
            "held-out %": as_shown(row, "heldout_accuracy heldout_min heldout_max"),
            "next word %": as_shown(row, "next_accuracy"),
            "gain over next word": as_shown(row, "next_gain next_gain_low next_gain_high", "+"),
            "word before %": as_shown(row, "previous_accuracy"),
            "gain over word before": as_shown(row, "previous_gain previous_gain_low previous_gain_high", "+"),
            "gain over best head": as_shown(row, "head_gain head_gain_low head_gain_high", "+"),
        }
        for row in rows_of(best)
    ]
    assert len(expected) == 4
    eight = " + ".join(["1-1"] * 8)
    for heads, named in ((eight, eight), (f"{eight} + 1-1", "9 heads")):
        rows = [{**row, "heads": heads} for row in shown.rows]
        assert {cells["heads"] for cells in on_page(replace(shown, rows=rows))} == {named}
    assert on_page(shown) == expected
    assert in_latex(shown) == expected


def test_the_finding_says_better_only_with_both_whole_intervals(made):
    gains = {"heldout_accuracy": 0.5, "next_accuracy": 0.3, "previous_accuracy": 0.2, "next_gain": 0.2,
             "next_gain_low": 0.01, "next_gain_high": 0.3, "previous_gain": 0.3, "previous_gain_low": 0.01,
             "previous_gain_high": 0.4, "head_gain_low": 0.01}  # fmt: skip
    better = made._replace(best=made.best.assign(**gains))
    (text, head), _ = tree_findings(better)
    total = made.best["total"].iloc[0]
    assert text.startswith(f"50.0 % UAS of {total} words is what trees of single heads reach held out, better than")
    assert "better than both chains of neighbors (30.0 % if each word depends on the next one, +20.0" in text
    assert " 50.0 % by the ensembles together, " in text
    assert text.split("all sentences is ")[1].startswith(head)
    for chain in ("next", "previous"):
        equal = better._replace(best=better.best.assign(**{f"{chain}_gain_low": 0.0}))
        assert all("held out, not clearly better than both chains" in text for text, _ in tree_findings(equal))
        below = {f"{chain}_gain_low": -0.2, f"{chain}_gain_high": -0.01}
        worse = better._replace(best=better.best.assign(**below))
        assert all("held out, worse than one of the chains of nei" in text for text, _ in tree_findings(worse))
    below = {
        f"{chain}_gain_{end}": at for chain in ("next", "previous") for end, at in (("low", -0.2), ("high", -0.01))
    }
    worst = better._replace(best=better.best.assign(**below))
    assert all("held out, worse than both chains of neighbors" in text for text, _ in tree_findings(worst))
    alone = better._replace(best=better.best.assign(head_gain_low=0.0))
    assert not any("ensembles together" in text for text, _ in tree_findings(alone))
    none = better._replace(best=better.best.iloc[:0])
    assert not list(tree_findings(none))


def test_the_finding_has_the_numbers_of_its_score(made):
    best = distinct_table(made.best)
    best["total"] = range(1001, 1005)
    best["heads"] = ["1-1", "1-2 + 1-1", "2-1←", "2-2 + 1-2"]
    rows = {(row["score"], row["maps"]): row for row in rows_of(best)}
    assert len(rows) == 4

    def gain(row, over):
        return with_unit(row, f"{over}_gain {over}_gain_low {over}_gain_high", "points", "+")

    expected = []
    for score in ("UAS", "UUAS"):
        row, together = rows[score, "best head"], rows[score, "ensemble"]
        chains = (
            f"{as_shown(row, 'next_accuracy')} % if each word depends on the next one, {gain(row, 'next')}, "
            f"{as_shown(row, 'previous_accuracy')} % if each word depends on the one before, {gain(row, 'previous')}"
        )
        text = (
            f"{as_shown(row, 'heldout_accuracy')} % {score} of {row['total']:,} words is what trees of single heads "
            f"reach held out, better than both chains of neighbors ({chains}); the best head on all sentences is "
            f"{row['heads']}. {as_shown(together, 'heldout_accuracy')} % by the ensembles together, "
            f"{gain(together, 'head')} over single heads."
        )
        expected.append((text, row["heads"].strip("←")))
    assert list(tree_findings(made._replace(best=best))) == expected


@pytest.mark.parametrize("family", ["bert", pytest.param("llama", marks=pytest.mark.slow)])
def test_a_run_has_trees(family):
    pytest.importorskip("ufal.chu_liu_edmonds")
    treebank = load_treebank(SAMPLE_TREEBANK, limit=40)
    options = [
        CountOptions(replicates=20, min_count=5),
        DependencyOptions(spanning_trees=True),
        EnsembleOptions(2),
    ]
    encoder = tiny.encoder(family, max_position_embeddings=200)
    run = attentionology.analyze(encoder, treebank, analyses="dependency", options=options)
    results = run.parts[0].results
    trees = results.spanning_trees
    assert (trees.sentences, trees.left_out) == (40, 0)
    assert len(trees.heads) == len(results.cells[results.cells["relation"] == "all"])
    words = results.best.set_index("relation").loc["all-nopunct-noroot", "total"]
    assert set(trees.heads["total"]) == set(trees.best["total"]) == {words}
    [together] = set(trees.best.query("maps == 'ensemble'")["heads"])
    without = results.ensembles.query("relation != 'punct'")
    assert set(together.split(" + ")) == {head for heads in without["heads"] for head in heads.split(" + ")}
    section = dependency_section(results)
    assert "dependency_trees_best" in {shown.name for shown in section.shown}
    assert section.tables["dependency_trees"] is trees.heads
    assert section.tables["dependency_trees_best"] is trees.best
    counted = run.parts[0].counts
    metric = counted.metric(counted.facts.requests["best_heads"][0], DependencyAccuracy)
    findings = explored_dependency(results, metric, "weight").findings
    found = {each.text: each.address for each in findings if "trees of single heads" in each.text}
    best_of_all = [re.findall(r"all sentences is (\d+-\d+)", text) for text in found]
    assert list(found.values()) == [f"#head={head}&kind=weight" for (head,) in best_of_all]
    assert len(found) == 2


def test_a_run_without_the_library_is_refused(monkeypatch):
    monkeypatch.setattr("attentionology.analyses.dependency.options.find_spec", lambda _: None)
    with pytest.raises(OptionError, match=r"pip install 'attentionology\[tree\]'"):
        DependencyOptions(spanning_trees=True).check()


def test_without_any_tree_all_sentences_are_left_out(corpus):
    chosen = [index for index, text in enumerate(corpus[0]) if text.id in ("two roots", "unknown")]
    batch = batch_of(*([part[index] for index in chosen] for part in corpus))
    trees = spanning_trees(
        tree_counts(read_values([[(range(len(batch)), batch)]], str, 3), SHAPE, (), 100, 0, divided=False)
    )
    assert (trees.sentences, trees.left_out) == (0, 2)
    assert len(trees.heads) == 12
    assert trees.heads["uas"].isna().all()
    assert trees.best.empty
