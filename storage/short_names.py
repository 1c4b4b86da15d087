"""Names of models, corpora and runs without what is alike in all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath

_LIMIT = re.compile(r", first [\d,]+ \w+$")
_EXTENSION = re.compile(r"(\.(conllu|conllx|conll|tsv|txt|jsonl|jsonlines|json))?(\.(gz|bz2|xz))?$")
_WORD = re.compile(r"[^-_./ ]+|[-_./ ]+")
_LONG = 24


def distinguishing(names: Sequence[str]) -> dict[str, str]:
    """Shorten names of models, corpora or runs to what differs, each step only if all stay different.

    Folders go, then how much was read of a file, endings of files, and words that all names end with. Words that all
    names begin with go only if a name is long, because they say what it is.

    Example:
        >>> list(distinguishing(["/runs/checkpoint-100", "/runs/checkpoint-2000"]).values())
        ['checkpoint-100', 'checkpoint-2000']
        >>> list(distinguishing(["en_ewt-ud-dev.conllu", "fr_gsd-ud-dev.conllu, first 300 sentences"]).values())
        ['en_ewt', 'fr_gsd']
    """
    shortened = list(names)
    steps: tuple[Callable[[list[str]], list[str]], ...] = (
        lambda texts: [PurePath(text).name or text for text in texts],
        lambda texts: [_LIMIT.sub("", text) for text in texts],
        lambda texts: [_EXTENSION.sub("", text) for text in texts],
        lambda texts: _without_shared(texts, at_end=True),
        lambda texts: _without_shared(texts, at_end=False) if max(map(len, texts)) > _LONG else texts,
    )
    n_different = len(set(names))
    for step in steps if n_different > 1 else steps[:1]:
        candidates = step(shortened)
        if len(set(candidates)) == n_different and all(candidates):
            shortened = candidates
    return dict(zip(names, shortened, strict=True))


def _without_shared(texts: list[str], *, at_end: bool) -> list[str]:
    """Remove the words that all texts end or begin with, as long as each keeps a word with a letter."""
    way = -1 if at_end else 1
    words = [_WORD.findall(text)[::way] for text in texts]
    n_shared = 0
    while all(len(of_text) > n_shared and of_text[n_shared] == words[0][n_shared] for of_text in words):
        n_shared += 1
    kept = ["".join(of_text[n_shared:][::way]).strip("-_./ ") for of_text in words]
    return kept if all(any(map(str.isalpha, text)) for text in kept) else texts
