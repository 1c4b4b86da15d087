"""What the accuracies of heads are read beside: the best head held out, rules, and random weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...reports.explorer.references import Mark, Values
from ...reports.format import head_name
from ..counting.best_head import STANDARD_ERRORS
from ..counting.held_out import HeldOutRate, interval_around, standard_error
from .measures import DIGITS, finite_values

_TOO_FEW = "undefined: all of it is in one half of the text"


class Rule(NamedTuple):
    """A rule that heads are compared with, and how often it is right on text that did not choose it."""

    role: str  # see `Mark.role`
    label: str
    rate: HeldOutRate | None  # None if it was not counted
    note: str  # what it is, or why it was not counted


def marks_of(row: Mapping[str, Any], best: HeldOutRate, rules: Sequence[Rule], copies: int) -> Iterator[Mark]:
    """Yield the marks of a row of a table of best heads: the best head held out, rules, and random weights."""
    name = head_name(row["layer"], row["head"])
    note = (
        f"The best head, chosen on one half of the text and scored on the other. On all of it, {name} is the best one, "
        "which is partly luck."
    )
    is_defined = math.isfinite(best.value)
    yield Mark("heldout", "best head, held out", *_with_interval(best), note if is_defined else _TOO_FEW)
    for rule in rules:
        is_defined = rule.rate is None or math.isfinite(rule.rate.value)
        yield Mark(rule.role, rule.label, *_with_interval(rule.rate), rule.note if is_defined else _TOO_FEW)
    random = row.get("control_accuracy", math.nan)
    of_copies = f"The mean over {copies} copies" if copies > 1 else "One copy"
    yield (
        Mark("random", "random weights", random, note=f"{of_copies} of the model with random weights: its best head.")
        if math.isfinite(random)
        else Mark("random", "random weights", note="not counted; --control random-init")
    )


def best_rule(rules: Sequence[Rule]) -> Rule | None:
    """Return the rule that finds most; None if none was counted."""
    counted = [rule for rule in rules if rule.rate is not None and math.isfinite(rule.rate.value)]
    return max(counted, key=lambda rule: rule.rate.value if rule.rate else 0.0, default=None)


def over_rule(
    accuracies: npt.NDArray[np.float64], drawn: npt.NDArray[np.float64] | None, rule: HeldOutRate
) -> tuple[npt.NDArray[np.float64], Values | None, Values | None]:
    """Return how much more each head finds than a rule that was chosen on the other half, with 95 % intervals.

    Args:
        accuracies: the accuracy of each head, in the order of the explorer.
        drawn: the same in each bootstrap replicate, shape (replicates, heads), NaN where a replicate draws nothing;
            None without replicates.
        rule: what the rule finds.
    """
    # A single head is not chosen, so that its accuracy is the same on all halves together as on the whole text.
    gains = np.round(accuracies - rule.value, 6)
    if drawn is None:
        return gains, None, None
    deviations = drawn - accuracies - rule.deviations[:, None]
    deviations = deviations[np.isfinite(deviations).all(1)]
    if len(deviations) < 2:
        return gains, None, None
    margin = STANDARD_ERRORS * deviations.std(0, ddof=1)
    low, high = np.clip([gains - margin, gains + margin], -1, 1) + 0.0
    return gains, finite_values(low, DIGITS), finite_values(high, DIGITS)


def _with_interval(rate: HeldOutRate | None) -> tuple[float | None, float | None, float | None]:
    if rate is None or not math.isfinite(rate.value):
        return None, None, None
    bounds = interval_around(rate.value, standard_error(rate.deviations), lowest=0.0)
    low, high = finite_values(bounds, DIGITS)
    return rate.value, low, high
