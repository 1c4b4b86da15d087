"""The requests that keep a sample of inputs with their maps, so that the report can show them.

The sample is drawn in the same passes in which the analyses count. A run has one sample for each kind of map and for
each set of inputs that its analyses read: an analysis of documents reads windows where another one reads sentences. The
engine does not know what an analysis counts; an analysis adds the guesses of the heads by `Analysis.guesses`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attentionology.analyses.contract import Analysis, Guesses, MapChoice, OptionSet, Plan, Request
from attentionology.analyses.shared.input_sample import InputSample
from attentionology.analyses.shared.map_facts import map_maker
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapMaker, Segments

PlannedAnalysis = tuple[Analysis[Any, Any], str | None, Plan[Any]]
"""An analysis with the kind of map and its plan."""

PREFIX = "examples"
"""The beginning of the names of samples, after which comes the kind of map."""


@dataclass(frozen=True)
class CountSample:
    """A factory of samples for the maps of a first batch.

    Attributes:
        arguments: the arguments of the metric that do not depend on the maps.
        guessers: what makes the guesses of the heads.
        metric: the class of the metric.
    """

    arguments: tuple[tuple[str, Any], ...]
    guessers: tuple[Guesses, ...] = ()
    metric: type[InputSample] = InputSample

    def __call__(self, first: Any) -> InputSample:
        """Make an empty sample."""
        return self.metric(**self.arguments_of(first), guessers=self.guessers)

    def arguments_of(self, first: Any) -> dict[str, Any]:
        """Return the arguments that are stored with the sample."""
        n_layers, n_heads = first.maps.shape[1:3]
        names = [name for each in self.guessers for name in each.names]
        return {"n_layers": n_layers, "n_heads": n_heads, **dict(self.arguments), "guesses": names}

    def state_bytes(self, first: Any) -> int:
        """Return the bytes that the sample takes at most."""
        n_layers, n_heads = first.maps.shape[1:3]
        return self.metric.state_bytes(n_layers, n_heads, dict(self.arguments)["size"])


def sample_requests(
    plans: Sequence[PlannedAnalysis], maps: Sequence[MapChoice], options: OptionSet, *, examples: int, seed: int
) -> tuple[Request, ...]:
    """Return the requests for the samples of a run.

    Args:
        plans: the plans of its analyses.
        maps: the kinds of maps.
        options: the options of the analyses.
        examples: the number of inputs to keep, which is divided among the sets of inputs.
        seed: the seed of the draw.
    """
    groups: list[tuple[Request, dict[str, Analysis[Any, Any]]]] = []
    for analysis, _, plan in plans:
        first = plan.requests[0]
        if first.copy is not None or first.masking is not None or first.optional:
            continue
        for other, members in groups:
            if _same(other.inputs, first.inputs):
                members[analysis.name] = analysis
                break
        else:
            groups.append((first, {analysis.name: analysis}))
    requests = []
    for number, (first, members) in enumerate(groups):
        size = examples // len(groups) + (number < examples % len(groups))
        if not size:
            continue
        guesses = (analysis.guesses(options) for analysis in members.values())
        guessers = tuple(each for each in guesses if each is not None)
        suffix = f"-{number + 1}" if number else ""
        for choice in maps:
            # The words of segments are pieces, which the other analyses read at this level, too.
            maker = map_maker(choice, "token" if isinstance(first.inputs, Segments) else "word")
            arguments = (("size", size), ("seed", seed), ("unit", _sums_to_one(maker)))
            counting = CountSample(arguments, guessers)
            name = f"{PREFIX}{suffix}/{choice.kind}"
            requests.append(Request(name, first.label, first.inputs, maker, counting))
    return tuple(requests)


def _same(inputs: Sequence[Sentence], others: Sequence[Sentence]) -> bool:
    return inputs is others or (len(inputs) == len(others) and inputs == others)


def _sums_to_one(maker: MapMaker) -> bool:
    return maker.kind.rows_sum_to_one or maker.normalize == "row"
