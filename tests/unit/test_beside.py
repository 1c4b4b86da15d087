"""What a page shows of runs that stand beside each other."""

from __future__ import annotations

import pytest

from attentionology.analyses.contract import Titles
from attentionology.engine.beside import explorers_of
from attentionology.engine.compared_run import ComparedRun
from attentionology.reports.explorer.data import EncodedMap, Explorer, Predicted, Sample, SampledSentence
from attentionology.reports.finding import Finding


def run(names: str, size: int = 10) -> ComparedRun:
    """A run with a sample of sentences, whose ids are letters and each of which takes a number of characters."""
    maps = {"weight": EncodedMap("x" * size, (1.0,))}
    sentences = tuple(SampledSentence(name, None, "", None, ("w",), (False,), maps=maps) for name in names)
    predictions = tuple(Predicted(name, "", (None,), ((),)) for name in names)
    sample = Sample(("weight",), "All of them.", sentences) if names else None
    explorer = Explorer(
        "m", "c", "sentences", 1, 1, findings=(Finding("It is found.", ""),), predictions=predictions, sample=sample
    )
    return ComparedRun(Titles(), {}, {}, explorer=lambda: explorer)


def shown(**runs: ComparedRun) -> dict[str, str]:
    """The ids of the sentences of each run on the page."""
    return {
        each.label: "".join(sentence.id for sentence in each.sample.sentences) if each.sample else ""
        for each in explorers_of(runs)
    }


def test_runs_have_the_sentences_of_all_and_no_findings_of_their_own() -> None:
    assert shown(one=run("abcd"), two=run("dbxa"), three=run("bade")) == {"one": "abd", "two": "dba", "three": "bad"}
    one, two = explorers_of({"one": run("abc"), "two": run("abc")})
    assert one.findings == two.findings == ()
    assert one.sample is not None
    assert one.sample.note == "All of them."  # nothing is left out
    one, _ = explorers_of({"one": run("abc"), "two": run("ac")})
    assert one.sample is not None
    assert one.sample.note == "All of them. Here are 2 of them, as this page has more than one run."
    assert [each.sentence for each in one.predictions] == ["a", "c"]


def test_the_page_of_runs_has_the_space_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attentionology.engine.beside.most_bytes", lambda *_: 60)
    assert shown(one=run("abcd", 10), two=run("abcd", 15)) == {"one": "ab", "two": "ab"}
    assert shown(one=run("abcd", 10), two=run("xyz", 15)) == {"one": "abc", "two": "xy"}  # nothing in common
    assert shown(one=run("abcd", 100), two=run("abcd", 100)) == {"one": "a", "two": "a"}


def test_what_has_no_heads_is_not_beside_anything() -> None:
    none = ComparedRun(Titles(), {}, {})
    assert shown(one=run("abc"), two=none) == shown(one=run("abc"), two=run("")) == {}
    assert shown(one=run("abc"), two=none, three=run("b")) == {"one": "b", "three": "b"}
