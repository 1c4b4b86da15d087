"""What is said of the kinds of maps of a run: whether the heads of one find more than those of another."""

from __future__ import annotations

from collections.abc import Iterator

from ...reports.explorer.data import Finding
from ..dependency.tables import TOTALS
from ..shared.explored import address, points, share
from .differences import Difference
from .results import Comparison, Contrast

_NAMED = 2  # the groups that a finding names


def kinds_findings(comparison: Comparison) -> Iterator[Finding]:
    """Yield for each family of chosen heads which kind of map finds more on sentences that did not choose them."""
    for contrast in comparison.contrasts:
        rows = sorted(filter(is_about_chosen_heads, contrast.tested), key=lambda row: -abs(row.difference))
        if not rows:
            continue
        kinds = f"the maps “{contrast.first.name}” and “{contrast.second.name}”"
        counted = f"{len(rows)} tested {contrast.family}" if len(rows) > 1 else "the one tested group"
        if apart := [row for row in rows if is_apart(row)]:
            text = (
                f"Heads that were chosen on one half of the text find clearly different shares of the other half by "
                f"{kinds} in {len(apart)} of {counted}: {'; '.join(_named(contrast, row) for row in apart[:_NAMED])}"
                f"{'; …' if len(apart) > _NAMED else '.'}"
            )
        else:
            text = (
                f"In none of {counted}, it is clear whether {kinds} find more with heads that were chosen on one half "
                f"of the text and scored on the other. The largest difference: {_named(contrast, rows[0])}."
            )
        yield Finding(text, view_of(contrast, (apart or rows)[0]))


def is_about_chosen_heads(row: Difference) -> bool:
    """Whether both sides chose a head for the group, and the group is no total of others."""
    return bool(row.first and row.first.choice and row.second and row.second.choice) and row.group not in TOTALS


def is_apart(row: Difference) -> bool:
    """Whether the difference is significant among all tested groups of its family."""
    return row.significant


def _named(contrast: Contrast, row: Difference) -> str:
    """Write the values of a group on both sides, their number, and the difference with its interval."""
    sides = ((contrast.first, row.first), (contrast.second, row.second))
    values = ", ".join(f"{side.name} {share(one.value)}" for side, one in sides if one)
    count = row.first.n if row.first else 0
    return f"{row.group} ({values}, n = {count:,}; {points(row.difference, row.low, row.high)})"


def view_of(contrast: Contrast, row: Difference) -> str:
    """Return the view of the head that finds more."""
    side, better = (contrast.first, row.first) if row.difference > 0 else (contrast.second, row.second)
    head, _, direction = better.choice.partition(" ") if better else ("", "", "")
    relation = row.group if contrast.analysis == "dependency" else None
    return address(head=head, relation=relation, direction=direction if relation else None, kind=side.map)
