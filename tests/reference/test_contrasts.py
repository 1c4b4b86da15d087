"""Contrasts between groups of documents against a naive computation, by construction, and by their coverage."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.contrasts import SHOWN, contrast_tables, group_tables, simultaneous_margin
from attentionology.analyses.counting.outcomes import SPLITS, Counts
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.corpora_loaders.coreference import ANTI, PRO
from tests.coreference import groups_of, mentions_of
from tests.documents import corpus, document, random_document, window
from tests.maps import batch_of
from tests.reference import naive_coreference

LAYERS, HEADS = 2, 3
PLACES = [
    (layer, head, direction)
    for layer in range(1, LAYERS + 1)
    for head in range(1, HEADS + 1)
    for direction in ("mention->antecedent", "antecedent->mention")
]
"""From the least to the most preferred of equals."""


def pairs_of_documents(seed, count):
    """Random documents in pairs of one family, one of each pair pro- and the other anti-stereotypical."""
    rng = np.random.default_rng(seed)
    docs = []
    for n in range(count):
        for label in (PRO, ANTI):
            built = random_document(rng, f"d{n}{label[0]}")
            docs.append(dataclasses.replace(built, family=f"f{n}", labels=(label, f"type {n % 2 + 1}, {label}")))
    windows = [window(one) for one in docs]
    maps = [rng.integers(0, 6, (LAYERS, HEADS, len(w) + 2, len(w) + 2)).astype(np.float32) for w in windows]
    return docs, windows, maps


def naive_counts(windows, counted, label, weights):
    """Right mentions of one group by place, and scored ones; weights by document."""
    by_place, scored = dict.fromkeys(PLACES, 0), 0
    for one, (right, total) in zip(windows, counted, strict=True):
        if label in one.source.labels:
            scored += weights[one.source.id] * total["all"]
            for layer, head, direction in PLACES:
                hits = right["preceding", "all", direction, layer, head]
                by_place[layer, head, direction] += weights[one.source.id] * hits
    return by_place, scored


def naive_contrasts(windows, counted, pair, weights):
    """First minus second group by place as fractions; None if a group is empty."""
    (a, n), (b, m) = (naive_counts(windows, counted, label, weights) for label in pair)
    return {place: Fraction(a[place], n) - Fraction(b[place], m) for place in PLACES} if n and m else None


def one_sided(documents):
    """Counts of one mention in each of many documents: one head finds all but one of a group, and none of the other."""
    ids = [f"d{n}" for n in range(2 * documents)]
    hits = np.zeros((2, len(ids), 2), dtype=int)  # group, document, direction
    hits[0, 1:documents, 0] = 1
    is_in_group = np.repeat(np.eye(2, dtype=int), documents, axis=1)

    def of(weights):
        weights = weights.astype(int)
        correct = np.einsum("wd,gdn->gwn", weights, hits)[:, :, None, :, None, None]
        return Counts(correct, np.zeros((2, len(weights), 0)), (weights @ is_in_group.T).T)

    whole = np.ones((1, len(ids)), dtype=bool)
    return of(np.concatenate([whole, halves(ids, SPLITS)])), of(poisson_weights(ids, 300))


@pytest.mark.parametrize("pair", [(PRO, ANTI), (f"type 2, {PRO}", f"type 2, {ANTI}")])
def test_against_a_naive_computation(pair):
    docs, windows, maps = pairs_of_documents(11, 240)
    replicates, seed = 40, 5
    accuracy = CoreferenceAccuracy(corpus(*docs), LAYERS, HEADS, replicates=replicates, seed=seed)
    accuracy.update(batch_of(windows, maps))
    tables = groups_of(accuracy)
    counts = [naive_coreference.counts([one], [own]) for one, own in zip(windows, maps, strict=True)]

    def of_pair(table):
        return table[(table["candidates"] == "preceding") & (table["first"] == pair[0])]

    families = [one.family for one in docs]
    ones = {one.id: 1 for one in docs}
    contrasts = naive_contrasts(windows, counts, pair, ones)
    drawn = []
    for row in poisson_weights(families, replicates, seed).tolist():
        by_place = naive_contrasts(windows, counts, pair, dict(zip(ones, row, strict=True)))
        if by_place:
            drawn.append(by_place)
    errors = {place: float(np.std([float(one[place]) for one in drawn], ddof=1)) for place in PLACES}
    largest = [max(abs(float(one[p] - contrasts[p])) / errors[p] for p in PLACES if errors[p] > 1e-9) for one in drawn]
    critical = float(np.quantile(largest, 0.95))
    assert critical > 1.96  # more than for a head named in advance
    every = of_pair(tables.heads)
    assert len(every) == len(PLACES)
    for row in every.to_dict("records"):
        place = row["layer"], row["head"], row["direction"]
        for column, label in zip(("first", "second"), pair, strict=True):
            right, total = naive_counts(windows, counts, label, ones)
            assert (row[f"{column}_correct"], row[f"{column}_total"]) == (right[place], total)
        assert row["difference"] == pytest.approx(float(contrasts[place]))
        bounds = np.quantile([float(one[place]) for one in drawn], [0.025, 0.975])
        assert [row["difference_low"], row["difference_high"]] == pytest.approx(list(bounds))
        margin = critical * errors[place]
        assert row["simultaneous_low"] == pytest.approx(float(contrasts[place]) - margin)
        assert row["simultaneous_high"] == pytest.approx(float(contrasts[place]) + margin)

    cuts = halves(families, SPLITS, seed).tolist()
    reported = of_pair(tables.largest)
    for sign, higher in zip((1, -1), pair, strict=True):

        def ranked(by_place, sign=sign):
            return sorted(PLACES, key=lambda p: (sign * by_place[p], PLACES.index(p)), reverse=True)

        rows = reported[reported["higher"] == higher].to_dict("records")
        expected = [place for place in ranked(contrasts)[:SHOWN] if sign * contrasts[place] > 0]
        assert [(row["layer"], row["head"], row["direction"]) for row in rows] == expected
        for rank, row in enumerate(rows):
            assert row["rank"] == rank + 1
            counted, by_split, choices, same = [0, 0, 0, 0], [], 0, 0
            for cut in cuts:
                own = [0, 0, 0, 0]
                for side in (True, False):
                    choose = {name: int(half == side) for name, half in zip(ones, cut, strict=True)}
                    score = {name: 1 - weight for name, weight in choose.items()}
                    by_place = naive_contrasts(windows, counts, pair, choose)
                    if by_place is None:
                        continue
                    place = ranked(by_place)[rank]
                    choices += 1
                    same += place == expected[rank]
                    for at, label in enumerate(pair):
                        right, total = naive_counts(windows, counts, label, score)
                        own[2 * at] += right[place]
                        own[2 * at + 1] += total
                counted = [one + more for one, more in zip(counted, own, strict=True)]
                if own[1] and own[3]:
                    by_split.append(own[0] / own[1] - own[2] / own[3])
            assert [row[f"heldout_{name}"] for name in (
                "first_correct", "first_total", "second_correct", "second_total", "choices", "same",
            )] == [*counted, choices, same]  # fmt: skip
            assert row["heldout_difference"] == pytest.approx(counted[0] / counted[1] - counted[2] / counted[3])
            assert (row["heldout_min"], row["heldout_max"]) == pytest.approx((min(by_split), max(by_split)))


def twins(count, *, paired):
    """Two groups of documents that say the same and get the same attention, as from a head that is blind to gender."""
    rng = np.random.default_rng(2)
    docs, maps = [], []
    for n in range(count):
        own = rng.random((1, 1, 6, 6)).astype(np.float32)
        for label in (PRO, ANTI):
            built = document(f"{n}{label[0]}", ["Ann washed quickly herself"], [(0, 1, "a"), (3, 4, "a")])
            docs.append(dataclasses.replace(built, labels=(label,), family=f"f{n}" if paired else ""))
            maps.append(own)
    return docs, maps


def test_versions_of_one_sentence_have_to_be_drawn_together():
    tables = {}
    for paired in (True, False):
        docs, maps = twins(90, paired=paired)
        accuracy = CoreferenceAccuracy(corpus(*docs), 1, 1, replicates=200)
        accuracy.update(batch_of([window(one) for one in docs], maps))
        tables[paired] = groups_of(accuracy).heads
    for paired, table in tables.items():
        own = table[(table["candidates"] == "words") & (table["direction"] == "mention->antecedent")]
        [row] = own.to_dict("records")
        assert 0.1 < row["first_accuracy"] < 0.9
        assert row["difference"] == 0
        assert (row["standard_error"] == 0) == paired
        assert (row["simultaneous_low"] == row["simultaneous_high"] == 0) == paired


@pytest.mark.slow
def test_simultaneous_intervals_hold_together_where_pointwise_ones_do_not():
    """A hundred heads without any contrast, measured on 200 items: in how many of 100 corpora is one said to differ?"""
    rng = np.random.default_rng(0)
    together = alone = 0
    for _ in range(100):
        items = rng.normal(size=(200, 100))
        drawn = rng.poisson(1, size=(400, 200))
        estimate = items.mean(0)
        differences = drawn @ items / drawn.sum(1, keepdims=True)
        _, margin = simultaneous_margin(estimate, differences)
        low, high = np.quantile(differences, [0.025, 0.975], axis=0)
        together += bool((np.abs(estimate) > margin).any())
        alone += bool(((low > 0) | (high < 0)).any())
    assert together <= 12
    assert alone >= 90


def test_simultaneous_intervals_stay_within_the_possible_range():
    every, _ = contrast_tables(0, ("x", "y"), {"x": [0], "y": [1]}, *one_sided(50))
    (head,) = every.query("direction == 'mention->antecedent'").to_dict("records")
    assert head["difference"] == pytest.approx(49 / 50)
    assert 0 < head["simultaneous_low"] < 49 / 50
    assert head["simultaneous_high"] == 1


def test_intervals_of_all_heads_need_many_documents_in_each_group():
    every, largest = contrast_tables(0, ("x", "y"), {"x": [0], "y": [1]}, *one_sided(30))
    assert every[["difference", "difference_low", "difference_high"]].notna().all(axis=None)
    for table in (every, largest):
        assert len(table)
        assert table[["simultaneous_low", "simultaneous_high"]].isna().all(axis=None)


def test_no_replicates_no_interval_and_no_groups_no_table():
    docs, windows, maps = pairs_of_documents(3, 6)
    accuracy = CoreferenceAccuracy(corpus(*docs), LAYERS, HEADS, replicates=0)
    accuracy.update(batch_of(windows, maps))
    tables = groups_of(accuracy)
    assert tables.heads["simultaneous_low"].isna().all()
    assert tables.largest["heldout_difference"].notna().any()
    plain = [dataclasses.replace(one, labels=()) for one in docs]
    accuracy = CoreferenceAccuracy(corpus(*plain), LAYERS, HEADS, replicates=5)
    accuracy.update(batch_of([window(one) for one in plain], maps))
    assert group_tables(mentions_of(accuracy)) is None


def test_a_group_in_which_nothing_is_scored_has_no_largest_contrast():
    docs, windows, maps = pairs_of_documents(3, 6)
    keep = [n for n, one in enumerate(docs) if PRO in one.labels]
    accuracy = CoreferenceAccuracy(corpus(*docs), LAYERS, HEADS, replicates=5)
    accuracy.update(batch_of([windows[n] for n in keep], [maps[n] for n in keep]))
    tables = groups_of(accuracy)
    assert tables.heads["difference"].isna().all()
    assert tables.largest.empty
