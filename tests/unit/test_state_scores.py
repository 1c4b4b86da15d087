"""Scores of probes of hidden states, against a naive computation in Python's floats, and their tables."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from attentionology.analyses.counting.resampling import effective_number, poisson_weights, simultaneous_intervals
from attentionology.analyses.probing.rows import MIX, StateTried
from attentionology.analyses.probing.state_scores import (
    StateScores,
    contrast_rows,
    first_columns,
    state_rows,
)
from attentionology.analyses.probing.trainings.state_training import StateOutcome, _choose_layers
from tests.state_scores import BASELINE, counts_of, list_columns, random_fractions, sentences

REPLICATES = 200
DISTANCE = list_columns("distance", (0, 2, 3), floors=("chain",))
ARCS = list_columns("arcs", (0, 2, 3))


def scores_of(columns, number=30, fractions=None) -> StateScores:
    of = sentences(number)
    made = random_fractions(of, columns) if fractions is None else fractions
    return StateScores(counts_of(of, columns, made, replicates=REPLICATES), made, columns)


def naive(scored: StateScores, column: int, weights) -> float:
    """Add up fractions sentence by sentence; a mean by length is a mean over the lengths 5 to 50 that are drawn."""
    rows = [
        (w * f, w * of, n) for w, (f, of), n in zip(weights, scored.fractions[:, column], scored.lengths, strict=True)
    ]
    if not scored.tried[column].by_length:
        total = sum(of for _, of, _ in rows)
        return sum(found for found, _, _ in rows) / total if total else math.nan
    means = []
    for length in range(5, 51):
        of_length = [(found, of) for found, of, n in rows if n == length]
        if total := sum(of for _, of in of_length):
            means.append(sum(found for found, _ in of_length) / total)
    return sum(means) / len(means) if means else math.nan


def drawn(number: int) -> list[list[int]]:
    weights: list[list[int]] = poisson_weights([f"s{i}" for i in range(number)], REPLICATES, 0).astype(int).tolist()
    return weights


@pytest.mark.parametrize("column", [0, 1, 2, 7, len(DISTANCE) - 1])
@pytest.mark.parametrize("number", [30, 2])
def test_scores_and_replicates_are_those_of_a_naive_computation(column, number):
    scored = scores_of(DISTANCE, number)
    np.testing.assert_allclose(scored.value(column), naive(scored, column, [1] * number), rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replicated = scored.replicate(column)
    expected = [naive(scored, column, weights) for weights in drawn(number)]
    np.testing.assert_allclose(replicated, expected, rtol=1e-12)
    assert np.isnan(expected).any() == (number == 2)  # replicates that have drawn nothing to score


def quantiles(values) -> list[float]:
    """Interpolate linearly between the sorted values."""
    ordered = sorted(value for value in values if not math.isnan(value))
    found = []
    for share in (0.025, 0.975):
        place = share * (len(ordered) - 1)
        low = int(place)
        above = ordered[min(low + 1, len(ordered) - 1)]
        found.append(ordered[low] + (place - low) * (above - ordered[low]))
    return found


def means(scored: StateScores, keys, weights) -> float:
    """The mean score of the columns whose fields are these."""
    columns = [c for c, t in enumerate(scored.tried) if (t.source, t.task, t.layer, t.score) == keys]
    assert len(columns) == 2
    return sum(naive(scored, column, weights) for column in columns) / 2


@pytest.mark.parametrize("number", [30, 2])
def test_rows_have_the_mean_of_runs_and_paired_differences(number):
    scored = scores_of(DISTANCE, number)
    rows = list(state_rows(scored, {"distance": 2}))
    assert [(row["score"], row["source"], row["layer"]) for row in rows if row["layer"] == row["layer"]] == [
        (score, "model", layer) for score in ("uuas", "dspr") for layer in (0, 2, 3)
    ]
    assert [row["source"] for row in rows if math.isnan(row["layer"])] == ["chain", "chain"]
    assert [row["layer"] for row in rows if row["chosen"]] == [2, 2]
    ones, replicates = [1] * number, drawn(number)
    for row in rows:
        if math.isnan(row["layer"]):
            assert math.isnan(row["control"])
            assert math.isnan(row["selectivity_low"])
            continue
        own = ("model", "gold", row["layer"], row["score"])
        others = {
            "selectivity": ("control", ("model", "trees", *own[2:])),
            "over_random": ("random", ("random weights", "gold", *own[2:])),
        }
        assert row["value"] == pytest.approx(means(scored, own, ones))
        bounds = quantiles([means(scored, own, weights) for weights in replicates])
        assert [row["value_low"], row["value_high"]] == pytest.approx(bounds)
        for difference, (name, key) in others.items():
            assert row[name] == pytest.approx(means(scored, key, ones))
            assert row[difference] == pytest.approx(means(scored, own, ones) - means(scored, key, ones))
            paired = [means(scored, own, weights) - means(scored, key, weights) for weights in replicates]
            assert [row[f"{difference}_low"], row[f"{difference}_high"]] == pytest.approx(quantiles(paired))
        columns = scored.columns("distance", row["layer"], "model", "gold", row["score"])
        first, second = (scored.value(column) for column in columns)
        assert row["value_sd"] == pytest.approx(abs(first - second) / math.sqrt(2))
        assert row["dev"] == 0.25 if row["score"] == "uuas" else math.isnan(row["dev"])
        assert row["by_length"] == (row["score"] == "dspr")


def test_contrasts_are_paired_and_adjusted():
    scored = scores_of([*ARCS, *list_columns("arcs+attention", (0, 2, 3))])
    rows = list(contrast_rows(scored, {"arcs": 3, "arcs+attention": 2}))
    of_arcs = [row for row in rows if row[0] == "arcs"]
    assert [(layer, second) for _, layer, second, *_ in of_arcs] == [
        (3, "layer 0"), (3, "layer 2"), (2, "random weights"), (3, "random weights"), (3, BASELINE),
    ]  # fmt: skip
    both = [(layer, second) for name, layer, second, *_ in rows if name == "arcs+attention"]
    assert both[-1] == (2, "arcs of layer 2")
    assert (0, "random weights") in both  # where its states are those of the model, but not its maps

    def value(layer, weights, source="model"):
        columns = scored.columns("arcs", layer, source, "gold", "uas")
        return sum(naive(scored, column, weights) for column in columns) / 2

    ones, replicates = [1] * 30, drawn(30)
    p_values = []
    for _, layer, second, difference, low, high, _, _, p, _ in of_arcs[:4]:
        source, other = ("random weights", layer) if second == "random weights" else ("model", int(second[-1]))
        paired = [value(layer, weights) - value(other, weights, source) for weights in replicates]
        assert difference == pytest.approx(value(layer, ones) - value(other, ones, source))
        assert [low, high] == pytest.approx(quantiles(paired))
        middle = sum(paired) / len(paired)
        error = math.sqrt(sum((one - middle) ** 2 for one in paired) / (len(paired) - 1))
        assert p == pytest.approx(math.erfc(abs(difference) / error / math.sqrt(2)))
        p_values.append(p)
    p_values.append(of_arcs[4][8])
    largest = 0.0
    for rank, place in enumerate(sorted(range(5), key=lambda i: p_values[i])):  # Holm's procedure, step by step
        largest = max(largest, min(1.0, (5 - rank) * p_values[place]))
        assert of_arcs[place][9] == pytest.approx(largest)
    counts = scored.counts
    right = counts.attempts[0].right[counts.words.scored].mean()
    assert of_arcs[4][3] == pytest.approx(value(3, ones) - right)


def naive_band(estimates, replicates, number: int) -> tuple[float, float]:
    """The band of one of several numbers, given the replicates of each."""
    deviations = []
    for drawn_of in replicates:
        middle = sum(drawn_of) / len(drawn_of)
        deviations.append(math.sqrt(sum((one - middle) ** 2 for one in drawn_of) / (len(drawn_of) - 1)))
    largest = sorted(
        max(abs(of[r] - value) / sd for of, value, sd in zip(replicates, estimates, deviations, strict=True))
        for r in range(len(replicates[0]))
    )
    place = 0.95 * (len(largest) - 1)
    below = largest[int(place)]
    width = below + (place - int(place)) * (largest[min(int(place) + 1, len(largest) - 1)] - below)
    return estimates[number] - width * deviations[number], estimates[number] + width * deviations[number]


def test_bands_hold_for_all_layers_together():
    scored = scores_of([*DISTANCE, *list_columns("distance", (MIX,))])
    layers, ones, replicates = (0, 2, 3), [1] * 30, drawn(30)
    for row in state_rows(scored, {"distance": 2}):
        if math.isnan(row["layer"]):  # a mix is no part of the curve
            assert math.isnan(row["band_low"])
            continue
        keys = [("model", "gold", layer, row["score"]) for layer in layers]
        values = [means(scored, key, ones) for key in keys]
        by_layer = [[means(scored, key, weights) for weights in replicates] for key in keys]
        band = naive_band(values, by_layer, layers.index(row["layer"]))
        assert (row["band_low"], row["band_high"]) == pytest.approx(band)
        assert row["band_low"] < row["value_low"] < row["value_high"] < row["band_high"]
    keys = [("model", "gold", layer, "uuas") for layer in layers]
    by_layer = [[means(scored, key, weights) for weights in replicates] for key in keys]
    values = [means(scored, key, ones) for key in keys]
    paired = [[two - one for one, two in zip(by_layer[n], by_layer[1], strict=True)] for n in (0, 2)]
    contrasts = list(contrast_rows(scored, {"distance": 2}))
    of_layers = [contrast for contrast in contrasts if contrast[2].startswith("layer ")]
    assert [contrast[2] for contrast in of_layers] == ["layer 0", "layer 3"]
    for number, contrast in enumerate(of_layers):
        band = naive_band([values[1] - values[0], values[1] - values[2]], paired, number)
        assert contrast[6:8] == pytest.approx(band)
    others = [contrast[6:8] for contrast in contrasts if contrast not in of_layers]
    assert len(others) > 2
    assert np.isnan(np.array(others)).all()


def test_a_band_covers_all_layers_in_95_of_100_cases():
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(400):
        errors = rng.normal(size=(6, 401)) * np.arange(1, 7)[:, None]  # the first column is the error of the estimates
        bands = simultaneous_intervals([(error[0], error[0] + error[1:]) for error in errors])
        covered.append(all(low <= 0 <= high for low, high in bands))
    assert 0.92 < np.mean(covered) < 0.98


def test_a_difference_that_never_varies_has_no_p_value():
    of, columns = sentences(30), list_columns("arcs", (0, 1))
    same = np.stack([np.ones((30, len(columns))), np.full((30, len(columns)), 2.0)], -1)
    rows = list(contrast_rows(StateScores(counts_of(of, columns, same), same, columns), {"arcs": 0}))
    for _, _, second, difference, low, high, *band, p, adjusted in rows:
        if second != BASELINE:
            assert band == [0, 0] or second == "random weights"
            assert (difference, low, high) == (0, 0, 0)
            assert math.isnan(p)
            assert math.isnan(adjusted)
        else:
            assert p == adjusted  # the only test of the probe


def test_claims_need_sentences_that_have_what_the_probe_finds():
    of, columns = sentences(40), list_columns("label:feats:Tense", (0, 1))
    fractions = random_fractions(of, columns)
    fractions[3:] = 0
    scored = StateScores(counts_of(of, columns, fractions), fractions, columns)
    assert scored.units(first_columns(scored, "label:feats:Tense", 0)) == pytest.approx(
        effective_number(np.array([len(sentence) for sentence in of[:3]]))
    )


def outcome(probe: str, layer: int, run: int, dev: float | None) -> StateOutcome:
    tests = [StateTried(probe, layer, "model", "gold", run, name, False, dev if not n else None)
             for n, name in enumerate(("first", "second"))]  # fmt: skip
    return StateOutcome(tuple(tests), np.array([[[layer, 9]] * 2]))  # which the highest layer would win


@pytest.mark.parametrize(
    ("dev", "chosen"),
    [
        ({0: (0.5, 0.5), 1: (0.6, 0.2), 2: (0.3, 0.4)}, 0),
        ({2: (0.5, 0.7), 1: (0.7, 0.5), 0: (0.1, 0.1)}, 1),  # of equal ones the lower layer
        ({0: (0.2, 0.2), 1: (0.3, 0.2), 2: (0.1, 0.1)}, 1),
        ({0: (None, None), 1: (None, None)}, 0),  # no dev word has a label
    ],
)
def test_the_dev_sentences_choose_the_layer(dev, chosen):
    outcomes = [
        outcome("arcs", layer, run, score) for layer, of_layer in dev.items() for run, score in enumerate(of_layer)
    ]
    other = [outcome("depth", layer, 1, score) for layer, score in ((0, 0.1), (3, 0.9))]
    assert _choose_layers([*outcomes, *other]) == {"arcs": chosen, "depth": 3}
