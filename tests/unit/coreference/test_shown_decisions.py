"""The candidates of a decision and the finding about the best head say what their rows say."""

from __future__ import annotations

from typing import Any

import pytest

from attentionology.analyses.coreference.choices import Choice
from attentionology.analyses.coreference.examples import Decision, ShownCandidate, ShownExample, shown_example, spread
from attentionology.analyses.coreference.explored import explored_coreference
from attentionology.analyses.coreference.shown_tables import CoreferenceResults, candidates_table
from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.coreference import Document, Mention
from tests.documents import counted_mentions, window
from tests.shown_tables import as_shown, distinct, on_page, with_unit


def test_candidates_of_a_decision():
    candidates = [{"text": "the cat", "head": "cat", "weight": 0.1234, "rank": 2, "antecedent": True}]
    expected = {"candidate": "the cat", "head word": "cat", "weight": "0.12", "rank of 7": "2", "right": "antecedent"}
    assert on_page(candidates_table({"of": 7, "candidates": candidates})) == [expected]
    wrong = candidates_table({"of": 7, "candidates": [{**candidates[0], "antecedent": False}]})
    assert on_page(wrong) == [{**expected, "right": ""}]


def test_the_finding_has_the_numbers_of_the_best_head():
    metric = counted_mentions()
    tables = metric.compute()
    best = distinct(tables.best[tables.best["type"] == "all"])
    (row,) = best[best["candidates"] == best["candidates"].iloc[0]].to_dict("records")
    (finding, *_) = explored_coreference(
        CoreferenceResults(tables._replace(best=best), min_count=1), metric, "weight"
    ).findings
    accuracy = with_unit(row, "accuracy accuracy_low accuracy_high", "%")
    rules, held_out = (as_shown(row, f"{name}_accuracy") for name in ("rule_based", "heldout"))
    gain = with_unit(row, "heldout_gain heldout_gain_low heldout_gain_high", "points", "+")
    assert finding.text == (
        f"Head {row['layer']}-{row['head']} finds an antecedent of {accuracy} of {row['total']:,} mentions, and the "
        f"rules of {rules} %. Held out, the best heads have {held_out} %, more than the rules ({gain})."
    )


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.2, "more than"),
        (-0.2, -0.01, "less than"),
        (-0.1, 0.1, "neither clearly more nor clearly less than"),
    ],
)
def test_the_finding_says_on_which_side_of_the_rules_the_heads_are(low, high, verdict):
    metric = counted_mentions()
    tables = metric.compute()
    gains = {
        f"{name}{end}": value for name in ("gain", "heldout_gain") for end, value in (("_low", low), ("_high", high))
    }
    best = tables.best[tables.best["type"] == "all"].assign(gain=low, heldout_gain=low, heldout_accuracy=0.25, **gains)
    results = CoreferenceResults(tables._replace(best=best), min_count=1)
    (finding, *_) = explored_coreference(results, metric, "weight").findings
    assert f"Held out, the best heads have 25.0 %, {verdict} the rules (" in finding.text


def words(start: int, stop: int) -> str:
    return " ".join(f"w{number}" for number in range(start, stop))


def test_an_example_has_the_six_heaviest_candidates_and_every_antecedent():
    """The antecedent is the last of eight candidates; twelve words are shown on each side and of each candidate."""
    sentences = (Sentence("s1", tuple(words(0, 20).split())), Sentence("s2", tuple(words(20, 50).split())))
    mention = Mention(((35, 36),), "e", 35, "pronoun")
    entities = {3: "e", 5: "of many words"}
    before = tuple(
        Mention(((n, 19 if n == 5 else n + 1),), entities.get(n, f"other {n}"), n, "nominal") for n in range(8)
    )
    document = Document("d1", sentences, (*before, mention))
    heads = frozenset(range(8))
    choice = Choice(window(document), mention, before, heads, heads, frozenset([3]))
    weights = {n: 0.01 if n == 3 else (90 - n) / 100 for n in range(8)}
    texts = {n: f"w{n}" for n in range(8)} | {5: f"{words(5, 17)} …"}
    ranks = {0: 1, 1: 2, 2: 3, 4: 4, 5: 5, 6: 6, 3: 8}
    assert shown_example(Decision(document, choice, weights, False), "preceding") == ShownExample(
        right=False,
        document="d1",
        before=f"… {words(23, 35)}",
        mention="w35",
        after=f"{words(36, 48)} …",
        type="pronoun",
        candidates=tuple(ShownCandidate(rank, texts[n], f"w{n}", weights[n], n == 3) for n, rank in ranks.items()),
        of=8,
    )


@pytest.mark.parametrize("right", [True, False])
def test_examples_are_spread_over_documents(right):
    """At most five: the first of each document, then the second of each."""
    documents = {name: Document(name, (), ()) for name in "abc"}
    numbers: list[Any] = list(range(8))  # in place of the choices, which do not matter
    decisions = [
        Decision(documents[name], numbers[number], {}, is_right)
        for number, (name, is_right) in enumerate([*zip("aaaabbc", [right] * 7, strict=True), ("a", not right)])
    ]
    chosen, others = (
        [numbers.index(each.choice) for each in spread(decisions, right=way)] for way in (right, not right)
    )
    assert (chosen, others) == ([0, 4, 6, 1, 5], [7])
