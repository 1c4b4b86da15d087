"""The names of treebanks, and the table of the treebanks of one release of Universal Dependencies."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ...storage.nearest import did_you_mean
from ..errors import CorpusError

RELEASE = "2.17"
"""The release that is read if a name gives none. The table of treebanks is that of this release."""

_MOST_NEAR = 8
SPLITS = ("train", "dev", "test")
_NAME = re.compile(r"ud:(?P<code>[a-z0-9_*?]+):(?P<split>train|dev|test)(?:@r?(?P<release>[0-9]+\.[0-9]+))?")


@dataclass(frozen=True)
class KnownTreebank:
    """A treebank of the release `RELEASE`.

    Attributes:
        code: the code in the names of its files, for example ``en_ewt``.
        language: the name of the language.
        repository: the name of its folder in a release, and of its repository.

    Example:
        >>> known_treebanks()["en_ewt"]
        KnownTreebank(code='en_ewt', language='English', repository='UD_English-EWT')
    """

    code: str
    language: str
    repository: str


@dataclass(frozen=True)
class TreebankName:
    """The name of one file of a treebank, as users write it: ``ud:CODE:SPLIT`` or ``ud:CODE:SPLIT@RELEASE``.

    Attributes:
        code: the code of the treebank, or a pattern of codes.
        split: ``train``, ``dev`` or ``test``.
        release: the release; None if the name gives none.

    Example:
        >>> name = TreebankName.parse("ud:en_ewt:dev@2.16")
        >>> name.file, name.release
        ('en_ewt-ud-dev.conllu', '2.16')
    """

    code: str
    split: str
    release: str | None = None

    @classmethod
    def parse(cls, text: str) -> TreebankName:
        """Read a name or pattern; a `CorpusError` says which forms they have."""
        match = _NAME.fullmatch(text)
        if match is None:
            near = did_you_mean(text, (f"ud:{code}:{split}" for code in known_treebanks() for split in SPLITS))
            raise CorpusError(
                f"{text!r} is not the name of a treebank; names look like ud:en_ewt:dev or ud:en_ewt:dev@{RELEASE}, "
                f"and patterns of names like ud:fr_*:dev, with one of {', '.join(SPLITS)}{near}"
            )
        return cls(match["code"], match["split"], match["release"])

    def __str__(self) -> str:
        return f"ud:{self.code}:{self.split}"

    @property
    def file(self) -> str:
        """The name of the file in a release."""
        return f"{self.code}-ud-{self.split}.conllu"


def is_treebank_name(text: str) -> bool:
    """Whether a text is meant as the name of a treebank rather than as a path.

    Example:
        >>> is_treebank_name("ud:en_ewt:dev"), is_treebank_name("en_ewt-ud-dev.conllu")
        (True, False)
    """
    return text.startswith("ud:")


def is_pattern(text: str) -> bool:
    """Whether a text is meant as a pattern of names of treebanks.

    Example:
        >>> is_pattern("ud:fr_*:dev"), is_pattern("ud:fr_gsd:dev"), is_pattern("*.conllu")
        (True, False, False)
    """
    return text.startswith("ud:") and ("*" in text or "?" in text)


@cache
def known_treebanks() -> dict[str, KnownTreebank]:
    """Return the treebanks of the release `RELEASE` by their codes, in the order of their languages.

    Example:
        >>> treebanks = known_treebanks()
        >>> len(treebanks), sum(treebank.language == "English" for treebank in treebanks.values())
        (338, 13)
    """
    text = files(__package__ or __name__).joinpath("treebanks.tsv").read_text("utf-8")
    known = {}
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        for treebank in row["treebanks"].split():
            code = f"{row['language']}_{treebank.lower()}"
            repository = f"UD_{row['name'].replace(' ', '_')}-{treebank}"
            known[code] = KnownTreebank(code, row["name"], repository)
    return known


def near_codes(code: str) -> str:
    """Return the end of a message about a code or pattern that no treebank has: the codes that are most like it."""
    known = list(known_treebanks())
    near = [other for other in known if other.split("_")[0] == code.split("_")[0]]  # those of the language
    if not near:
        near = difflib.get_close_matches(code.replace("*", "").replace("?", ""), known, _MOST_NEAR)
    if not near:
        return "all are listed by: attentionology treebanks"
    return f"codes near to it are {', '.join(near)}{did_you_mean(code, near)}"


def treebanks_of(language: str | None) -> list[KnownTreebank]:
    """Return the treebanks of a language, given by its name or code; all treebanks if it is None."""
    treebanks = list(known_treebanks().values())
    if language is None:
        return treebanks
    wanted = language.replace("_", " ").casefold()
    of_language = [known for known in treebanks if wanted in (known.language.casefold(), known.code.split("_")[0])]
    if not of_language:
        near = did_you_mean(wanted, (treebank.language for treebank in treebanks))
        raise CorpusError(f"release {RELEASE} has no treebank of the language {language!r}{near}")
    return of_language


def grouped_reasons(left_out: Mapping[str, str]) -> list[str]:
    """Return texts that say which treebanks were left out of a pattern, one for each reason.

    Example:
        >>> grouped_reasons({"ud:fr_fqb:dev": "no dev split", "ud:fr_pud:dev": "no dev split"})
        ['ud:fr_fqb:dev, ud:fr_pud:dev (no dev split)']
    """
    return [
        f"{', '.join(name for name, why in left_out.items() if why == reason)} ({reason})"
        for reason in dict.fromkeys(left_out.values())
    ]
