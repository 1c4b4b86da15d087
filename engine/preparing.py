"""From options to plans: the corpus is read, the model is loaded, and all analyses say what they want."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from attentionology.analyses.contract import Analysis, MapChoice, OptionError, OptionSet, Request, Setting
from attentionology.analyses.shared.builtin import load_encoder, load_head
from attentionology.analyses.shared.map_facts import map_maker
from attentionology.analyses.shared.options import FeedForwardOptions, MapOptions
from attentionology.corpora_loaders import Corpus, PlainText
from attentionology.engine.corpus import cut_text
from attentionology.engine.pass_counts import Limits
from attentionology.engine.passes import Pass, plan_passes
from attentionology.engine.plain_data import to_plain
from attentionology.engine.run_options import RunOptions
from attentionology.engine.sampling import PlannedAnalysis, sample_requests
from attentionology.extractors import DEFAULT_BATCH_CELLS
from attentionology.reports.progress import Stages

if TYPE_CHECKING:
    import pandas as pd

    from attentionology.extractors import Encoder
    from attentionology.extractors.model.loaded_model import LoadedModel


@dataclass(frozen=True)
class Prepared:
    """A run that can begin.

    Attributes:
        chosen: the analyses, each after those whose results it needs.
        setting: the model, the corpus and what else the analyses plan with.
        maps: the kinds of maps.
        limits: which inputs are read, and how many at once.
        examples: the number of inputs that are kept with their maps.
        options: the options of the analyses.
        tables: tables that describe the corpus.
    """

    chosen: tuple[Analysis[Any, Any], ...]
    setting: Setting
    maps: tuple[MapChoice, ...]
    limits: Limits
    examples: int
    options: OptionSet
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def model(self) -> LoadedModel:
        """The model."""
        return self.setting.model

    def described(self) -> dict[str, Any]:
        """Everything besides the model and the text on which counts depend, as plain data."""
        groups = {kind for analysis in self.chosen for kind in analysis.options}
        return {
            "groups": {kind.__name__: to_plain(self.options[kind], kind.__name__) for kind in groups},
            "analyses": [analysis.name for analysis in self.chosen],
            "maps": [asdict(choice) for choice in self.maps],
            "limits": asdict(self.limits),
            "examples": self.examples,
            "seed": self.setting.seed,
        }


@dataclass(frozen=True)
class Planned:
    """The plans of a run, and the passes that serve them.

    Attributes:
        plans: each analysis with the kind of map and its plan.
        samples: the requests that keep inputs with their maps.
        passes: the passes in order.
    """

    plans: tuple[PlannedAnalysis, ...]
    samples: tuple[Request, ...]
    passes: tuple[Pass, ...]


def prepare(
    options: RunOptions,
    chosen: Sequence[Analysis[Any, Any]],
    *,
    encoder: Encoder | None = None,
    corpus: Corpus | None = None,
    stages: Stages | None = None,
) -> Prepared:
    """Read the corpus and load the model.

    Args:
        options: the options of the run, which have been checked.
        chosen: the analyses.
        encoder: the model, if it has been loaded.
        corpus: the corpus, if it has been loaded.
        stages: receives the times of the stages.

    Raises:
        OptionError, CorpusError, ModelError: an option cannot be used, or the corpus or the model cannot be read.
    """
    stages, files, model = stages or Stages(), options.files, options.model
    if corpus is None:
        with stages("read the corpus"):
            corpus = files.read(chosen)
    map_options, ff_bias = options.groups[MapOptions], options.groups[FeedForwardOptions].ff_bias
    maps = tuple(MapChoice(kind, map_options.merge, map_options.normalize, ff_bias) for kind in map_options.map)
    with stages("load the model"):
        for choice in maps:
            try:
                map_maker(choice)
            except ValueError as error:
                raise OptionError(str(error)) from None
        encoder = encoder or load_encoder(model.model, revision=model.revision, device=model.device)
    tables: dict[str, pd.DataFrame] = {}
    if isinstance(corpus, PlainText) and files.segments is not None:
        with stages("cut the text"):
            limit, seed = options.limits.max_length, options.seed
            corpus, tables["segments"] = cut_text(files, corpus, encoder, max_length=limit, seed=seed)
    setting = Setting(
        model=encoder,
        corpus=corpus,
        chosen=tuple(analysis.name for analysis in chosen),
        seed=options.seed,
        max_length=options.limits.max_length,
        load_masked_lm=functools.cache(lambda: load_head(encoder)),
    )
    limits = Limits(
        options.limits.batch_cells or DEFAULT_BATCH_CELLS, options.limits.too_long, options.limits.max_length
    )
    return Prepared(tuple(chosen), setting, maps, limits, options.examples.examples, options.groups, tables)


def plan_analyses(prepared: Prepared) -> Planned:
    """Ask all analyses for their plans, and group the requests into passes.

    Args:
        prepared: the run. The field ``maps`` of its setting is replaced by each of its maps in turn.

    Raises:
        OptionError, CorpusError, ModelError: a plan cannot be made; see `Analysis.plan`.
    """
    plans: list[PlannedAnalysis] = []
    for analysis in prepared.chosen:
        for choice in prepared.maps if analysis.of_maps else prepared.maps[:1]:
            plan = analysis.plan(prepared.options, replace(prepared.setting, maps=choice))
            plans.append((analysis, choice.kind if analysis.of_maps else None, plan))
    samples = sample_requests(
        plans, prepared.maps, prepared.options, examples=prepared.examples, seed=prepared.setting.seed
    )
    requests = [request for _, _, plan in plans for request in plan.requests]
    return Planned(tuple(plans), samples, tuple(plan_passes([*requests, *samples])))
