"""A command that counts a corpus for analyses: what it was asked to do, and how it prepares itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from ..analyses.contract import OptionSet
from ..analyses.shared.input_options import ModelOptions
from ..corpora_loaders import Corpus
from ..extractors.model.loaded_model import LoadedModel
from ..reports.progress import Stages
from .preparing import Prepared
from .run import Run


@dataclass(frozen=True)
class Job(ABC):
    """What a command that counts a corpus for analyses was asked to do. It can be sent to other processes.

    What follows after `prepare` is the same for all of them, see `attentionology.engine.execution`.
    """

    groups: OptionSet = field(default_factory=OptionSet)  # the option groups that differ from their defaults, at least
    model_options: ClassVar[type[ModelOptions]] = ModelOptions

    @property
    @abstractmethod
    def kinds(self) -> Iterable[type[Any]]:
        """The classes of all option groups of the command, in the order of the run record."""

    @property
    def model(self) -> ModelOptions:
        """The options of the model."""
        return self.groups[self.model_options]

    def on_device(self, device: str) -> Self:
        """Return the same job with the model on another device."""
        return replace(self, groups=self.groups.with_group(replace(self.model, device=device)))

    def flat(self) -> dict[str, Any]:
        """Return all options by the names that they have on the command line, for the run record and the report."""
        flat = {name: value for kind in self.kinds for name, value in asdict(self.groups[kind]).items()}
        return {name: str(value) if isinstance(value, Path) else value for name, value in flat.items()}

    @abstractmethod
    def paths_read(self, corpus: Corpus | None = None) -> list[Path]:
        """Return the paths that the run reads, which the results folder must not replace."""

    def check(self, corpus: Corpus | None = None) -> None:
        """Validate the options before anything slow happens; the corpus is given if it has been loaded."""
        for kind in self.kinds:
            self.groups[kind].check()

    @abstractmethod
    def prepare(
        self, *, model: LoadedModel | None = None, corpus: Corpus | None = None, stages: Stages | None = None
    ) -> Prepared:
        """Read the corpus and load the model, unless they are given. The options have been checked."""

    def finish(self, run: Run, prepared: Prepared, stages: Stages) -> None:  # noqa: B027 most jobs have nothing to do
        """Do what follows the results, before the report is written. By default it is nothing."""
