"""Which mentions could be scored? How many have an antecedent, and why some of these were left out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .decisions import REASONS
from .rows import CoreferenceQuestion, CoreferenceResults, Mentions

_MIN_DOCUMENTS = 10


class Coverage(CoreferenceQuestion):
    """Which mentions could be scored?"""

    name = "scored"
    needs = ("best_heads",)
    template = Path(__file__).with_name("coverage.html.j2")

    def find(self, counts: Mentions, lookups: Any, earlier: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the numbers of mentions, which were counted when the best heads were looked up."""
        account: Mapping[str, int] = earlier["best_heads"].account
        return account

    def values(self, answer: Mapping[str, int], results: CoreferenceResults) -> Mapping[str, Any]:
        """Return why mentions were not scored, and how many."""
        return {"reasons": [(text, answer[name]) for name, text in REASONS.items() if answer.get(name)]}


def warnings_of(account: Mapping[str, int]) -> list[str]:
    """Warn of too few mentions or documents."""
    if not account["scored"]:
        text = f"No mention could be scored; {account['anaphors']:,} have an antecedent in the corpus."
        if account["anaphors"]:
            text += " Read more of the documents at once with --max-length, or leave out --stride 0."
        return [text]
    if account["documents"] < _MIN_DOCUMENTS:
        return [
            f"Documents with mentions that were scored: {account['documents']}. Intervals and held-out accuracies are "
            "unreliable for so few documents."
        ]
    return []
