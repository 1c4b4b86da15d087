"""Number, gender and person of mentions, and when they agree."""

from __future__ import annotations

import pytest

from attentionology.analyses.coreference.baselines import agree, sources_of_agreement, traits
from tests.documents import corpus, document


def of(text, tags, spans, feats=None):
    """Traits of mentions of one sentence, in text order."""
    columns = {"xpos": [tags]} | ({"feats": [feats]} if feats else {})
    one = document("d", [text], [(start, stop, f"e{n}") for n, (start, stop) in enumerate(spans)], **columns)
    found = traits(one)
    return one, [found[mention] for mention in one.mentions]


@pytest.mark.parametrize(
    ("text", "tags", "span", "expected"),
    [
        ("She left", "PRP VBD", (0, 1), ("Sing", "Fem", "3")),
        ("we left", "PRP VBD", (0, 1), ("Plur", "", "1")),
        ("the dogs left", "DT NNS VBD", (0, 2), ("Plur", "", "3")),
        ("Mr. Lee left", "NNP NNP VBD", (0, 2), ("Sing", "Masc", "3")),
        ("the tall woman left", "DT JJ NN VBD", (0, 3), ("Sing", "Fem", "3")),
        ("the king 's castle", "DT NN POS NN", (0, 4), ("Sing", "", "3")),
        ("Mr. and Mrs. Lee", "NNP CC NNP NNP", (2, 4), ("Sing", "Fem", "3")),
    ],
)
def test_lexicon(text, tags, span, expected):
    one, [found] = of(text, tags, [span])
    assert found == expected
    assert sources_of_agreement(corpus(one)) == ["a lexicon of English pronouns and titles, and tags"]


def test_a_title_is_seen_past_its_full_stop():
    _, found = of("Mrs . R . Lee met Mr . Poe", "", [(0, 5), (6, 9)])
    assert [gender for _, gender, _ in found] == ["Fem", "Masc"]


def test_features_go_before_the_lexicon():
    one, found = of(
        "Mr. Lee and her", "NNP NNP CC PRP", [(0, 2), (3, 4)],
        feats="Number=Sing Number=Sing _ Gender=Masc,Neut|Number=Plur|Person=2",
    )  # fmt: skip
    assert found == [("Sing", "", "3"), ("Plur", "Masc,Neut", "2")]
    assert sources_of_agreement(corpus(one)) == ["UD features"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("Sing", "Fem", "3"), ("Sing", "Fem", "3"), True),
        (("Sing", "Fem", "3"), ("Sing", "", ""), True),
        (("Sing", "Fem", "3"), ("Sing", "Masc", "3"), False),
        (("Sing", "", "3"), ("Plur", "", "3"), False),
        (("", "", "1"), ("", "", "2"), False),
        (("", "Masc,Fem", ""), ("", "Fem", ""), True),
    ],
)
def test_agreement(one, other, expected):
    assert agree(one, other) is agree(other, one) is expected
