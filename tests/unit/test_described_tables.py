"""What the reference says of columns holds for the tables: their order, and whether they are counts or shares."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import pytest

from attentionology.analyses.comparison.results import SCHEMAS
from attentionology.analyses.coreference import analysis as coreference
from attentionology.analyses.coreference import failures as of_mentions
from attentionology.analyses.coreference.contrasts import PAIRS
from attentionology.analyses.coreference.examples import ShownCandidate, ShownExample
from attentionology.analyses.coreference.failures import CoreferenceFailures
from attentionology.analyses.counting.best_head import control_table
from attentionology.analyses.dependency import analysis as dependency
from attentionology.analyses.dependency import failures as of_words
from attentionology.analyses.dependency.failures import DependencyFailures
from attentionology.analyses.dependency.rules import DependencyRules, rule_columns
from attentionology.analyses.survey import results as survey
from tests.coreference import changed, coreference_section, groups_of, made_results
from tests.documents import counted_mentions, random_batch
from tests.maps import RELATIONS, batch_of, counted_words, random_corpus
from tests.shown_tables import HEADERS, assert_declared, with_control


def test_columns_of_words():
    texts, maps = random_corpus(0)
    tags = cycle(("NOUN", "VERB", "DET"))
    batch = batch_of([replace(text, tags=tuple(next(tags) for _ in text.words)) for text in texts], maps)
    failures = DependencyFailures(RELATIONS, 2, 3)
    rules = DependencyRules([(name, tag) for name in RELATIONS for tag in ("NOUN", "VERB", "DET")], replicates=20)
    for metric in (failures, rules):
        metric.update(batch)
    accuracy = counted_words()
    tables = accuracy.compute()
    for table in tables:
        table["reach"] = 0.5
    of_rules = rule_columns(rules, {"det": frozenset(["det"])}, *accuracy.split_counts(), accuracy.groups)
    best = with_control(tables.best, [tables.best]).join(of_rules, on="relation")
    failed = of_words.failure_tables(failures, tables.best, tables.cells, ["best"])
    written = {
        "dependency": tables.cells,
        "dependency_best": best,
        "dependency_rules": rules.compute(),
        "dependency_failures": failed.failures,
        "dependency_picks": failed.picked,
        **control_table([tables.best], ["relation"], "dependency_control"),
    }
    assert_declared(written, dependency.SCHEMAS)


def test_columns_of_mentions():
    key = ("candidates", "type")
    accuracy = counted_mentions(labels=PAIRS[0])
    tables, groups = accuracy.compute(), groups_of(accuracy)
    failures = CoreferenceFailures(2, 3)
    failures.update(random_batch()[1])
    failed = of_mentions.failure_tables(failures, tables.best, tables.cells, ["best"])
    written = {f"coreference_{name}": table for name, table in tables._asdict().items()} | {
        "coreference": tables.cells,
        "coreference_best": with_control(tables.best, [tables.best], key=key),
        "coreference_groups": groups.groups,
        "coreference_contrasts": groups.best,
        "coreference_head_contrasts": groups.heads,
        "coreference_largest_contrasts": groups.largest,
        "coreference_failures": failed.failures,
        "coreference_picks": failed.picked,
        **control_table([tables.best], key, "coreference_control"),
    }
    assert_declared(written, coreference.SCHEMAS, ["ratio_low"])
    largest = list(groups.largest)
    for pair in ("layer head", "first_correct first_total", "second_correct second_total", "heldout_min heldout_max"):
        first, second = pair.split()
        assert largest.index(first) + 1 == largest.index(second)


@pytest.mark.parametrize("is_right", [True, False])
def test_columns_of_examples(monkeypatch, is_right):
    """The page shows the right decisions apart from the wrong ones."""
    candidates = (ShownCandidate(1, "the cat", "cat", 0.75, is_right), ShownCandidate(2, "a dog", "dog", 0.25, False))
    example = ShownExample(is_right, "d1", "It is", "she", "who ran", "pronoun", candidates, of=7)
    account = {"anaphors": 9, "scored": 9, "no answer": 0}
    results = made_results(counted_mentions().compute(), account=account)
    results = changed(results, examples=(example,))
    for name in ("best", "heads", "distance"):
        monkeypatch.setattr(f"attentionology.analyses.coreference.best_heads.{name}_figure", lambda *_, **__: None)
    section = coreference_section(results)
    written = section.tables["coreference_examples"]
    assert_declared({"coreference_examples": written}, coreference.SCHEMAS)
    order = "right document before mention after type of rank candidate head weight antecedent"
    assert list(written) == order.split()
    assert written[["candidate", "head", "weight", "rank", "of"]].to_numpy().tolist() == [
        ["the cat", "cat", 0.75, 1, 7],
        ["a dog", "dog", 0.25, 2, 7],
    ]
    shown = section.context["examples"]
    assert (len(shown[is_right]), len(shown[not is_right])) == (1, 0)
    hebrew = replace(example, before="היא", mention="הילדה", after="ש")
    paper = {"head 5-4": {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58}}
    other = coreference_section(changed(results, examples=(hebrew,), published=paper))
    directions = [each.context["examples"][is_right][0][2] for each in (section, other)]
    assert directions == ["", ' dir="rtl"']
    best = other.tables["coreference_best"]
    assert list(best["paper_head_5_4"]) == [paper["head 5-4"][kind] for kind in best["type"]]


def test_columns_of_surveys_and_comparisons_are_written_as_declared():
    """Their tables are made from what they declare, and programs may read their columns by position."""
    for schema in (*survey.SCHEMAS, *SCHEMAS):
        assert schema.names == HEADERS[f"{schema.name}.csv"]
