"""In which layers are relations found? The best head of each layer, chosen on one half and scored on the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.references import Reference
from ...reports.finding import Finding
from ...storage.writing import amount
from ..shared.layers import ByLayer, by_layer, mean_of, sentences_about
from ..shared.measures import share
from .findings import strongest_rule
from .rows import MEAN, DependencyQuestion, DependencyResults, Words, address_of, count_claims, reference_id


class Layers(DependencyQuestion):
    """In which layers are relations found?"""

    name = "layers"

    def find(self, counts: Words, lookups: Any, earlier: Mapping[str, Any]) -> dict[str, ByLayer]:
        """Return what the best head of each layer finds for each row with words of which heads can find the head."""
        copies = [(counts.members_of(copy), copy.split_counts()[0]) for copy in counts.copies()]
        return {
            name: by_layer(
                rows, counts.subsets, counts.replicates, [(members[name], subsets) for members, subsets in copies]
            )
            for name, rows in counts.members.items()
            if name != "root" and counts.subsets.total[rows, 0].sum()
        }

    def explore(
        self, answer: Mapping[str, ByLayer], counts: Words, results: DependencyResults, kind: str
    ) -> Contribution | None:
        """Say in which layer relations are found best."""
        of_claims = {name: answer[name] for name in results.claimed if name in answer}
        if not of_claims:
            return None
        mean = mean_of(list(of_claims.values()))
        relations = amount(len(of_claims), "relations")
        of_mean = Reference(reference_id(MEAN, kind), f"mean of {relations}", layers=mean.curve())
        references = (of_mean,) if len(of_claims) > 1 and len(mean.rates) > 1 else ()
        what = f"on average over {count_claims(results)}" if len(of_claims) > 1 else f"for {next(iter(of_claims))}"
        rules = results.answers.get("rules")
        strongest = [strongest_rule(row, None if rules is None else rules.best).rate for row in results.frequent]
        rule = "the strongest rules" if len(strongest) > 1 else "the strongest rule"
        beside = f"{share(float(np.mean(strongest)))} by {rule}"
        text, more = sentences_about(mean, what, of_claims, relations, beside)
        first = max(results.frequent, key=lambda row: row["heldout_accuracy"])
        findings = (Finding(text, address_of(first, kind), more),) if text else ()
        return Contribution(findings=findings, references=references)
