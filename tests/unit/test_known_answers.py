"""Known answers: what is equal, what differs, and by how much it may."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from attentionology.analyses.contract import OptionError
from attentionology.analyses.known_answers import independent, sample
from attentionology.analyses.known_answers.sample import SampleAnswers, compared, digest_of_counts, known_answers
from attentionology.engine.known_answers import check_setting

TABLE = pd.DataFrame({"relation": ["obj", "det"], "correct": [96, 247], "total": [137, 269]})
KNOWN = SampleAnswers(
    {"cells": digest_of_counts(TABLE)}, {"surface, a": 50.0, "norms, b": 1.5}, {"surface, a": 0.1, "norms, b": 0.01}
)


def failed(found: SampleAnswers) -> list[str]:
    return [check.name for check in compared(found, KNOWN) if not check.passed]


def test_digest_is_that_of_the_rows_as_text():
    text = "relation\tcorrect\ttotal\nobj\t96\t137\ndet\t247\t269\n"
    assert digest_of_counts(TABLE) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "other", [TABLE.assign(correct=[97, 247]), TABLE.iloc[::-1], TABLE.rename(columns={"total": "n"}), TABLE.head(1)]
)
def test_every_change_of_a_count_changes_the_digest(other):
    assert digest_of_counts(other) != digest_of_counts(TABLE)


def test_real_numbers_have_no_digest():
    with pytest.raises(ValueError, match=r"real numbers: \['accuracy'\]"):
        digest_of_counts(TABLE.assign(accuracy=[0.7, 0.9]))


def test_tampered_digest_fails_alone_and_is_named():
    tampered = replace(KNOWN, counts={"cells": "0" * 64})
    (line,) = [check for check in compared(KNOWN, tampered) if check.passed is False]
    assert (line.name, line.found) == ("counts: cells", f"sha256 {KNOWN.counts['cells'][:12]} instead of 000000000000")


@pytest.mark.parametrize(("value", "expected"), [(50.049, []), (49.951, []), (50.051, ["numbers: surface"])])
def test_real_numbers_may_differ_by_half_a_printed_digit(value, expected):
    assert failed(replace(KNOWN, numbers={**KNOWN.numbers, "surface, a": value})) == expected


def test_shipped_file_covers_all_analyses_and_has_no_odd_numbers(tmp_path):
    known = known_answers()
    assert {name.split()[0] for name in known.counts} == {"dependency", "coreference"}
    assert {name.split(",")[0] for name in known.numbers} == {"surface", "norms"}
    assert len(known.counts) == 3 * len(sample.MAPS)
    assert set(known.unit) == set(known.numbers)
    assert all(len(digest) == 64 for digest in known.counts.values())
    sample.write_answers(known, tmp_path / "copy.json")
    assert json.loads((tmp_path / "copy.json").read_text("utf-8")) == json.loads(sample.FILE.read_text("utf-8"))


def test_independent_numbers_stand_beside_those_of_the_run():
    def results(held_out: float) -> SimpleNamespace:
        best = {"relation": independent.TOTALS, "heldout_accuracy": [held_out] * 3, "control_accuracy": [0.09] * 3}
        return SimpleNamespace(best=pd.DataFrame(best))

    lines = list(independent.beside({("dependency", "weight"): results(0.41), ("dependency", "norm"): results(0.43)}))
    assert all(check.passed is None for check in lines)
    assert lines[0].found == "independent 41.9; here all 41.0, all-nopunct 41.0, all-nopunct-noroot 41.0"
    assert "independent 43.4; here all 43.0" in lines[1].found
    assert "independent 9.0; here all 9.0" in lines[2].found
    assert [check.found.split(";")[0] for check in lines[3:]] == ["independent 61.4", "independent 62.1"]


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
