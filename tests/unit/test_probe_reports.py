"""What is said of trained probes, at the limits of its conditions."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd

from attentionology.analyses.counting.resampling import FEWEST_UNITS
from attentionology.analyses.probing.rows import ProbeResults
from attentionology.analyses.probing.scores import score_texts, side_of_control, side_of_second
from tests.probing_results import Case, results, with_answers, write_section


def test_weights_of_nothing_are_left_out(tmp_path):
    found = results(Case(probes=("attention",)))
    section, page = write_section(tmp_path, with_answers(found, head_weights=None))
    assert "Which heads the probes use" not in page
    assert not (tmp_path / "tables" / "probe_weights.csv").exists()
    assert section.summary["probe_weights"] == {}


def test_a_probe_is_on_a_side_only_with_the_whole_interval():
    for low, high, side in (
        (0.001, 0.2, 1),
        (0.0, 0.2, 0),
        (-0.2, 0.0, 0),
        (-0.2, -0.001, -1),
        (math.nan, math.nan, 0),
    ):
        assert side_of_second({"difference": 0.0, "low": low, "high": high}) == side
        assert side_of_control({"uas": 0.5, "uas_low": 1 + low, "uas_high": 1 + high, "control_accuracy": 1.0}) == side


def test_what_is_said_of_a_probe_under_each_condition():
    row = {"decoding": "argmax", "runs": 1, "total": 1200, "uas": 0.6, "uas_low": 0.55, "uas_high": 0.65}
    control = {"control_accuracy": 0.58, "selectivity": 0.02}
    methods = pd.DataFrame(
        [
            {"method": "attention", **row, **control},
            {"method": "attention", **row, **control, "decoding": "tree", "uas": 0.9},
            {"method": "attention+words", **row, "runs": 2, "control_accuracy": math.nan, "selectivity": math.nan},
            {"method": "words", **row, **control, "total": 0},
            {"method": "other", **row, **control, "control_accuracy": 0.7, "selectivity": -0.1},
            {"method": "best offset", **row, "uas": 0.5},
            {"method": "best single head", **row, "uas": 0.59},
            {"method": "attention, random weights", **row, "uas": 0.2},
        ]
    )
    more, not_more = {"difference": 0.1, "low": 0.05, "high": 0.15}, {"difference": 0.01, "low": -0.01, "high": 0.03}
    less = {"difference": -0.057, "low": -0.093, "high": -0.023}
    contrasts = pd.DataFrame(
        [
            {"first": "attention", "second": "best offset", **more},
            {"first": "attention", "second": "best single head", **not_more},
            {"first": "other", "second": "best offset", **more},
            {"first": "other", "second": "best single head", **less},
            {"first": "other", "second": "attention", **not_more},
        ]
    )
    begins = "60.0 % [55.0, 65.0] of 1,200 words have a syntactic head that the probe"
    ends = "finds in sentences that did not train it"
    strongest = "the strongest baseline, “best single head”, finds 59.0 %"
    probes = ("attention", "attention+words", "words")
    found = ProbeResults(methods, probes, FEWEST_UNITS, answers={"contrasts": contrasts})
    assert list(score_texts(found)) == [
        (
            "attention",
            f"{begins} attention {ends}, not clearly more than on its control task (58.0 %, +2.0 points); {strongest}"
            ". It finds clearly more than “best offset” (+10.0 points [5.0, 15.0]) and not clearly more than “best "
            "single head” (+1.0 points [-1.0, 3.0]).",
        ),
        ("attention+words", f"{begins} attention+words {ends}, as a mean of 2 runs; {strongest}."),
    ]
    clear = {"difference": -0.1, "low": -0.15, "high": -0.05}
    worse = contrasts.assign(**clear).query("second == 'best single head'")
    (below,) = dict(score_texts(replace(found, probes=("attention",), answers={"contrasts": worse}))).values()
    assert below.endswith(" It finds clearly fewer than “best single head” (-10.0 points [-15.0, -5.0]).")
    not_compared = (
        "It is not compared: a claim needs bootstrap replicates and an effective number of 20 sentences or more."
    )
    less_than_control = (
        f"{begins} other {ends}, clearly fewer than on its control task (70.0 %, -10.0 points); {strongest}. It finds "
        "clearly more than “best offset” (+10.0 points [5.0, 15.0]), not clearly more than “attention” (+1.0 points "
        "[-1.0, 3.0]) and clearly fewer than “best single head” (-5.7 points [-9.3, -2.3])."
    )
    assert dict(score_texts(replace(found, probes=("other",)))) == {"other": less_than_control}
    few = replace(found, probes=("attention",), units=FEWEST_UNITS - 0.01)
    assert dict(score_texts(few)) == {"attention": f"{begins} attention {ends}; {strongest}. {not_compared}"}
    without = replace(found, probes=("attention",), methods=methods.assign(uas_low=math.nan, uas_high=math.nan))
    (text,) = dict(score_texts(without)).values()
    assert text.endswith(not_compared)
