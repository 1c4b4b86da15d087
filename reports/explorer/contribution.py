"""What one analysis adds to the explorer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..finding import Finding
from .data import Ensemble, Fact, Measure, Predicted, Profile
from .references import Reference


@dataclass(frozen=True)
class Contribution:
    """What one analysis of one kind of map adds to the explorer. Heads are named as in ``3-9``.

    Attributes:
        measures: the measures. Their ids begin with the name of the analysis.
        findings: sentences about what was found or was not, the most important first.
        phrases: for each head, phrases that complete a sentence about it, such as ``attends most to [SEP]``.
        facts: for each head, lines of its card.
        nearest: for each head, the most similar heads.
        profiles: for each head, its attention by offset.
        ensembles: heads that find a relation together.
        predictions: what the model predicts in sampled inputs with and without some heads.
        references: what measures are read beside.

    Example:
        >>> Contribution(phrases={"3-9": ("attends most to [SEP]",)}).measures
        ()
    """

    measures: tuple[Measure, ...] = ()
    findings: tuple[Finding, ...] = ()
    phrases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    nearest: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    ensembles: tuple[Ensemble, ...] = ()
    predictions: tuple[Predicted, ...] = ()
    references: tuple[Reference, ...] = ()


def join_contributions(contributions: Iterable[Contribution | None]) -> Contribution:
    """Put several contributions together, those of the first ones first.

    Example:
        >>> one, other = (Contribution(phrases={"3-9": (phrase,)}) for phrase in ("is broad", "finds objects"))
        >>> join_contributions([one, None, other]).phrases
        {'3-9': ('is broad', 'finds objects')}
    """
    added: dict[str, Any] = {}
    for contribution in filter(None, contributions):
        for name in (each.name for each in fields(Contribution)):
            value = getattr(contribution, name)
            if isinstance(value, tuple):
                added[name] = (*added.get(name, ()), *value)
                continue
            by_head = added.setdefault(name, {})
            for head, of_head in value.items():  # a profile is the same whoever adds it
                by_head[head] = (*by_head.get(head, ()), *of_head) if isinstance(of_head, tuple) else of_head
    return Contribution(**added)
