"""The explorer of a probing run: how much the probes weigh each head, and what each head knows by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Finding, Measure
from ...reports.format import ARROWS, head_name, rows_of
from ..shared.explored import address, head_measures, share
from .columns import PROBE_WEIGHTS
from .head_weights import HeadWeights
from .results import ProbeResults, used_heads


def explored_probes(results: ProbeResults) -> Contribution | None:
    """Return the weights of all heads in all probes of attention; None if there are none."""
    # The rank of a head in a probe is that of the larger of its weights in the two directions.
    probes = used_heads(results)
    if not probes:
        return None
    facts: dict[str, list[Fact]] = {}
    phrases: dict[str, list[str]] = {}
    for probe, weights in probes.items():
        for head, fact, phrase in _facts(probe, weights.heads):
            facts.setdefault(head, []).append(fact)
            phrases.setdefault(head, []).append(phrase)
    return Contribution(
        measures=tuple(measure for name, weights in probes.items() for measure in _measures(name, weights.heads)),
        findings=tuple(_findings(probes)),
        phrases={head: tuple(each) for head, each in phrases.items()},
        facts={head: tuple(each) for head, each in facts.items()},
    )


def _id(column: str, probe: str, direction: str) -> str:
    return f"probing/{column}/{direction}/{probe}"


def _measures(probe: str, heads: pd.DataFrame) -> Iterator[Measure]:
    for direction, rows in heads.groupby("direction", sort=False):
        facts = {"probe": probe, "arrow": ARROWS[str(direction)]}
        yield from head_measures(
            PROBE_WEIGHTS, rows, _id("{column}", probe, str(direction)), facts, direction=str(direction)
        )


def _best_directions(heads: pd.DataFrame) -> pd.DataFrame:
    """Return one row per head: its direction with the larger weight, and its rank by that weight."""
    rows = heads.sort_values("weight", ascending=False, kind="stable").drop_duplicates(["layer", "head"])
    return rows.assign(rank=rows["weight"].rank(ascending=False, method="min").astype(int)).sort_values(
        ["layer", "head"]
    )


def _facts(probe: str, heads: pd.DataFrame) -> Iterator[tuple[str, Fact, str]]:
    """Yield for each head its name, a line of its card and a phrase about it."""
    best = _best_directions(heads)
    for row in rows_of(best):
        rank, weight, arrow = f"{row['rank']} of {len(best)}", f"{row['weight']:.3f}", ARROWS[row["direction"]]
        text = f"{rank}; weight {weight}, {arrow}; alone {share(row['accuracy'])}"
        fact = Fact(f"rank in the probe {probe}", text, _id("weight", probe, row["direction"]))
        yield (
            head_name(row["layer"], row["head"]),
            fact,
            f"has rank {rank} in the probe {probe}, by its weight of {weight} ({arrow})",
        )


def _findings(probes: Mapping[str, HeadWeights]) -> Iterator[Finding]:
    """Yield the head with the largest weight, and whether heads that know more have larger weights."""
    for probe, weights in probes.items():
        row: Mapping[str, Any] = rows_of(weights.heads.nlargest(1, "weight"))[0]
        head, arrow = head_name(row["layer"], row["head"]), ARROWS[row["direction"]]
        measure = _id("weight", probe, row["direction"])
        text = f"The probe {probe} gives its largest weight to head {head} ({arrow}, {row['weight']:.3f})."
        yield Finding(text, address(head=head, measure=measure))
        correlation = weights.correlations.set_index("of")["spearman"]["weight"]
        if pd.notna(correlation):
            text = (
                f"Over all heads and directions, the weights in the probe {probe} and the accuracies of single heads "
                f"have a rank correlation of {correlation:.2f}."
            )
            yield Finding(text, address(measure=_id("accuracy", probe, row["direction"])))
