"""The options of a survey, and the run that each of its cells is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from ...analyses.contract import OptionError, OptionSet
from ...analyses.dependency.options import DependencyOptions
from ...analyses.shared.builtin import DEMO, SAMPLE, corpus_path
from ...analyses.shared.input_options import ExampleOptions, LimitOptions, ModelOptions
from ...analyses.shared.numbers import Seed
from ...analyses.shared.option_types import Device, PieceMerging, RowScaling, SentenceLimit, TreebankWords
from ...analyses.shared.options import ControlOptions, CountOptions, FeedForwardOptions, MapOptions
from ...analyses.shared.part_options import PartOptions
from ..corpus import CorpusOptions

if TYPE_CHECKING:
    from ...corpora_loaders.releases import Matches
    from ..analyze import AnalyzeJob

_ENDING = re.compile(r"(\.conll[ux]?)?(\.(gz|bz2|xz))?$")


@dataclass(frozen=True)
class GridOptions:
    """Options of the grid."""

    models: Annotated[tuple[str, ...], arg(metavar="MODEL [MODEL ...]")] = (DEMO,)
    """The models: folders, ids on the Hugging Face Hub, or 'demo'. ID@REVISION chooses a branch, tag or commit of a
    model on the Hub. Every other model is compared with the first."""

    treebanks: Annotated[tuple[str, ...], arg(metavar="FILE [FILE ...]")] = (SAMPLE,)
    """The treebanks: one CoNLL-U or CoNLL-X file each, which may be compressed (.gz, .bz2 or .xz), or 'sample'.
    Treebanks of Universal Dependencies can be given by name, such as ud:fr_gsd:dev, and all whose code matches by a
    pattern in quotation marks, such as 'ud:fr_*:dev'. Those of a pattern that have no such split, or were released
    without their words, are left out with a warning."""

    maps: Annotated[tuple[str, ...], arg(metavar="KIND [KIND ...]")] = MapOptions.map
    """The kinds of maps, see --map of analyze. All kinds are made in one pass for each model and treebank. Every other
    kind is compared with the first."""

    relation: Annotated[str, arg(metavar="NAME")] = "all-nopunct-noroot"
    """The relation that the terminal and the figures show; by default the first one of --relations, if it is given. The
    page has a selector for all relations, and the tables contain all of them."""

    @cached_property
    def named(self) -> Matches:
        """The treebanks after patterns have been replaced by the names that they stand for, each once."""
        from ...corpora_loaders.releases import Matches, is_pattern, matching_treebanks

        names, left_out = dict[str, None](), dict[str, str]()
        for given in self.treebanks:
            matches = matching_treebanks(given) if is_pattern(given) else Matches((given,), {})
            names |= dict.fromkeys(matches.names)
            left_out |= matches.left_out
        return Matches(tuple(names), left_out)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.models) * len(self.named.names)

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        for flag, names in (("--models", self.models), ("--treebanks", self.treebanks), ("--maps", self.maps)):
            if not names:
                raise OptionError(f"{flag} needs at least one name")
            if repeated := next((name for name, times in Counter(names).items() if times > 1), None):
                raise OptionError(f"{flag} names {repeated} twice")


@dataclass(frozen=True)
class CellOptions:
    """Options of every cell."""

    merge: PieceMerging = MapOptions.merge
    normalize: RowScaling = MapOptions.normalize
    tokens: TreebankWords = CorpusOptions.tokens
    limit: SentenceLimit = None
    device: Device = ModelOptions.device


@dataclass(frozen=True)
class SurveyOptions:
    """All options of a survey apart from those of its results."""

    grid: GridOptions = field(default_factory=GridOptions)
    cells: CellOptions = field(default_factory=CellOptions)
    dependency: DependencyOptions = field(default_factory=DependencyOptions)
    control: ControlOptions = field(default_factory=ControlOptions)
    count: CountOptions = field(default_factory=CountOptions)
    feed_forward: FeedForwardOptions = field(default_factory=FeedForwardOptions)
    limits: LimitOptions = field(default_factory=LimitOptions)

    seed: Seed = 0
    """The seed of everything random: the bootstrap, the halves of the treebanks, and the weights of the control."""

    long_run: PartOptions = field(default_factory=PartOptions)

    @property
    def shown_relation(self) -> str:
        """The relation that the terminal and the figures show: by default a total, or the first one that is asked."""
        relation, asked = self.grid.relation, self.dependency.relations
        return asked[0] if asked and relation == GridOptions.relation else relation

    def models(self) -> dict[str, ModelOptions]:
        """The options of each model, by its name in tables."""
        return {name: _model_options(name, self.cells.device) for name in self.grid.models}

    def treebanks(self) -> dict[str, str]:
        """The file of each treebank by its name in tables, which is that of the file unless two would have one name."""
        paths = self.grid.named.names
        short = [_ENDING.sub("", Path(path).name) or path for path in paths]
        taken = Counter([*short, *paths])
        return {name if taken[name] == 1 else path: corpus_path(path) for name, path in zip(short, paths, strict=True)}

    def job(self, model: ModelOptions, treebank: str, maps: Sequence[str] | None = None) -> AnalyzeJob:
        """Return the run of one cell, which keeps no examples because no page shows them."""
        from ..analyze import AnalyzeJob

        cells = self.cells
        groups = OptionSet(
            [
                model,
                CorpusOptions(corpus=(treebank,), tokens=cells.tokens, limit=cells.limit),
                MapOptions(self.grid.maps if maps is None else tuple(maps), cells.merge, cells.normalize),
                self.dependency,
                self.control,
                self.count,
                self.feed_forward,
                self.limits,
                ExampleOptions(0),
            ]
        )
        return AnalyzeJob(groups, ("dependency",), self.seed)

    def check(self) -> None:
        """Check all options that do not depend on a single model or treebank."""
        from ...analyses.shared.options import map_makers

        self.grid.check()
        self.long_run.check()
        if self.dependency.spanning_trees:
            raise OptionError("--spanning-trees is an option of analyze: a survey has no table of trees")
        self.job(ModelOptions(), SAMPLE).check()
        map_makers(self.grid.maps, self.cells.merge, self.cells.normalize)


def _model_options(name: str, device: str) -> ModelOptions:
    """Return the options of the model of this name, which may be ``MODEL@REVISION``, unless it is that of a folder."""
    model, _, revision = name.rpartition("@")
    if not model or not revision or "/" in revision or Path(name).exists():
        return ModelOptions(name, None, device)
    return ModelOptions(model, revision, device)
