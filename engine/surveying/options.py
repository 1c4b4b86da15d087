"""The options of a survey, and the options of the run that each of its cells is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from ...analyses.contract import OptionError, OptionSet
from ...analyses.shared.builtin import DEMO, SAMPLE, corpus_path
from ...analyses.shared.input_options import (
    ExampleOptions,
    LimitOptions,
    ModelOptions,
    at_least_one,
    check_seed,
)
from ...analyses.shared.option_types import (
    Device,
    PieceMerging,
    RowScaling,
    SentenceLimit,
    TreebankWords,
)
from ...analyses.shared.options import MapOptions
from ..corpus import CorpusOptions
from ..part_options import PartOptions

if TYPE_CHECKING:
    from ..analyze import AnalyzeJob

ANALYSIS = "dependency"
"""The analysis that a survey runs in each cell."""

_ENDINGS = (".gz", ".bz2", ".xz", ".conllu", ".conllx", ".conll")


@dataclass(frozen=True)
class SurveyedModel:
    """A model of a survey.

    Attributes:
        name: the name in tables.
        model: the folder, or the name on the Hub.
        revision: the branch, tag or commit; None for the default.
    """

    name: str
    model: str
    revision: str | None = None

    @classmethod
    def of(cls, name: str) -> SurveyedModel:
        """Return the model of this name, which may be ``MODEL@REVISION``, unless there is a folder of this name.

        Example:
            >>> SurveyedModel.of("google-bert/bert-base-uncased@main").revision
            'main'
        """
        model, separator, revision = name.rpartition("@")
        if not separator or not model or not revision or "/" in revision or Path(name).exists():
            return cls(name, name)
        return cls(name, model, revision)


@dataclass(frozen=True)
class SurveyedTreebank:
    """A treebank of a survey.

    Attributes:
        name: the name in tables.
        path: the file.
    """

    name: str
    path: str


@dataclass(frozen=True)
class GridOptions:
    """Options of the grid.

    Example:
        >>> options = GridOptions(models=("demo",), treebanks=("ud/en_ewt-ud-dev.conllu", "ud/fr_gsd-ud-dev.conllu.gz"))
        >>> [treebank.name for treebank in options.all_treebanks()]
        ['en_ewt-ud-dev', 'fr_gsd-ud-dev']
    """

    models: Annotated[tuple[str, ...], arg(metavar="MODEL [MODEL ...]")] = (DEMO,)
    """The models: folders, ids on the Hugging Face Hub, or 'demo'. ID@REVISION chooses a branch, tag or commit of a
    model on the Hub. Every other model is compared with the first."""

    treebanks: Annotated[tuple[str, ...], arg(metavar="FILE [FILE ...]")] = (SAMPLE,)
    """The treebanks: one CoNLL-U or CoNLL-X file each, which may be compressed (.gz, .bz2 or .xz), or 'sample'."""

    maps: Annotated[tuple[str, ...], arg(metavar="KIND [KIND ...]")] = MapOptions.map
    """The kinds of maps, see --map of analyze. All kinds are made in one pass for each model and treebank. Every other
    kind is compared with the first."""

    relation: Annotated[str, arg(metavar="NAME")] = "all-nopunct-noroot"
    """The relation that the terminal and the figures show. The page has a selector for all relations, and the tables
    contain all of them."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        for flag, names in (("--models", self.models), ("--treebanks", self.treebanks), ("--maps", self.maps)):
            if not names:
                raise OptionError(f"{flag} needs at least one name")
            if repeated := next((name for name, times in Counter(names).items() if times > 1), None):
                raise OptionError(f"{flag} names {repeated} twice")

    def all_models(self) -> list[SurveyedModel]:
        """The models in order."""
        return [SurveyedModel.of(name) for name in self.models]

    def all_treebanks(self) -> list[SurveyedTreebank]:
        """The treebanks in order. They are named after their files, or by their paths if two files have one name."""
        short = [_without_ending(path) for path in self.treebanks]
        times = Counter(short)
        return [
            SurveyedTreebank(name if times[name] == 1 else path, corpus_path(path))
            for name, path in zip(short, self.treebanks, strict=True)
        ]


@dataclass(frozen=True)
class CellOptions:
    """Options of every cell."""

    merge: PieceMerging = MapOptions.merge
    normalize: RowScaling = MapOptions.normalize
    tokens: TreebankWords = CorpusOptions.tokens
    limit: SentenceLimit = None
    device: Device = ModelOptions.device

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        at_least_one(self, "limit")


@dataclass(frozen=True)
class LongSurveyOptions:
    """Options of long surveys."""

    parts: Annotated[Path | None, arg(metavar="FOLDER")] = PartOptions.parts
    """Keep the counts of every cell in this folder. The same command continues a survey that was interrupted, and cells
    that are counted already are not counted again."""

    workers: Annotated[int, arg(metavar="N")] = 1
    """Count each cell in N processes, each with one thread on a CPU, or with one of the GPUs if --device is cuda. The
    results do not depend on it."""

    part: Annotated[str | None, arg(metavar="K/N")] = None
    """Only count the K-th of N shares of the parts that are missing in the folder of --parts, and make no report. Each
    task of a job array counts one share of all cells; then the command without --part makes the report."""

    def part_options(self) -> PartOptions:
        """The options of parts that every cell has."""
        return PartOptions(parts=self.parts, workers=self.workers, part=self.part)

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        self.part_options().check()


@dataclass(frozen=True)
class SurveyOptions:
    """All options that determine what a survey computes.

    Attributes:
        grid: the models, the treebanks and the kinds of maps.
        cells: options that all cells share.
        groups: the options of the analysis, without the kinds of maps.
        limits: which sentences are read, and how many at once.
        seed: the seed of everything random.
    """

    grid: GridOptions = field(default_factory=GridOptions)
    cells: CellOptions = field(default_factory=CellOptions)
    groups: OptionSet = field(default_factory=OptionSet)
    limits: LimitOptions = field(default_factory=LimitOptions)
    seed: int = 0

    def job(self, model: SurveyedModel, treebank: SurveyedTreebank, maps: Sequence[str]) -> AnalyzeJob:
        """Return the run of one cell, which keeps no examples because no page shows them."""
        from ..analyze import AnalyzeJob

        groups = [
            *self.groups,
            MapOptions(tuple(maps), self.cells.merge, self.cells.normalize),
            ModelOptions(model.model, model.revision, self.cells.device),
            CorpusOptions(corpus=(treebank.path,), tokens=self.cells.tokens, limit=self.cells.limit),
            self.limits,
            ExampleOptions(0),
        ]
        return AnalyzeJob(OptionSet(groups), (ANALYSIS,), self.seed)

    def check(self) -> None:
        """Validate all options that do not depend on a single model or treebank."""
        self.grid.check()
        self.cells.check()
        self.limits.check()
        check_seed(self.seed)
        for group in self.groups:
            group.check()
        sample = SurveyedTreebank(SAMPLE, corpus_path(SAMPLE))
        self.job(SurveyedModel(DEMO, DEMO), sample, self.grid.maps).check()

    def check_maps(self) -> None:
        """Check that all kinds of maps exist. This needs the libraries that make maps, unlike `check`."""
        from ...analyses.shared.map_facts import map_makers

        map_makers(self.grid.maps, self.cells.merge, self.cells.normalize)


def _without_ending(path: str) -> str:
    name = Path(path).name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name or path
