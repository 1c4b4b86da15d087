"""In which layers are antecedents found? The best head of each layer, chosen on one half and scored on the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...storage.writing import amount
from ..shared.layers import ByLayer, by_layer, sentences_about
from ..shared.measures import share
from .rows import CoreferenceQuestion, CoreferenceResults, Mentions, address_of, of_policy


class Layers(CoreferenceQuestion):
    """In which layers are antecedents found?"""

    name = "layers"

    def find(self, counts: Mentions, lookups: Any, earlier: Mapping[str, Any]) -> dict[str, ByLayer]:
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
        row = results.row_of_all
        whole = of_claims.pop(row["type"], None) if row else None
        if row is None or whole is None:
            return None
        named = {f"{name} mentions": each for name, each in of_claims.items()}
        what = f"for the antecedents of {amount(row['total'], 'mentions')}"
        beside = f"{share(row['rule_based_accuracy'])} by the rules"
        text, more = sentences_about(whole, what, named, amount(len(named), "types of mentions"), beside)
        return Contribution(findings=(Finding(text, address_of(row, kind), more),) if text else ())
