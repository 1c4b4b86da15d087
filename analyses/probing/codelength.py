"""How many bits tell to someone who has the states of a layer what a probe learns from them?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...probes import CodedBlock, Codelength, make_state_probe
from ...reports.columns import Schema, TableColumn
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount
from .rows import ProbeQuestion, ProbeResults, Tested, deviation, mean, place_in_table
from .trainings.state_folds import GOLD, MODEL, RANDOM_WEIGHTS
from .trainings.training import Kept

CODELENGTHS = Schema(
    "probe_codelength",
    "With `--codelength`. One row per probe and layer: the online code of what the probe learns from the training "
    "sentences (of the first fold).",
    (
        TableColumn("probe", "text", "the probe, with what it learns", "probe"),
        TableColumn(
            "layer", "count", "the layer, 0 for the output of the embedding block; empty for a mix of layers", "layer",
            cell=lambda row: "mix" if math.isnan(row["layer"]) else f"{row['layer']:.0f}",
        ),
        TableColumn("runs", "count", "training runs, each with its own order of sentences and initial weights"),
        TableColumn("words", "count", "the coded words: training words with a label or a head"),
        TableColumn("bits", "bits", "the length of the code, the mean over runs"),
        TableColumn(
            "bits_per_word", "bits", "`bits` / `words`", "bits per word",
            help="the mean over runs of the length of the online code, for each coded word",
        ),
        TableColumn("bits_per_word_sd", "bits", "its standard deviation over runs", "sd"),
        TableColumn(
            "compression", "number", "how many times the code is shorter than the uniform one, the mean over runs",
            "compression", digits=2, help="how many times the code is shorter than the uniform one",
        ),
        TableColumn("compression_sd", "number", "its standard deviation over runs"),
        TableColumn(
            "uniform", "bits", "the bits of a word if all classes or candidates are equally likely", "uniform"
        ),
        TableColumn(
            "floor", "bits", "the entropy of the labels: the bits of a word if only their frequency is known; empty "
            "for heads", "entropy",
            help="the bits of a word if only the frequency of labels is known, below which nothing is expected that "
            "states do not tell",
        ),
        TableColumn(
            "control_bits_per_word control_bits_per_word_sd", "bits",
            "`bits_per_word` on the first control task, and its standard deviation", "control task", optional=True,
        ),
        TableColumn("control_compression", "number", "`compression` on the first control task"),
        TableColumn(
            "random_bits_per_word random_bits_per_word_sd", "bits",
            "`bits_per_word` on copies with random weights in their layers, and its standard deviation",
            "random weights", optional=True,
        ),
        TableColumn("random_compression", "number", "`compression` on these copies"),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class CodeTable:
    """The answer: the table, and the probes of hidden states that have no code."""

    lengths: pd.DataFrame
    uncoded: tuple[str, ...]


class Codelengths(ProbeQuestion):
    """How many bits tell what a probe learns?"""

    name = "codelength"
    tables = (CODELENGTHS,)
    template = Path(__file__).with_name("codelength.html.j2")

    def look(self, lookup_context: Kept) -> dict[str, Any] | None:
        """Keep what each block of each code costs."""
        states = lookup_context.trained.states
        if not states.codes:
            return None
        uncoded = [name for name in states.chosen if not make_state_probe(name).softmax]
        return {"codes": [code.described() for code in states.codes], "uncoded": uncoded}

    def join(self, lookups: Sequence[Any]) -> Any:
        """Return the codes of the first of merged runs, if all have the same, as they do of the same training data."""
        if not lookups or any(each != lookups[0] for each in lookups):
            return None
        return lookups[0]

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> CodeTable | None:
        """Return the lengths of the codes; None if none was asked for."""
        if lookups is None:
            return None
        return CodeTable(pd.DataFrame(list(_rows(lookups["codes"]))), tuple(lookups["uncoded"]))

    def frames(self, answer: CodeTable, results: ProbeResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {CODELENGTHS.name: answer.lengths}

    def show(self, answer: CodeTable, results: ProbeResults) -> Sequence[ShownTable]:
        """Return the table."""
        return (codelength_table(answer),)

    def values(self, answer: CodeTable, results: ProbeResults) -> Mapping[str, Any]:
        """Return how many words are coded, and what has no code."""
        words = answer.lengths.groupby("probe", sort=False)["words"].first()
        return {
            "coded_words": [f"{amount(int(number), 'words')} ({probe})" for probe, number in words.items()],
            "uncoded": list(answer.uncoded),
        }


def codelength_table(answer: CodeTable) -> ShownTable:
    """Return the table as people read it."""
    title = "Codelengths of what probes learn from hidden states (bits)"
    return ShownTable(CODELENGTHS.name, title, CODELENGTHS.columns, rows_of(answer.lengths))


def _rows(codes: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the row of each probe and layer, in the order in which they were trained."""
    by_source: dict[tuple[str, int], dict[str, list[Codelength]]] = {}
    for stored in codes:
        floor = math.nan if stored["floor"] is None else stored["floor"]
        code = Codelength(tuple(CodedBlock(**block) for block in stored["blocks"]), floor)
        source = stored["source"] if stored["task"] == GOLD else "control"
        by_source.setdefault((stored["probe"], stored["layer"]), {}).setdefault(source, []).append(code)
    for (probe, layer), sources in by_source.items():
        own = sources[MODEL]
        words = own[0].words
        yield {
            "probe": probe,
            "layer": place_in_table(layer, MODEL)[0],
            "runs": len(own),
            "words": words,
            "bits": mean([code.bits for code in own]),
            "bits_per_word": mean(per_word := [code.bits_per_word for code in own]),
            "bits_per_word_sd": deviation(per_word),
            "compression": mean(times := [code.compression for code in own]),
            "compression_sd": deviation(times),
            "uniform": own[0].uniform / words if words else math.nan,
            "floor": own[0].floor / words if words else math.nan,
            **_compare("control", sources.get("control", [])),
            **_compare("random", sources.get(RANDOM_WEIGHTS, [])),
        }


def _compare(name: str, codes: Sequence[Codelength]) -> dict[str, float]:
    """Return the mean length of codes to compare with, its standard deviation, and their mean compression."""
    lengths = [code.bits_per_word for code in codes]
    return {
        f"{name}_bits_per_word": mean(lengths),
        f"{name}_bits_per_word_sd": deviation(lengths),
        f"{name}_compression": mean([code.compression for code in codes]),
    }
