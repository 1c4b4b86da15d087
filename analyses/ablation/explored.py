"""What the analysis of ablation adds to the explorer: the effects of all heads, and whether heads that find matter."""

from __future__ import annotations

from collections.abc import Iterator

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Finding, Measure
from ...reports.format import head_name, number, rows_of
from ..shared.explored import DIGITS, address, defined, values_of
from .columns import DIGITS as EFFECT_DIGITS
from .columns import effect_bounds
from .section import EFFECTS, AblationResults, conclusion

_NOTES = {
    "cosine": "1 − the cosine of the final vectors of a word with the head and without it, mean over words.",
    "l2": "The length of the change of the final vector of a word without the head, divided by that of the vector.",
    "loss": "The increase of −log p of masked pieces, or of the next word, if the head is switched off.",
}


def explored_ablation(results: AblationResults, *, complete: bool) -> Contribution:
    """Return the effects as measures, unless some heads were left out, and the heads that matter most."""
    heads = results.tables.heads
    measures = tuple(
        Measure(
            id=f"ablation/{name}",
            group="What changes without the head",
            label=EFFECTS[name],
            kind=None,
            unit="nats" if name == "loss" else "",
            values=values_of(heads, name),
            low=defined(heads[f"{name}_low"], DIGITS),
            high=defined(heads[f"{name}_high"], DIGITS),
            note=_NOTES[name],
        )
        for name in EFFECTS
        if complete and name in heads
    )
    facts = {
        head_name(row["layer"], row["head"]): (
            Fact("without it", f"{EFFECTS[results.effect]}: {number(row[results.effect], EFFECT_DIGITS)}",
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
    value = f"{number(top[effect], EFFECT_DIGITS)} {effect_bounds(effect)(top)}".strip()
    yield Finding(
        f"Switching off {head} changes most: {EFFECTS[effect]} {value}.",
        address(head=head, measure=measure),
    )
    if said := conclusion(results):
        yield Finding(said, address(measure=measure))
