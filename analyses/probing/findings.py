"""What is said of the scores and weights of probes, each claim under its condition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ...reports.finding import Finding
from ...reports.format import ARROWS, head_name, rows_of
from ...storage.writing import amount
from ..counting.held_out import NO_CLAIM
from ..counting.resampling import FEWEST_UNITS
from ..shared.explored import address, points, share
from .attachment import AttachmentTables
from .head_weights import HeadWeights
from .methods import RANDOM

_VERDICTS = {True: "clearly more", False: "not clearly more"}
"""How a text says whether a probe finds clearly more than something else."""


def trained_probes(history: pd.DataFrame) -> list[str]:
    """Return the probes that were trained on the model itself."""
    names = history["method"].unique() if len(history) else ()
    return [str(name) for name in names if not str(name).endswith(RANDOM)]


def score_texts(tables: AttachmentTables, probes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each probe and how it does beside its control task and beside what is simpler."""
    methods = tables.methods
    has_enough = tables.units >= FEWEST_UNITS
    is_tested = (methods["decoding"] == "argmax") & methods["method"].isin(probes) & (methods["total"] > 0)
    for row in rows_of(methods[is_tested]):
        score = share(row["uas"], row["uas_low"], row["uas_high"])
        runs = f", as a mean of {row['runs']} runs" if row["runs"] > 1 else ""
        text = (
            f"The probe {row['method']} finds the syntactic heads of {score} of "
            f"{amount(row['total'], 'words')} of sentences that did not train it{runs}"
        )
        if not has_enough or math.isnan(row["uas_low"]):
            yield row["method"], f"{text}. It is not compared: {NO_CLAIM.format(units='sentences')}."
            continue
        if not math.isnan(row["control_accuracy"]):
            verdict, control = _VERDICTS[is_selective(row)], share(row["control_accuracy"])
            text += f", {verdict} than on its control task ({control}, {points(row['selectivity'])})"
        methods_by_verdict: dict[str, list[str]] = {verdict: [] for verdict in _VERDICTS.values()}
        for contrast in rows_of(tables.contrasts):
            if contrast["first"] == row["method"]:
                difference = points(contrast["difference"], contrast["low"], contrast["high"])
                methods_by_verdict[_VERDICTS[adds(contrast)]].append(f"“{contrast['second']}” ({difference})")
        verdicts = [
            f"{verdict} than {', '.join(simpler)}" for verdict, simpler in methods_by_verdict.items() if simpler
        ]
        yield row["method"], f"{text}." + (f" It finds {' and '.join(verdicts)}." if verdicts else "")


def is_selective(row: Mapping[str, Any]) -> bool:
    """Whether the score is above the accuracy on the control task with its whole interval."""
    return bool(row["uas_low"] > row["control_accuracy"])


def adds(row: Mapping[str, Any]) -> bool:
    """Whether a difference of two methods is above 0 with its whole interval."""
    return bool(row["low"] > 0)


def measure_id(column: str, probe: str, direction: str) -> str:
    """Return the id of a measure of the explorer."""
    return f"probing/{column}/{direction}/{probe}"


def findings_of_weights(probes: Mapping[str, HeadWeights]) -> Iterator[Finding]:
    """Yield the head with the largest weight, and whether heads that know more have larger weights."""
    for probe, weights in probes.items():
        row: Mapping[str, Any] = rows_of(weights.heads.nlargest(1, "weight"))[0]
        head, arrow = head_name(row["layer"], row["head"]), ARROWS[row["direction"]]
        measure = measure_id("weight", probe, row["direction"])
        text = f"The probe {probe} gives its largest weight to head {head} ({arrow}, {row['weight']:.3f})."
        yield Finding(text, address(head=head, measure=measure))
        correlation = weights.correlations.set_index("of")["spearman"]["weight"]
        if pd.notna(correlation):
            text = (
                f"Over all heads and directions, the weights in the probe {probe} and the accuracies of single heads "
                f"have a rank correlation of {correlation:.2f}."
            )
            yield Finding(text, address(measure=measure_id("accuracy", probe, row["direction"])))
