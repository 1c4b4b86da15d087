"""A run that is served: what its page shows, the names of its heads, and the corpus that it has read."""

from __future__ import annotations

import threading
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from ...analyses.contract import AnalysisRow, OptionError
from ...analyses.coreference.options import CoreferenceOptions
from ...corpora_loaders import AttentionologyError, Corpus, Sentence
from ...corpora_loaders.documents import Documents
from ...extractors import Encoder, Windows, make_windows
from ...reports.explorer.data import Explorer, HeadName
from ...reports.explorer.names import check_names, read_names, write_names
from ..read_again import corpus_of, rows_of
from ..results.run import Run
from ..stored_run import load_run
from .errors import ChangedError, RequestError


class ServedRun:
    """A run that is served.

    Args:
        run: the run, or its folder.
        explorer: what the page shows, in place of the explorer of the run.
        corpus: what the run has read, if it was no file.

    Raises:
        OptionError: the run is not one of heads, such as a comparison.
        StateError: the folder has no states, or damaged ones.
    """

    def __init__(
        self, run: Run | str | Path, *, explorer: Explorer | None = None, corpus: Corpus | None = None
    ) -> None:
        self.run = run if isinstance(run, Run) else load_run(run)
        model = self.run.record.get("model", {})
        if "layers" not in model:
            raise OptionError(f"{self.run.folder or self.run} has no heads that could be served")
        self._explorer = self.run.explorer() if explorer is None else explorer
        self._names = self._explorer.names
        self._reading = threading.Lock()
        self._corpus = corpus
        self._windows: dict[int, Windows] = {}  # of each encoder that has cut them, by its id

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of layers, and of heads of each layer."""
        return self._explorer.layers, self._explorer.heads

    @property
    def explorer(self) -> Explorer:
        """What the page shows, with the names that heads have now."""
        return replace(self._explorer, names=self._names)

    def name_heads(self, plain: Any, base: Any) -> tuple[HeadName, ...]:
        """Give heads names, which replace all earlier ones, and keep them in the folder of the run.

        Args:
            plain: the names, as plain data.
            base: the names before, which somebody has changed. Another page may have kept others meanwhile.

        Raises:
            HeadNameError: they are not names of heads of this model.
            StorageError: the file cannot be written; the earlier names are kept.
            ChangedError: the names before are not those that are kept; nothing is written.
            RequestError: the run has no folder.
        """
        names, before = check_names(plain, self.shape), check_names(base, self.shape)
        if self.run.folder is None:
            raise RequestError("This run is not saved, so names of heads cannot be kept: run.save(folder)", 409)
        self._names = read_names(self.run.folder, self.shape)
        if before != self._names:
            now = {"names": [asdict(name) for name in self._names]}
            raise ChangedError("Names of heads have been changed on another page; load this one again.", now)
        write_names(self.run.folder, names)
        self._names = names
        return names

    def corpus(self) -> Corpus:
        """Read the corpus of the run, if its files are still those that the run has read.

        Raises:
            RequestError: a file is missing or has changed.
        """
        with self._reading:
            if self._corpus is None:
                self._corpus = self._read()
            return self._corpus

    def windows(self, encoder: Encoder) -> Windows:
        """Cut the documents of the run into the windows in which it has read their mentions.

        Raises:
            RequestError: a file is missing or has changed, or the run has read no mentions.
        """
        corpus = self.corpus()
        if not isinstance(corpus, Documents) or not self._reads_mentions:
            raise RequestError("This run has read no mentions, so there is no coreference to count.", 409)
        with self._reading:
            if id(encoder) not in self._windows:
                stride, length = self.run.options[CoreferenceOptions].stride, self.run.record["options"]["max_length"]
                self._windows[id(encoder)] = make_windows(encoder, corpus, length=length, stride=stride)
            return self._windows[id(encoder)]

    def sentence(self, name: str, encoder: Encoder) -> Sentence:
        """Return the sentence, or the window of a document, with this id.

        Raises:
            RequestError: there is none, or the corpus cannot be read.
        """
        sources: list[Corpus] = [self.windows(encoder)] if self._reads_mentions else []
        for sentence in chain(*sources, self.corpus()):
            if sentence.id == name:
                return sentence
        raise RequestError(f"The corpus of this run has no sentence with the id {name!r:.80}.", 404)

    @property
    def _analyses(self) -> list[AnalysisRow]:
        """The rows of the analyses of the run."""
        return rows_of([part.analysis.name for part in self.run.parts])

    @property
    def _reads_mentions(self) -> bool:
        return any(row.of_mentions for row in self._analyses)

    def _read(self) -> Corpus:
        """Read the files that the record of the run names, as the run has read them."""
        try:
            return corpus_of(self.run.record, self._analyses)
        except (AttentionologyError, OSError) as error:
            message = str(error)
            raise RequestError(
                f"{message[0].upper()}{message[1:]}, so the page has the stored sentences alone.", 409
            ) from error
