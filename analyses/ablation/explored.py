"""What the analysis of ablation adds to the explorer: the effects of all heads, and whether heads that find matter."""

from __future__ import annotations

from collections.abc import Iterator

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Finding
from ...reports.format import head_name, number, rows_of
from ..shared.explored import address, head_measures
from .columns import ABLATION, DIGITS, EFFECTS, effect_bounds
from .section import AblationResults, conclusion


def explored_ablation(results: AblationResults, *, complete: bool) -> Contribution:
    """Return the effects as measures, unless some heads were left out, and the heads that matter most."""
    heads = results.tables.heads
    measures = tuple(head_measures(ABLATION, heads, "ablation/{column}")) if complete else ()
    facts = {
        head_name(row["layer"], row["head"]): (
            Fact("without it", f"{EFFECTS[results.effect]}: {number(row[results.effect], DIGITS)}",
                 f"ablation/{results.effect}" if complete else None),
        )
        for row in rows_of(heads)
    }  # fmt: skip
    return Contribution(
        measures, tuple(_findings(results, complete=complete)), facts=facts, predictions=results.predictions
    )


def _findings(results: AblationResults, *, complete: bool) -> Iterator[Finding]:
    effect = results.effect
    measure = f"ablation/{effect}" if complete else None
    top = max(rows_of(results.tables.heads), key=lambda row: float(row[effect]))
    head = head_name(top["layer"], top["head"])
    value = f"{number(top[effect], DIGITS)} {effect_bounds(effect)(top)}".strip()
    yield Finding(
        f"Switching off {head} changes most: {EFFECTS[effect]} {value}.",
        address(head=head, measure=measure),
    )
    if said := conclusion(results):
        yield Finding(said, address(measure=measure))
