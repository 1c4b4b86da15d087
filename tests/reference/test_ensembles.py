"""Ensembles of heads against a naive greedy search, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import attentionology
from attentionology.analyses.contract import OptionError
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.ensembles import ENSEMBLES, ensemble_rows
from attentionology.analyses.dependency.figures import ensembles_figure
from attentionology.analyses.dependency.options import DependencyOptions
from attentionology.analyses.dependency.rows import read_values
from attentionology.analyses.shared.ensembles import ensemble_table, shown_ensembles
from attentionology.analyses.shared.options import CountOptions, EnsembleOptions
from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from tests import tiny
from tests.dependency import explored_dependency, made_results, with_answers
from tests.maps import RELATIONS, batch_of, random_corpus
from tests.reference.naive import around_choices
from tests.shown_tables import as_shown, in_latex, on_page, percent

WAYS = ("dep->head", "head->dep", "both")


def found(word, heads, method):
    """Whether the average of some heads finds the syntactic head of a word (from 1)."""
    text, word_map, number = word
    average = np.zeros(len(text))
    for layer, head, way in heads:
        inner = word_map[layer, head, 1:-1, 1:-1].astype(np.float64)
        if method == "published":
            inner /= inner.sum(1, keepdims=True)
        inner = {"dep->head": inner, "head->dep": inner.T, "both": inner + inner.T}[way]
        average += inner[number - 1] / len(heads)
    average[number - 1] = -1
    return int(average.argmax()) + 1 == text.heads[number - 1]


def published(words, most, readings):
    """Try heads in the order of their own counts: add one if that helps, and replace one if there are enough."""
    every = [(layer, head, way) for layer in range(2) for head in range(3) for way in WAYS[:readings]]
    heads: list[Any] = []
    best = -1
    alone = {each: sum(found(word, [each], "published") for word in words) for each in every}
    for head in sorted(every, key=lambda each: (alone[each], every.index(each)), reverse=True):
        full = len(heads) == most
        tried = [[*heads[:i], head, *heads[i + 1 :]] for i in range(most)] if full else [[*heads, head]]
        for candidate in tried:
            count = sum(found(word, candidate, "published") for word in words)
            if count > best:
                best, heads = count, candidate
    return heads


def greedy(words, most, readings):
    """Choose heads on words by trying all of them, the last of equals, while the count grows."""
    every = [(layer, head, way) for layer in range(2) for head in range(3) for way in WAYS[:readings]]
    heads: list[Any] = []
    best = -1
    while len(heads) < most:
        scores = {
            each: sum(found(word, [*heads, each], "raw") for word in words) for each in every if each not in heads
        }
        top = max(scores.values())
        if top <= best:
            break
        best = top
        heads.append([each for each in every if scores.get(each) == top][-1])
    return heads


@pytest.fixture(scope="module")
def corpus():
    return random_corpus(5, sentences=60)


def table_of(corpus, most=3, readings=2, method="published"):
    batches = [batch_of(*(part[rows] for part in corpus)) for rows in (slice(7), slice(7, None))]
    read = read_values([[(range(len(batch)), batch)] for batch in batches], str, readings)
    groups = {"nsubj": frozenset(["nsubj"]), "core": frozenset(["nsubj", "obj"]), "rare": frozenset(["absent"])}
    return ensemble_table(
        ensemble_rows(read, groups, (2, 3, readings), most=most, method=method, min_count=1, replicates=200, seed=0)[0],
        ENSEMBLES,
    ).set_index("relation")


@pytest.mark.parametrize(("readings", "method"), [(2, "raw"), (3, "raw"), (2, "published"), (3, "published")])
def test_ensembles_are_those_of_a_naive_search(corpus, readings, method):
    texts, maps = corpus
    table = table_of(corpus, readings=readings, method=method)
    assert set(table["method"]) == {method}
    choose = {"raw": greedy, "published": published}[method]
    assert list(table.index) == ["nsubj", "core"]
    first = halves([text.id for text in texts], 10, 0)
    for name, members in (("nsubj", {"nsubj"}), ("core", {"nsubj", "obj"})):
        words = [
            (index, (text, word_map, number))
            for index, (text, word_map) in enumerate(zip(texts, maps, strict=True))
            for number, (head, relation) in enumerate(zip(text.heads, text.relations, strict=True), start=1)
            if head and relation in members
        ]
        whole = choose([word for _, word in words], 3, readings)
        row = table.loc[name]
        assert row["heads"] == " + ".join(
            f"{layer + 1}-{head + 1}{('', '←', '↔')[WAYS.index(way)]}" for layer, head, way in whole
        )
        assert (row["total"], row["correct"]) == (len(words), sum(found(word, whole, method) for _, word in words))
        together = alone = scored = 0
        shares: dict[int, list[bool]] = {}
        gains: dict[int, list[int]] = {}
        gains_of_choices = []
        gain_of_sentence, n_of_sentence = np.zeros((2, len(texts)))
        for split, half in [*enumerate(first), *enumerate(~first)]:
            choosing = [word for index, word in words if half[index]]
            others = [word for index, word in words if not half[index]]
            heads = choose(choosing, 3, readings)
            single = greedy(choosing, 1, readings)  # in the maps as they are, whatever ensembles are made of
            together += sum(found(word, heads, method) for word in others)
            shares.setdefault(split, []).extend(found(word, heads, method) for word in others)
            alone += sum(found(word, single, "raw") for word in others)
            scored += len(others)
            more = [int(found(word, heads, method)) - int(found(word, single, "raw")) for _, word in words]
            gains_of_choices.append(np.mean(more))
            for (index, _), gain in zip(words, more, strict=True):
                if not half[index]:
                    gains.setdefault(split, []).append(gain)
                    gain_of_sentence[index] += gain
                    n_of_sentence[index] += 1
        assert (row["heldout_correct"], row["single_correct"], row["heldout_total"]) == (together, alone, scored)
        means = [np.mean(each) for each in shares.values()]
        assert (row["heldout_min"], row["heldout_max"]) == pytest.approx((min(means), max(means)))
        assert row["gain"] == pytest.approx((together - alone) / scored)
        draws = poisson_weights([text.id for text in texts], 200, 0).astype(float)
        drawn = ((draws @ gain_of_sentence) / (draws @ n_of_sentence)).tolist()
        ends = around_choices(
            row["gain"],
            drawn,
            [float(gain) for gain in gains_of_choices],
            [float(np.mean(each)) for each in gains.values()],
        )
        assert (row["gain_low"], row["gain_high"]) == pytest.approx(ends)


def test_the_longest_sentence_need_not_have_the_relation(corpus):
    texts, maps = corpus
    longest = max(range(len(texts)), key=lambda index: len(texts[index]))
    other = [
        replace(text, relations=tuple("det" if r == "nsubj" else r for r in text.relations)) if i == longest else text
        for i, text in enumerate(texts)
    ]
    without = [rows[:longest] + rows[longest + 1 :] for rows in (texts, maps)]
    whole, cut = (table_of(each).loc["nsubj"].to_dict() for each in ((other, maps), without))
    assert whole == cut


def test_an_ensemble_of_one_is_the_best_head(corpus):
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=0)
    accuracy.update(batch_of(*corpus))
    best = accuracy.compute().best.set_index("relation").loc["nsubj"]
    row = table_of(corpus, most=1, method="raw").loc["nsubj"]
    arrow = "←" if best["direction"] == "head->dep" else ""
    assert row["heads"] == f"{best['layer']}-{best['head']}{arrow}"
    assert (row["correct"], row["total"]) == (best["correct"], best["total"])
    assert row["heldout_correct"] == row["single_correct"] == best["heldout_correct"]


def results(corpus, **values):
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=20)
    accuracy.update(batch_of(*corpus))
    tables = accuracy.compute()
    table = table_of(corpus).drop("core").reset_index().assign(**values)
    return accuracy, made_results(tables.cells, tables.best, (), 1, ensembles=table)


def test_the_table_and_the_figure_say_what_the_csv_file_says(corpus):
    _, made = results(corpus, gain_low=0.01)
    row = made.ensembles.iloc[0]
    expected = {
        "relation": "nsubj",
        "n": str(row["total"]),
        "heads": row["heads"],
        "ensemble %": as_shown(row, "accuracy"),
        "ensemble, held-out %": as_shown(row, "heldout_accuracy heldout_min heldout_max"),
        "one head, held-out %": as_shown(row, "single_accuracy"),
        "held-out gain": as_shown(row, "gain gain_low gain_high", "+"),
    }
    shown = shown_ensembles(made.ensembles, ENSEMBLES)
    assert on_page(shown) == [expected]
    assert in_latex(shown) == [expected]
    figure: Any = ensembles_figure(made.best, made.ensembles, min_count=1)
    [marks] = [line for line in figure.axes[0].lines if "several heads" in str(line.get_label())]
    drawn = np.asarray(marks.get_xdata(), dtype=float)
    assert drawn[np.isfinite(drawn)].tolist() == [100 * row["heldout_accuracy"]]


def test_the_finding_says_more_only_with_the_whole_interval(corpus):
    values = {"gain": 0.1, "gain_low": 0.02, "gain_high": 0.2, "heldout_accuracy": 0.5, "single_accuracy": 0.4}
    accuracy, made = results(corpus, **values)
    texts = [finding.text for finding in explored_dependency(made, accuracy, "weight").findings]
    [text] = [text for text in texts if "averaged maps" in text]
    assert text.startswith(
        "1 of 1 relation with at least 1 word is found more often by averaged maps of several heads than by one head, "
        "where both are chosen on one half of the sentences and scored on the other: nsubj by "
    )
    row = made.ensembles.iloc[0]
    best = made.best.set_index("relation").loc["nsubj"]
    offset = f"{percent(best['heldout_accuracy'] - best['heldout_gain'])} % by the fixed offset {best['offset']:+d}"
    gain = "+10.0 points [2.0, 20.0]"
    assert f"(50.0 % of {row['total']} words, one head 40.0 %, {offset}; {gain})." in text
    none = with_answers(made, ensembles=made.ensembles.assign(gain_low=0.0))
    texts = [finding.text for finding in explored_dependency(none, accuracy, "weight").findings]
    [text] = [text for text in texts if "averaged maps" in text]
    assert text == (
        "0 of 1 relation with at least 1 word is clearly found more often by averaged maps of several heads than by "
        "one head."
    )


def test_nothing_is_said_of_ensembles_without_intervals(corpus):
    accuracy, made = results(corpus, gain=0.1, gain_low=0.02, gain_high=0.2)
    without = made.ensembles.assign(relation="det", gain_low=np.nan, gain_high=np.nan)
    both = with_answers(made, ensembles=pd.concat([made.ensembles, without]))
    texts = [finding.text for finding in explored_dependency(both, accuracy, "weight").findings]
    [text] = [text for text in texts if "averaged maps" in text]
    assert text.startswith("1 of 1 relation with at least 1 word in at least 20 sentences is found more often by")
    texts = [f.text for f in explored_dependency(with_answers(made, ensembles=without), accuracy, "weight").findings]
    assert not any("averaged maps" in text for text in texts)


def test_few_sentences_give_no_interval(corpus):
    texts, maps = corpus
    table = table_of((texts[:19], maps[:19]))
    assert table["gain"].notna().all()
    assert table[["gain_low", "gain_high"]].isna().all(axis=None)


def test_a_run_keeps_its_ensembles():
    treebank = load_treebank(SAMPLE_TREEBANK, limit=20)
    options = [
        CountOptions(replicates=20, min_count=20),
        DependencyOptions(relations=("det", "nsubj")),
        EnsembleOptions(2),
    ]
    encoder = tiny.encoder(max_position_embeddings=200)
    run = attentionology.analyze(encoder, treebank, analyses="dependency", options=options)
    table = run.parts[0].results.ensembles
    frequent = run.parts[0].results.best.query("total >= 20")
    assert list(table["relation"]) == list(frequent["relation"])
    assert list(table["total"]) == list(frequent["total"])
    # The single head is the best one, up to the float64 in which both decide close races.
    for row, best in zip(table.to_dict("records"), frequent.to_dict("records"), strict=True):
        assert row["single_correct"] == best["heldout_correct"]
    drawn = {each.relation: each for each in run.explorer().ensembles}
    assert {name for name in table["relation"] if "+" in table.set_index("relation")["heads"][name]} == set(drawn)
    arrows = {"dep->head": "", "head->dep": "←"}
    for row in table[table["relation"].isin(list(drawn))].to_dict("records"):
        heads = drawn[row["relation"]].heads
        assert " + ".join(each.head + arrows[each.direction] for each in heads) == row["heads"]
        assert drawn[row["relation"]].kind == "weight"
    assert all(each.divided for each in drawn.values())
    with pytest.raises(OptionError, match="--ensembles must be at least 0"):
        EnsembleOptions(-1).check()
