"""Rules that know parts of speech against naive loops over words, and what is said of heads that know no more."""

from __future__ import annotations

import functools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

import attentionology
from attentionology.analyses.counting.held_out import interval_around, standard_error
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.columns import BEST
from attentionology.analyses.dependency.figures import best_heads_figure
from attentionology.analyses.dependency.rules import (
    NEAREST,
    BeyondTags,
    DependencyRules,
    nearest_words,
    rule_columns,
)
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from tests import tiny
from tests.dependency import against_tags, made_results
from tests.maps import RELATIONS, batch_of, random_corpus
from tests.reference.naive import around, of_splits
from tests.shown_tables import distinct_table, in_latex, on_page, percent

OFFSETS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
REPLICATES = 40
TAGS = ("NOUN", "VERB", "DET", "odd")


@pytest.fixture(scope="module")
def corpus():
    texts, maps = random_corpus(11, sentences=70)
    rng = np.random.default_rng(1)
    tagged = [
        replace(text, tags=tuple(rng.choice(TAGS, len(text)).tolist()) if i % 7 else ()) for i, text in enumerate(texts)
    ]
    return tagged, maps


def words_of(texts, relations):
    """Yield the sentence, the part of speech and the rules that are right, of each word with one of the relations."""
    for index, text in enumerate(texts):
        tags = [tag if tag != "odd" else "another tag" for tag in text.tags] or ["another tag"] * len(text)
        for i, (head, relation) in enumerate(zip(text.heads, text.relations, strict=True)):
            if head is None or relation not in relations:
                continue
            right = [min(max(i + offset, 0), len(text) - 1) + 1 == head for offset in OFFSETS]
            for side, tag in NEAREST:
                places = range(i - 1, -1, -1) if side == "before" else range(i + 1, len(text))
                first = next((place for place in places if tags[place] == tag), None)
                right.append(first is not None and first + 1 == head)
            yield index, tags[i], right


def best_rules(words, family):
    """Return the best rule of each part of speech; ties go to what is right more often for all, then to the last."""
    own: Counter[tuple[str, int]] = Counter()
    every: Counter[int] = Counter()
    for _, tag, right in words:
        for rule in family:
            own[tag, rule] += right[rule]
            every[rule] += right[rule]
    return functools.cache(lambda tag: max(family, key=lambda rule: (own[tag, rule], every[rule], rule)))


def naive(texts, relations, family):
    """The held-out accuracy of a family of rules, and its deviations in bootstrap replicates."""
    words = list(words_of(texts, relations))
    ids = [text.id for text in texts]
    scored, every = [], 0
    for first in halves(ids, 10, 0):
        for half in (first, ~first):
            choosing = [word for word in words if half[word[0]]]
            others = [word for word in words if not half[word[0]]]
            if choosing:
                rule = best_rules(choosing, family)
                scored.append((rule, sum(right[rule(tag)] for _, tag, right in others), len(others)))
                every += len(others)
    both = [scored[start : start + 2] for start in range(0, len(scored), 2)]  # halves of a split
    by_split = [sum(right for _, right, _ in two) / sum(n for *_, n in two) for two in both]
    value = sum(right for _, right, _ in scored) / every
    weights = poisson_weights(ids, REPLICATES, 0)

    def share(rule, weight):
        n = sum(int(weight[index]) for index, _, _ in words)
        return sum(int(weight[index]) * right[rule(tag)] for index, tag, right in words) / n

    one = np.ones(len(ids))
    scores = [sum(n / every * (share(rule, w) - share(rule, one)) for rule, _, n in scored) for w in weights]
    drawn = [[word for word in words for _ in range(weight[word[0]])] for weight in weights]
    of_choices = [share(best_rules(each, family), one) for each in drawn]
    of_halves = of_splits(by_split, REPLICATES)
    return value, np.array(scores) + of_choices - np.mean(of_choices) + of_halves


def counted(texts, maps, **options):
    pairs = {(r, t) for text in texts for r, t in zip(text.relations, text.tags or ("",) * len(text), strict=True)}
    rules = DependencyRules(sorted(pairs), replicates=REPLICATES, **options)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=REPLICATES)
    for metric in (rules, accuracy):
        for rows in (slice(9), slice(9, None)):
            metric.update(batch_of(texts[rows], maps[rows]))
    return rules, accuracy


