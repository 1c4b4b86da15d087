"""The contrasts of a survey: which sides are compared, and what a mean over treebanks is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attentionology.analyses.shared.comparable import Comparable, Measured, replicate_order
from attentionology.analyses.survey.columns import SURVEY_CONTRASTS, SURVEY_MEANS
from attentionology.analyses.survey.contrasts import Contrasts, Measurements
from attentionology.analyses.survey.tables import contrasts_table, means_table

REPLICATES = 400


def family(values, deviations=None, n=100):
    """A family with one relation for each value; a relation is named after its position."""
    if deviations is None:
        deviations = np.zeros((len(values), REPLICATES))
    measured = tuple(
        Measured(f"relation{index}", value, n, deviations[index], f"{index + 1}-1 dep->head")
        for index, value in enumerate(values)
    )
    return Comparable("relations", measured, "words whose head is found", "words", 0)


def cell(model, **families):
    return Measurements(model, {kind: (one,) for kind, one in families.items()})


def noise(seed, relations=1, scale=0.02):
    return np.random.default_rng(seed).normal(scale=scale, size=(relations, REPLICATES))


def sides(collected):
    return [
        (one.about, one.treebank, one.contrast.first.run, one.contrast.first.map, one.contrast.second.run,
         one.contrast.second.map)
        for one in collected.within
    ]  # fmt: skip


def test_kinds_are_compared_within_a_cell_and_models_within_a_treebank():
    collected = Contrasts(min_count=10)
    cells = [cell(name, weight=family([0.5]), norm=family([0.6])) for name in ("a", "b", "c")]
    collected.add("ewt", cells)
    assert sides(collected) == [
        ("maps", "ewt", "a", "weight", "a", "norm"),
        ("maps", "ewt", "b", "weight", "b", "norm"),
        ("maps", "ewt", "c", "weight", "c", "norm"),
        ("models", "ewt", "a", "weight", "b", "weight"),
        ("models", "ewt", "a", "weight", "c", "weight"),
        ("models", "ewt", "a", "norm", "b", "norm"),
        ("models", "ewt", "a", "norm", "c", "norm"),
    ]


def test_the_first_cell_that_was_counted_is_the_reference():
    collected = Contrasts(min_count=10)
    collected.add("ewt", [cell("b", weight=family([0.5])), cell("c", norm=family([0.5]), weight=family([0.4]))])
    assert sides(collected) == [
        ("maps", "ewt", "c", "norm", "c", "weight"),
        ("models", "ewt", "b", "weight", "c", "weight"),
    ]
    assert collected.means() == []


def test_rows_are_the_first_side_minus_the_other():
    collected = Contrasts(min_count=10)
    collected.add("ewt", [cell("a", weight=family([0.5], noise(1))), cell("b", weight=family([0.8], noise(2)))])
    table = contrasts_table(collected.within)
    assert list(table) == SURVEY_CONTRASTS.names
    row = table.iloc[0]
    assert (row["model_a"], row["model_b"], row["paired"]) == ("a", "b", "paired")
    assert (row["value_a"], row["value_b"], row["difference"]) == (0.5, 0.8, pytest.approx(-0.3))
    error = float((noise(2) - noise(1)).std(ddof=1))
    assert row["high"] - row["difference"] == pytest.approx(1.959964 * error, rel=1e-5)
    assert row["p"] == pytest.approx(math.erfc(0.3 / error / math.sqrt(2)))


def naive_mean(treebanks, index):
    """The mean of one side over treebanks and its deviations, one replicate at a time."""
    value = sum(families[index].measured[0].value for families in treebanks.values()) / len(treebanks)
    deviations = []
    for replicate in range(REPLICATES):
        total = 0.0
        for name, families in treebanks.items():
            total += families[index].measured[0].deviations[replicate_order(name, REPLICATES)[replicate]]
        deviations.append(total / len(treebanks))
    return value, np.array(deviations)


def test_means_are_those_of_a_plain_loop():
    treebanks = {
        name: (family([value], noise(seed)), family([0.5], 0.5 * noise(seed) + noise(seed + 10)))
        for seed, (name, value) in enumerate({"ewt": 0.6, "gsd": 0.7, "gum": 0.55}.items())
    }
    collected = Contrasts(min_count=10)
    for name, (first, other) in treebanks.items():
        collected.add(name, [cell("a", weight=first), cell("b", weight=other)])
    table = means_table(collected.means())
    assert list(table) == SURVEY_MEANS.names
    (row,) = table.to_dict("records")
    assert (row["model_a"], row["model_b"], row["treebanks"], row["n_a"]) == ("a", "b", 3, 300)
    (first, first_deviations), (other, other_deviations) = naive_mean(treebanks, 0), naive_mean(treebanks, 1)
    assert row["difference"] == pytest.approx(first - other)
    error = (other_deviations - first_deviations).std(ddof=1)
    assert row["low"] == pytest.approx(first - other - 1.959964 * error, abs=1e-6)


def test_equal_ids_in_two_treebanks_do_not_make_the_interval_of_a_mean_wider():
    """The same deviations in both treebanks stand for sentences with the same ids, which are drawn together."""
    same = noise(3)
    collected = Contrasts(min_count=10)
    for name in ("first", "second"):
        collected.add(name, [cell("a", weight=family([0.5])), cell("b", weight=family([0.5], same))])
    row = means_table(collected.means()).iloc[0]
    independent = same.std(ddof=1) / math.sqrt(2)
    assert row["high"] / 1.959964 == pytest.approx(independent, rel=0.1)
    assert row["high"] / 1.959964 < 0.85 * same.std(ddof=1)


def test_means_leave_out_treebanks_with_few_words():
    collected = Contrasts(min_count=50)
    for name, n in (("first", 100), ("second", 100), ("third", 20)):
        collected.add(name, [cell("a", weight=family([0.5], noise(1), n=n)), cell("b", weight=family([0.6], noise(2)))])
    row = means_table(collected.means()).iloc[0]
    assert (row["treebanks"], row["n_a"], row["n_b"]) == (2, 200, 200)


def test_the_order_of_replicates_is_a_permutation_that_depends_on_the_name():
    order = replicate_order("ewt", 50)
    assert sorted(order) == list(range(50))
    assert order.tolist() == replicate_order("ewt", 50).tolist()
    assert order.tolist() != replicate_order("gsd", 50).tolist()
