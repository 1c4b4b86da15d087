"""What is said of the differences of a comparison, each finding under its condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...reports.finding import Finding
from ...reports.format import number, number_interval, signed
from ..counting.comparable import Measured
from ..dependency.accuracy import TOTALS
from ..shared.explored import address, points, share
from ..surface.rows import statistic_names
from .differences import Difference
from .results import Comparison, Contrast, Side

_MAX_NAMED = 2  # the groups that a finding names
_MAX_FINDINGS = 6  # of a page about differences


def kinds_findings(comparison: Comparison) -> Iterator[Finding]:
    """Yield for each family of chosen heads which kind of map finds more on sentences that did not choose them."""
    for contrast in comparison.contrasts:
        if rows := list(filter(is_about_chosen_heads, contrast.tested)):
            view = view_of(contrast, clearest(rows)[0])
            yield Finding(difference_text(contrast, rows, noun="the map ", heads=True), view)


def comparison_findings(comparison: Comparison, reports: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """Return in how many groups of each family the runs differ clearly, and where most."""
    # `reports` has the address of the report of a run, by its name. Other findings lead to the table of their family.
    about_chosen_heads: list[tuple[Sequence[Difference], Finding]] = []
    about_others: list[tuple[Sequence[Difference], Finding]] = []
    for position, contrast in enumerate(comparison.contrasts, start=1):
        table = f"#contrast-{position}"
        if of_heads := list(filter(is_about_chosen_heads, contrast.tested)):
            address_of_head = view_of_better(contrast, clearest(of_heads)[0], reports or {})
            text = difference_text(contrast, of_heads, heads=True)
            about_chosen_heads.append((of_heads, Finding(text, address_of_head or table)))
        elif others := [row for row in contrast.tested if row.group not in TOTALS]:
            about_others.append((others, Finding(difference_text(contrast, others, heads=False), table)))
    return (*clear_first(about_chosen_heads), *clear_first(about_others))[:_MAX_FINDINGS]


def clear_first(findings: Sequence[tuple[Sequence[Difference], Finding]]) -> tuple[Finding, ...]:
    """Return the first few findings, given with their differences; those about a clear difference come first."""
    clear = [finding for rows, finding in findings if clearest(rows)[0].significant]
    unclear = [finding for rows, finding in findings if not clearest(rows)[0].significant]
    return tuple([*clear, *unclear][:_MAX_FINDINGS])


def difference_text(
    contrast: Contrast, rows: Sequence[Difference], *, heads: bool, noun: str = "", where: str = ""
) -> str:
    """Say in how many of the tested groups a side is clearly above the other, and name the largest differences."""
    # `heads`: whether the values are held-out accuracies of chosen heads; `noun`: what stands before the names of the
    # sides; `where`: what stands after the groups.
    clear = clearest(rows)  # all of them if none is significant
    first, second = (f"{noun}“{side.name}”" for side in (contrast.first, contrast.second))
    groups = contrast.family if contrast.family == "relations" else f"groups ({contrast.analysis}, {contrast.family})"
    tested = f"{len(rows)} tested {groups}{where}"
    quantity = "heads chosen on one half of the text and scored on the other" if heads else contrast.quantity
    if not clear[0].significant:
        has_another = "finds more or less" if heads else "has larger or smaller values"
        return (
            f"In none of {tested}, {first} clearly {has_another} than {second} ({quantity}). The largest difference: "
            f"{_named(contrast, clear[0])}."
        )
    has_more, less = ("finds more", "less") if heads else ("has larger values", "smaller ones")
    above = sum(row.difference > 0 for row in clear)
    below = len(clear) - above
    largest = [_named(contrast, row) for row in clear[:_MAX_NAMED]]
    sentences = (
        f"{first} clearly {has_more} than {second} in {above or 'none'} of {tested}, and {less} in {below or 'none'} "
        f"({quantity}). The largest difference{'s' if len(largest) > 1 else ''}: {'; '.join(largest)}"
        f"{'; …' if len(clear) > _MAX_NAMED else '.'}"
    )
    return sentences[0].upper() + sentences[1:]


def is_about_chosen_heads(row: Difference) -> bool:
    """Whether both sides chose a head for the group, and the group is no total of others."""
    return bool(row.first and row.first.choice and row.second and row.second.choice) and row.group not in TOTALS


def clearest(rows: Sequence[Difference]) -> list[Difference]:
    """Return the clear differences, or all if none is clear, the largest one first."""
    ordered = sorted(rows, key=lambda row: -abs(row.difference))
    return [row for row in ordered if row.significant] or ordered


def _named(contrast: Contrast, row: Difference) -> str:
    """Write the values of a group on both sides, their numbers, and the difference with its interval."""
    sides = (contrast.first, row.first), (contrast.second, row.second)
    values = ", ".join(f"{side.name} {_value(contrast, measured)}" for side, measured in sides if measured)
    counts = " / ".join(dict.fromkeys(f"{measured.n:,}" for _, measured in sides if measured))
    if contrast.unit == "%":
        difference = points(row.difference, row.low, row.high)
    else:
        difference = f"{signed(row.difference)} {contrast.unit} {number_interval(row.low, row.high)}".rstrip()
    return f"{group_name(contrast, row.group)} ({values}, n = {counts}; {difference})"


def group_name(contrast: Contrast, group: str) -> str:
    """Name a group in words, as the tables and figures of its analysis do."""
    if contrast.analysis != "surface":
        return group
    statistic, comma, layer = group.partition(", ")
    return statistic_names(contrast.names).get(statistic, statistic) + comma + layer


def _value(contrast: Contrast, measured: Measured) -> str:
    """Write a value as its table does, with the head that was chosen for it."""
    head = measured.choice.partition(" ")[0]
    value = share(measured.value) if contrast.unit == "%" else number(measured.value)
    return f"{value} by head {head}" if head else value


def view_of(contrast: Contrast, row: Difference) -> str:
    """Return the view of the head that finds more."""
    return view_of_side(contrast, row.group, *_better(contrast, row))


def view_of_better(contrast: Contrast, row: Difference, reports: Mapping[str, str]) -> str:
    """Return the view of the head that finds more in the report of its run; empty if there is no report."""
    side, choice = _better(contrast, row)
    report = reports.get(side.run)
    return f"{report}{view_of_side(contrast, row.group, side, choice)}" if report else ""


def _better(contrast: Contrast, row: Difference) -> tuple[Side, str]:
    """Return the side with the larger value, and the head that it chose."""
    side, measured = (contrast.first, row.first) if row.difference > 0 else (contrast.second, row.second)
    return side, (measured.choice if measured else "")


def view_of_side(contrast: Contrast, group: str, side: Side, choice: str) -> str:
    """Return the view of the head that a side chose for a group, given as ``head direction`` or as ``head``."""
    head, _, direction = choice.partition(" ")
    relation = group if contrast.analysis == "dependency" else None
    return address(head=head, relation=relation, direction=direction if relation else None, kind=side.map)
