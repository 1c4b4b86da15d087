"""``attentionology treebanks``: the treebanks that can be given by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from ..analyses.contract import OptionError
from ..analyses.shared.option_types import FormatName, check_format
from ..reports.streams import say, say_json


@dataclass(frozen=True)
class Treebanks:
    """List the treebanks of Universal Dependencies that can be given by name.

    The command needs no network. A file of a treebank is named by the code of the treebank and its split, for example
    ud:en_ewt:dev. It is downloaded when a command first needs it, from the repository of the treebank on GitHub, and
    kept in ~/.cache/attentionology. With the environment variable UD_HOME, files are taken from an unpacked release
    instead. The license of a treebank is in its README, which is downloaded together with the file. The report shows
    it.
    """

    language: Annotated[Positional[str | None], arg(metavar="LANGUAGE")] = None
    """The name of a language, such as French, or its code, such as fr. By default, all treebanks are listed."""

    check: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """Read these files instead, print what is unusual about them, and list the first ten mistakes of each."""

    format: FormatName = None

    json: bool = False
    """Print the list as JSON."""

    def run(self, command: str = "") -> int:
        """Print the list and return the exit status."""
        from ..corpora_loaders.releases.names import RELEASE, treebanks_of

        if self.format is not None and self.check is None:
            raise OptionError("--format is for --check, which is not given")
        if self.check is not None:
            if not self.check or self.language or self.json:
                raise OptionError("--check needs at least one file, and neither LANGUAGE nor --json")
            check_format(self.format)
            _check_files(self.check, self.format)
            return 0
        treebanks = treebanks_of(self.language)
        if self.json:
            from ..reports.tables import to_json

            listed = [asdict(treebank) for treebank in treebanks]
            say_json(to_json({"release": RELEASE, "treebanks": listed}))
            return 0
        width = max(len(treebank.code) for treebank in treebanks) + 5
        say(f"Treebanks of Universal Dependencies, release {RELEASE}; add :train, :dev or :test to a name", "")
        for treebank in treebanks:
            name = f"ud:{treebank.code}"
            say(f"{name:<{width}} {treebank.repository}")
        return 0


def _check_files(files: Sequence[str], name: str | None) -> None:
    """Print what is unusual about files, and raise one error with the mistakes of all of them."""
    from ..corpora_loaders.errors import CorpusError, join_errors
    from ..engine.corpus import CorpusOptions, read_corpus

    faults: list[CorpusError] = []
    for file in files:
        try:
            corpus = read_corpus(CorpusOptions(corpus=(file,), format=name))
        except CorpusError as error:
            faults.append(error)
        else:
            say(repr(corpus), *(f"  {remark}" for remark in corpus.remarks()))
    if faults:
        raise join_errors(faults)
