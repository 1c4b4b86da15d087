"""Where something is found best, and what accuracies are read beside: claims hold where held-out intervals say so."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np
import pytest

from attentionology.analyses.counting.best_head import STANDARD_ERRORS, heldout
from attentionology.analyses.counting.held_out import HeldOutRate
from attentionology.analyses.counting.outcomes import Counts
from attentionology.analyses.shared.layers import ByLayer, best_layer, by_layer, mean_of, sentences_about
from attentionology.analyses.shared.references import Rule, best_rule, marks_of, over_rule

NOISE = np.array([-1.0, 1.0, 0.0, 0.0])
NOISE = NOISE / NOISE.std(ddof=1) / STANDARD_ERRORS  # whose interval reaches from −1 to 1


def rates(*values: float, widths: tuple[float, ...] = ()) -> ByLayer:
    """Layers with these accuracies, of which each deviates so that its interval reaches as far as its width."""
    widths = widths or (0.0,) * len(values)
    pairs = zip(values, widths, strict=True)
    return ByLayer(tuple(HeldOutRate(value, 0.01 * NOISE + width * NOISE) for value, width in pairs))


@pytest.mark.parametrize(("width", "close"), [(0.0999, ()), (0.1001, (0,))])
def test_a_layer_is_the_best_if_the_interval_of_each_difference_is_above_zero(width, close):
    """What both layers share in each replicate does not count, and a difference at its limit is not clear."""
    best = best_layer(rates(0.5, 0.6, 0.2, widths=(width, 0.0, 0.0)).rates)
    assert (best.layer, best.second, best.close) == (1, 0, close)
    assert best.is_clear == (not close)
    found = tuple(best.gain[f"heldout_gain{end}"] for end in ("", "_low", "_high"))
    assert found == pytest.approx((0.1, 0.1 - width, 0.1 + width), abs=1e-9)


def test_equal_layers_and_text_without_replicates_support_no_claim():
    assert best_layer(rates(0.5, 0.5).rates).close == (1,)
    without = ByLayer(tuple(HeldOutRate(value, np.zeros(0)) for value in (0.1, 0.9)))
    assert best_layer(without.rates).close == (0,)
    assert sentences_about(without, "for obj", {}, "") == ("", "")
    assert sentences_about(rates(0.5), "for obj", {}, "") == ("", "")  # of one layer


def test_findings_say_as_much_as_the_intervals_do():
    def found(*values: float, widths: tuple[float, ...] = (), parts: Mapping[str, ByLayer] | None = None) -> str:
        parts = parts or {}
        text, more = sentences_about(
            rates(*values, widths=widths), "for all", parts, f"{len(parts)} relations", "70.0 % by the rule"
        )
        return f"{text} {more}".rstrip()

    assert found(0.5, 0.6) == (
        "60.0 % [59.0, 61.0] held out (70.0 % by the rule) is what the best head of layer 2 finds for all, the most of "
        "all layers, and clearly more than that of the other layer: +10.0 points more than layer 1."
    )
    assert "all other layers: +20.0 points [+" not in (clear := found(0.8, 0.6, 0.2))
    assert "clearly more than those of all other layers: +20.0 points more than layer 2." in clear
    some = found(0.5, 0.6, 0.55, 0.1, widths=(0.11, 0.0, 0.06, 0.0))
    assert some.endswith("but not clearly more than those of layers 1 and 3; all other layers clearly find less.")
    assert found(0.5, 0.6, widths=(0.2, 0.0)).endswith("but not clearly more than that of any other layer.")
    unclear = rates(0.5, 0.6, widths=(0.2, 0.0))
    assert found(0.5, 0.6, parts={"obj": unclear, "det": unclear}).endswith(
        "For none of the 2 relations is one layer clearly the best."
    )
    parts = {"det": rates(0.1, 0.2, widths=(0.05, 0.0)), "obj": rates(0.9, 0.1), "case": unclear}
    (last,) = re.findall(r"Of the .*", found(0.5, 0.6, parts=parts))
    assert last == (
        "Of the 3 relations, 2 are clearly found best in one layer: obj in layer 1 (90.0 % [89.0, 91.0], +80.0 points "
        "more than layer 2); det in layer 2 (20.0 % [19.0, 21.0], +10.0 points [5.0, 15.0] more than layer 1)."
    )


def test_heads_of_a_layer_are_chosen_among_themselves():
    """Against the held-out accuracy of each layer alone, in a model and in copies that count in another order."""
    rng = np.random.default_rng(0)

    def counts(weightings: int) -> Counts:
        total = rng.integers(5, 9, size=(3, weightings))
        correct = rng.integers(0, 1 + total[..., None, None, None], size=(3, weightings, 2, 3, 4))
        return Counts(correct, np.zeros((3, weightings, 0)), total)

    subsets, replicates, copies = counts(5), counts(30), [counts(5), counts(5)]
    for part in (subsets, *copies):  # the first subset is the whole, of which the others are halves
        part.total[:, 0], part.correct[:, 0] = part.total.max(1), part.correct.max(1)
    found = by_layer([0, 2], subsets, replicates, [([2, 0], copies[0]), ([1], copies[1])])

    def naive(counts: Counts, rows: list[int], layer: int) -> float:
        correct = np.stack([counts.correct[row][:, :, [layer], :] for row in rows]).sum(0)
        return float(heldout(correct, sum(counts.total[row] for row in rows))["heldout_accuracy"])

    for layer in range(3):
        assert found.rates[layer].value == naive(subsets, [0, 2], layer)
        of_copies = naive(copies[0], [2, 0], layer), naive(copies[1], [1], layer)
        assert found.random[layer] == pytest.approx(sum(of_copies) / 2)
    assert by_layer([0], subsets, replicates).random == ()
    mean = mean_of([found, by_layer([1], subsets, replicates, [([1], copies[0])])])
    expected = [(naive(subsets, [0, 2], layer) + naive(subsets, [1], layer)) / 2 for layer in range(3)]
    assert [rate.value for rate in mean.rates] == pytest.approx(expected)
    assert mean_of([found, by_layer([1], subsets, replicates)]).random == ()
    curve = found.curve()
    assert curve.low is not None
    assert (np.array(curve.low, dtype=float) < np.array(curve.values, dtype=float)).all()
    assert ByLayer((HeldOutRate(0.5, np.zeros(0)),)).curve().low is None


def test_heads_are_compared_with_rules_in_the_same_replicates():
    accuracies, rule = np.array([0.5, 0.7]), HeldOutRate(0.6, np.array([0.1, -0.1, 0.0, np.nan]))
    drawn = np.array([[0.6, 0.7], [0.4, 0.7], [0.5, 0.7], [0.0, 0.0]])  # head 1 deviates as the rule does
    gains, low, high = over_rule(accuracies, drawn, rule)
    assert gains.tolist() == pytest.approx([-0.1, 0.1])
    assert low == pytest.approx((-0.1, 0.1 - STANDARD_ERRORS * 0.1), abs=1e-4)
    assert high == pytest.approx((-0.1, 0.1 + STANDARD_ERRORS * 0.1), abs=1e-4)
    assert over_rule(accuracies, None, rule)[1:] == (None, None)
    assert over_rule(accuracies, drawn[:1], HeldOutRate(0.6, np.zeros(1)))[1:] == (None, None)


def test_marks_say_what_was_not_counted():
    best, row = HeldOutRate(0.7, 0.1 * NOISE), {"layer": 3, "head": 1, "control_accuracy": 0.25}
    rules = [
        Rule("position", "offset", HeldOutRate(0.5, 0.0 * NOISE), "…"),
        Rule("rule", "tags", None, "not counted: no parts of speech"),
        Rule("rule", "other tags", HeldOutRate(math.nan, NOISE), "…"),
    ]
    marks = list(marks_of(row, best, rules, 2))
    assert [mark.role for mark in marks] == ["heldout", "position", "rule", "rule", "random"]
    assert [mark.value for mark in marks] == [0.7, 0.5, None, None, 0.25]
    assert (marks[0].low, marks[0].high) == pytest.approx((0.6, 0.8))
    assert "3-1" in marks[0].note
    assert marks[2].note == "not counted: no parts of speech"
    assert marks[3].note.startswith("undefined")
    assert "2 copies" in marks[4].note
    del row["control_accuracy"]
    assert list(marks_of(row, best, rules, 0))[-1].note == "not counted; --control random-init"
    chosen = best_rule([Rule("position", "worse", HeldOutRate(0.3, NOISE), "…"), *rules])
    assert chosen is not None
    assert chosen.label == "offset"
    assert best_rule(rules[1:]) is None
