"""The options of a survey."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from tyro.conf import arg

from ...analyses.contract import OptionError
from ...analyses.dependency.options import DependencyOptions
from ...analyses.option_groups import Bounds
from ...analyses.shared.builtin import SAMPLE
from ...analyses.shared.input_options import LimitOptions, ModelOptions
from ...analyses.shared.numbers import Seed
from ...analyses.shared.option_types import (
    Device,
    FormatName,
    Lenient,
    PieceMerging,
    PunctuationNames,
    RowScaling,
    SentenceLimit,
    TreebankWords,
)
from ...analyses.shared.options import ControlOptions, CountOptions, FeedForwardOptions, MapOptions
from ...analyses.shared.part_options import PartOptions
from ...analyses.survey.seed_groups import seed_patterns
from ...extractors.model.named import DEMO
from ...storage.paths import find_repetition
from ..corpus import CorpusOptions


@dataclass(frozen=True)
class GridOptions:
    """Options of the grid."""

    models: Annotated[tuple[str, ...], arg(metavar="MODEL [MODEL ...]")] = (DEMO,)
    """The models: folders, ids on the Hugging Face Hub, or 'demo'. ID@REVISION chooses a branch, tag or commit of a
    model on the Hub. Every other model is compared with the first."""

    treebanks: Annotated[tuple[str, ...], arg(metavar="FILE [FILE ...]")] = (SAMPLE,)
    """The treebanks: one file each, in any format that analyze reads, which may be compressed (.gz, .bz2 or .xz), or
    'sample'. Treebanks of Universal Dependencies can be given by name, such as ud:fr_gsd:dev, and all whose code
    matches by a pattern in quotation marks, such as 'ud:fr_*:dev'. Those of a pattern that have no such split, or were
    released without their words, are left out with a warning."""

    maps: Annotated[tuple[str, ...], arg(metavar="KIND [KIND ...]")] = MapOptions.map
    """The kinds of maps, see --map of analyze. All kinds are made in one pass for each model and treebank. Every other
    kind is compared with the first."""

    relation: Annotated[str, arg(metavar="NAME")] = "all-nopunct-noroot"
    """The relation that the terminal and the figures show; by default the first one of --relations, if it is given. The
    page has a selector for all relations, and the tables contain all of them."""

    seeds: Annotated[tuple[str, ...], arg(metavar="NAME=PATTERN [NAME=PATTERN ...]")] = ()
    """Models that differ only by the seed of their training: a name for them and a pattern of their names, in which one
    * stands for the seed (small='runs/small-*'), which has letters and digits only. By default, models are seeds of one
    another if their names differ only in the number after 'seed'."""

    def check(self) -> None:
        """Raise `OptionError` for a name that is given twice, for no names, and for seeds that are no models."""
        for flag, names in (("--models", self.models), ("--treebanks", self.treebanks), ("--maps", self.maps)):
            if not names:
                raise OptionError(f"{flag} needs at least one name")
            if twice := find_repetition(names):
                also = "" if twice[0] == twice[1] else f", also as {twice[1]}"
                raise OptionError(f"{flag} names {twice[0]} twice{also}")
        seed_patterns(self.seeds, self.models)


@dataclass(frozen=True)
class CellOptions:
    """Options of every cell."""

    merge: PieceMerging = MapOptions.merge
    normalize: RowScaling = MapOptions.normalize
    format: FormatName = None
    tokens: TreebankWords = CorpusOptions.tokens
    limit: SentenceLimit = None
    lenient: Lenient = False
    punctuation: PunctuationNames = ()
    device: Device = ModelOptions.device

    detectors: Annotated[int, Bounds(0)] = 0
    """Look for duplicate and induction heads in N sequences of random pieces, each of which a model reads twice in a
    row, and in the treebank, if models differ only by their seeds: heads of seeds are then matched by these scores,
    too. 20 are enough. With 0, they are matched by the relations that they find."""

    reports: bool = False
    """Write a report of each cell with its sentences, as analyze does, to the folder runs in the results folder. The
    heads on the page of the survey then lead to these reports. Each takes some seconds and about 15 MB."""


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
        """The relation in the terminal and the figures: --relation, by default the first of --relations or a total."""
        relation, asked = self.grid.relation, self.dependency.relations
        return asked[0] if asked and relation == GridOptions.relation else relation
