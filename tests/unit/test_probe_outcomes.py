"""The outcomes of probes by sentence: counted, stored, and compared against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from attentionology.analyses.comparison.differences import differences
from attentionology.analyses.probing.attachment import Attempt, attachment
from attentionology.analyses.probing.outcomes import AttachmentOutcomes
from attentionology.analyses.shared.resampling import poisson_weights
from attentionology.corpora_loaders import Sentence
from tests.maps import RELATIONS, random_corpus

REPLICATES = 60


def attempts_of(rng: np.random.Generator, sentences: list[Sentence], share: float) -> list[Attempt]:
    """Two runs of a probe, one of a baseline, trees of the probe, and an attempt at the control task."""
    words = sum(map(len, sentences))

    def attempt(method: str, decoding: str, run: int, *, control: bool = False) -> Attempt:
        return Attempt(method, "control" if control else "dependencies", decoding, run, rng.random(words) < share)

    return [
        attempt("offset", "argmax", 1),
        attempt("attention", "argmax", 1),
        attempt("attention", "argmax", 2),
        attempt("attention", "tree", 1),
        attempt("attention", "argmax", 1, control=True),
    ]


def outcomes_of(sentences: list[Sentence], attempts: list[Attempt]) -> AttachmentOutcomes:
    return AttachmentOutcomes.of(sentences, attempts, probes=["attention"], replicates=REPLICATES, seed=4)


@pytest.fixture
def tested():
    sentences, _ = random_corpus(0, sentences=20)
    rng = np.random.default_rng(0)
    return sentences, attempts_of(rng, sentences, 0.6), attempts_of(rng, sentences, 0.4)


def test_values_are_those_of_the_report(tested):
    sentences, attempts, _ = tested
    methods = attachment(sentences, attempts, replicates=0).methods
    *families, by_relation = outcomes_of(sentences, attempts).comparable()
    assert [family.family for family in families] == ["attachment score (argmax)", "attachment score (tree)"]
    assert by_relation.family == "attachment score by relation: attention"
    measured = [one for family in families for one in family.measured]
    assert [one.group for one in measured] == methods["method"].tolist()
    assert [one.n for one in measured] == methods["total"].tolist()
    np.testing.assert_allclose([one.value for one in measured], methods["uas"], rtol=1e-12)


def test_scores_are_means_over_runs_of_the_counts_beside_them(tested):
    tables = attachment(*tested[:2], replicates=0)
    for table in (tables.methods, tables.relations, tables.lengths):
        assert set(table["runs"]) == {1, 2}
        np.testing.assert_allclose(table["uas"], table["correct"] / (table["total"] * table["runs"]), rtol=1e-12)


def test_values_by_relation_are_those_of_the_report(tested):
    sentences, attempts, _ = tested
    table = attachment(sentences, attempts, replicates=0).relations
    table = table[(table["method"] == "attention") & (table["decoding"] == "argmax")]
    expected = table[table["relation"] != "punct"].set_index("relation")
    measured = {one.group: one for one in outcomes_of(sentences, attempts).comparable()[-1].measured}
    assert measured.keys() == set(RELATIONS) - {"punct"}
    for relation, one in measured.items():
        assert one.n == expected.loc[relation, "total"]
        assert one.value == pytest.approx(expected.loc[relation, "uas"], rel=1e-12)


def naive_score(
    sentences: list[Sentence], attempts: list[Attempt], replicate: int, relations: tuple[str, ...] = RELATIONS
) -> float:
    """The mean score of runs in a replicate, one word at a time."""
    right = total = 0.0
    for attempt in attempts:
        position = 0
        for sentence in sentences:
            weight = float(poisson_weights([sentence.id], REPLICATES, 4)[replicate, 0])
            for head, relation in zip(sentence.heads, sentence.relations, strict=True):
                if head is not None and relation != "punct" and relation in relations:
                    right += weight * float(attempt.right[position])
                    total += weight
                position += 1
    return right / total


@pytest.mark.parametrize(("family", "group"), [(0, "attention"), (-1, "det")])
def test_a_difference_is_that_of_a_plain_paired_bootstrap(tested, family, group):
    sentences, first, second = tested
    sides = [outcomes_of(sentences, attempts).comparable()[family] for attempts in (first, second)]
    row = {row.group: row for row in differences(*sides, min_count=1)}[group]
    relations = RELATIONS if group == "attention" else (group,)
    probes = [
        [attempt for attempt in attempts if (attempt.method, attempt.decoding, attempt.task)
         == ("attention", "argmax", "dependencies")]
        for attempts in (first, second)
    ]  # fmt: skip
    assert [len(runs) for runs in probes] == [2, 2]
    replicated = [
        naive_score(sentences, probes[0], replicate, relations)
        - naive_score(sentences, probes[1], replicate, relations)
        for replicate in range(REPLICATES)
    ]
    error = np.std(replicated, ddof=1)
    assert row.high - row.low == pytest.approx(2 * 1.959964 * error, rel=1e-6)
    assert row.low < row.difference < row.high
