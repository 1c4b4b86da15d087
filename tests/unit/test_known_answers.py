"""Known answers: what is equal, what differs, and by how much it may."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pandas as pd
import pytest

from attentionology.analyses.contract import OptionError
from attentionology.analyses.known_answers import sample
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
