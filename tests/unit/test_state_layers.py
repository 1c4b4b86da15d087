"""What is said and drawn of hidden states by layer, each under its condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.contract import OptionSet
from attentionology.analyses.probing.analysis import Probing
from attentionology.analyses.probing.layers import Layers, LayerTables, is_clear, layer_texts, layers_figure
from attentionology.analyses.probing.rows import STATES, StateCounts, StateTried
from attentionology.analyses.probing.trainings.state_folds import StateEpoch
from attentionology.analyses.probing.trainings.state_training import StateOutcome
from attentionology.analyses.shared.options import CountOptions
from tests.probing_results import counts_of_attempts, write_section
from tests.state_scores import BASELINE, counts_of_scores, list_columns, random_fractions, sentences


def state(layer: float, value: float, *, probe: str = "arcs", chosen: bool = False, **others: Any) -> dict[str, Any]:
    interval = {"value_low": value - 0.02, "value_high": value + 0.02, "band_low": value - 0.03}
    interval["band_high"] = value + 0.03
    kinds = {"score": "uas", "source": "model", "by_length": False, "control": math.nan, "random": math.nan}
    return {"probe": probe, "layer": layer, "value": value, "chosen": chosen, **interval, **kinds, **others}


def contrast(layer: int, second: str, difference: float, *, p: float = 0.001, around: float = 0.01) -> dict[str, Any]:
    bounds = {"low": difference - around, "high": difference + around}
    bounds |= {"band_low": difference - around * 1.5, "band_high": difference + around * 1.5}
    return {"probe": "arcs", "layer": layer, "second": second, "difference": difference, **bounds, "p_holm": p}


def answer(
    states: Sequence[Mapping[str, Any]], contrasts: Sequence[Mapping[str, Any]] = (), units: float = 20
) -> LayerTables:
    columns = ["probe", "layer", "second", "difference", "low", "high", "band_low", "band_high", "p_holm"]
    empty = pd.DataFrame()
    of_contrasts = pd.DataFrame(contrasts, columns=columns)
    return LayerTables(empty, pd.DataFrame(states), of_contrasts, empty, {"arcs": units}, (), {})


THREE = [state(0, 0.5), state(1, 0.6, chosen=True), state(2, 0.7)]


def test_the_layer_of_the_dev_sentences_is_named_even_if_another_is_best_in_the_test():
    [text] = layer_texts(answer(THREE))
    assert text == "60.0 % [58.0, 62.0] is the UAS of arcs on test sentences in layer 1, which the dev sentences chose."


@pytest.mark.parametrize(("units", "compared"), [(20, True), (19.99, False)])
def test_nothing_is_compared_with_too_few_sentences(units, compared):
    texts = list(layer_texts(answer(THREE, [contrast(1, "layer 0", 0.001)], units=units)))
    assert any("cannot be told apart" in text for text in texts) == compared
    assert any("It is not compared: a claim needs" in text for text in texts) != compared


def test_nothing_is_compared_without_replicates():
    rows = [{**row, "value_low": math.nan, "value_high": math.nan} for row in THREE]
    [text] = layer_texts(answer(rows, [contrast(1, "chain", 0.1)]))
    assert text.startswith("60.0 % is the UAS of arcs on")
    assert ". It is not compared" in text


def test_differences_are_said_with_their_verdict():
    rows = [
        contrast(1, "layer 0", 0.1), contrast(1, "layer 2", -0.005), contrast(1, "layer 3", 0.2, p=0.051),
        contrast(1, "random weights", 0.1), contrast(2, "random weights", 0.3), contrast(1, BASELINE, 0.05, p=0.06),
    ]  # fmt: skip
    first, second = layer_texts(answer(THREE, rows))
    assert first == (
        "60.0 % [58.0, 62.0] is the UAS of arcs on test sentences in layer 1, which the dev sentences chose; +10.0 "
        "points [9.0, 11.0] against random weights; +5.0 points [4.0, 6.0], which is not clear, against best single "
        "head."
    )
    together = "by intervals that hold for all layers together"
    assert second == f"2 layers cannot be told apart from layer 1 by arcs, {together}: Layers 2 and 3."
    [_, alone] = layer_texts(answer(THREE, [contrast(1, "layer 0", 0.0), contrast(1, "layer 2", 0.3)]))
    assert alone == f"1 layer cannot be told apart from layer 1 by arcs, {together}: Layer 0."
    many = [contrast(1, f"layer {layer}", 0.012) for layer in (3, 4, 5, 7)]  # each clear, but not together
    [_, ranges] = layer_texts(answer(THREE, many))
    assert ranges == f"4 layers cannot be told apart from layer 1 by arcs, {together}: Layers 3 to 5 and 7."


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (contrast(2, "random weights", -0.1), True),
        (contrast(2, "random weights", -0.1, p=0.051), False),
        (contrast(2, "random weights", -0.1, around=0.11), False),
        (contrast(2, "random weights", 0.1), False),
        (contrast(2, "chain", -0.1), False),
    ],
)
def test_a_layer_below_random_weights_is_named(row, said):
    texts = list(layer_texts(answer(THREE, [row])))
    below = "-10.0 points [-11.0, -9.0] is how far layer 2 of arcs is below random weights."
    assert (below in map(plain, texts)) == said
    assert len(texts) == 1 + said


def plain(text: str) -> str:
    return text.replace("−", "-")


@pytest.mark.parametrize(
    ("low", "high", "p", "clear"),
    [
        (0.001, 0.1, 0.049, True), (0.001, 0.1, 0.05, False), (0.0, 0.1, 0.01, False), (-0.1, -0.001, 0.049, True),
        (-0.1, 0.0, 0.01, False), (math.nan, math.nan, math.nan, False),
    ],
)  # fmt: skip
def test_a_clear_difference_excludes_0_after_adjustment(low, high, p, clear):
    assert is_clear({"low": low, "high": high, "p_holm": p}) == clear


def test_a_probe_that_found_nothing_to_score_is_left_out():
    rows = [state(layer, math.nan, probe="label:feats:Tense", chosen=layer == 0) for layer in (0, 1)]
    assert list(layer_texts(answer(rows))) == []


def test_the_figure_shows_the_first_score_with_its_controls():
    none = math.nan
    rows = [
        state(none, 0.3, probe="distance", source="chain", score="uuas"),
        state(2, 0.6, probe="distance", score="uuas", control=0.35, random=0.45),
        state(0, 0.5, probe="distance", score="uuas", control=0.3, random=0.4, chosen=True),
        state(0, 0.9, probe="distance", score="dspr", by_length=True),
        state(0, 0.7, control=0.1), state(2, 0.8, chosen=True),
    ]  # fmt: skip
    methods = pd.DataFrame([("attention", 0.53), (BASELINE, 0.4), ("best offset", 0.2)], columns=["method", "uas"])
    figure = layers_figure(pd.DataFrame(rows), methods, title="t")
    distance, arcs = figure.axes
    lines = {str(line.get_label()): np.column_stack(line.get_data()).tolist() for line in distance.lines}
    assert lines["states"] == [[0, 50], [2, 60]]
    assert lines["control task"] == [[0, 30], [2, 35]]
    assert lines["random weights"] == [[0, 40], [2, 45]]
    filled = [line for line in distance.lines if line.get_marker() == "o" and line.get_label() != "states"]
    assert [np.column_stack(line.get_data()).tolist() for line in filled] == [[[0, 50]]]
    assert [text.get_text() for text in distance.texts] == ["chain 30.0"]
    assert distance.get_ylabel() == "UUAS (%)"
    assert [text.get_text() for text in arcs.texts] == [f"{BASELINE} 40.0", "attention 53.0"]
    for band, around in zip(distance.collections, (3, 2), strict=True):  # of all layers together, and of each alone
        corners = np.asarray(band.get_paths()[0].vertices)
        expected = [(0, 50 - around), (0, 50 + around), (2, 60 - around), (2, 60 + around)]
        assert sorted({tuple(np.round(corner, 6)) for corner in corners}) == expected
    assert "random weights" not in [str(line.get_label()) for line in arcs.lines]


def epoch(source: str, task: str) -> StateEpoch:
    return StateEpoch("label:upos", 0, source, task, 1, 1, 1, 2.0, 1.0, 0.001)


def test_parameters_are_those_of_the_task_itself():
    def outcome(source: str, task: str, parameters: int) -> StateOutcome:
        columns = (StateTried("label:upos", 0, source, task, 1, "accuracy", False, None),)
        history = (epoch(source, task),)
        return StateOutcome(columns, np.zeros((1, 1, 2)), history=history, parameters=parameters)

    outcomes = [outcome("model", "gold", 170), outcome("model", "types", 160), outcome("random weights", "gold", 170)]
    states = SimpleNamespace(outcomes=[*outcomes, outcome("model", "types", 150)], chosen={"label:upos": 0})
    lookup_context: Any = SimpleNamespace(trained=SimpleNamespace(states=states))
    lookups = Layers().look(lookup_context) or {}
    assert lookups["parameters"] == {"label:upos": 170}
    assert len(lookups["history"]) == len(lookups["tried"]) == 4


COLUMNS = [*list_columns("distance", (0, 1), floors=("chain",)), *list_columns("label:upos", (0, 1))]
LOOKED = {
    "tried": [asdict(each) for each in COLUMNS],
    "chosen": {"distance": 1, "label:upos": 0},
    "parameters": {"distance": 12, "label:upos": 34_567},
    "recipes": ["distance: slowly"],
    "history": [asdict(epoch("model", "gold"))],
}


def probed(number: int, seed: int = 0) -> Any:
    of = sentences(number, seed)
    return counts_of_scores(of, COLUMNS, random_fractions(of, COLUMNS, seed))


def results_of(given: Any, lookups: Any) -> Any:
    return Probing().results(OptionSet([CountOptions()]), given, {}, {"layers": lookups, "runs": {"texts": []}})


def test_everything_is_shown_from_what_is_stored(tmp_path):
    found = results_of(probed(30), {"texts": LOOKED})
    section, page = write_section(tmp_path, found)
    answered = found.answers["layers"]
    assert len(answered.layers) == len(COLUMNS)
    assert len(answered.states) == 2 + 2 * 2 + 2
    assert set(answered.contrasts["probe"]) == {"distance", "label:upos"}
    assert answered.units["distance"] > 20
    assert "label:upos 34,567" in page
    assert len([finding for finding in section.findings if "in layer 1, which the dev" in finding.text]) == 1


def test_merged_runs_have_the_sentences_of_both():
    first, second = probed(20), probed(15, seed=1)
    alone: list[Any] = [Probing().counts(OptionSet([CountOptions()]), each).states for each in (first, second)]
    edges = [np.eye(3, 2, dtype=bool), np.ones((4, 2), dtype=bool)]
    merged = StateCounts(len(COLUMNS))
    for given, of_given in zip((first, second), edges, strict=True):
        metric = StateCounts(len(COLUMNS))
        metric.update(given.metrics[STATES].compute()[0], list(of_given.T))
        merged.merge_state(metric)
    fractions, found = merged.compute()
    np.testing.assert_array_equal(fractions, np.concatenate(alone))
    np.testing.assert_array_equal(found, np.concatenate(edges))
    assert Layers().join([LOOKED, {**LOOKED}]) == LOOKED
    other = [replace(COLUMNS[0], layer=7), *COLUMNS[1:]]
    assert Layers().join([LOOKED, {**LOOKED, "tried": [asdict(each) for each in other]}]) is None
    assert Layers().join([]) is None


def test_a_run_without_probes_of_states_has_no_such_answer():
    of = sentences(30)
    found = results_of(counts_of_attempts(of, [stored_attempt(of)]), {})
    assert "layers" not in found.answers


def stored_attempt(of: Any) -> Any:
    return Probing().counts(OptionSet([CountOptions()]), probed(len(of))).attempts[0]
