"""Known answers: what is equal, what differs, and by how much it may."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from attentionology.analyses.contract import OptionError
from attentionology.analyses.known_answers import sample
from attentionology.analyses.known_answers.independent import TOTALS, independent_checks
from attentionology.analyses.known_answers.sample import SampleAnswers, compare_answers, digest_of_counts, known_answers
from attentionology.engine.known_answers import check_setting

TABLE = pd.DataFrame({"relation": ["obj", "det"], "correct": [96, 247], "total": [137, 269]})
KNOWN = SampleAnswers(
    {"cells": digest_of_counts(TABLE)}, {"surface, a": 50.0, "norms, b": 1.5}, {"surface, a": 0.1, "norms, b": 0.01}
)


def failed(found: SampleAnswers) -> list[str]:
    return [check.name for check in compare_answers(found, KNOWN) if not check.passed]


def test_digest_is_that_of_the_rows_as_text():
    text = "relation\tcorrect\ttotal\nobj\t96\t137\ndet\t247\t269\n"
    assert digest_of_counts(TABLE) == hashlib.sha256(text.encode()).hexdigest()


def test_real_numbers_have_no_digest():
    with pytest.raises(ValueError, match=r"real numbers: \['accuracy'\]"):
        digest_of_counts(TABLE.assign(accuracy=[0.7, 0.9]))


def test_tampered_digest_fails_alone_and_is_named():
    tampered = replace(KNOWN, counts={"cells": "0" * 64})
    (line,) = [check for check in compare_answers(KNOWN, tampered) if check.passed is False]
    assert (line.name, line.found) == ("counts: cells", f"sha256 {KNOWN.counts['cells'][:12]} instead of 000000000000")


def test_numbers_that_differ_are_counted_among_those_of_their_analysis():
    numbers = {"surface, a": 50.0, "surface, b": 20.0, "surface, c": 10.0, "norms, b": 1.5}
    known = SampleAnswers({}, numbers, dict.fromkeys(numbers, 0.1))
    found = replace(known, numbers={**numbers, "surface, b": 20.2, "surface, c": 11.0})
    assert [(check.name, check.passed, check.found) for check in compare_answers(found, known)] == [
        ("numbers: surface", False, "2 of 3 differ, such as surface, b: 20.2 instead of 20.0"),
        ("numbers: norms", True, "1 equal to the printed digits"),
    ]


@pytest.mark.parametrize(("value", "expected"), [(50.049, []), (49.951, []), (50.051, ["numbers: surface"])])
def test_real_numbers_may_differ_by_half_a_printed_digit(value, expected):
    assert failed(replace(KNOWN, numbers={**KNOWN.numbers, "surface, a": value})) == expected


def test_a_line_counts_the_numbers_of_its_analysis_and_names_the_first_that_differs():
    numbers = {**KNOWN.numbers, "surface, c": 60.0}
    known = replace(KNOWN, numbers=numbers, unit=dict.fromkeys(numbers, 0.1))
    found = replace(known, numbers={**numbers, "surface, a": 40.0})
    lines = {line.name: line.found for line in compare_answers(found, known)}
    assert lines["numbers: surface"] == "1 of 2 differ, such as surface, a: 40.0 instead of 50.0"
    assert lines["numbers: norms"] == "1 equal to the printed digits"


def test_independent_numbers_stand_beside_those_of_the_same_map_or_the_command_that_gives_them():
    def results_of(kind: int) -> SimpleNamespace:
        accuracies = {
            name: [kind + column + row for row in (0.01, 0.02, 0.03)]
            for name, column in (("accuracy", 0.1), ("heldout_accuracy", 0.2), ("control_accuracy", 0.3))
        }
        return SimpleNamespace(best=pd.DataFrame({"relation": TOTALS, **accuracies}))

    lines = independent_checks({("dependency", "weight"): results_of(0), ("dependency", "norm"): results_of(1)})
    here = [line.found.partition("; here ")[2] for line in lines]
    assert here[:3] == [
        "all 21.0, all-nopunct 22.0, all-nopunct-noroot 23.0",
        "all 121.0, all-nopunct 122.0, all-nopunct-noroot 123.0",
        "all 31.0, all-nopunct 32.0, all-nopunct-noroot 33.0",
    ]
    assert [f"--map {kind} " in line for kind, line in zip(("weight", "norm"), here[3:], strict=True)] == [True, True]


def test_shipped_file_covers_all_analyses_and_has_no_odd_numbers(tmp_path):
    known = known_answers()
    assert {name.split()[0] for name in known.counts} == {"dependency", "coreference"}
    assert {name.split(",")[0] for name in known.numbers} == {"surface", "norms"}
    assert len(known.counts) == 3 * len(sample.MAPS)
    assert set(known.unit) == set(known.numbers)
    assert all(len(digest) == 64 for digest in known.counts.values())
    sample.write_answers(known, tmp_path / "copy.json")
    assert json.loads((tmp_path / "copy.json").read_text("utf-8")) == json.loads(sample.FILE.read_text("utf-8"))


def test_independent_numbers_stand_beside_those_of_the_same_maps():
    """Relations that are no totals have no independent number, and nothing is passed or failed."""
    relations = ["all", "all-nopunct", "all-nopunct-noroot", "obj"]
    values = {"weight": ([0.41, 0.42, 0.43, 0.9], [0.08, 0.09, 0.1, 0.3]), "norm": ([0.51, 0.52, 0.53, 0.9], [0.2] * 4)}
    results: dict[tuple[str, str | None], Any] = {
        ("dependency", kind): SimpleNamespace(
            best=pd.DataFrame({"relation": relations, "heldout_accuracy": of_model, "control_accuracy": of_copy})
        )
        for kind, (of_model, of_copy) in values.items()
    }
    checks = list(independent_checks(results))
    assert [(check.name, check.found) for check in checks[:3]] == [
        (
            "best single head, held-out, attention weights",
            "independent 41.9; here all 41.0, all-nopunct 42.0, all-nopunct-noroot 43.0",
        ),
        (
            "best single head, held-out, norms ‖αf(x)‖",
            "independent 43.4; here all 51.0, all-nopunct 52.0, all-nopunct-noroot 53.0",
        ),
        (
            "best single head, random weights",
            "independent 9.0; here all 8.0, all-nopunct 9.0, all-nopunct-noroot 10.0",
        ),
    ]
    probe = (
        "run: attentionology probe --model google-bert/bert-base-uncased --train ud:en_ewt:train --test ud:en_ewt:dev "
        "--map {} --probe attention"
    )
    assert [(check.name, check.found) for check in checks[3:]] == [
        ("probe of attention weights, UAS", f"independent 61.4; here {probe.format('weight')}"),
        ("probe of norms, UAS", f"independent 62.1; here {probe.format('norm')}"),
    ]
    assert {check.passed for check in checks} == {None}


@pytest.mark.parametrize(
    ("model", "corpus", "message"),
    [
        ("demo", "other.conllu", "sample treebank"),
        ("gpt2", "sample", "not for 'gpt2'"),
        ("bert-base-uncased", "sample", "add --corpus ud:en_ewt:dev"),
    ],
)
def test_settings_without_known_answers_are_refused(model, corpus, message):
    with pytest.raises(OptionError, match=message):
        check_setting(model, corpus)
