"""In which layers are antecedents found? The best head of each layer, chosen on one half and scored on the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...reports.columns import Row
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.references import Reference
from ...reports.finding import Finding
from ...storage.writing import amount
from ..counting.held_out import heldout_baseline, heldout_rate
from ..counting.outcomes import Counts
from ..shared.layers import ByLayer, by_layer, sentences_about
from ..shared.references import Rule, marks_of
from .accuracy import RULES
from .decisions import ALL, BASELINES, POLICIES
from .rows import CoreferenceQuestion, CoreferenceResults, Mentions, address_of, mentions_of


class Layers(CoreferenceQuestion):
    """In which layers are antecedents found?"""

    name = "layers"

    def find(self, counts: Mentions, looked: Any, earlier: Mapping[str, Any]) -> dict[str, ByLayer]:
        """Return what the best head of each layer finds for each type of mention that was scored."""
        copies = [(copy.members(), of_policy(copy.split_counts()[0], counts.candidates)) for copy in counts.copies()]
        subsets, replicates = (of_policy(part, counts.candidates) for part in (counts.subsets, counts.replicates))
        return {
            name: by_layer(rows, subsets, replicates, [(members[name], of_copy) for members, of_copy in copies])
            for name, rows in counts.metric.members().items()
            if subsets.total[rows, 0].sum()
        }

    def explore(
        self, answer: Mapping[str, ByLayer], counts: Mentions, results: CoreferenceResults, kind: str
    ) -> Contribution | None:
        """Say in which layer antecedents are found best."""
        of_claims = {name: answer[name] for name in results.claimed if name in answer}
        whole = of_claims.pop(ALL, None)
        if whole is None:
            return None
        named = {f"{name} mentions": each for name, each in of_claims.items()}
        (row,) = (each for each in results.best_rows if each["type"] == ALL)
        what = f"For the antecedents of {amount(row['total'], 'mentions')}"
        text = sentences_about(whole, what, named, amount(len(named), "types of mentions"))
        return Contribution(findings=(Finding(text, address_of(row, kind)),) if text else ())


def of_policy(counts: Counts, policy: str) -> Counts:
    """Return the counts under one choice of candidates."""
    return replace(counts, correct=counts.correct[:, :, POLICIES.index(policy)])


def rules_of(row: Row, counts: Mentions, results: CoreferenceResults) -> list[Rule]:
    """Return the rules that heads are compared with for a row; they choose among preceding mentions."""
    rows = counts.metric.members()[str(row["type"])]
    easier = ""
    if results.candidates != "preceding":
        easier = f" It chooses among {results.candidates_in_words['preceding']}, which is easier than what heads do."
    named = (
        ("position", "nearest mention", BASELINES.index("nearest"), "The nearest candidate before the mention."),
        ("rule", "rules", RULES, "The nearest candidate with the same words, the same head word, or that agrees."),
    )
    return [
        Rule(role, label, heldout_baseline(rows, counts.subsets, counts.replicates, [index]), note + easier)
        for role, label, index, note in named
    ]


def reference_of(row: Row, rules: list[Rule], counts: Mentions, results: CoreferenceResults, kind: str) -> Reference:
    """Return what the measures of a type of mention are read beside."""
    subsets, replicates = (of_policy(part, str(row["candidates"])) for part in (counts.subsets, counts.replicates))
    best = heldout_rate(counts.metric.members()[str(row["type"])], subsets, replicates)
    layers = results.answers.get("layers", {}).get(row["type"])
    return Reference(
        reference_id(row, kind),
        mentions_of(row),
        tuple(marks_of(row, best, rules, len(results.answers.get("control", ())))),
        layers.curve() if layers and len(layers.rates) > 1 else None,
    )


def reference_id(row: Row, kind: str) -> str:
    """Return the id of what the measures of a type of mention are read beside."""
    return f"coreference/{row['type']}/{kind}"
