"""A run with its corpus and its model, the plans in which all analyses say what they want, and its samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..analyses.contract import Analysis, Guesses, OptionSet, Plan, Request, SampledMaps, Setting
from ..analyses.shared.counting import Counting
from ..analyses.shared.drawable import drawable
from ..analyses.shared.input_sample import InputSample
from ..analyses.shared.metric import Metric
from ..corpora_loaders import Sentence
from ..extractors import MapMaker, Segments
from .pass_counts import Limits
from .passes import Pass, plan_passes
from .plain_data import to_plain

if TYPE_CHECKING:
    import pandas as pd

    from ..corpora_loaders import Corpus
    from ..extractors.model.loaded_model import LoadedModel


PREFIX = "examples"
"""The beginning of the names of samples, after which comes the kind of map."""


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


PlannedAnalysis = tuple[Analysis[Any, Any], str | None, Plan[Any]]
"""An analysis with the kind of map and its plan."""


@dataclass(frozen=True)
class CountSample(Counting):
    """A factory of samples for the maps of a first batch.

    Attributes:
        arguments: the arguments of the metric that do not depend on the maps.
        guessers: what makes the guesses of the heads.
        metric: the class of the metric.
    """

    arguments: tuple[tuple[str, Any], ...]
    guessers: tuple[Guesses, ...] = ()
    metric: type[Metric] = InputSample

    def __call__(self, first: Any) -> InputSample:
        """Make an empty sample."""
        return InputSample(**self.arguments_of(first), guessers=self.guessers)

    def arguments_of(self, first: Any) -> dict[str, Any]:
        """Return the arguments that are stored with the sample."""
        n_layers, n_heads = drawable(first).shape(dict(self.arguments).get("kind"))
        names = [name for each in self.guessers for name in each.names]
        return {"n_layers": n_layers, "n_heads": n_heads, **dict(self.arguments), "guesses": names}


@dataclass(frozen=True)
class _Group:
    """Analyses that read the same inputs.

    Attributes:
        first: the first request.
        members: the analyses by name.
        sampled: the maps to keep; empty for the kinds of the run.
    """

    first: Request
    members: dict[str, Analysis[Any, Any]]
    sampled: tuple[SampledMaps, ...]


def sample_requests(
    plans: Sequence[PlannedAnalysis], maps: Sequence[MapMaker], options: OptionSet, *, examples: int, seed: int
) -> tuple[Request, ...]:
    """Return the requests that keep a sample of inputs with their maps, so that the report can show them.

    The sample is drawn in the same passes in which the analyses count. A run has one sample for each kind of map and
    each set of inputs that its analyses read: an analysis of documents reads windows where another reads sentences.
    """
    groups: list[_Group] = []
    for analysis, _, plan in plans:
        first = plan.requests[0]
        if first.copy is not None or first.masking is not None or first.optional:
            continue
        for group in groups:
            if not plan.sampled and not group.sampled and _same(group.first.inputs, first.inputs):
                group.members[analysis.name] = analysis
                break
        else:
            groups.append(_Group(first, {analysis.name: analysis}, plan.sampled))
    requests = []
    for number, group in enumerate(groups):
        size = examples // len(groups) + (number < examples % len(groups))
        if not size:
            continue
        prefix = f"{PREFIX}-{number + 1}" if number else PREFIX
        for sampled in group.sampled or _of_choices(group, maps, options):
            arguments: tuple[tuple[str, Any], ...] = (("size", size), ("seed", seed), ("unit", sampled.shares))
            if group.sampled:
                arguments += (("kind", sampled.kind),)
            counting = CountSample(arguments, sampled.guesses)
            name = f"{prefix}/{sampled.kind}"
            requests.append(Request(name, group.first.label, group.first.inputs, sampled.maker, counting))
    return tuple(requests)


def _of_choices(group: _Group, maps: Sequence[MapMaker], options: OptionSet) -> Iterator[SampledMaps]:
    """Yield the maps of the kinds of the run, with what the analyses of a group guess."""
    guesses = (analysis.guesses(options) for analysis in group.members.values())
    guessers = tuple(each for each in guesses if each is not None)
    for maker in maps:
        # The words of segments are pieces, which the other analyses read at this level, too.
        of_pieces = replace(maker, level="token") if isinstance(group.first.inputs, Segments) else maker
        sums_to_one = maker.kind.rows_sum_to_one or maker.normalize == "row"
        yield SampledMaps(maker.kind.name, of_pieces, sums_to_one, guessers)


def _same(inputs: Sequence[Sentence], others: Sequence[Sentence]) -> bool:
    return inputs is others or (len(inputs) == len(others) and inputs == others)
