"""What a command was asked to do, the run with its corpus and its model, and the plans of all analyses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from ...analyses.contract import Analysis, Guesses, OptionSet, Plan, Request, SampledMaps, Setting
from ...analyses.counting.counting import Counting
from ...analyses.counting.metric import Metric
from ...analyses.shared.input_options import ExampleOptions, ModelOptions
from ...analyses.shared.input_sample import InputSample
from ...analyses.shared.sampled_input import as_drawable
from ...corpora_loaders import Corpus
from ...extractors import MapMaker, Segments
from ...extractors.model.loaded_model import LoadedModel
from ...reports.progress import Stages
from ...storage.plugins import extensions, name_extension
from ..results.explorer import SPREAD, cells_to_fill
from ..results.run import Run
from ..results.states import to_plain
from .passes import Limits, Pass, plan_passes, same_inputs

_PREFIX = "examples"
"""The beginning of the names of samples, after which comes the kind of map."""

PlannedAnalysis = tuple[Analysis[Any, Any], str | None, Plan[Any]]
"""An analysis with the kind of map and its plan."""


@dataclass(frozen=True)
class RunSetup:
    """A run that can begin."""

    chosen: tuple[Analysis[Any, Any], ...]  # each after those whose results it needs
    setting: Setting
    maps: tuple[MapMaker, ...]
    limits: Limits
    options: OptionSet
    # The corpus as it was loaded, from which other processes prepare the run again: that of the setting may be cut.
    source: Corpus
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)  # they describe the corpus
    resolved: Mapping[str, Any] = field(default_factory=dict)  # options whose values were found out
    warnings: tuple[str, ...] = ()  # what a reader should know about how the options were met

    def extensions(self) -> list[dict[str, str]]:
        """Return what other packages add to the run, with their versions."""
        used = [("analysis", analysis.name, type(analysis).__module__) for analysis in self.chosen]
        used += [("map kind", maker.kind.base, "") for maker in self.maps]
        if (name := self.resolved.get("format")) is not None:
            used.append(("corpus format", name, ""))
        return extensions(used)

    def described(self) -> dict[str, Any]:
        """Return everything besides the model and the text on which counts depend, as plain data."""
        groups = {group for analysis in self.chosen for group in analysis.options}
        extensions = self.extensions()
        return {
            "groups": {group.__name__: to_plain(self.options[group], group.__name__) for group in groups},
            "analyses": [analysis.name for analysis in self.chosen],
            "maps": [
                {"kind": str(maker.kind), "merge": maker.merge, "normalize": maker.normalize, "ff_bias": maker.ff_bias}
                for maker in self.maps
            ],
            "limits": asdict(self.limits),
            "examples": self.options[ExampleOptions].examples,
            "seed": self.setting.seed,
            **({"extensions": extensions} if extensions else {}),
        }


@dataclass(frozen=True)
class Job(ABC):
    """What a command that counts a corpus for analyses was asked to do. It can be sent to other processes.

    What follows after `prepare` is the same for all of them, see `attentionology.engine.execution`.
    """

    groups: OptionSet = field(default_factory=OptionSet)  # the option groups that differ from their defaults, at least
    model_options: ClassVar[type[ModelOptions]] = ModelOptions

    @property
    @abstractmethod
    def kinds(self) -> Iterable[type[Any]]:
        """The classes of all option groups of the command, in the order of the run record."""

    @property
    def model(self) -> ModelOptions:
        """The options of the model."""
        return self.groups[self.model_options]

    def on_device(self, device: str) -> Self:
        """Return the same job with the model on another device."""
        return replace(self, groups=self.groups.with_group(replace(self.model, device=device)))

    def flat(self) -> dict[str, Any]:
        """Return all options by the names that they have on the command line, for the run record and the report."""
        flat = {name: value for kind in self.kinds for name, value in asdict(self.groups[kind]).items()}
        return {name: str(value) if isinstance(value, Path) else value for name, value in flat.items()}

    @abstractmethod
    def paths_read(self, corpus: Corpus | None = None) -> list[Path]:
        """Return the paths that the run reads, which the results folder must not replace."""

    def paths_written(self) -> list[Path]:
        """Return the files that the run writes besides its results folder. By default there are none."""
        return []

    def check(self, corpus: Corpus | None = None) -> None:
        """Validate the options before anything slow happens; the corpus is given if it has been loaded."""
        for kind in self.kinds:
            self.groups[kind].check()

    @abstractmethod
    def prepare(
        self, *, model: LoadedModel | None = None, corpus: Corpus | None = None, stages: Stages | None = None
    ) -> RunSetup:
        """Read the corpus and load the model, unless they are given. The options have been checked."""

    def finish(self, run: Run, prepared: RunSetup, stages: Stages) -> Run:
        """Do what follows the results, before the report is written, and return the run. By default it is nothing."""
        return run


@dataclass(frozen=True)
class RunPlans:
    """The plans of a run, the requests that keep inputs with their maps, and the passes that serve all of them."""

    plans: tuple[PlannedAnalysis, ...]
    samples: tuple[Request, ...]
    passes: tuple[Pass, ...]


def plan_analyses(prepared: RunSetup) -> RunPlans:
    """Ask all analyses for their plans, and group the requests into passes."""
    plans: list[PlannedAnalysis] = []
    for analysis in prepared.chosen:
        makers = prepared.maps if analysis.of_maps else prepared.maps[:1]
        for maker in makers:
            with name_extension("analysis", analysis.name, "plan()", type(analysis).__module__):
                plan = analysis.plan(prepared.options, replace(prepared.setting, maps=maker))
            plans.append((analysis, str(maker.kind) if analysis.of_maps else None, plan))
    samples = _samples(plans, prepared)
    requests = [request for _, _, plan in plans for request in plan.requests]
    return RunPlans(tuple(plans), samples, tuple(plan_passes([*requests, *samples])))


@dataclass(frozen=True)
class CountSample(Counting):
    """A factory of samples for the maps of a first batch."""

    arguments: tuple[tuple[str, Any], ...]
    guessers: tuple[Guesses, ...] = ()
    metric: type[Metric] = InputSample

    def __call__(self, first: Any) -> InputSample:
        """Make an empty sample."""
        return InputSample(**self.arguments_of(first), guessers=self.guessers)

    def arguments_of(self, first: Any) -> dict[str, Any]:
        """Return the arguments that are stored with the sample, given the first batch."""
        n_layers, n_heads = as_drawable(first).shape(dict(self.arguments).get("kind"))
        names = [name for guesser in self.guessers for name in guesser.names]
        return {"n_layers": n_layers, "n_heads": n_heads, **dict(self.arguments), "guesses": names}


def _samples(plans: list[PlannedAnalysis], prepared: RunSetup) -> tuple[Request, ...]:
    """Return the requests that keep a sample of inputs with their maps, so that the report can show them.

    The sample is drawn in the same passes in which the analyses count. A run has one sample for each kind of map and
    each set of inputs that its analyses read: an analysis of documents reads windows where another reads sentences.
    """
    model, sets = prepared.setting.model, _by_inputs(plans)
    n_asked = prepared.options[ExampleOptions].examples
    n_examples = SPREAD if n_asked is None else n_asked
    requests = []
    for index, (plan, analyses) in enumerate(sets):
        size = n_examples // len(sets) + (index < n_examples % len(sets))  # the first sets share the remainder
        if not size:
            continue
        name_of_set = f"{_PREFIX}-{index + 1}" if index else _PREFIX
        inputs, label = plan.requests[0].inputs, plan.requests[0].label
        of_pieces = isinstance(inputs, Segments)
        all_sampled = plan.sampled or tuple(_maps_of_the_run(analyses.values(), prepared, of_pieces=of_pieces))
        for sampled in all_sampled:
            arguments: dict[str, Any] = {"size": size, "seed": prepared.setting.seed, "unit": sampled.shares}
            if n_asked is None:
                arguments["cells"] = cells_to_fill(model.n_layers, model.n_heads, len(all_sampled)) // len(sets)
            if plan.sampled:
                arguments["kind"] = sampled.kind
            counting = CountSample(tuple(arguments.items()), sampled.guesses)
            requests.append(Request(f"{name_of_set}/{sampled.kind}", label, inputs, sampled.maker, counting))
    return tuple(requests)


def _by_inputs(plans: list[PlannedAnalysis]) -> list[tuple[Plan[Any], dict[str, Analysis[Any, Any]]]]:
    """Return for each set of inputs that the model itself reads its first plan, and its analyses by their names."""
    sets: list[tuple[Plan[Any], dict[str, Analysis[Any, Any]]]] = []
    for analysis, _, plan in plans:
        first = plan.requests[0]
        # The page shows what the model itself reads. An optional pass may fail, and would take the examples with it.
        if first.copy is not None or first.masking is not None or first.optional:
            continue
        for earlier, analyses in sets:
            # An analysis that says which maps are drawn of its inputs shares them with no other.
            if not plan.sampled and not earlier.sampled and same_inputs(earlier.requests[0].inputs, first.inputs):
                analyses[analysis.name] = analysis
                break
        else:
            sets.append((plan, {analysis.name: analysis}))
    return sets


def _maps_of_the_run(
    analyses: Iterable[Analysis[Any, Any]], prepared: RunSetup, *, of_pieces: bool
) -> Iterator[SampledMaps]:
    """Yield the maps that the page draws of each kind of ``--map``, with the guesses of the analyses that make any."""
    optional_guesses = (analysis.guesses(prepared.options, prepared.setting) for analysis in analyses)
    guesses = tuple(each for each in optional_guesses if each is not None)
    for maker in prepared.maps:
        # The words of segments are pieces, so maps of segments are drawn piece by piece.
        drawn_maker = replace(maker, level="token") if of_pieces else maker
        rows_sum_to_one = maker.kind.rows_sum_to_one or maker.normalize == "row"
        yield SampledMaps(maker.kind.name, drawn_maker, rows_sum_to_one, guesses)
