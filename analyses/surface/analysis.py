"""The plan and the results of the analysis ``surface`` (Clark et al. 2019, §3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import pandas as pd
from rich.console import RenderableType

from ...extractors import GradientMaker, ModelError
from ...reports.explorer.contribution import Contribution
from ...reports.page import Section
from ..contract import Analysis, Counted, OptionSet, Plan, Request, Setting, Titles
from ..counting.comparable import Comparable, Measured
from ..counting.counting import CountWith
from ..shared.merged_facts import merges_by
from .gradients import GradientImportance
from .options import SURFACE, SurfaceOptions
from .reading import ReadingFacts, plan_reading, read_tables
from .report import explored_surface, surface_section
from .shown_tables import SurfaceResults, layers_table
from .statistics import SurfaceStatistics

_ENTROPIES = ("entropy", "entropy_first")
"""The statistics in nats. All others are shares from 0 to 1."""

_BY_LAYER = ("self", "previous", "next", "first_special", "last_special", "punctuation", "other", "entropy_relative")
"""The statistics that are compared layer by layer."""

_LOSSES = {
    "mlm": "the masked-LM loss, the mean over masked pieces",
    "hidden": "the squared distance of the final hidden states of masked pieces from those without masks",
}


@dataclass(frozen=True)
class SurfaceFacts:
    """The facts that the results need from the plan."""

    reading: ReadingFacts  # how the maps are read
    gradients: str = ""  # the name of the request for the gradients, empty if there is none
    asked: int = merges_by("sum", 0)  # the number of inputs whose gradients are asked for
    unit: str = ""  # the unit of the inputs, for example `"sentences"`
    loss: Literal["mlm", "hidden"] = "mlm"  # the loss whose gradients are taken
    obstacle: str = ""  # the reason why there are no gradients, empty if they are computed or were not asked for


class Surface(Analysis[SurfaceFacts, SurfaceResults], row=SURFACE):
    """The analysis of where attention goes by position and class of token, and how much that matters to a loss."""

    facts_type = SurfaceFacts

    def plan(self, options: OptionSet, setting: Setting) -> Plan[SurfaceFacts]:
        """Plan the reading shared with ``clusters``, and gradients if the model has what the loss needs."""
        shared, _, reading = plan_reading(options, setting)
        surface_options = options[SurfaceOptions]
        if surface_options.gradients == "none":
            return Plan((shared,), SurfaceFacts(reading))
        obstacle, head = _obstacle(surface_options.gradients, setting)
        if obstacle and surface_options.gradients != "auto":
            raise ModelError(f"{setting.encoder.name}: {obstacle}")
        if obstacle:
            return Plan((shared,), SurfaceFacts(reading, obstacle=obstacle))
        loss: Literal["mlm", "hidden"] = "hidden" if surface_options.gradients == "hidden" else "mlm"
        shape = ("n_layers", setting.encoder.n_layers), ("n_heads", setting.encoder.n_heads)
        gradients = Request(
            f"gradients-{loss}",
            "gradients",
            setting.corpus.sentences[: surface_options.gradient_sentences],
            GradientMaker(loss, head, seed=setting.seed),
            CountWith(GradientImportance, shape),
            optional=True,
        )
        facts = SurfaceFacts(reading, gradients.name, len(gradients.inputs), setting.corpus.unit, loss)
        return Plan((shared, gradients), facts)

    def results(
        self, options: OptionSet, counted: Counted[SurfaceFacts], needed: Mapping[str, Any], looked: Any
    ) -> SurfaceResults:
        """Make the surface tables, with the gradients if there are any."""
        tables, notes = read_tables(options, counted, counted.facts.reading, needed)
        gradients, gradient_notes = _gradients(options[SurfaceOptions], counted)
        return SurfaceResults(tables, counted.facts.reading.specials, gradients, (*notes, *gradient_notes))

    def section(self, results: SurfaceResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        return surface_section(results, titles)

    def show(self, results: SurfaceResults, width: int) -> RenderableType:
        """Return a table of where attention goes, layer by layer."""
        return layers_table(results).terminal(width)

    def explored(
        self, options: OptionSet, counted: Counted[SurfaceFacts], results: SurfaceResults, kind: str | None
    ) -> Contribution:
        """Return where every head attends, and what was found."""
        return explored_surface(results, kind or "")

    def comparable(self, counted: Counted[SurfaceFacts]) -> Sequence[Comparable]:
        """Return the means over heads of all statistics, and of some of them layer by layer."""
        return comparable_statistics(counted.metric(counted.facts.reading.request, SurfaceStatistics))

    def record(self, options: OptionSet, counted: Counted[SurfaceFacts], results: SurfaceResults) -> dict[str, Any]:
        """Return the notes, and the names of the special tokens."""
        return {"surface": {"notes": list(results.notes), "specials": dict(results.specials)}}


def _obstacle(loss: str, setting: Setting) -> tuple[str, Any]:
    """Return the reason why the gradients of a loss cannot be computed, and the masked-LM head if the loss needs it."""
    if setting.encoder.tokenizer.mask_token_id is None:
        return "this tokenizer has no mask token, and the loss is that of masked pieces", None
    if loss == "hidden":
        return "", None
    head = setting.load_masked_lm()
    if head is not None:
        return "", head
    return (
        "this checkpoint has no masked-LM head, which the loss of the paper needs. --gradients hidden uses "
        "another loss, how far masking moves the final hidden states"
    ), None


def _gradients(options: SurfaceOptions, counted: Counted[SurfaceFacts]) -> tuple[pd.DataFrame | None, list[str]]:
    """Return the table of gradients, None if there is none, and notes on how it was computed."""
    facts = counted.facts
    if facts.obstacle:
        return None, [f"Gradients were not computed: {facts.obstacle}."]
    if not facts.gradients:
        return None, []
    failure = counted.failures.get(facts.gradients)
    if isinstance(failure, ModelError) and options.gradients != "auto":
        raise failure
    if failure is not None:
        return None, [f"Gradients were not computed: {failure}."]
    metric = counted.metric(facts.gradients, GradientImportance)
    read, asked = int(metric.total), facts.asked
    number = f"{read:,}" if read == asked else f"{read:,} of the first {asked:,}"
    return metric.compute(), [
        f"Gradients are those of {_LOSSES[facts.loss]}, on {number} {facts.unit} with 15 % of "
        "the pieces masked; always of attention weights, whatever the map."
    ]


def comparable_statistics(metric: SurfaceStatistics) -> tuple[Comparable, ...]:
    """Return the statistics that can be compared: means over all heads, entropies, and shares layer by layer."""
    tables = metric.compute()
    inputs = dict(zip(tables.counts["statistic"], map(int, tables.counts["inputs"]), strict=True))

    def measured(statistic: str, group: str, layers: slice) -> Measured:
        """Return the mean of a statistic over some layers, and how far that of each replicate deviates from it."""
        values = tables.layers[statistic].to_numpy()
        deviations = metric.layer_replicates(statistic) - values[:, None]  # (layers, replicates)
        n = inputs[statistic]
        return Measured(group, float(values[layers].mean()), n, deviations[layers].mean(0), units=n)

    def layer_by_layer(statistic: str, prefix: str = "") -> list[Measured]:
        """Return the mean of a statistic for each layer alone."""
        return [
            measured(statistic, f"{prefix}layer {index + 1}", slice(index, index + 1))
            for index in range(metric.n_layers)
        ]

    all_layers = slice(None)
    shares = [measured(name, name, all_layers) for name in metric.statistics if name not in _ENTROPIES]
    entropies = [measured("entropy", "all layers", all_layers), *layer_by_layer("entropy")]
    shares_by_layer = chain.from_iterable(layer_by_layer(name, f"{name}, ") for name in _BY_LAYER)
    quantity = "mean share over heads and inputs"
    return (
        Comparable("all layers", tuple(shares), quantity, "inputs", metric.seed),
        Comparable("layer by layer", tuple(shares_by_layer), quantity, "inputs", metric.seed),
        Comparable(
            "entropy", tuple(entropies), "mean entropy over heads and inputs", "inputs", metric.seed, unit="nats"
        ),
    )
