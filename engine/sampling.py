"""The requests that keep a sample of inputs with their maps, so that the report can show them.

The sample is drawn in the same passes in which the analyses count. A run has one sample for each kind of map and for
each set of inputs that its analyses read: an analysis of documents reads windows where another one reads sentences. The
engine does not know what an analysis counts; an analysis adds the guesses of the heads by `Analysis.guesses`. An
analysis that is not about the kinds of maps of the run names the maps to keep itself, by `Plan.sampled`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..analyses.contract import Analysis, Guesses, OptionSet, Plan, Request, SampledMaps
from ..analyses.shared.counting import Counting
from ..analyses.shared.drawable import drawable
from ..analyses.shared.input_sample import InputSample
from ..analyses.shared.metric import Metric
from ..corpora_loaders import Sentence
from ..extractors import MapMaker, Segments

PlannedAnalysis = tuple[Analysis[Any, Any], str | None, Plan[Any]]
"""An analysis with the kind of map and its plan."""

PREFIX = "examples"
"""The beginning of the names of samples, after which comes the kind of map."""


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
    """Return the requests for the samples of a run."""
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
