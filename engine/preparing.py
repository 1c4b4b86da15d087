"""A run with its corpus and its model, and the plans in which all analyses say what they want."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..analyses.contract import Analysis, OptionSet, Request, Setting
from .pass_counts import Limits
from .passes import Pass, plan_passes
from .plain_data import to_plain
from .sampling import PlannedAnalysis, sample_requests

if TYPE_CHECKING:
    import pandas as pd

    from ..corpora_loaders import Corpus
    from ..extractors import MapMaker
    from ..extractors.model.loaded_model import LoadedModel


@dataclass(frozen=True)
class Prepared:
    """A run that can begin.

    Attributes:
        chosen: the analyses, each after those whose results it needs.
        setting: the model, the corpus and what else the analyses plan with.
        maps: the makers of the kinds of maps.
        limits: which inputs are read, and how many at once.
        options: the options of the analyses.
        source: the corpus as it was loaded, from which other processes prepare the run again. It may have been cut into
            the inputs of the setting since.
        examples: the number of inputs that are kept with their maps.
        tables: tables that describe the corpus.
        resolved: options whose values were found out, by their names, for the run record.
        warnings: what a reader should know about how the options were met, one sentence each.
    """

    chosen: tuple[Analysis[Any, Any], ...]
    setting: Setting
    maps: tuple[MapMaker, ...]
    limits: Limits
    options: OptionSet
    source: Corpus
    examples: int = 0
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    resolved: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def model(self) -> LoadedModel:
        """The model."""
        return self.setting.model

    def described(self) -> dict[str, Any]:
        """Everything besides the model and the text on which counts depend, as plain data."""
        groups = {kind for analysis in self.chosen for kind in analysis.options}
        return {
            "groups": {kind.__name__: to_plain(self.options[kind], kind.__name__) for kind in groups},
            "analyses": [analysis.name for analysis in self.chosen],
            "maps": [
                {"kind": str(maker.kind), "merge": maker.merge, "normalize": maker.normalize, "ff_bias": maker.ff_bias}
                for maker in self.maps
            ],
            "limits": asdict(self.limits),
            "examples": self.examples,
            "seed": self.setting.seed,
        }


@dataclass(frozen=True)
class Planned:
    """The plans of a run, and the passes that serve them.

    Attributes:
        plans: each analysis with the kind of map and its plan.
        samples: the requests that keep inputs with their maps.
        passes: the passes in order.
    """

    plans: tuple[PlannedAnalysis, ...]
    samples: tuple[Request, ...]
    passes: tuple[Pass, ...]


def plan_analyses(prepared: Prepared) -> Planned:
    """Ask all analyses for their plans, and group the requests into passes."""
    plans: list[PlannedAnalysis] = []
    for analysis in prepared.chosen:
        for maker in prepared.maps if analysis.of_maps else prepared.maps[:1]:
            plan = analysis.plan(prepared.options, replace(prepared.setting, maps=maker))
            plans.append((analysis, str(maker.kind) if analysis.of_maps else None, plan))
    samples = sample_requests(
        plans, prepared.maps, prepared.options, examples=prepared.examples, seed=prepared.setting.seed
    )
    requests = [request for _, _, plan in plans for request in plan.requests]
    return Planned(tuple(plans), samples, tuple(plan_passes([*requests, *samples])))
