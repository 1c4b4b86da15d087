"""What goes back and forth between the engine and an analysis: a setting, a plan with its requests, and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from torchmetrics import Metric

    from attentionology.corpora_loaders import Corpus, Sentence
    from attentionology.extractors import BatchMaker, Encoder, ExtractionLog

Counts = TypeVar("Counts", bound="Metric")
Facts = TypeVar("Facts")


@dataclass(frozen=True)
class MapChoice:
    """One kind of map and how it is made; the fields are the arguments of `attentionology.extractors.extract`."""

    kind: str = "weight"
    merge: str = "norm"
    normalize: str = "none"
    ff_bias: str = "input"


@dataclass(frozen=True)
class Setting:
    """What an analysis may look at when it plans.

    Attributes:
        encoder: the model.
        corpus: what is to be read.
        maps: the kind of map that this plan is for. An analysis that is not `Analysis.of_maps` plans once, whatever
            kinds were asked for.
        chosen: names of all analyses of the run.
        seed: of everything random.
        max_length: the option ``--max-length``, None if it was not given.
        load_masked_lm: loads the same model with its masked-LM head; None where it has none.
    """

    encoder: Encoder
    corpus: Corpus
    maps: MapChoice = MapChoice()
    chosen: tuple[str, ...] = ()
    seed: int = 0
    max_length: int | None = None
    load_masked_lm: Callable[[], Any | None] = lambda: None


@dataclass(frozen=True)
class Masking:
    """Pieces of words are replaced by the mask token, each with probability ``rate``."""

    rate: float
    seed: int


@dataclass(frozen=True)
class Request:
    """Batches that an analysis wants, and the metric that counts them.

    Requests with the same ``inputs``, ``copy`` and ``masking`` share one forward pass; two equal requests are one.

    Attributes:
        name: names the counts; it must contain the kind of map if there is one. Requests of different analyses may
            share a name if they are equal.
        label: what the progress bar calls it.
        inputs: the sentences, windows or segments to read.
        maker: what is made of each forward pass, for example an `attentionology.extractors.MapMaker`.
        metric: makes the metric, given the first batch.
        copy: None for the model, k for the k-th copy with random weights.
        masking: None for the text as it is.
        optional: whether the run goes on where this request cannot be met; see `Counted.failure`.
    """

    name: str
    label: str
    inputs: Sequence[Sentence]
    maker: BatchMaker[Any]
    metric: Callable[[Any], Metric]
    copy: int | None = None
    masking: Masking | None = None
    optional: bool = False


@dataclass(frozen=True)
class Plan(Generic[Facts]):
    """What an analysis asks for.

    Attributes:
        requests: what is to be counted, at least one request. The first must not be optional: the report says what was
            read for it.
        facts: whatever the analysis learned from its setting and needs again for its results.
        corpus: what is read, if the analysis cuts the corpus in a way of its own.
    """

    requests: tuple[Request, ...]
    facts: Facts
    corpus: Corpus | None = None


@dataclass(frozen=True)
class Counted(Generic[Facts]):
    """What was counted for a plan.

    Attributes:
        plan: the plan.
        metrics: by the names of requests.
        logs: what was read, by the names of requests.
        failures: why optional requests could not be met, by their names.
    """

    plan: Plan[Facts]
    metrics: Mapping[str, Metric]
    logs: Mapping[str, ExtractionLog]
    failures: Mapping[str, Exception] = field(default_factory=dict)

    def metric(self, name: str, kind: type[Counts]) -> Counts:
        """The metric of a request.

        Raises:
            TypeError: it is of another class.
        """
        metric = self.metrics[name]
        if not isinstance(metric, kind):
            raise TypeError(f"the request {name!r} was counted by {type(metric).__name__}, not by {kind.__name__}")
        return metric


Reader = Callable[["Sequence[Sentence]", "BatchMaker[Any]"], "Iterator[Any]"]
"""Reads a few more inputs with the model and yields what the maker makes of them."""
