"""What all questions about the surface share, and with clusters: how maps are read, the statistics, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

import pandas as pd

from ...corpora_loaders import PlainText
from ...extractors import MapMaker, Segments
from ...extractors.tokens.pieces import Pieces
from ...reports.format import rows_of
from ..contract import OptionError, OptionSet, PlanCounts, Request, Setting
from ..counting.counting import CountMaps
from ..counting.metric import Metric
from ..questions import Question
from ..shared.measures import names_of
from ..shared.merged_facts import merges_by
from ..shared.options import CountOptions
from ..shared.previews import Answers
from ..shared.record import MapFacts, map_facts
from . import statistics
from .batches import DISTANCE_SMOOTHING
from .options import ReadingOptions, SurfaceOptions
from .statistics import LEARNED_SINK, SurfaceStatistics
from .tables import SurfaceTables

Counted_ = TypeVar("Counted_", bound=Metric)

SHARES = "shares"
"""The question whose request counts the statistics of all heads."""

CLASSES = ("first_special", "last_special", "punctuation", "other", LEARNED_SINK)
"""The statistics that are shares of attention to classes of tokens, which together are all of it."""

LABELS = ("other", "next", "previous", "self", "broad", "first-special", "last-special", "punctuation")
"""The labels of heads. If several apply to a head, the last of them wins, as in the published code."""

_CAUSAL = (
    "The model is causal: a token sees itself and those before it. So nothing goes to the next token or to other "
    "offsets to the right, and the uniform attention with which entropy is compared is that to what a token sees."
)
_SINKS = (
    "Heads of this model have learned sinks, which take a share of every row and are no token: it is the class "
    "“learned sink”. Entropies and distances between heads are those of what goes to tokens."
)
_FIRST_WORD = (
    "Inputs begin with no special token, so attention that rests on the first position counts as attention to a word; "
    "see --prepend."
)


@dataclass(frozen=True)
class Reading:
    """What the results of both analyses need to know about how the maps are read."""

    level: str  # `"token"` or `"word"`
    specials: Mapping[str, str]  # the model's names of its first and last special tokens
    maps: MapFacts
    seed: int
    notes: tuple[str, ...] = merges_by("union")  # sentences about how the maps were treated

    def notes_on(self, n_heads: int) -> tuple[str, ...]:
        """Return all sentences about how the maps of so many heads per layer were read."""
        positions = "pieces" if self.level == "token" else "words"
        return f"Positions are {positions}; {'; '.join(self.maps.phrases(n_heads))}.", *self.notes


@dataclass(frozen=True)
class SurfaceFacts:
    """The facts that the results need from the plan."""

    requests: Mapping[str, tuple[str, ...]]  # of each question, the names of its requests
    reading: Reading
    unit: str  # the unit of the inputs, for example `"sentences"`
    asked: Mapping[str, int] = merges_by("add")  # how many inputs a question asks for, by name
    notes: tuple[str, ...] = merges_by("union")  # further sentences about how the numbers are computed


class PlanContext:
    """What questions plan with.

    Attributes:
        options, setting: those of the run.
        chosen: the options of the analysis.
        request: the request for the statistics, which is shared with the analysis ``clusters``.
        maker: the maker of its maps.
        reading: how the maps are read.
        asked: how many inputs a question asks for, which those that do not read all of them add by name.
        notes: sentences about how the numbers are computed, to which questions add theirs.
    """

    def __init__(self, options: OptionSet, setting: Setting) -> None:
        self.options, self.setting = options, setting
        self.chosen = options[SurfaceOptions]
        self.request, self.maker, self.reading = plan_reading(options, setting)
        self.asked: dict[str, int] = {}
        self.notes: list[str] = []

    def facts(self, requests: Mapping[str, tuple[str, ...]]) -> SurfaceFacts:
        """Return what the results need."""
        return SurfaceFacts(requests, self.reading, self.setting.corpus.unit, self.asked, tuple(self.notes))


class Statistics:
    """What questions answer from: the statistics of all heads.

    Attributes:
        options, facts: those of the run.
        failures: the errors of optional requests that could not be counted, by name.
        metric: the counts of the statistics.
        notes: sentences about how the numbers were computed, to which questions add theirs.
    """

    def __init__(self, options: OptionSet, plan_counts: PlanCounts[SurfaceFacts]) -> None:
        self.options, self.facts, self.failures, self._counted = (
            options,
            plan_counts.facts,
            plan_counts.failures,
            plan_counts,
        )
        (self.metric,) = self.metrics_of(SHARES, SurfaceStatistics)
        self.notes = [*self.facts.reading.notes_on(self.metric.n_heads), *self.facts.notes]

    @cached_property
    def tables(self) -> SurfaceTables:
        """The tables of the statistics."""
        return self.metric.compute()

    def metrics_of(self, question: str, metric: type[Counted_]) -> list[Counted_]:
        """Return the metrics of the requests of a question, none if it has none."""
        return [self._counted.metric(name, metric) for name in self.facts.requests.get(question, ())]


SurfaceQuestion = Question[PlanContext, Any, Statistics, Any]


@dataclass(frozen=True, repr=False)
class SurfaceResults(Answers):
    """The results of the analysis ``surface``. Layers and heads are 1-based, entropies are in nats.

    Attributes:
        tables: four tables. ``tables.heads`` has one row per ``layer`` and ``head``, with the statistics (``self``,
            ``previous``, ``next``, …, ``entropy``) and the ``label`` of the head; ``tables.layers`` has their means,
            smallest and largest values by ``layer``; ``tables.offsets`` has the ``attention`` to each ``offset``; and
            ``tables.counts`` the numbers of ``inputs`` and ``rows`` of each ``statistic``.
        specials: the model's own names of its ``first_special`` and ``last_special`` tokens. A model that has no such
            token has no entry.
        notes: sentences about how the numbers were computed.
        answers: the answers of all questions, by name. ``gradients`` is the table of
            `attentionology.analyses.surface.gradients.GradientImportance`.
    """

    tables: SurfaceTables
    specials: Mapping[str, str]
    notes: tuple[str, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)


def plan_reading(options: OptionSet, setting: Setting) -> tuple[Request, MapMaker, Reading]:
    """Return the request that both analyses share, the maker of its maps, and what the results need to know of it."""
    reading = options[ReadingOptions]
    maker = replace(setting.maps, level=reading.level)
    if maker.merge != "norm" and reading.level == "token" and not {"dependency", "coreference"} & set(setting.chosen):
        raise OptionError("--merge is for words; choose --level word")
    if reading.level == "word" and isinstance(setting.corpus, PlainText | Segments):
        raise OptionError("--level word is for treebanks; the words of plain text include its punctuation")
    notes = []
    if not maker.kind.rows_sum_to_one:
        maker = replace(maker, normalize="row")
        notes.append("Every row of the map was divided by its sum: so shares and entropies are well defined.")
    smoothing = 0.0
    if reading.smoothing == "release":
        smoothing = statistics.SMOOTHING
        notes.append(
            f"As in the published code, {smoothing:g} of uniform attention was mixed into rows for the "
            f"entropy, and {DISTANCE_SMOOTHING:g} for the distances between heads."
        )
    specials = special_names(setting)
    if setting.encoder.causal:
        notes.append(_CAUSAL if "first_special" in specials else f"{_CAUSAL} {_FIRST_WORD}")
    arguments: dict[str, Any] = {
        "reach": options[SurfaceOptions].reach,
        "smoothing": smoothing,
        # Only the analysis surface has statistics that are compared.
        "replicates": options[CountOptions].replicates if "surface" in setting.chosen else 0,
        "seed": setting.seed,
    }
    # States of other models, which have neither of these arguments, are those of former versions.
    if setting.encoder.causal:
        arguments["causal"] = True
    if setting.encoder.has_sinks and maker.kind.name == "weight" and maker.normalize == "none":
        arguments["sinks"] = True
        notes.append(_SINKS)
    counting = CountMaps(SurfaceStatistics, tuple(arguments.items()))
    request = Request(f"surface/{maker.kind}", "surface", setting.corpus, maker, counting)
    facts = Reading(
        level=reading.level,
        specials=specials,
        maps=map_facts(replace(maker, normalize=setting.maps.normalize), setting.encoder.n_heads),
        notes=tuple(notes),
        seed=setting.seed,
    )
    return request, maker, facts


def special_names(setting: Setting) -> dict[str, str]:
    """Return what the tokenizer writes for the special token before the first word and for the last special token."""
    # The names are those of the first of 16 inputs that can be aligned. A model without such tokens has no entries.
    aligned = setting.encoder.align(list(islice(setting.corpus, 16)))
    pieces = next((result for result in aligned if isinstance(result, Pieces)), None)
    if pieces is None:
        return {}
    specials = [index for index, position in enumerate(pieces.positions) if pieces.special[position]]
    names = {}
    if 0 in specials:
        names["first_special"] = pieces.tokens[0]
    if any(index > 0 for index in specials):
        names["last_special"] = pieces.tokens[specials[-1]]
    return names


def statistic_names(specials: Mapping[str, str]) -> dict[str, str]:
    """Return the headings of the statistics, with the model's own names of its special tokens."""
    first, last = specials.get("first_special", "first special"), specials.get("last_special", "last special")
    return {
        "previous": "previous",
        "next": "next",
        "self": "itself",
        "first_special": first,
        "last_special": last,
        "period_comma": "period, comma",
        "punctuation": "punctuation",
        "other": "other tokens",
        "first_to_first": f"{first} → {first}",
        "last_to_last": f"{last} → {last}",
        "rest_to_first": f"others → {first}",
        "rest_to_last": f"others → {last}",
        "entropy": "entropy",
        "entropy_relative": "entropy, relative",
        "entropy_first": f"entropy of {first}",
        "entropy_first_relative": f"entropy of {first}, relative",
        LEARNED_SINK: "learned sink",
    }


