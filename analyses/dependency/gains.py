"""Gains over rules that can be compared: two treebanks with other word orders have other offsets, and other rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...corpora_loaders import OFFSETS
from ..counting.comparable import Comparable, Measured
from ..counting.held_out import HeldOutRate, heldout_baseline
from .rows import Words
from .rules import DependencyRules, heldout_rules


def comparable_statistics(words: Words) -> Iterator[Comparable]:
    """Yield the held-out accuracies of the best heads, and how much more they find than rules.

    The gains over the best fixed offset are those of all runs. The gains over the strongest rule are those of runs that
    have counted rules which know parts of speech; the offset is one of the rules.
    """
    accuracies = words.comparable()
    offsets = sorted(range(len(OFFSETS)), key=lambda index: OFFSETS[index])
    of_offsets = {
        name: heldout_baseline(rows, words.subsets, words.replicates, offsets) for name, rows in words.members.items()
    }
    strongest = dict(of_offsets)
    counted = words.metrics_of("rules", DependencyRules)
    for rules in counted:
        for name, of_rules in heldout_rules(rules, words.relations).items():
            strongest[name] = max((of_offsets[name], *of_rules.values()), key=lambda rate: rate.value)
    measured = (replace(one, rule=strongest[one.group].value) for one in accuracies.measured)
    yield replace(accuracies, measured=tuple(measured))
    yield _gains(accuracies, "gains over the offset", "held-out gain over the best fixed offset", of_offsets)
    if counted:
        yield _gains(accuracies, "gains over the rules", "held-out gain over the strongest rule", strongest)


def _gains(accuracies: Comparable, family: str, quantity: str, rates: Mapping[str, HeldOutRate]) -> Comparable:
    """Return how much more heads find than a rule, in the same replicates, given what the rule finds by relation."""

    def gain(measured: Measured) -> Measured:
        rule = rates[measured.group]
        deviations = measured.deviations - rule.deviations
        return replace(measured, value=measured.value - rule.value, deviations=deviations)

    measured = tuple(map(gain, accuracies.measured))
    return replace(accuracies, family=family, measured=measured, quantity=quantity, unit="points")
