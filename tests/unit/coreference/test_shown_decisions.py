"""The candidates of a decision and the finding about the best head say what their rows say."""

from __future__ import annotations

from typing import Any

import pytest

from attentionology.analyses.coreference.best_heads import best_table
from attentionology.analyses.coreference.decisions import DIRECTIONS, Choice, choices_of
from attentionology.analyses.coreference.examples import (
    Decision,
    ShownCandidate,
    ShownExample,
    decisions_of,
    shown_example,
    spread,
)
from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.coreference import Document, Mention
from tests.coreference import explored_coreference, made_results, with_changes
from tests.documents import counted_mentions, random_batch, window
from tests.shown_tables import as_shown, distinct_table, with_unit


def test_the_finding_has_the_numbers_of_the_best_head():
    metric = counted_mentions(60)
    tables = metric.compute()
    best = distinct_table(tables.best[tables.best["type"] == "all"])
    (row,) = best[best["candidates"] == best["candidates"].iloc[0]].to_dict("records")
    (finding, *_) = explored_coreference(
        made_results(tables._replace(best=best), min_count=1), metric, "weight"
    ).findings
    accuracy = with_unit(row, "accuracy accuracy_low accuracy_high", "%")
    rules, held_out = (as_shown(row, f"{name}_accuracy") for name in ("rule_based", "heldout"))
    gain = with_unit(row, "heldout_gain heldout_gain_low heldout_gain_high", "points", "+")
    assert row["rule_based_accuracy"] > max(row["head_match_accuracy"], row["nearest_accuracy"])
    head = f"head {row['layer']}-{row['head']}"
    assert finding.text == (
        f"{held_out} % of {row['total']:,} mentions have an antecedent that the best head ({head}) finds held out, "
        f"more than the rules ({gain}); {rules} % by the rules, the strongest baseline."
    )
    assert finding.more == f"On the documents that chose it, {head} finds {accuracy}."


def test_the_finding_names_a_baseline_that_is_stronger_than_the_rules():
    metric = counted_mentions(60)
    tables = metric.compute()
    best = tables.best.assign(rule_based_accuracy=0.25, head_match_accuracy=0.375, nearest_accuracy=0.3)
    (finding, *_) = explored_coreference(
        made_results(tables._replace(best=best), min_count=1), metric, "weight"
    ).findings
    strongest = "37.5 % by the nearest candidate with the same head word, the strongest baseline, 25.0 % by the rules"
    assert f"; {strongest}." in finding.text


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.2, "more than"),
        (-0.2, -0.01, "less than"),
        (-0.1, 0.1, "neither clearly more nor clearly less than"),
    ],
)
def test_the_finding_says_on_which_side_of_the_rules_the_heads_are(low, high, verdict):
    metric = counted_mentions(60)
    tables = metric.compute()
    gains = {
        f"{name}{end}": value for name in ("gain", "heldout_gain") for end, value in (("_low", low), ("_high", high))
    }
    best = tables.best[tables.best["type"] == "all"].assign(gain=low, heldout_gain=low, heldout_accuracy=0.25, **gains)
    results = made_results(tables._replace(best=best), min_count=1)
    (finding, *_) = explored_coreference(results, metric, "weight").findings
    assert finding.text.startswith("25.0 % of ")
    assert f" finds held out, {verdict} the rules (" in finding.text


def test_the_summary_of_a_head_names_the_first_type_that_it_is_the_best_for():
    metric = counted_mentions(60)
    tables = metric.compute()
    gains = {f"{name}{end}": 0.1 for name in ("gain", "heldout_gain") for end in ("", "_low", "_high")}
    best = tables.best.assign(layer=1, head=2, **gains)
    explored = explored_coreference(made_results(tables._replace(best=best), min_count=1), metric, "weight")
    assert {name: [text.split(" by ")[0] for text in texts] for name, texts in explored.phrases.items()} == {
        "1-2": ["finds the antecedents of all mentions better than the rules do,"]
    }
    types = best[(best["candidates"] == "preceding") & (best["total"] > 0)]["type"]
    labels = [f"antecedents, {name} mentions" for name in types]
    assert [fact.label for fact in explored.facts["1-2"]] == labels
    assert len(labels) > 1


@pytest.mark.parametrize(
    ("asked", "named"),
    [(False, "head words of the preceding mentions"), (True, "head words of the two names or occupations in question")],
)
def test_baselines_choose_among_preceding_mentions_whatever_heads_choose_among(asked, named):
    account = {"anaphors": 9, "scored": 8, "no answer": 0}
    results = made_results(counted_mentions().compute(), account=account)
    results = with_changes(results, candidates="words", asked=asked)
    table = best_table(results)
    assert f"The candidates of this and the next three columns are {named}." in table.legend
    assert "Candidates are all other words." in table.notes[0]


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


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_decisions_have_the_weights_of_their_direction_and_could_have_been_wrong(direction):
    documents, batch = random_batch()
    decisions = list(decisions_of(batch, (direction, 2, 3), "preceding"))
    forced = [choice for _, choice in choices_of(batch) if choice.heads == choice.gold]
    assert len(decisions) == len(choices_of(batch)) - len(forced) > 0 < len(forced)
    for decision in decisions:
        values = batch.maps[documents.documents.index(decision.document), 1, 2].numpy()[1:, 1:]  # without [CLS]
        row = (values if direction == "mention->antecedent" else values.T)[decision.choice.head]
        assert decision.weights == {word: pytest.approx(row[word]) for word in decision.choice.heads}
        best = max(decision.weights, key=decision.weights.__getitem__)
        assert decision.right == (best in decision.choice.gold)


@pytest.mark.parametrize(
    ("policy", "second", "texts"),
    [
        ("preceding", "another", ["w0 w1", "w4"]),
        ("preceding", "e", ["w1 w2", "w4"]),  # the antecedent among the mentions with this head word
        ("mentions", "another", ["w0 w1", "w4 w5"]),
        ("words", "e", ["w1", "w4"]),
    ],
)
def test_a_candidate_is_the_first_mention_with_its_head_word_or_the_antecedent(policy, second, texts):
    """The mention ends its sentence, and the candidates have equal weights, so that the first word is first."""
    document = Document(
        "d1",
        (Sentence("s1", tuple(words(0, 4).split())), Sentence("s2", tuple(words(4, 8).split()))),
        (
            Mention(((0, 2),), "one", 1, "nominal"),
            Mention(((1, 3),), second, 1, "nominal"),
            Mention(((3, 4),), "e", 3, "pronoun"),
            Mention(((4, 6),), "later", 4, "nominal"),
        ),
    )
    heads = frozenset([1])
    choice = Choice(window(document), document.mentions[2], document.mentions[:2], heads, heads | {4}, heads)
    shown = shown_example(Decision(document, choice, {4: 0.5, 1: 0.5}, True), policy)
    assert ([candidate.text for candidate in shown.candidates], shown.after) == (texts, "")


def test_twelve_words_are_shown_without_an_ellipsis():
    sentence = Sentence("s1", tuple(words(0, 25).split()))
    mentions = Mention(((0, 12),), "e", 3, "nominal"), Mention(((12, 13),), "e", 12, "pronoun")
    document = Document("d1", (sentence,), mentions)
    heads = frozenset([3])
    choice = Choice(window(document), mentions[1], mentions[:1], heads, heads, heads)
    shown = shown_example(Decision(document, choice, {3: 0.5}, True), "preceding")
    assert (shown.before, shown.after, shown.candidates[0].text) == (words(0, 12), words(13, 25), words(0, 12))
