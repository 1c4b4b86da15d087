"""What all questions about heads that are switched off share: what they plan with, look up with and answer from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pandas as pd

from ...corpora_loaders.describing import amount
from ...extractors.replaceable.heads_off import Head
from ...reports.columns import Explored, Row, TableColumn
from ...reports.format import number, rows_of
from ..contract import OptionError, OptionSet, Plan, PlanCounts, Reader, Setting
from ..counting.metric import Metric
from ..dependency.options import DependencyOptions
from ..questions import Question
from ..shared.merged_facts import key_of_texts, merges_by
from ..shared.options import CountOptions
from ..shared.previews import Answers
from .effects import AblationMaker, HeadMeans
from .options import AblationOptions

Counted_ = TypeVar("Counted_", bound=Metric)

_GROUP = "What changes without the head"
EFFECT_COLUMNS = (
    TableColumn(
        "cosine cosine_low cosine_high",
        "number",
        "1 − the cosine of the final vectors of a word with and without the head, mean over words, and its interval",
        explored=Explored(_GROUP, "change of final vectors, 1 − cosine"),
    ),
    TableColumn(
        "l2 l2_low l2_high",
        "number",
        "the length of the change of the final vector of a word, divided by that of the vector",
        explored=Explored(_GROUP, "relative change of final vectors"),
    ),
    TableColumn(
        "loss loss_low loss_high",
        "nats",
        "the increase of −log p of masked pieces or next words without the head; only with a language-model head",
        explored=Explored(_GROUP, "loss"),
    ),
)
EFFECTS = {column.names.split()[0]: column.explored.label for column in EFFECT_COLUMNS if column.explored}
"""The names of the effects for people."""

INTERVALS = (
    "The 95 % intervals are those of means over words that were sampled by sentence, and hold for one value alone."
)

FEWEST_SENTENCES = 30
"""The number of sentences below which nothing is concluded from effects in them. In simulations of effects as skewed as
the largest ones on the final vectors of a small BERT, the 95 % intervals from so many sentences contained the truth in
93 % of cases, those from twenty in 91.5 %, from ten in 90 %, and from five in 86 %."""

DIGITS = 4
"""The number of decimals of effects. The vectors of a large model change little without one of its heads."""


def effect_bounds(name: str) -> Callable[[Row], str]:
    """Return a function that writes the interval of an effect in a row, as ``[low, high]``; nothing if it is NaN."""

    def write_interval(row: Row) -> str:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return "" if math.isnan(low) else f"[{number(low, DIGITS)}, {number(high, DIGITS)}]"

    return write_interval


LABELS = {
    "cosine": "1 − cosine of final vectors",
    "l2": "relative change of final vectors",
    "loss": "increase of −log p (nats)",
}
"""The names of the effects on the axes of figures."""

HEADS = "heads"
"""The question whose requests count the effects of each head."""
SENTENCES = 1000
"""The number of sentences, from the first one on, whose ids name the texts that were read."""


@dataclass(frozen=True)
class AblationFacts:
    """The facts that the results need from the plan."""

    requests: Mapping[str, tuple[str, ...]]  # of each question, the names of its requests
    heads: tuple[Head, ...]  # those that are switched off
    n_heads: int  # of the model
    ablate: str
    sentences_of_the_means: str  # a digest of their ids; empty for zeros
    seed: int
    notes: tuple[str, ...] = merges_by("union")


class PlanContext:
    """What questions plan with.

    Attributes:
        options, setting: those of the run.
        chosen: the options of the analysis.
        heads: the heads that are switched off.
        makers: what makes the effects, by what they are on: ``vectors``, and ``predictions`` if the model has a
            language-model head.
        notes: sentences about what a head gives that is off, and what is not measured.

    Raises:
        OptionError: the options do not fit the model.
        ModelError: the architecture of the model is not known.
    """

    def __init__(self, options: OptionSet, setting: Setting) -> None:
        self.options, self.setting, self.chosen = options, setting, options[AblationOptions]
        encoder, corpus = setting.encoder, setting.corpus
        if (gold := options[DependencyOptions].gold) != "basic":
            other = "--trees enhanced" if gold == "enhanced" else "--pairs"
            raise OptionError(
                f"{other} is not for ablation, which measures effects on the words of each relation of the "
                "basic trees; leave out one of the two"
            )
        _ = encoder.layers  # raises an error here, before anything slow, if the architecture is not known
        self.heads = self.chosen.chosen(encoder.n_layers, encoder.n_heads)
        maker = AblationMaker(self.heads, encoder.n_layers, seed=setting.seed)
        given_instead, self._digest_of_means = "zeros", ""
        if self.chosen.ablate == "mean":
            give_means = corpus.sentences[: self.chosen.mean_sentences]
            maker = replace(maker, means=HeadMeans(give_means, setting.max_length))
            given_instead = f"its mean over all pieces of the first {amount(len(give_means), 'sentences')}"
            self._digest_of_means = key_of_texts(sentence.id for sentence in give_means)
        self.notes = [f"A head that is switched off gives {given_instead}, before the output projection."]
        self.makers = {"vectors": maker}
        if self.chosen.predictions == "auto":
            prediction_maker, note = _of_predictions(setting, maker)
            self.notes.append(note)
            if prediction_maker is not None:
                self.makers["predictions"] = prediction_maker

    def facts(self, requests: Mapping[str, tuple[str, ...]]) -> AblationFacts:
        """Return what the results need."""
        encoder, chosen = self.setting.encoder, self.chosen
        n_heads = encoder.n_layers * encoder.n_heads
        means, notes = self._digest_of_means, tuple(self.notes)
        return AblationFacts(requests, self.heads, n_heads, chosen.ablate, means, self.setting.seed, notes)


def _of_predictions(setting: Setting, maker: AblationMaker) -> tuple[AblationMaker | None, str]:
    """Return the maker of effects on predictions, None if the model predicts no words, and a note about them."""
    can_mask = setting.encoder.tokenizer.mask_token_id is not None
    if can_mask and (lm := setting.load_masked_lm()) is not None:
        return replace(maker, lm=lm, causal=False), "The loss is −log p of masked pieces."
    if (lm := setting.load_causal_lm()) is not None:
        return replace(maker, lm=lm, causal=True), "The loss is −log p of each word after what precedes it."
    has_no_head = can_mask or setting.encoder.causal
    lacking = "the checkpoint has no language-model head" if has_no_head else "the tokenizer has no mask token"
    return None, f"Effects on predictions were not measured: {lacking}."


class Effects:
    """What questions answer from: the effects of each head.

    Attributes:
        options, facts: those of the run.
        chosen: the options of the analysis.
        metrics: the metrics of all requests of the run, by name.
        min_count: relations with fewer words or masked pieces are not tested.
    """

    def __init__(self, options: OptionSet, plan_counts: PlanCounts[AblationFacts]) -> None:
        self.options, self.facts, self.metrics, self._counted = (
            options,
            plan_counts.facts,
            plan_counts.metrics,
            plan_counts,
        )
        self.chosen, self.min_count = options[AblationOptions], options[CountOptions].min_count

    @property
    def complete(self) -> bool:
        """Whether all heads of the model were switched off."""
        return len(self.facts.heads) == self.facts.n_heads

    def metrics_of(self, question: str, metric: type[Counted_]) -> list[Counted_]:
        """Return the metrics of the requests of a question, none if it has none."""
        return [self._counted.metric(name, metric) for name in self.facts.requests.get(question, ())]


class LookupContext:
    """What questions look up with: the counts, the inputs, and what switches heads off.

    Attributes:
        effects: what questions answer from.
        read: reads inputs once more.
        inputs: the inputs of the run.
        makers: what makes the effects; the last one is that of predictions if the model has a language-model head.
        key: a name for the inputs.
    """

    def __init__(self, plan: Plan[AblationFacts], effects: Effects, read: Reader) -> None:
        self.effects, self.read, self.inputs = effects, read, plan.requests[0].inputs
        self.makers = [request.maker for request in plan.requests if isinstance(request.maker, AblationMaker)]
        self.key = key_of_texts(sentence.id for sentence in self.inputs[:SENTENCES])


AblationQuestion = Question[PlanContext, LookupContext, Effects, Any]


@dataclass(frozen=True)
class AblationTables:
    """The tables of heads, and of the relations that they find."""

    # heads, groups: the effects of each head.
    # relations, summary: whether the heads that find relations matter; empty without `dependency`.

    heads: pd.DataFrame
    groups: pd.DataFrame
    relations: pd.DataFrame
    summary: pd.DataFrame


@dataclass(frozen=True, repr=False)
class AblationResults(Answers):
    """The results of the analysis ``ablation``. Layers and heads are 1-based.

    Attributes:
        tables: four tables. ``tables.heads`` has one row per ``layer`` and ``head`` with its effects ``cosine``, ``l2``
            and, with a language-model head, ``loss`` and ``importance``; ``tables.groups`` has the effects by relation
            and part of speech; ``tables.relations`` compares the head that finds each relation with the other heads of
            its layer; and ``tables.summary`` tests all relations together. Columns that end in ``_low`` and ``_high``
            are 95 % intervals.
        largest: one row per effect, with the head that has the largest one on all words, and its closest rival.
        notes: sentences about what a head that is off gives, and what was not measured.
        min_count: relations with fewer words or masked pieces are gray and are not tested.
        answers: the answers of all questions, by name. ``pruning`` is the effect of switching off more and more heads,
            one row per ``order``, number of ``heads`` and ``effect``; merged runs have none. ``predictions`` is what
            the model predicts in some sentences of the sample, with all of its heads and without a few.
    """

    tables: AblationTables
    largest: pd.DataFrame
    notes: tuple[str, ...] = ()
    min_count: int = 50
    answers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def effect(self) -> str:
        """The effect that is shown first: that on predictions if there is one, else that on final vectors."""
        return "loss" if "loss" in self.tables.heads else "cosine"

    @property
    def lead(self) -> dict[str, Any]:
        """The row of this effect in ``largest``."""
        (row,) = [row for row in rows_of(self.largest) if row["effect"] == self.effect]
        return row

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and a warning if the effects were measured in too few sentences."""
        n = self.lead["sentences"]
        if n >= FEWEST_SENTENCES:
            return self.notes
        warning = (
            f"The effects were measured in {amount(n, 'sentences')}. With fewer than {FEWEST_SENTENCES}, intervals are "
            "too narrow if effects are skewed, so nothing is concluded from them."
        )
        return (*self.notes, warning)
