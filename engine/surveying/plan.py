"""A survey with its models and treebanks, and the run that each of its cells is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...analyses.contract import OptionError, OptionSet
from ...analyses.shared.builtin import SAMPLE, corpus_path
from ...analyses.shared.input_options import ExampleOptions, ModelOptions
from ...analyses.shared.options import MapOptions, map_makers
from ...analyses.surface.options import SurfaceOptions
from ...analyses.survey.seed_groups import seed_groups, seed_patterns
from ...corpora_loaders.releases import Matches, is_pattern, matching_treebanks
from ..analyze import AnalyzeJob
from ..corpus import CorpusOptions
from .options import SurveyOptions

_ENDING = re.compile(r"(\.conll[ux]?)?(\.(gz|bz2|xz))?$")


@dataclass(frozen=True, eq=False)
class SurveyPlan:
    """The models and treebanks of a survey, by the names that they have in tables."""

    options: SurveyOptions
    models: Mapping[str, ModelOptions]
    treebanks: Mapping[str, str]  # their files
    left_out: Mapping[str, str]  # treebanks that a pattern names and that cannot be read, with reasons

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.models) * len(self.treebanks)


def plan_survey(options: SurveyOptions) -> SurveyPlan:
    """Find the models and treebanks of a survey. Treebanks that a pattern names are fetched."""
    models = {name: _model_options(name, options.cells.device) for name in options.grid.models}
    paths, left_out = dict[str, None](), dict[str, str]()  # each treebank once
    for entry in options.grid.treebanks:  # names and patterns
        matches = matching_treebanks(entry) if is_pattern(entry) else Matches((entry,), left_out={})
        paths |= dict.fromkeys(matches.names)
        left_out |= matches.left_out
    # The name of a treebank is that of its file unless two would have one name.
    short_names = [_ENDING.sub("", Path(path).name) or path for path in paths]
    uses = Counter([*short_names, *paths])
    names = [short if uses[short] == 1 else path for short, path in zip(short_names, paths, strict=True)]
    return SurveyPlan(options, models, dict(zip(names, map(corpus_path, paths), strict=True)), left_out)


def check_survey(options: SurveyOptions) -> None:
    """Check all options that do not depend on a single model or treebank."""
    grid, cells = options.grid, options.cells
    grid.check()
    options.long_run.check()
    if options.dependency.spanning_trees:
        raise OptionError("--spanning-trees is an option of analyze: a survey has no table of trees")
    if options.dependency.pairs is not None:
        raise OptionError("--pairs is not for a survey, whose treebanks have sentences of their own; use analyze")
    if cells.detectors and not seed_groups(grid.models, seed_patterns(grid.seeds, grid.models)):
        raise OptionError("--detectors has an effect only on models that differ by their seeds, see --seeds")
    job_of_cell(options, ModelOptions(), SAMPLE).check()  # the options that all cells have in common
    map_makers(grid.maps, cells.merge, cells.normalize)  # only for the errors of kinds that there are not


def job_of_cell(
    options: SurveyOptions, model: ModelOptions, treebank: str, maps: Sequence[str] | None = None
) -> AnalyzeJob:
    """Return the run of one cell, which keeps no examples if no page shows them."""
    cells = options.cells
    groups = OptionSet(
        [
            model,
            CorpusOptions(
                corpus=(treebank,),
                format=cells.format,
                tokens=cells.tokens,
                limit=cells.limit,
                lenient=cells.lenient,
                punctuation=cells.punctuation,
            ),
            MapOptions(options.grid.maps if maps is None else tuple(maps), cells.merge, cells.normalize),
            options.dependency,
            options.control,
            options.count,
            options.feed_forward,
            options.limits,
            ExampleOptions(None if cells.reports else 0),
            *((SurfaceOptions(gradients="none", detectors=cells.detectors),) if cells.detectors else ()),
        ]
    )
    return AnalyzeJob(groups, ("dependency", "surface") if cells.detectors else ("dependency",), options.seed)


def _model_options(name: str, device: str) -> ModelOptions:
    """Return the options of the model of this name. It may be ``MODEL@REVISION``, unless it is that of a folder."""
    model, _, revision = name.rpartition("@")
    # An @ with a slash after it is part of the name of a folder.
    if not model or not revision or "/" in revision or Path(name).exists():
        return ModelOptions(name, revision=None, device=device)
    return ModelOptions(model, revision, device)
