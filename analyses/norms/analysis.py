"""The plan and the results of the analysis ``norms`` (Kobayashi et al. 2020, 2021, 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.console import RenderableType

from ...corpora_loaders import read_frequencies
from ...corpora_loaders.errors import CorpusError
from ...extractors import ExtractionError, NormMaker, StageMaker
from ...reports.explorer.contribution import Contribution
from ...reports.page import Section
from ..contract import Analysis, Counted, Masking, OptionSet, Plan, Reader, Request, Setting, Titles
from ..counting.counting import CountWith
from ..shared.merged_facts import merges_by
from ..shared.options import FeedForwardOptions
from .block import CountBlock, FeedForwardBlock
from .feed_forward import CountStages, FeedForwardChange, FeedForwardTables, ReadText, read_texts, with_examples
from .frequency import FrequencyCorrelation, frequency_ranks
from .mixing import MixingRatios
from .options import NORMS, NormsOptions
from .paper import published
from .report import explored_norms, norms_section
from .shares import NormShares
from .shown_tables import NormResults, layers_table
from .weights_and_norms import WeightsAndNorms


@dataclass(frozen=True)
class NormFacts:
    """The facts that the results need from the plan."""

    model: str
    mask_rate: float  # the share of the pieces that are masked while context mixing is measured
    expansion: tuple[float, ...]  # the expansion rate of each layer
    stages: str  # the name of the request that follows the feed-forward block, empty if it was not asked for
    notes: tuple[str, ...] = merges_by("union")  # sentences about how the numbers are computed


class Norms(Analysis[NormFacts, NormResults], row=NORMS):
    """The analysis that compares attention weights with the norms of the vectors that they move."""

    facts_type = NormFacts
    looked_type = dict[int, ReadText]

    def plan(self, options: OptionSet, setting: Setting) -> Plan[NormFacts]:
        """Plan norms on the text, mixing ratios on masked text, and the feed-forward block on the first sentences."""
        encoder, corpus = setting.encoder, setting.corpus
        norms_options = options[NormsOptions]
        layers = encoder.layers  # raises an error here, before anything slow, if the architecture is not known
        ranks, notes = _ranks(norms_options, setting)
        rate = norms_options.mask_rate
        if rate and encoder.tokenizer.mask_token_id is None:
            rate = 0.0
            notes.append("Context mixing is measured on the unmasked text, because this tokenizer has no mask token.")
        elif rate:
            notes.append(
                f"Context mixing is measured with {100 * rate:.3g} % of the pieces of words masked, and everything "
                "else without masks."
            )
        masking = Masking(rate, setting.seed) if rate else None
        ff_bias = options[FeedForwardOptions].ff_bias
        maker = NormMaker(ff_bias)
        n_layers = ("n_layers", encoder.n_layers)
        shape = (n_layers, ("n_heads", encoder.n_heads))
        ranking = (("vocabulary", 1 + max(encoder.tokenizer.get_vocab().values())), ("ranks", ranks))
        mixing = CountWith(MixingRatios, (n_layers,))
        requests = [
            Request("norms-shares", "norms", corpus, maker, CountWith(NormShares, shape)),
            Request("norms-spread", "norms", corpus, maker, CountWith(WeightsAndNorms, shape)),
            Request("norms-frequency", "norms", corpus, maker, CountWith(FrequencyCorrelation, ranking)),
            Request("norms-mixing", "context mixing", corpus, maker, mixing, masking=masking),
        ]
        stages = ""
        first_sentences = corpus.sentences[: norms_options.ff_sentences]
        n_first = len(first_sentences)
        if n_first:
            stages = "norms-stages"
            stage_maker = StageMaker(ff_bias)
            change = CountStages(encoder.n_layers)
            block = CountBlock(encoder.n_layers, tuple(corpus.relations))
            requests += [
                Request(name, "feed-forward block", first_sentences, stage_maker, counting, optional=True)
                for name, counting in ((stages, change), ("norms-block", block))
            ]
            if n_first < len(corpus):
                notes.append(f"What the feed-forward block changes is measured on the first {n_first:,} {corpus.unit}.")
        rates = tuple(layer.expansion_rate() for layer in layers.weights)
        return Plan(tuple(requests), NormFacts(encoder.name, rate, rates, stages, tuple(notes)))

    def follow_up(
        self, options: OptionSet, plan: Plan[NormFacts], counted: Counted[NormFacts], read: Reader
    ) -> dict[int, ReadText]:
        """Look up the sentences and pieces of the most amplified pairs, by the hashes of the sentences' ids."""
        if not counted.facts.stages:
            return {}
        (request,) = (request for request in plan.requests if request.name == counted.facts.stages)
        return read_texts(request, set(_stages(counted).amplified["key"].tolist()), read)

    def results(
        self, options: OptionSet, counted: Counted[NormFacts], needed: Mapping[str, Any], looked: Any
    ) -> NormResults:
        """Make all tables."""
        facts = counted.facts
        frequency = counted.metric("norms-frequency", FrequencyCorrelation)
        # Runs that 0.2 counted, and 0.3 stored again, have no states of the spread and of the block.
        spread = None
        if "norms-spread" in counted.metrics:
            spread = counted.metric("norms-spread", WeightsAndNorms).compute()
        change = amplified = block = None
        if facts.stages:
            tables = _stages(counted)
            change = tables.change
            amplified = with_examples(tables.amplified, looked)
            if "norms-block" in counted.metrics and "norms-block" not in counted.failures:
                block = counted.metric("norms-block", FeedForwardBlock).compute()
        notes = facts.notes
        sampled, total = frequency.sampled()
        if sampled < total:
            notes += (
                f"The correlations with frequency are those of {sampled:,} of {total:,} inputs, which were sampled by "
                "a hash of their ids. Ranks that are counted on this corpus are counted on all of it.",
            )
        rates = facts.expansion
        return NormResults(
            shares=counted.metric("norms-shares", NormShares).compute(),
            mixing=counted.metric("norms-mixing", MixingRatios).compute(),
            frequency=frequency.compute(),
            expansion=pd.DataFrame({"layer": range(1, len(rates) + 1), "expansion": rates}),
            spread=spread,
            points=frequency.points(),
            change=change,
            amplified=amplified,
            block=block,
            published=published(facts.model),
            notes=notes,
        )

    def section(self, results: NormResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        return norms_section(results, titles)

    def show(self, results: NormResults, width: int) -> RenderableType:
        """Return a table of weights and norms, layer by layer."""
        return layers_table(results).terminal(width)

    def explored(
        self, options: OptionSet, counted: Counted[NormFacts], results: NormResults, kind: str | None
    ) -> Contribution:
        """Return where every head attends by weight and by norm."""
        return explored_norms(results)

    def record(self, options: OptionSet, counted: Counted[NormFacts], results: NormResults) -> dict[str, Any]:
        """Return the notes, and the share of pieces that were masked."""
        return {"norms": {"notes": list(results.notes), "mask_rate": counted.facts.mask_rate}}


def _ranks(options: NormsOptions, setting: Setting) -> tuple[Mapping[int, int] | None, list[str]]:
    """Return the frequency ranks by vocabulary id, None if the corpus is to be counted, and a note on their source."""
    file = options.frequencies
    if file is None:
        return None, ["Frequency ranks are counted on this corpus."]
    counts = read_frequencies(file)
    vocabulary = setting.encoder.tokenizer.get_vocab()
    by_id = {vocabulary[form]: count for form, count in counts.items() if form in vocabulary}
    if not by_id:
        raise CorpusError("none of its forms is a piece of this model's vocabulary", file=file)
    return frequency_ranks(by_id), [
        f"Frequency ranks are those of {file}; {len(by_id):,} of its {len(counts):,} forms are "
        "pieces of this model's vocabulary."
    ]


def _stages(counted: Counted[NormFacts]) -> FeedForwardTables:
    """Return the tables of the feed-forward block, which are empty if none of the first sentences could be read."""
    failure = counted.failures.get(counted.facts.stages)
    if failure is None:
        return counted.metric(counted.facts.stages, FeedForwardChange).compute()
    if not isinstance(failure, ExtractionError):
        raise failure
    # No sentence could be read, so these are the tables of a metric that has counted nothing.
    return FeedForwardChange(len(counted.facts.expansion), ("FF", "RES", "LN")).compute()