@pytest.mark.parametrize("relations", [{"nsubj"}, {"obj", "det"}, set(RELATIONS)])
def test_rules_are_chosen_and_scored_as_naive_loops_do(corpus, relations):
    texts, maps = corpus
    rules, accuracy = counted(texts, maps)
    counts, replicates = accuracy.split_counts()
    (row,) = rule_columns(rules, {"row": frozenset(relations)}, counts, replicates, accuracy.groups).to_dict("records")
    head = {"total": 0, "correct": 0}
    for name, family in (("tag_offset", range(10)), ("tag_rule", range(10, 10 + len(NEAREST)))):
        value, _ = naive(texts, relations, family)
        assert row[f"{name}_heldout"] == pytest.approx(value, abs=1e-12)
        head[name] = row[f"{name}_gain"] + value
    assert head["tag_offset"] == pytest.approx(head["tag_rule"], abs=1e-12)  # the held-out accuracy of the head
    if relations == {"nsubj"}:
        best = accuracy.compute().best.set_index("relation")
        assert head["tag_rule"] == pytest.approx(best.loc["nsubj", "heldout_accuracy"], abs=1e-12)


def test_intervals_are_those_of_naive_replicates(corpus):
    """The head is right for no word at all, so that its gain varies as the accuracy of the rule does."""
    texts, maps = corpus
    rules, accuracy = counted(texts, maps)
    counts, replicates = (replace(each, correct=np.zeros_like(each.correct)) for each in accuracy.split_counts())
    (row,) = rule_columns(rules, {"row": frozenset(["obj"])}, counts, replicates, accuracy.groups).to_dict("records")
    for name, family in (("tag_offset", range(10)), ("tag_rule", range(10, 10 + len(NEAREST)))):
        value, deviations = naive(texts, {"obj"}, family)
        low, high = around(-value, deviations.tolist())
        assert (row[f"{name}_gain_low"], row[f"{name}_gain_high"]) == pytest.approx((low, high), abs=1e-9)
        assert high - low > 0.01


def test_the_nearest_word_is_found_on_each_side():
    sentence = Sentence("s", tuple("abcde"), tags=("DET", "NOUN", "VERB", "DET", "NOUN"))
    found = nearest_words(sentence)
    nouns = [found[:, NEAREST.index((side, "NOUN"))].tolist() for side in ("before", "after")]
    assert nouns == [[0, 0, 2, 2, 2], [2, 5, 5, 5, 0]]


def test_the_best_rules_are_named(corpus):
    texts, maps = corpus
    table = counted(texts, maps)[0].compute()
    order = [(-row["total"], row["relation"], row["tag"]) for _, row in table.iterrows()]
    assert order == sorted(order)  # the most frequent pairs first
    table = table.set_index(["relation", "tag"])
    words = [right for _, tag, right in words_of(texts, {"obj"}) if tag == "VERB"]
    row = table.loc[("obj", "VERB")]
    sums = np.sum(words, axis=0)
    assert (row["total"], row["offset_correct"]) == (len(words), sums[:10].max())
    assert row["nearest_correct"] == sums[10:].max() == sums[10 + NEAREST.index((row["side"], row["nearest"]))]
    assert sums[OFFSETS.index(row["offset"])] == row["offset_correct"]


def test_counts_of_parts_with_other_pairs_add_up(corpus):
    texts, maps = corpus
    whole, _ = counted(texts, maps)
    parts = [counted(texts[rows], maps[rows])[0] for rows in (slice(12), slice(12, None))]
    joined = DependencyRules(**DependencyRules.joined_arguments([{"pairs": part.pairs} for part in parts]), seed=0,
                             replicates=REPLICATES)  # fmt: skip
    for part in parts:
        joined.absorb(part)
    assert joined.pairs == whole.pairs
    assert torch.equal(joined.counts, whole.counts)
    assert torch.equal(joined.bootstrap, whole.bootstrap)


