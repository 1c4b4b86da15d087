"""``attentionology explore``: the explorer of the report on sentences of one's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..analyses.contract import OptionError
from ..analyses.shared.input_options import ModelOptions, paths_read
from ..analyses.shared.options import MapOptions
from ..reports.streams import say
from ..storage.paths import check_file


@dataclass(frozen=True)
class Explore:
    """Make a page that shows what all heads do on sentences of your own.

    Give the sentences as text, or a file that has them. The page is the explorer of a report: a matrix of all heads,
    what each does in these sentences, and the sentences with the maps of all heads. It is one file and needs no
    network. No treebank is needed, so the page says where attention goes, but not whether it is right; attentionology
    analyze counts that in a treebank.
    """

    sentence: Annotated[Positional[tuple[str, ...]], arg(metavar="SENTENCE [SENTENCE ...]")] = ()
    """The sentences, each in quotes."""

    text: Annotated[tuple[str, ...], arg(metavar="FILE [FILE ...]")] = ()
    """One or more files of plain text that have the sentences, each in a line of its own."""

    model: ModelOptions = field(default_factory=ModelOptions)
    maps: MapOptions = field(default_factory=MapOptions)

    out: Annotated[Path, arg(metavar="FILE")] = Path("explore.html")
    """The page to write, whose name ends in .html."""

    overwrite: bool = False
    """Replace the file of --out if it exists."""

    def run(self, command: str = "") -> int:
        """Write the page and return the exit status."""
        self.model.check()
        if bool(self.sentence) == bool(self.text):
            raise OptionError('give sentences, for example "The cat sat on the mat.", or a file with --text')
        if self.out.suffix.lower() != ".html":
            raise OptionError(f"the name of --out must end in .html, not {self.out.suffix!r}")
        check_file(self.out, overwrite=self.overwrite, reads=paths_read(self.model.model, self.text))
        from ..corpora_loaders import Sentence, load_text
        from ..corpora_loaders.treebank import with_id
        from ..engine.show import explore  # it imports torch

        sentences: list[str | Sentence] = list(self.sentence)
        for line in load_text(self.text) if self.text else ():
            # Files are read in words between spaces; sentences on the command line have words without punctuation.
            sentences.append(with_id(Sentence.from_text(" ".join(line.words)), line.id))
        view = explore(sentences, model=self.model.load(), maps=self.maps)
        view.save(self.out, overwrite=self.overwrite)
        say(f"{view.description}: {self.out}")
        return 0
