"""What is said of the differences of a comparison, each finding under its condition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...reports.finding import Finding
from ...reports.format import number, number_interval, signed_number
from ...storage.writing import amount, verb
from ..counting.comparable import Measured
from ..dependency.accuracy import TOTALS
from ..shared.measures import address, points, share
from ..surface.rows import statistic_names
from .differences import Difference
from .results import GAIN, Comparison, Contrast, Side

_MAX_NAMED = 2  # the groups that a finding names
_MAX_FINDINGS = 6  # of a page about differences


def kinds_findings(comparison: Comparison) -> Iterator[Finding]:
    """Yield for each analysis of chosen heads which kind of map finds more on sentences that did not choose them."""
    said: list[Said] = []
    for contrast in comparison.contrasts:
        if rows := list(filter(is_about_chosen_heads, contrast.tested)):
            view = view_of(contrast, clearest(rows)[0])
            found = Finding(difference_text(contrast, rows, noun="the map ", heads=True), view)
            said.append(((contrast.analysis, contrast.first.map, contrast.second.map), contrast, rows, found))
    yield from join_findings(said)


def comparison_findings(comparison: Comparison, reports: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """Return in how many groups of each family the runs differ clearly, and where most."""
    # `reports` has the address of the report of a run, by its name. Other findings lead to the table of their family.
    about_chosen_heads: list[Said] = []
    about_others: list[tuple[Sequence[Difference], Finding]] = []
    for position, contrast in enumerate(comparison.contrasts, start=1):
        table = f"#contrast-{position}"
        if of_heads := list(filter(is_about_chosen_heads, contrast.tested)):
            address_of_head = view_of_better(contrast, clearest(of_heads)[0], reports or {})
            text = difference_text(contrast, of_heads, heads=True)
            found = Finding(text, table if contrast.unit == GAIN else address_of_head or table)
            key = contrast.analysis, *map(str, (contrast.first, contrast.second))
            about_chosen_heads.append((key, contrast, of_heads, found))
        elif others := [row for row in contrast.tested if row.group not in TOTALS]:
            about_others.append((others, Finding(difference_text(contrast, others, heads=False), table)))
    return (*join_findings(about_chosen_heads), *sort_by_clarity(about_others))[:_MAX_FINDINGS]


Said = tuple[tuple[str, ...], Contrast, Sequence[Difference], Finding]
"""What is said of a contrast: what those of the same sides have in common, the contrast, its rows and the finding."""


def join_findings(said: Iterable[Said]) -> tuple[Finding, ...]:
    """Return one finding for each pair of sides: what is said of their gains, and then of their accuracies.

    On other text, a head may find more only because the rules of that text do, too.
    """
    by_sides: dict[tuple[str, ...], list[tuple[Sequence[Difference], Finding]]] = {}
    for key, contrast, rows, finding in sorted(said, key=lambda each: each[1].unit != GAIN):
        # The gains over the strongest rule come last of all families, and say most.
        of_sides = by_sides.setdefault(key, [])
        is_first = contrast.unit == GAIN or (clearest(rows)[0].significant and not _is_clear(of_sides))
        of_sides.insert(0 if is_first else len(of_sides), (rows, finding))
    findings = []
    for (rows, first), *others in by_sides.values():
        findings.append((rows, replace(first, more=" ".join(finding.whole for _, finding in others))))
    return sort_by_clarity(findings)


def _is_clear(findings: Sequence[tuple[Sequence[Difference], Finding]]) -> bool:
    """Whether the first of some findings is about a clear difference."""
    return bool(findings) and clearest(findings[0][0])[0].significant


def sort_by_clarity(findings: Sequence[tuple[Sequence[Difference], Finding]]) -> tuple[Finding, ...]:
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
    clear = [row for row in clearest(rows) if not _is_rounded_away(contrast, row)]  # all if none is significant
    first, second = (f"{noun}“{side.name}”" for side in (contrast.first, contrast.second))
    groups, family = "relations", ""
    if contrast.analysis != "dependency":
        groups, family = "groups", f" ({contrast.analysis}, {contrast.family})"
    tested = f"{amount(len(rows), f'tested {groups}')}{family}{where}"
    quantity = "heads chosen on one half of the text and scored on the other" if heads else contrast.quantity
    if contrast.unit == GAIN:
        quantity = f"{contrast.quantity}, {quantity}"
    adjusted = f"p adjusted by Holm for {amount(len(contrast.tested), 'tests')}"
    if not clear or not clear[0].significant:
        differ = verb(0, "differ", of=len(rows))
        text = f"0 of {tested} {differ} clearly between {first} and {second} ({quantity}; {adjusted})."
        if not clear:
            return f"{text} No difference is larger than rounding."
        return f"{text} The largest difference: {_write_values(contrast, clear[0])}."
    n_more = sum(row.difference > 0 for row in clear)
    n_less = len(clear) - n_more
    more_often = n_more >= n_less  # the larger number comes first
    more, less = ("more", "less") if more_often else ("less", "more")
    does = f"finds {more}"
    if contrast.unit == GAIN:
        does = f"gains {more} over {'rules' if 'rule' in contrast.quantity else 'the offset'}"
    elif not heads:
        does = f"has {'larger' if more_often else 'smaller'} values"
        less = "smaller ones" if more_often else "larger ones"
    largest = [_write_values(contrast, row) for row in clear[:_MAX_NAMED]]
    return (
        f"{max(n_more, n_less)} of {tested}: {first} clearly {does} than {second}, and {less} in "
        f"{min(n_more, n_less)} ({quantity}; "
        f"{adjusted}). The largest difference{'s' if len(largest) > 1 else ''}: {'; '.join(largest)}"
        f"{'; …' if len(clear) > _MAX_NAMED else '.'}"
    )


def _is_rounded_away(contrast: Contrast, row: Difference) -> bool:
    """Whether a difference is shown as 0."""
    return round(abs(contrast.scale * row.difference), 1 if contrast.is_share else 3) == 0


def is_about_chosen_heads(row: Difference) -> bool:
    """Whether both sides chose a head for the group, and the group is no total of others."""
    return bool(row.first and row.first.choice and row.second and row.second.choice) and row.group not in TOTALS


def clearest(rows: Sequence[Difference]) -> list[Difference]:
    """Return the clear differences, or all if none is clear, the largest one first."""
    ordered = sorted(rows, key=lambda row: -abs(row.difference))
    return [row for row in ordered if row.significant] or ordered


def _write_values(contrast: Contrast, row: Difference) -> str:
    """Write the values of a group on both sides, their numbers, and the difference with its interval."""
    sides = (contrast.first, row.first), (contrast.second, row.second)
    values = ", ".join(f"{side.name} {_value(contrast, measured)}" for side, measured in sides if measured)
    rules = [share(measured.rule) for _, measured in sides if measured and not math.isnan(measured.rule)]
    if contrast.unit == "%" and len(rules) == len(sides):
        values += f", strongest rule {' / '.join(dict.fromkeys(rules))}"
    counts = " / ".join(dict.fromkeys(f"{measured.n:,}" for _, measured in sides if measured))
    if contrast.is_share:
        difference = points(row.difference, row.low, row.high)
    else:
        difference = f"{signed_number(row.difference)} {contrast.unit} {number_interval(row.low, row.high)}".rstrip()
    adjusted = "" if row.significant else f", adjusted p = {row.p_holm:.3f}"
    return f"{group_name(contrast, row.group)} ({values}, n = {counts}; {difference}{adjusted})"


def group_name(contrast: Contrast, group: str) -> str:
    """Name a group in words, as the tables and figures of its analysis do."""
    if contrast.analysis != "surface":
        return group
    statistic, comma, layer = group.partition(", ")
    return statistic_names(contrast.names).get(statistic, statistic) + comma + layer


def _value(contrast: Contrast, measured: Measured) -> str:
    """Write a value as its table does, with the head that was chosen for it."""
    head = measured.choice.partition(" ")[0]
    written = points if contrast.unit == GAIN else share if contrast.unit == "%" else number
    value = written(measured.value)
    return f"{value} by head {head}" if head else value


def view_of(contrast: Contrast, row: Difference) -> str:
    """Return the view of the head that finds more."""
    return view_of_side(contrast, row.group, *_find_better(contrast, row))


def view_of_better(contrast: Contrast, row: Difference, reports: Mapping[str, str]) -> str:
    """Return the view of the head that finds more in the report of its run; empty if there is no report."""
    side, choice = _find_better(contrast, row)
    report = reports.get(side.run)
    return f"{report}{view_of_side(contrast, row.group, side, choice)}" if report else ""


def _find_better(contrast: Contrast, row: Difference) -> tuple[Side, str]:
    """Return the side with the larger value, and the head that it chose."""
    side, measured = (contrast.first, row.first) if row.difference > 0 else (contrast.second, row.second)
    return side, (measured.choice if measured else "")


def view_of_side(contrast: Contrast, group: str, side: Side, choice: str) -> str:
    """Return the view of the head that a side chose for a group, given as ``head direction`` or as ``head``."""
    head, _, direction = choice.partition(" ")
    relation = group if contrast.analysis == "dependency" else None
    return address(head=head, relation=relation, direction=direction if relation else None, kind=side.map)
