"""``attentionology show``: heads drawn on sentences."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from ..analyses.contract import OptionError
from ..analyses.shared.input_options import ModelOptions, paths_read
from ..analyses.shared.option_types import FormatName, TreebankWords
from ..analyses.shared.options import MapOptions
from ..reports.streams import say
from ..storage.paths import check_file

if TYPE_CHECKING:
    from ..corpora_loaders import Sentence


@dataclass(frozen=True)
class Show:
    """Draw heads on sentences: which words attend to which.

    Give one or several sentences as text, or the ids of sentences in a treebank. With a treebank, the syntactic heads
    of the words are drawn, too. Several heads, and several kinds of maps, are drawn side by side. Without --out, the
    drawing is text: each word, a bar, and the words that it attends to most.
    """

    text: Annotated[Positional[tuple[str, ...]], arg(metavar="TEXT [TEXT ...]")] = ()
    """The sentences, each in quotes."""

    head: Annotated[tuple[str, ...], arg(metavar="HEAD [HEAD ...]")] = ()
    """The heads as LAYER-HEAD, counted from 1, for example 3-9."""

    corpus: Annotated[str | None, arg(metavar="FILE")] = None
    """The treebank that contains the sentences of --sentence: a file, the name of a treebank such as ud:en_ewt:dev, or
    'sample'."""

    sentence: Annotated[tuple[str, ...], arg(metavar="ID [ID ...]")] = ()
    """The ids of sentences of the treebank."""

    format: FormatName = None
    tokens: TreebankWords = "syntactic"

    model: ModelOptions = field(default_factory=ModelOptions)
    maps: MapOptions = field(default_factory=MapOptions)

    layout: Literal["lines", "arcs"] = "lines"
    """Draw the words as two columns with lines between them, or once, above an arrow to each word from its guess, the
    other word that it attends to most. With a treebank, the tree is drawn above the words."""

    direction: Literal["auto", "dep->head", "head->dep", "both"] = "auto"
    """How the guess for a word is read: the other word that it attends to most (dep->head), the one that attends most
    to it (head->dep), or the one for which the sum is largest (both). With 'auto', it is both for causal models, whose
    words attend to no later ones, and dep->head for all others."""

    words_only: bool = False
    """Leave out special tokens such as [CLS] and [SEP]."""

    out: Annotated[Path | None, arg(metavar="FILE")] = None
    """The file to write, whose name ends in .svg, .pdf, .png, .html, .csv or .txt."""

    overwrite: bool = False
    """Replace the file of --out if it exists."""

    def run(self, command: str = "") -> int:
        """Draw the heads and return the exit status."""
        from ..engine.corpus import CorpusOptions, check_analyses, read_corpus
        from ..engine.shown_heads import FORMATS

        self.model.check()
        if not self.head:
            raise OptionError("name a head, for example --head 3-9; attentionology analyze reports what each head does")
        if bool(self.text) == bool(self.sentence):
            raise OptionError("give sentences either as text or with --corpus and --sentence")
        if bool(self.corpus) != bool(self.sentence):
            raise OptionError("--corpus and --sentence need each other")
        if self.format is not None and self.corpus is None:
            raise OptionError("--format is for --corpus, which is not given")
        if self.out is not None:
            if self.out.suffix.lower() not in FORMATS:
                raise OptionError(f"the name of --out must end in {', '.join(FORMATS)}, not {self.out.suffix!r}")
            check_file(self.out, overwrite=self.overwrite, reads=paths_read(self.model.model, self.corpus))
        from ..engine.show import find_sentences, show  # it imports torch

        sentences: list[str | Sentence] = list(self.text)
        if self.corpus is not None:
            files = CorpusOptions(corpus=(self.corpus,), format=self.format, tokens=self.tokens)
            files.check()
            check_analyses(files, [])
            sentences = list(find_sentences(read_corpus(files), self.sentence))
        encoder = self.model.load()
        drawing: dict[str, Any] = {"layout": self.layout, "special": not self.words_only, "direction": self.direction}
        shown = show(encoder, sentences, head=self.head, maps=self.maps, **drawing)
        if self.out is None:
            say(*shown.text(min(120, shutil.get_terminal_size().columns)).split("\n"))
        else:
            shown.save(self.out, overwrite=self.overwrite)
            say(f"{shown.description}: {self.out}")
        return 0
