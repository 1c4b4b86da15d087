"""The statistics of a run that are compared, whether it was made by ``analyze`` or by ``probe``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..analyses.contract import Titles
from ..analyses.probing.outcomes import AttachmentOutcomes, read_outcomes
from ..analyses.probing.run import ProbingRun
from ..analyses.shared.comparable import Comparable
from .run import Run
from .states import read_states
from .stored_run import restored

PROBE = "probe"
"""The name of probing in comparisons, in place of that of an analysis."""


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """The statistics of a run that are compared.

    Attributes:
        titles: the names of the model and the corpus.
        record: the run record.
        kinds: the kinds of maps.
        analyses: the names of all analyses, also of those without statistics that can be compared.
        families: the statistics, by the name of the analysis and the kind of map.
        inputs: the ids of inputs that were read, see `attentionology.engine.sampled_inputs`; None if they are unknown.
    """

    titles: Titles
    record: Mapping[str, Any]
    kinds: tuple[str, ...]
    analyses: tuple[str, ...]
    families: Mapping[tuple[str, str], Sequence[Comparable]]
    inputs: frozenset[str] | None = None

    @classmethod
    def of(cls, run: Run | ProbingRun | ComparedRun) -> ComparedRun:
        """Return what is compared of a run."""
        if isinstance(run, ComparedRun):
            return run
        if isinstance(run, ProbingRun):
            return cls.of_outcomes(run.outcomes, run.titles, run.record)
        families = {(part.analysis.name, part.kind or ""): part.analysis.comparable(part.counted) for part in run.parts}
        return cls(
            run.titles,
            run.record,
            tuple(dict.fromkeys(part.kind for part in run.parts if part.kind)),
            tuple(dict.fromkeys(part.analysis.name for part in run.parts)),
            {key: comparable for key, comparable in families.items() if comparable},
        )

    @classmethod
    def of_outcomes(cls, outcomes: AttachmentOutcomes | None, titles: Titles, record: Mapping[str, Any]) -> ComparedRun:
        """Return what is compared of a probing run."""
        kind = str(record["options"]["map"])
        families = {(PROBE, kind): outcomes.comparable()} if outcomes else {}
        return cls(titles, record, (kind,), (PROBE,), families)


def load_compared_run(folder: Path) -> ComparedRun:
    """Load what is compared of a finished run of ``analyze`` or ``probe``."""
    probed = read_outcomes(folder)
    if probed is None:
        states = read_states(folder)
        return replace(ComparedRun.of(restored(states)), inputs=frozenset(states.inputs))
    outcomes, record = probed
    files = [file["name"] for file in record["corpus"]["files"]]
    titles = Titles(record["model"]["name"], ", ".join(files) or "a treebank")
    return replace(ComparedRun.of_outcomes(outcomes, titles, record), inputs=frozenset(outcomes.ids))
