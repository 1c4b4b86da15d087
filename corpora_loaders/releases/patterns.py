"""Many treebanks by one name: ``ud:fr_*:dev`` names every treebank whose code matches ``fr_*``.

A treebank that cannot be used is left out with the reason, which whoever asked for the pattern must show: it has no
such split, it was released without its words, or it is not on a machine that uses no network.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from ..conllu_file import read_conllu
from ..errors import CorpusError
from .files import NoSuchFileError, files_in_home, treebank_path
from .names import RELEASE, SPLITS, TreebankName, known_treebanks

_PATTERN = re.compile(r"ud:(?P<codes>[a-z0-9_*?]+):(?P<split>train|dev|test)(?:@r?(?P<release>[0-9]+\.[0-9]+))?")
_MOST_NEAR = 8
WITHOUT_WORDS = "released without its words: every form is '_'"


class Matches(NamedTuple):
    """The treebanks that a pattern names."""

    names: tuple[str, ...]  # those that can be read, in the order of the table of treebanks
    left_out: Mapping[str, str]  # the others, each with the reason why it cannot be read


def is_pattern(text: str) -> bool:
    """Whether a text is meant as a pattern of names of treebanks.

    Example:
        >>> is_pattern("ud:fr_*:dev"), is_pattern("ud:fr_gsd:dev"), is_pattern("*.conllu")
        (True, False, False)
    """
    return text.startswith("ud:") and ("*" in text or "?" in text)


def matching_treebanks(pattern: str) -> Matches:
    """Find the treebanks that a pattern names, and fetch their files where `treebank_path` would.

    Args:
        pattern: ``ud:CODES:SPLIT`` or ``ud:CODES:SPLIT@RELEASE``. In ``CODES``, ``*`` stands for any characters and
            ``?`` for one. It is compared with the codes of the release `RELEASE` and with those of the files in
            ``UD_HOME``.

    Raises:
        CorpusError: the pattern has another form, no treebank matches it, none that matches can be read, or the network
            fails.

    Example:
        >>> matching_treebanks("ud:xx_*:dev")
        Traceback (most recent call last):
        attentionology.corpora_loaders.errors.CorpusError: no treebank of release 2.17 matches 'ud:xx_*:dev'; all are
        listed by: attentionology treebanks
    """
    parsed = _PATTERN.fullmatch(pattern)
    if parsed is None:
        look = f"patterns look like ud:fr_*:dev or ud:fr_*:dev@{RELEASE}, with one of {', '.join(SPLITS)}"
        raise CorpusError(f"{pattern!r} is not a pattern of treebanks; {look}")
    release, home = parsed["release"], os.environ.get("UD_HOME")
    files = files_in_home(Path(home), pattern, release) if home else {}
    known = dict.fromkeys([*known_treebanks(), *(file.split("-ud-")[0] for file in files)])
    codes = [code for code in known if fnmatchcase(code, parsed["codes"])]
    if not codes:
        raise CorpusError(f"no treebank of release {release or RELEASE} matches {pattern!r}; {_near(parsed['codes'])}")
    names, left_out = list[str](), dict[str, str]()
    for code in codes:
        name = TreebankName(code, parsed["split"], release)
        written = f"{name}@{release}" if release else str(name)
        if home and name.file not in files:
            there = any(file.startswith(f"{code}-ud-") for file in files)
            left_out[written] = f"no {name.split} split" if there else f"not in UD_HOME={home}"
            continue
        try:
            path = treebank_path(written)
        except NoSuchFileError as error:
            left_out[written] = error.short
            continue
        if _has_words(path):
            names.append(written)
        else:
            left_out[written] = WITHOUT_WORDS
    if not names:
        raise CorpusError(f"no treebank that matches {pattern!r} can be read: {'; '.join(grouped_reasons(left_out))}")
    return Matches(tuple(names), left_out)


def grouped_reasons(left_out: Mapping[str, str]) -> list[str]:
    """Say which treebanks were left out of a pattern, with one text for each reason.

    Example:
        >>> grouped_reasons({"ud:fr_fqb:dev": "no dev split", "ud:fr_pud:dev": "no dev split"})
        ['ud:fr_fqb:dev, ud:fr_pud:dev (no dev split)']
    """
    return [
        f"{', '.join(name for name, why in left_out.items() if why == reason)} ({reason})"
        for reason in dict.fromkeys(left_out.values())
    ]


def _has_words(path: Path) -> bool:
    """Whether any form is a word. A file that cannot be read is kept, so that whoever reads it says what is wrong."""
    with suppress(CorpusError):
        return any(word != "_" for sentence in read_conllu(path) for word in sentence.words)
    return True


def _near(codes: str) -> str:
    """The end of a message about a pattern that matches nothing: the codes that are most like it."""
    known = list(known_treebanks())
    language = codes.split("_")[0]
    near = [code for code in known if code.split("_")[0] == language]
    near = near or difflib.get_close_matches(codes.replace("*", "").replace("?", ""), known, _MOST_NEAR)
    return f"codes near to it are {', '.join(near)}" if near else "all are listed by: attentionology treebanks"
