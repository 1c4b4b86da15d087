"""What the demo model gives on the sample treebank, and the comparison of a run with it.

The counts are integers, and they are equal on every machine, because decisions that float32 cannot make are made in
float64. So each table of counts is compared by the SHA-256 of its rows. The last digits of real numbers differ between
processors, so these are compared with a tolerance of half a unit of the last digit that the report prints. Results of
networks with random weights, and of trained probes and classifiers, are not compared: they depend on the random numbers
of the installed torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...extractors.checks.doctor import Check
from ..contract import OptionGroup
from ..norms.options import NormsOptions
from ..shared.options import CountOptions

if TYPE_CHECKING:
    from ..coreference.rows import CoreferenceResults
    from ..dependency.rows import DependencyResults
    from ..norms.rows import NormResults
    from ..surface.rows import SurfaceResults

FILE = Path(__file__).with_name("sample.json")
"""The known answers, made by ``python -m tests.known_answers``."""

ANALYSES = ("dependency", "surface", "norms", "coreference")
MAPS = ("weight", "norm")
OPTIONS: tuple[OptionGroup, ...] = (CountOptions(replicates=0), NormsOptions(mask_rate=0.0, ff_sentences=0))
"""What the run must analyze, and with which options."""

_CELLS = ["direction", "layer", "head", "correct", "total"]
_HELD_OUT = ["relation", "layer", "head", "direction", "correct", "offset", "offset_correct"]
_SURFACE = ["previous", "next", "self", "first_special", "last_special", "punctuation", "other"]


@dataclass(frozen=True)
class SampleAnswers:
    """The results that are compared."""

    counts: Mapping[str, str]  # the SHA-256 of each table of counts, by the name of the table
    numbers: Mapping[str, float]  # real numbers by their names, in percent or in nats
    # the unit of the last digit that the report prints of each number, by the name of the number
    unit: Mapping[str, float]


def digest_of_counts(table: pd.DataFrame) -> str:
    """Return the SHA-256 of the rows of a table of names and integers, whose order and column names count, too."""
    real = [name for name, column in table.items() if pd.api.types.is_float_dtype(column)]
    if real:
        raise ValueError(f"only names and integers have a digest; these columns have real numbers: {real}")
    return hashlib.sha256(table.to_csv(sep="\t", index=False, lineterminator="\n").encode()).hexdigest()


def answers_of(results: Mapping[tuple[str, str | None], Any]) -> SampleAnswers:
    """Return what is compared of the results of a run."""
    counts: dict[str, str] = {}
    numbers: dict[str, float] = {}
    units: dict[str, float] = {}
    for kind in MAPS:
        dependency: DependencyResults = results["dependency", kind]
        coreference: CoreferenceResults = results["coreference", kind]
        held_out = dependency.best[[*_HELD_OUT, "heldout_correct", "heldout_total"]]
        counts[f"dependency of all heads ({kind})"] = digest_of_counts(dependency.cells[["relation", *_CELLS]])
        counts[f"dependency of best heads ({kind})"] = digest_of_counts(held_out)
        cells = coreference.tables.cells[["candidates", "type", *_CELLS]]
        counts[f"coreference of all heads ({kind})"] = digest_of_counts(cells)
    surface: SurfaceResults = results["surface", "weight"]
    for _, row in surface.tables.layers.iterrows():
        for statistic in _SURFACE:
            name = f"surface, layer {row['layer']}, {statistic}"
            numbers[name], units[name] = 100 * float(row[statistic]), 0.1
        name = f"surface, layer {row['layer']}, entropy"
        numbers[name], units[name] = float(row["entropy"]), 0.01
    norms: NormResults = results["norms", None]
    means = norms.shares.groupby(["layer", "class"], sort=True)[["weight", "norm_share"]].mean().reset_index()
    for _, row in means.iterrows():
        for share in ("weight", "norm_share"):
            name = f"norms, layer {row['layer']}, {row['class']}, {share}"
            numbers[name], units[name] = 100 * float(row[share]), 0.1
    return SampleAnswers(counts, {name: round(value, 5) for name, value in numbers.items()}, units)


def known_answers(path: Path = FILE) -> SampleAnswers:
    """Read the answers that come with the toolkit."""
    return SampleAnswers(**json.loads(path.read_text(encoding="utf-8")))


def write_answers(answers: SampleAnswers, path: Path = FILE) -> None:
    """Write answers as a file that `known_answers` reads."""
    path.write_text(json.dumps(asdict(answers), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def compare_answers(found: SampleAnswers, known: SampleAnswers) -> Iterator[Check]:
    """Compare the answers of this installation with the known ones, a line for each table and for each analysis."""
    for name, digest in known.counts.items():
        equal = found.counts.get(name) == digest
        here = found.counts.get(name, "missing")[:12]
        text = f"sha256 {digest[:12]}" if equal else f"sha256 {here} instead of {digest[:12]}"
        yield Check(f"counts: {name}", equal, text)
    for analysis in dict.fromkeys(name.split(",")[0] for name in known.numbers):
        names = [name for name in known.numbers if name.startswith(f"{analysis},")]
        wrong = [name for name in names if not _is_close(found, known, name)]
        if wrong:
            first = wrong[0]
            value = found.numbers.get(first)
            text = f"{len(wrong)} of {len(names)} differ, such as {first}: {value} instead of {known.numbers[first]}"
        else:
            text = f"{len(names)} equal to the printed digits"
        yield Check(f"numbers: {analysis}", not wrong, text)


def _is_close(found: SampleAnswers, known: SampleAnswers, name: str) -> bool:
    """Whether a number is the known one within half a unit of the last printed digit."""
    return name in found.numbers and abs(found.numbers[name] - known.numbers[name]) <= known.unit[name] / 2
