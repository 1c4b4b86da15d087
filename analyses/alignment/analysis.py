"""The plan and the results of the analysis ``alignment`` (Kobayashi et al. 2020, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import RenderableType

from ...corpora_loaders.alignment import Bitext, LinkSource, SentencePair
from ...reports.explorer.contribution import Contribution
from ...reports.page import Section
from ..contract import Analysis, Counted, OptionSet, Plan, Reader, Request, Setting, Titles
from ..counting.counting import CountWith
from ..shared.merged_facts import merges_by
from .accuracy import BASELINES, AlignmentAccuracy, AlignmentCounts, BaselineAccuracy, CountSeries
from .drawn import sampled_maps
from .example import AlignedExample, first_example, read_example
from .explored import explored_alignment
from .links import LinkMaker
from .options import AlignmentOptions, LanguageOptions
from .results import AlignmentResults, choose
from .section import alignment_section, in_terminal
from .series import FORWARD, TOGETHER, Series, all_series
from .tables import tables


@dataclass(frozen=True)
class AlignmentFacts:
    """The facts that the results need from the plan."""

    method: str  # one of `attentionology.analyses.alignment.series.METHODS`
    series: tuple[Series, ...]  # the series that are counted
    controls: int  # the number of copies with random weights
    baselines: tuple[str, ...]  # the alignments that are not read off the model; none without gold links
    written: str  # the direction of the links that are written
    gold: tuple[LinkSource, ...] = merges_by("all", ())
    hypotheses: tuple[LinkSource, ...] = merges_by("all", ())  # where the links of other systems are from


@dataclass(frozen=True)
class AlignmentLooked:
    """What was looked up after counting: a sentence pair with its maps; of merged runs, one of each run."""

    examples: tuple[AlignedExample, ...] = merges_by("all", ())


class Alignment(Analysis[AlignmentFacts, AlignmentResults]):
    """The analysis that aligns words by the attention of a model that reads sentence pairs."""

    # Its corpus is a bitext, and its model is a translation model, so it has a command of its own.

    name = "alignment"
    options = (AlignmentOptions, LanguageOptions)
    of_maps = False
    facts_type = AlignmentFacts
    looked_type = AlignmentLooked
    summary = "alignment: which word translates which, by the attention of a translation model (Kobayashi et al. 2020)."

    def plan(self, options: OptionSet, setting: Setting) -> Plan[AlignmentFacts]:
        """Plan one pass of the model that counts all series and baselines, and one of each copy."""
        chosen, corpus = options[AlignmentOptions], setting.corpus
        if not isinstance(corpus, Bitext):
            raise TypeError("alignment needs sentence pairs")
        gold = (corpus.gold,) if corpus.gold else ()
        # Without gold links nothing is scored, so there are no replicates, copies or baselines either.
        replicates, controls = (chosen.replicates, chosen.controls) if gold else (0, 0)
        baselines = (*BASELINES, *(source.name for source in corpus.hypotheses)) if gold else ()

        series = tuple(all_series(chosen.method, both=chosen.both_directions))
        maker = LinkMaker(series, chosen.merge)
        requests = [
            Request(_name(counted), "alignment", corpus, maker, CountSeries(counted, replicates, setting.seed))
            for counted in series
        ]
        for name in baselines:
            arguments = (("name", name), ("replicates", replicates), ("seed", setting.seed))
            count_links = CountWith(BaselineAccuracy, arguments)
            requests.append(Request(_baseline_name(name), "alignment", corpus, maker, count_links))

        series_of_copies = tuple(all_series(chosen.method))  # those of the forward direction
        maker = LinkMaker(series_of_copies, chosen.merge)
        for copy in range(controls):
            for counted in series_of_copies:
                count = CountSeries(counted, 0, setting.seed)
                requests.append(Request(_name(counted, copy), "control", corpus, maker, count, copy=copy))
        facts = AlignmentFacts(
            method=chosen.method,
            series=series,
            controls=controls,
            baselines=baselines,
            written=chosen.written_direction,
            gold=gold,
            hypotheses=corpus.hypotheses,
        )
        return Plan(tuple(requests), facts, sampled=sampled_maps(series, chosen.merge))

    def follow_up(
        self, options: OptionSet, plan: Plan[AlignmentFacts], counted: Counted[AlignmentFacts], read: Reader
    ) -> AlignmentLooked:
        """Read one short pair once more, to show its maps in the layer that was chosen."""
        facts = counted.facts
        choice = choose(_counts(counted), facts.written, has_gold=bool(facts.gold))
        setting = choice.series.setting
        together = {series.one_way for series in facts.series if (series.heads, series.setting) == (TOGETHER, setting)}
        shown = sorted(together, key=lambda series: ("weight", "norm", "cosine").index(series.measure))
        merge = options[AlignmentOptions].merge
        pairs = (pair for pair in plan.requests[0].inputs if isinstance(pair, SentencePair))
        example = read_example(pairs, shown, choice.layer, merge, read)
        return AlignmentLooked(() if example is None else (example,))

    def results(
        self, options: OptionSet, counted: Counted[AlignmentFacts], needed: Mapping[str, Any], looked: Any
    ) -> AlignmentResults:
        """Make all tables."""
        facts, counts = counted.facts, _counts(counted)
        has_gold = bool(facts.gold)
        baselines = {name: counted.metric(_baseline_name(name), BaselineAccuracy).compute() for name in facts.baselines}
        controls = [tables(_counts(counted, copy), baselines).best for copy in range(facts.controls)]
        return AlignmentResults(
            method=facts.method,
            tables=tables(counts, baselines, has_gold=has_gold),
            controls=tuple(controls),
            chosen=choose(counts, facts.written, has_gold=has_gold),
            example=first_example(looked.examples),
        )

    def section(self, results: AlignmentResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        return alignment_section(results, titles)

    def show(self, results: AlignmentResults, width: int) -> RenderableType:
        """Return a table of error rates, layer by layer, of the best layers and heads, and of baselines."""
        return in_terminal(results, width)

    def explored(
        self, options: OptionSet, counted: Counted[AlignmentFacts], results: AlignmentResults, kind: str | None
    ) -> Contribution:
        """Return the error rate of every head by weight and by norm."""
        return explored_alignment(results)

    def record(self, options: OptionSet, counted: Counted[AlignmentFacts], results: AlignmentResults) -> dict[str, Any]:
        """Return where links are from, and which links are written."""
        choice = results.chosen
        return {
            "alignment": {
                "gold": asdict(counted.facts.gold[0]) if counted.facts.gold else None,
                "baselines": {source.name: asdict(source) for source in counted.facts.hypotheses},
                "lowest_error_rate" if choice.by_gold else "largest_norm": {
                    "setting": choice.series.setting,
                    "measure": choice.series.measure,
                    "direction": choice.series.direction,
                    "layer": choice.layer + 1,
                },
            }
        }


def _name(series: Series, copy: int | None = None) -> str:
    """Return the name of the request of a series."""
    return f"alignment/{series.label}" + ("" if copy is None else f"/control-{copy + 1}")


def _baseline_name(name: str) -> str:
    """Return the name of the request of a baseline."""
    return f"alignment/baseline/{name}"


def _counts(counted: Counted[AlignmentFacts], copy: int | None = None) -> dict[Series, AlignmentCounts]:
    """Return the counts of all series of the model or of one of its copies."""
    return {
        series: counted.metric(_name(series, copy), AlignmentAccuracy).compute()
        for series in counted.facts.series
        if copy is None or series.direction == FORWARD
    }
