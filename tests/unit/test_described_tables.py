"""What the reference says of columns holds for the table of examples, which stand apart on the page."""

from __future__ import annotations

import pytest

from attentionology.analyses.coreference import analysis as coreference
from attentionology.analyses.coreference.examples import ShownCandidate, ShownExample
from tests.coreference import coreference_section, made_results, with_changes
from tests.documents import counted_mentions
from tests.shown_tables import assert_declared


@pytest.mark.parametrize("is_right", [True, False])
def test_columns_of_examples(monkeypatch, is_right):
    candidates = (ShownCandidate(1, "the cat", "cat", 0.75, is_right), ShownCandidate(2, "a dog", "dog", 0.25, False))
    example = ShownExample(is_right, "d1", "It is", "she", "who ran", "pronoun", candidates, of=7)
    account = {"anaphors": 9, "scored": 9, "no answer": 0}
    results = made_results(counted_mentions().compute(), account=account)
    results = with_changes(results, examples=(example,))
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
    paper = {"head 5-4": {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58}}
    other = coreference_section(with_changes(results, published=paper))
    best = other.tables["coreference_best"]
    assert list(best["paper_head_5_4"]) == [paper["head 5-4"][kind] for kind in best["type"]]
