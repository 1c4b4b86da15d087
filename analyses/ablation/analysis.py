"""The plan and the results of the analysis ``ablation``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import RenderableType

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Predicted
from ...reports.page import Section
from ...storage.writing import amount
from ..contract import Analysis, Counted, OptionError, OptionSet, Plan, Reader, Request, Setting, Titles
from ..counting.counting import CountWith
from ..dependency.options import DependencyOptions
from ..shared.merged_facts import key_of_texts, merges_by
from ..shared.options import CountOptions
from .counting import HeadEffects
from .effects import AblationMaker, HeadMeans
from .options import ABLATION, AblationOptions
from .predictions import (
    PREDICTED,
    PredictionMaker,
    affordable,
    expected_passes,
    heads_to_show,
    sentences_to_show,
)
from .pruning import orders, pruned, sets_of
from .report import AblationResults, ablation_section, explored_ablation, shown_table
from .tables import ablation_tables, pruning_table


@dataclass(frozen=True)
class AblationFacts:
    """The facts that the results need from the plan."""

    requests: tuple[str, ...]  # of the effects on vectors and, if there is a head for them, on predictions
    heads: tuple[tuple[int, int], ...]  # layer and head, from 0
    n_heads: int  # of the model
    ablate: str
    sentences_of_the_means: str  # a digest of their ids; empty for zeros
    seed: int
    notes: tuple[str, ...] = merges_by("union")


class Ablation(Analysis[AblationFacts, AblationResults], row=ABLATION):
    """The analysis of what changes in a model if one of its heads is switched off."""

    facts_type = AblationFacts

    def plan(self, options: OptionSet, setting: Setting) -> Plan[AblationFacts]:
        """Plan the effects on final vectors, and on predictions if the model has a language-model head."""
        chosen = options[AblationOptions]
        encoder, corpus = setting.encoder, setting.corpus
        if options[DependencyOptions].trees == "enhanced":
            raise OptionError(
                "--trees enhanced is not for ablation, which measures effects on the words of each relation of the "
                "basic trees; leave out one of the two"
            )
        _ = encoder.layers  # raises an error here, before anything slow, if the architecture is not known
        heads = chosen.chosen(encoder.n_layers, encoder.n_heads)
        maker = AblationMaker(heads, encoder.n_layers, seed=setting.seed)
        given_instead, digest_of_means = "zeros", ""
        if chosen.ablate == "mean":
            give_means = corpus.sentences[: chosen.mean_sentences]
            maker = replace(maker, means=HeadMeans(give_means, setting.max_length))
            given_instead = f"its mean over all pieces of the first {amount(len(give_means), 'sentences')}"
            digest_of_means = key_of_texts(sentence.id for sentence in give_means)
        notes = [f"A head that is switched off gives {given_instead}, before the output projection."]
        makers = {"vectors": maker}  # by what the effects are on
        if chosen.predictions == "auto":
            prediction_maker, note = _of_predictions(setting, maker)
            notes.append(note)
            if prediction_maker is not None:
                makers["predictions"] = prediction_maker

        requests = []
        for outputs, maker in makers.items():
            arguments = {
                "heads": heads,
                "relations": tuple(corpus.relations),
                "measures": maker.measures,
                "coarse": options[DependencyOptions].coarse,
            }
            counting = CountWith(HeadEffects, tuple(arguments.items()))
            label, passes = f"ablation of {outputs}", maker.forward_passes
            requests.append(Request(f"ablation-{outputs}", label, corpus, maker, counting, further_passes=passes))

        names = tuple(request.name for request in requests)
        all_heads = encoder.n_layers * encoder.n_heads
        facts = AblationFacts(names, heads, all_heads, chosen.ablate, digest_of_means, setting.seed, tuple(notes))
        sets_of_heads = sets_of(len(heads), importance="predictions" in makers)
        pruning_passes = len(corpus.sentences[: chosen.pruning_sentences]) * sets_of_heads * len(makers)
        passes = float(pruning_passes if len(heads) > 1 else 0)
        if "predictions" in makers:
            of_effects = len(corpus.sentences) * sum(request.further_passes for request in requests)
            passes += min(of_effects, expected_passes(corpus.sentences, heads, makers["predictions"]))
        return Plan(tuple(requests), facts, follow_up_passes=round(passes))

    def follow_up(
        self, options: OptionSet, plan: Plan[AblationFacts], counted: Counted[AblationFacts], read: Reader
    ) -> dict[str, list[dict[str, Any]]] | None:
        """Switch off more and more heads at once on the first sentences, and look at what is predicted in others."""
        heads, inputs = plan.facts.heads, plan.requests[0].inputs
        metric = counted.metric(plan.facts.requests[-1], HeadEffects)
        effect = metric.compute().mean[0, :, 0]  # the first effect of each head on all words
        makers = [request.maker for request in plan.requests if isinstance(request.maker, AblationMaker)]
        rows_by_sentences: dict[str, list[dict[str, Any]]] = {}
        to_prune = inputs[: options[AblationOptions].pruning_sentences]
        if len(to_prune) and len(heads) > 1:
            by_order = orders(heads, effect, metric.mean_importance(), plan.facts.seed)
            rows = [row for maker in makers for row in pruned(read, to_prune, maker, by_order)]
            rows_by_sentences[key_of_texts(sentence.id for sentence in to_prune)] = rows
        if makers[-1].lm is not None:
            shown_heads, rows = heads_to_show(counted.metrics, heads, effect), []
            words_of_effects = sum(maker.forward_passes for maker in makers) * sum(len(each.words) for each in inputs)
            short = sentences_to_show(counted.metrics, inputs)
            to_show = affordable(short, shown_heads, makers[-1], words_of_effects)
            if to_show:
                for predictions in read(to_show, PredictionMaker(shown_heads, makers[-1])):
                    rows += map(asdict, predictions)
            rows_by_sentences[PREDICTED + key_of_texts(sentence.id for sentence in to_show)] = rows
        return rows_by_sentences or None

    def results(
        self, options: OptionSet, counted: Counted[AblationFacts], needed: Mapping[str, Any], looked: Any
    ) -> AblationResults:
        """Make the tables, beside those of ``dependency`` if it is part of the run."""
        facts = counted.facts
        metrics = [counted.metric(name, HeadEffects) for name in facts.requests]
        min_count = options[CountOptions].min_count
        tables = ablation_tables(metrics, needed.get("dependency"), min_count=min_count, seed=facts.seed)
        # What `follow_up` returned. Each merged run has an entry about its own sentences, so no curve is that of all.
        rows_by_sentences = looked or {}
        curves_of_runs = [rows for key, rows in rows_by_sentences.items() if not key.startswith(PREDICTED)]
        predictions_of_runs = [rows for key, rows in rows_by_sentences.items() if key.startswith(PREDICTED)]
        curves = pruning_table(curves_of_runs[0], len(facts.heads)) if len(curves_of_runs) == 1 else None
        predictions = tuple(Predicted(**row) for rows in predictions_of_runs for row in rows)
        return AblationResults(tables, curves, facts.notes, predictions, min_count)

    def section(self, results: AblationResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        return ablation_section(results, titles)

    def show(self, results: AblationResults, width: int) -> RenderableType:
        """Return whether the heads that find relations matter, or else the heads that matter most."""
        return shown_table(results).terminal(width)

    def explored(
        self, options: OptionSet, counted: Counted[AblationFacts], results: AblationResults, kind: str | None
    ) -> Contribution:
        """Return the effects of all heads, and what was found."""
        facts = counted.facts
        complete = len(facts.heads) == facts.n_heads
        return explored_ablation(results, complete=complete)

    def record(self, options: OptionSet, counted: Counted[AblationFacts], results: AblationResults) -> dict[str, Any]:
        """Return the notes."""
        return {"ablation": {"notes": list(results.remarks)}}


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