def has(table: pd.DataFrame, statistic: str) -> bool:
    """Return whether the model has what a statistic is about, such as special tokens or learned sinks."""
    return statistic in table and bool(table[statistic].notna().any())


def label_names(specials: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the labels of heads in the report. A label without an entry is its own name."""
    first, last = specials.get("first_special", "first special"), specials.get("last_special", "last special")
    return {
        "next": "next token",
        "previous": "previous token",
        "self": "itself",
        "first-special": f"sink {first}",
        "last-special": f"sink {last}",
        "other": "no label",
    }


def label_rows(heads: pd.DataFrame, specials: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the names of the heads that have each label."""
    names = label_names(specials)
    rows = []
    more = sorted({label for labels in heads["labels"] for label in labels.split()} - {*LABELS})
    for label in (*LABELS[1:], *more, LABELS[0]):  # at last the heads without a label
        # Of labels that other questions have added, all heads are there, as most have another label, too.
        column = "labels" if label in more else "label"
        labeled = heads[[label in (of_head.split() if label in more else [of_head]) for of_head in heads[column]]]
        rows.append({"name": label, "label": names.get(label, label), "heads": names_of(labeled)})
    return rows


def target_names(specials: Mapping[str, str]) -> dict[str, str]:
    """Return the names of all that attention goes to, as part of a sentence."""
    names = {"previous": "the previous token", "next": "the next token", "self": "the token itself"}
    names |= {"punctuation": "punctuation", "other": "other words", LEARNED_SINK: "the learned sink"}
    return names | {name: specials.get(name, name.replace("_", " ")) for name in ("first_special", "last_special")}


def by_share(row: Mapping[Any, Any], targets: Sequence[str]) -> list[str]:
    """Return those targets that the text has, by falling share."""
    return sorted((target for target in targets if pd.notna(row.get(target))), key=lambda target: -row[target])


def find_largest(heads: pd.DataFrame, column: str) -> dict[str, Any]:
    """Return the row of the head with the largest value."""
    return max(rows_of(heads[heads[column].notna()]), key=lambda row: float(row[column]))


def class_names(specials: Mapping[str, str]) -> dict[str, str]:
    """Return the model's own names of the classes that are named after BERT's special tokens."""
    return {"[CLS]": specials.get("first_special", "[CLS]"), "[SEP]": specials.get("last_special", "[SEP]")}


def measure_id(column: str, about: str) -> str:
    """Return the id of a measure of the explorer, which is about a kind of map or a class of tokens."""
    return f"surface/{column}/{about}"