def test_what_is_shown_is_what_the_table_says(corpus):
    texts, maps = corpus
    rules, accuracy = counted(texts, maps)
    counts, replicates = accuracy.split_counts()
    tables = accuracy.compute()
    rows = {name: frozenset([name]) for name in RELATIONS} | {"all": frozenset(RELATIONS)}
    best = tables.best.join(rule_columns(rules, rows, counts, replicates, accuracy.groups), on="relation")
    added = {name for column in BeyondTags.added for name in column.names.split()}
    assert set(best.columns) - set(BEST.names) == added
    best = distinct_table(best)
    shown = against_tags(made_results(tables.cells, best, min_count=1))
    (row,) = [row for row in best.to_dict("records") if row["relation"] == "obj"]
    (cells,) = [cells for cells in on_page(shown) if cells["relation"] == "obj"]
    (latex,) = [cells for cells in in_latex(shown) if cells["relation"] == "obj"]
    for heading, more, name in (
        ("offset by part of speech %", "head − offset", "tag_offset"),
        ("nearest by part of speech %", "head − nearest", "tag_rule"),
    ):
        gain, low, high = (row[f"{name}_gain{end}"] for end in ("", "_low", "_high"))
        assert cells[heading] == latex[heading] == percent(row[f"{name}_heldout"])
        assert cells[more] == latex[more.replace("−", "-")] == f"{percent(gain, '+')} [{percent(low)}, {percent(high)}]"
    (axes,) = best_heads_figure(best, min_count=1).axes[:1]
    (line,) = [line for line in axes.lines if line.get_label() == "best rule (position or parts of speech)"]
    drawn = [row for row in best.to_dict("records") if row["relation"] in {row["relation"] for row in shown.rows}]
    totals = ("all", "all-nopunct", "all-nopunct-noroot")  # on top
    drawn.sort(key=lambda row: totals.index(row["relation"]) - 3 if row["relation"] in totals else -row["accuracy"])
    of_rules = [
        (row["heldout_accuracy"] - row["heldout_gain"], row["tag_offset_heldout"], row["tag_rule_heldout"])
        for row in drawn
    ]
    assert len(of_rules) > 2
    assert line.get_xdata() == pytest.approx([100 * max(rates) for rates in of_rules])


def test_a_run_counts_rules_where_words_have_parts_of_speech():
    encoder = tiny.randomize("bert")
    texts = load_treebank(SAMPLE_TREEBANK).sentences[:6]
    tagged, bare = (
        attentionology.analyze(encoder, attentionology.Treebank(tuple(each)), analyses="dependency")["dependency"]
        for each in (texts, [replace(text, tags=()) for text in texts])
    )
    assert "rules" not in bare.answers
    assert tagged.rules.best["total"].sum() == tagged.best["total"].iloc[0]
    assert not math.isnan(tagged.best["tag_rule_heldout"].iloc[0])
    assert "tag_rule_heldout" not in bare.best


def test_a_treebank_of_single_words_has_no_relation_to_choose_a_rule_for():
    texts = [Sentence("one", ("Go",), heads=(0,), relations=("root",), tags=("VERB",))]
    best = attentionology.analyze(tiny.encoder(), texts, analyses="dependency")["dependency"].best
    assert best["total"].tolist() == [1, 1, 0, 1]  # the root is a word, but no head can find it
    assert best[["tag_offset_heldout", "tag_rule_heldout", "tag_rule_gain", "heldout_gain"]].isna().all(axis=None)


def test_gains_of_runs_are_those_of_the_table_and_the_strongest_rule_is_subtracted():
    run = attentionology.analyze(
        tiny.randomize("bert"),
        attentionology.Treebank(load_treebank(SAMPLE_TREEBANK).sentences[:40]),
        analyses="dependency",
        options=attentionology.CountOptions(replicates=30),
    )
    (part,), best = run.parts, run["dependency"].best.set_index("relation")
    accuracies, over_offset, over_rules = part.analysis.comparable(part.counts)
    assert (accuracies.unit, over_offset.unit, over_rules.unit) == ("%", "points", "points")
    compared = 0
    for accuracy, offset, rule in zip(accuracies.measured, over_offset.measured, over_rules.measured, strict=True):
        row = best.loc[accuracy.group]
        assert (accuracy.group, accuracy.choice, accuracy.n) == (rule.group, rule.choice, offset.n)
        np.testing.assert_allclose(offset.value, row["heldout_gain"], atol=1e-12)
        names = ("heldout", "tag_offset", "tag_rule")
        gains = [tuple(row[f"{name}_gain{end}"] for end in ("", "_low", "_high")) for name in names]
        if math.isnan(rule.value):
            continue
        least = min(gain for gain, *_ in gains)  # over the strongest rule
        np.testing.assert_allclose(rule.value, least, atol=1e-12)
        low, high = interval_around(rule.value, standard_error(rule.deviations))
        assert any((least, low, high) == pytest.approx(of_rule, abs=1e-9) for of_rule in gains)
        compared += rule.value != offset.value
    assert compared > 5
