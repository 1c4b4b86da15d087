"""The options of a run, with which every process that takes part in it prepares itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from ..corpora_loaders import Corpus
    from ..extractors.model.loaded_model import LoadedModel
    from ..reports.progress import Stages
    from .preparing import Prepared
    from .run import Run


class Job(ABC):
    """All options that determine what a run computes: which analyses, of which corpus, with which model.

    Every command that counts a corpus for analyses is a subclass. What follows after `prepare` is the same for all of
    them (see `attentionology.engine.execution`): passes, parts, workers, results, the report and the run record.

    A job is a frozen dataclass that can be sent to other processes. Each of them prepares the run again.
    """

    @property
    @abstractmethod
    def device(self) -> str:
        """The device of the model."""

    @abstractmethod
    def check(self, corpus: Corpus | None = None) -> None:
        """Validate the options before anything slow happens.

        Args:
            corpus: the corpus, if it has been loaded.

        Raises:
            OptionError, CorpusError: an option cannot be used, or contradicts another one.
        """

    @abstractmethod
    def prepare(
        self, *, model: LoadedModel | None = None, corpus: Corpus | None = None, stages: Stages | None = None
    ) -> Prepared:
        """Read the corpus and load the model. The options have been checked.

        Args:
            model: the model, if it has been loaded.
            corpus: the corpus, if it has been loaded.
            stages: receives the times of the stages.

        Raises:
            OptionError, CorpusError, ModelError: an option cannot be used, or the corpus or the model cannot be read.
        """

    @abstractmethod
    def on_device(self, device: str) -> Self:
        """Return the same job with the model on another device."""

    @abstractmethod
    def flat(self) -> dict[str, Any]:
        """Return all options by the names that they have on the command line, for the run record.

        The report reads ``limit`` among them, and the pages of analyses read their own options.
        """

    @abstractmethod
    def paths_read(self, corpus: Corpus | None = None) -> list[Path]:
        """Return the paths that the run reads, which the results folder must not replace.

        Args:
            corpus: the corpus, if it has been loaded.
        """

    def finish(self, run: Run, prepared: Prepared, stages: Stages) -> None:  # noqa: B027 most jobs have nothing to do
        """Do what follows the results, before the report is written. By default it is nothing.

        Args:
            run: the results.
            prepared: the run, whose model can read more inputs.
            stages: receives the times of the stages.
        """
