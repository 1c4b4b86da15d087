"""The objects that the engine and an analysis exchange: a setting, a plan with its requests, and counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

    from ..corpora_loaders import Corpus, Sentence
    from ..extractors import BatchMaker, Encoder, ExtractionLog, MapBatch, MapMaker
    from ..extractors.model.loaded_model import LoadedModel
    from .counting.counting import Counting
    from .counting.metric import Metric
    from .counting.stored_metrics import StoredMetrics

Counts = TypeVar("Counts", bound="Metric")
Facts = TypeVar("Facts")


def _attention_weights() -> MapMaker:
    """Return the maker of attention weights. The room of extractors is imported when a run needs it."""
    from ..extractors import MapMaker, get_kind

    return MapMaker(get_kind("weight"))


@dataclass(frozen=True)
class Setting:
    """Everything that an analysis may look at when it plans.

    Attributes:
        model: the model; see `encoder`.
        corpus: the corpus that will be read.
        maps: the maker of the maps that this plan is for, of words. An analysis whose `Analysis.of_maps` is False plans
            once, however many kinds the run has.
        chosen: the names of all analyses of the run.
        seed: the seed of everything random.
        max_length: the value of the option ``--max-length``, None if it was not given.
        load_masked_lm, load_causal_lm: functions that load the same model with its masked-LM head, and with the head
            that predicts the next piece. They return None if the model has no such head.

    Example:
        >>> from attentionology import load_encoder, load_treebank
        >>> setting = Setting(load_encoder("demo"), load_treebank("sample"))
        >>> setting.encoder.n_layers, setting.maps.kind, setting.corpus.counts()["sentences"]
        (6, MapKind('weight'), 157)
    """

    model: LoadedModel
    corpus: Corpus
    maps: MapMaker = field(default_factory=_attention_weights)
    chosen: tuple[str, ...] = ()
    seed: int = 0
    max_length: int | None = None
    load_masked_lm: Callable[[], Any | None] = lambda: None
    load_causal_lm: Callable[[], Any | None] = lambda: None

    @property
    def encoder(self) -> Encoder:
        """The model as an encoder, which all analyses of sentences need.

        Raises:
            TypeError: it is a model of another kind, for example one that reads sentence pairs.
        """
        from ..extractors import Encoder

        if not isinstance(self.model, Encoder):
            raise TypeError(f"the analysis needs an encoder, not {self.model!r}")
        return self.model


@dataclass(frozen=True)
class Masking:
    """Pieces of words are replaced by the mask token before the model reads them.

    Which pieces are masked depends on the id of the sentence and the seed alone.

    Attributes:
        rate: the probability with which each piece is masked.
        seed: the seed of the draws.

    Example:
        >>> Masking(rate=0.12, seed=0)
        Masking(rate=0.12, seed=0)
    """

    rate: float
    seed: int


@dataclass(frozen=True)
class Request:
    """Batches that an analysis wants, and the metric that counts them.

    Requests with the same ``inputs``, ``copy`` and ``masking`` share one forward pass; two equal requests are one.

    Attributes:
        name: the name of the counts. It must contain the kind of map if the request is for one kind. Requests of
            different analyses may share a name if they are equal.
        label: the name of the request in the progress bar.
        inputs: the sentences, windows or segments to read.
        maker: makes a batch of each forward pass, for example an `attentionology.extractors.MapMaker`.
        metric: how the batches are counted, for example a `CountMaps`.
        copy: None for the model, k for the k-th copy with random weights, counted from 0.
        masking: None if the model reads the unmasked text.
        optional: whether the run goes on if this request cannot be met; see `PlanCounts.failures`.
        further_passes: how many forward passes of the model the maker runs by itself for each batch. ``--dry-run``
            says it.

    Example:
        >>> from attentionology import Sentence
        >>> from attentionology.analyses import SurfaceStatistics
        >>> from attentionology.extractors import MapMaker, get_kind
        >>> from attentionology.analyses import CountMaps
        >>> inputs, maker = [Sentence("s1", ("Birds", "sing"))], MapMaker(get_kind("weight"), "token")
        >>> request = Request("surface/weight", "surface", inputs, maker, CountMaps(SurfaceStatistics))
        >>> request == Request("surface/weight", "surface", inputs, maker, CountMaps(SurfaceStatistics))
        True
    """

    name: str
    label: str
    inputs: Sequence[Sentence]
    maker: BatchMaker[Any]
    metric: Counting
    copy: int | None = None
    masking: Masking | None = None
    optional: bool = False
    further_passes: float = 0.0


@dataclass(frozen=True)
class Guesses:
    """The guesses of the heads, as an analysis defines them, for the inputs that the report shows.

    Attributes:
        names: the names of the guesses, for example directions of attention.
        of: a function that takes a batch of maps and returns the guesses, integers of shape (batch, names, layers,
            heads, positions). A guess is the 0-based position of the map that a head picks for a position, −1 if it
            picks none; special tokens are positions, too. It must be the decision that the analysis counts.
        cases: the name of the cases that the guesses are about, for example "agreement", under which the page lists
            them beside the relations; empty if the page judges the guesses by the trees, mentions or links of the
            corpus.
        right: a function that takes an input and returns its cases: for the 0-based indices of words, the indices of
            the words that are right; special tokens are no words. Inputs that have cases are sampled before all others.

    Raises:
        ValueError: only one of ``cases`` and ``right`` is given.

    Example:
        >>> from attentionology import Sentence
        >>> def most_attended(batch):
        ...     return batch.maps.argmax(-1)[:, None]
        >>> def subjects(sentence):
        ...     arcs = enumerate(zip(sentence.heads, sentence.relations))
        ...     return {head - 1: {word} for word, (head, relation) in arcs if relation == "nsubj"}
        >>> guesses = Guesses(("verb->subject",), most_attended, cases="subject", right=subjects)
        >>> guesses.right(Sentence("s1", ("Birds", "sing"), heads=(2, 0), relations=("nsubj", "root")))
        {1: {0}}
    """

    names: tuple[str, ...]
    of: Callable[[MapBatch], Tensor]
    cases: str = ""
    right: Callable[[Sentence], Mapping[int, Collection[int]]] | None = None

    def __post_init__(self) -> None:
        if bool(self.cases) != (self.right is not None):
            raise ValueError(
                "guesses have both the name of their cases and a function that says what is right, or none"
            )

    def cases_of(self, sentence: Sentence) -> list[tuple[int, list[int]]]:
        """Return the cases of an input in order: the index of each word and those of the words that are right.

        Raises:
            ValueError: an index is not that of a word.
        """
        cases = [] if self.right is None else [(word, sorted(right)) for word, right in self.right(sentence).items()]
        for word, right in cases:
            # A negative index would silently count from the end.
            if wrong := [index for index in (word, *right) if not 0 <= index < len(sentence)]:
                raise ValueError(
                    f"the case {self.cases!r} of the input {sentence.id!r} names word {wrong[0]}, but its words have "
                    f"the indices 0 to {len(sentence) - 1}"
                )
        return sorted(cases)


@dataclass(frozen=True)
class SampledMaps:
    """A kind of map that an analysis wants to be kept of the inputs that the report shows.

    An analysis that is not about the maps which ``--map`` chooses names here what is drawn of its inputs.

    Attributes:
        kind: the name of the kind in the report, without slashes and commas.
        maker: makes batches from which inputs can be drawn, see `attentionology.analyses.Drawable`.
        shares: whether values are shares of attention, of which 1 is the largest.
        guesses: the guesses of the heads.

    Example:
        >>> from attentionology.analyses.alignment.sample_maps import PairsToDraw
        >>> from attentionology.analyses.alignment.series import Series
        >>> series = Series("AWI", "weight", "single")
        >>> SampledMaps(series.kind, PairsToDraw((series,)), shares=True).kind
        'AWI-weight'
    """

    kind: str
    maker: BatchMaker[Any]
    shares: bool = False
    guesses: tuple[Guesses, ...] = ()


@dataclass(frozen=True)
class Plan(Generic[Facts]):
    """Everything that an analysis asks for.

    Attributes:
        requests: at least one request. The first must not be optional, because the report describes what was read for
            it.
        facts: whatever the analysis learned from its setting and needs for its results. Facts are stored with
            the counts, so they consist of numbers, strings, data frames, and tuples, mappings and frozen dataclasses of
            these; see `Analysis.facts_type`.
        corpus: the corpus as it is read, if the analysis divides it in its own way (for example into windows).
        sampled: the maps of the inputs of the first request that the report shows; empty for the kinds that ``--map``
            chooses.
        follow_up_passes: about how many forward passes of single inputs `Analysis.follow_up` makes, for ``--dry-run``.

    Example:
        >>> from attentionology import Sentence
        >>> from attentionology.analyses import HeadDistances
        >>> from attentionology.extractors import MapMaker, get_kind
        >>> from attentionology.analyses import CountMaps
        >>> inputs, maker = [Sentence("s1", ("Birds", "sing"))], MapMaker(get_kind("weight"), "token")
        >>> request = Request("distances/weight", "distances", inputs, maker, CountMaps(HeadDistances))
        >>> Plan((request,), facts=request.name).facts
        'distances/weight'
    """

    requests: tuple[Request, ...]
    facts: Facts
    corpus: Corpus | None = None
    sampled: tuple[SampledMaps, ...] = ()
    follow_up_passes: int = 0


@dataclass(frozen=True)
class PlanCounts(Generic[Facts]):
    """The counts of a plan.

    Attributes:
        facts: the facts of the plan.
        metrics: the metrics, or their stored states, by the names of their requests.
        logs: which inputs were read and which were skipped, by the names of the requests. Skipped inputs have their id,
            file and line, but no words.
        failures: the errors for which optional requests could not be met, by the names of the requests.

    Example:
        >>> from attentionology.analyses import SurfaceStatistics
        >>> metrics = {"surface/weight": SurfaceStatistics(n_layers=2, n_heads=3)}
        >>> plan_counts = PlanCounts("surface/weight", metrics, logs={})
        >>> plan_counts.metric(plan_counts.facts, SurfaceStatistics).n_heads
        3
    """

    facts: Facts
    metrics: Mapping[str, Metric] | StoredMetrics
    logs: Mapping[str, ExtractionLog]
    failures: Mapping[str, Exception] = field(default_factory=dict)

    def metric(self, name: str, kind: type[Counts]) -> Counts:
        """Return the metric of a request.

        Args:
            name: the name of the request.
            kind: the class that the metric is expected to have.

        Raises:
            TypeError: the metric is of another class.
            StateError: its states are stored, and are those of another class or another version.
        """
        from .counting.stored_metrics import StoredMetrics

        if isinstance(self.metrics, StoredMetrics):
            return self.metrics.metric(name, kind)
        metric = self.metrics[name]
        if not isinstance(metric, kind):
            raise TypeError(f"the request {name!r} was counted by {type(metric).__name__}, not by {kind.__name__}")
        return metric


Reader = Callable[["Sequence[Sentence]", "BatchMaker[Any]"], "Iterator[Any]"]
"""A function that reads a few more inputs with the model and yields the batches that the maker makes of them."""
