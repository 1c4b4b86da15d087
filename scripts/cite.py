"""``attentionology cite``: what a paper says of a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..reports.streams import say, say_json


@dataclass(frozen=True)
class Cite:
    """Print sentences for the methods section of a paper about a run, and BibTeX of what the run used.

    The sentences name the model and its revision, the treebank, the version of the toolkit and the options. The entries
    are those of methods and maps; cite the model and the treebank as their authors ask.
    """

    run_folder: Annotated[Positional[Path], arg(name="run", metavar="RUN")]
    """The folder of the run."""

    json: bool = False
    """Print JSON with the keys methods and bibtex."""

    def run(self, command: str = "") -> int:
        """Print the citation and return the exit status."""
        from ..engine.cite import cite_run, warning_of
        from ..reports.streams import complain
        from ..storage.paths import read_record

        citation = cite_run(self.run_folder)
        if warning := warning_of(read_record(self.run_folder) or {}):
            # The warning goes to stderr, because the text may be redirected to a file or to another program.
            complain(f"Warning: {warning}", 0)
        if self.json:
            say_json(json.dumps(citation._asdict(), ensure_ascii=False) + "\n")
        else:
            say(citation.methods, "", *citation.bibtex.split("\n"))
        return 0
