"""Treebanks that choose heads are compared on the same other treebanks, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attentionology.analyses.comparison.differences import Difference, holm
from attentionology.analyses.counting.comparable import Measured
from attentionology.analyses.survey.choosers import ChooserContrast, Choosers, Loss, ModelChoosers, transfer_findings

REPLICATES = 50
UNITS = dict.fromkeys("abcd", 100.0)


def loss(rng, value):
    return Loss(value, 60, rng.normal(scale=0.02, size=REPLICATES))


@pytest.fixture
def losses():
    """By the treebank that scores, then by that which chose: all lose much on d, and b more than a everywhere."""
    rng = np.random.default_rng(0)
    base = {"a": -0.05, "b": -0.15, "c": -0.06, "d": -0.05}
    return {
        scored_on: {
            name: {relation: loss(rng, base[name] - 0.4 * (scored_on == "d")) for relation in ("det", "obj")}
            for name in base
            if name != scored_on
        }
        for scored_on in base
    }


def collected(losses, units=None):
    choosers = Choosers(units or UNITS)
    for scored_on, of_choosers in losses.items():
        choosers.add(scored_on, of_choosers)
    return {(one.first, one.second): one for one in choosers.contrasts()}


def findings(**contrasts_by_map):
    return list(transfer_findings([ModelChoosers("bert", kind, tuple(of)) for kind, of in contrasts_by_map.items()]))


def test_pairs_are_compared_on_the_treebanks_that_are_neither_of_them(losses):
    del losses["c"]["a"]["obj"]  # which is then no common relation of a and b on c
    found = collected(losses)
    assert found.keys() == {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")}
    one = found["a", "b"]
    assert (one.scored_on, one.relations, one.difference.first.n) == (("c", "d"), 2, 60 + 120)
    parts = [("c", ["det"]), ("d", ["det", "obj"])]
    values, deviations = [], []
    for scored_on, relations in parts:
        pairs = [(losses[scored_on]["a"][name], losses[scored_on]["b"][name]) for name in relations]
        values.append(np.mean([first.value - second.value for first, second in pairs]))
        deviations.append(np.mean([first.deviations - second.deviations for first, second in pairs], axis=0))
    value, error = np.mean(values), np.mean(deviations, axis=0).std(ddof=1)
    row = one.difference
    assert (row.difference, row.low, row.high) == pytest.approx(
        (value, value - 1.959964 * error, value + 1.959964 * error)
    )
    tested = [each.difference for each in found.values()]
    assert [each.p_holm for each in tested] == holm([each.p for each in tested])


def test_losses_that_are_large_on_one_treebank_do_not_count_against_those_that_were_scored_there(losses):
    """The mean losses over all others are -0.19 for a and -0.06 for d, which is never scored on d."""
    found = collected(losses)
    assert not found["a", "d"].difference.significant
    assert found["a", "b"].difference.significant


def test_two_treebanks_have_no_common_one_and_few_sentences_are_not_tested(losses):
    assert collected({name: {k: v for k, v in losses[name].items() if k in "ab"} for name in "ab"}) == {}
    found = collected(losses, {**UNITS, "c": 19.0})
    assert {pair for pair, one in found.items() if one.difference.tested} == set()
    without = {t: {k: {r: v._replace(deviations=np.zeros(0)) for r, v in of.items()} for k, of in each.items()}
               for t, each in losses.items()}  # fmt: skip
    assert not any(one.difference.tested for one in collected(without).values())
    assert findings(weight=[*collected(without).values()]) == []


def contrast(first, second, values, p_holm, scored_on=("fr",)):
    first_side, other_side = (Measured("", value, 1234, np.zeros(2)) for value in values)
    difference = values[0] - values[1]
    row = Difference("", first_side, other_side, difference, difference - 0.01, difference + 0.02, p_holm / 2, p_holm)
    return ChooserContrast(first, second, scored_on, 1, row)


def test_findings_name_pairs_that_differ_clearly():
    clear = [contrast("de", "pud", (-0.1, -0.3), 0.01), contrast("de", "en", (-0.4, -0.1), 0.049, ("fr", "pud"))]
    equal = contrast("pud", "en", (-0.1, -0.9), 0.05)
    (text,) = findings(weight=[*clear, equal])
    assert text == (
        "bert: in 2 of 3 pairs of treebanks, the heads of one clearly transfer worse than those of the other, scored "
        "on the same other treebanks (p values adjusted for the number of pairs): those of de lose -40.0 points on fr "
        "and pud, and those of en -10.0 points (difference -30.0 points [-31.0, -28.0], 1 relation, n = 1,234); those "
        "of pud lose -30.0 points on fr, and those of de -10.0 points (difference -20.0 points [-22.0, -19.0], "
        "1 relation, n = 1,234)."
    )
    (text, other) = findings(weight=[equal], norm=[clear[0]])
    assert text == (
        "bert (weight): scored on the same other treebanks, no treebank's heads clearly transfer worse than those of "
        "another (1 pair of treebanks, p values adjusted for their number)."
    )
    assert other.startswith("bert (norm): in 1 of 1 pair of treebanks, ")
    third = replace(clear[0], scored_on=("fr", "en", "gd"))
    (text,) = findings(weight=[*clear, third])
    assert text.endswith("; …")
    assert "points on 3 others" in findings(weight=[third])[0]
