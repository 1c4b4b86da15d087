"""What people type: one sentence or two, as text, as words between spaces, or as CoNLL-U, with masked words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ...corpora_loaders import CorpusError, Sentence
from ...corpora_loaders.conllu_file import placed_sentences
from ...corpora_loaders.gate import without_heads_of_blank_words
from ...corpora_loaders.words import split_words
from .errors import RequestError

MOST_CHARACTERS = 100_000
"""The longest text that is looked at. A sentence of 512 pieces is shorter, even with all columns of CoNLL-U."""

BETWEEN = " ||| "
"""What stands between the two sentences of a pair."""

_ROW = re.compile(r"^[0-9]+\t[^\t\n]+\t", re.MULTILINE)  # the beginning of a row of CoNLL-U
_MASKED = re.compile(r"\[([^\s\[\]]+)\]")  # a word in brackets, also where words have no spaces between them
_ALONE = re.compile(r"(?<!\S)[.,](?!\S)")  # a period or a comma between spaces


@dataclass(frozen=True)
class TypedSentence:
    """A sentence as it was typed."""

    sentence: Sentence
    masked: tuple[int, ...] = ()  # the words that the model is not to see, counted from 0


def typed_texts(text: str) -> list[TypedSentence]:
    """Return the sentence that somebody has typed, or both of a pair.

    Raises:
        RequestError: there are no words, more than two sentences, or mistakes in rows of CoNLL-U.
    """
    if len(text) > MOST_CHARACTERS:
        raise RequestError(f"The text has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read. Shorten it.")
    try:
        typed = list(_of_rows(text)) if _ROW.search(text) else [_of_text(part) for part in text.split(BETWEEN)]
    except CorpusError as error:
        raise RequestError(str(error)) from error
    if len(typed) > 2:
        raise RequestError(f"Give one sentence, or two with “{BETWEEN.strip()}” between them.")
    return typed


def _of_text(text: str) -> TypedSentence:
    """Return a sentence of running text, or of words between spaces."""
    # In running text, punctuation stands at a word. Where it stands alone, somebody has separated the words.
    split = str.split if _ALONE.search(text) else split_words
    words: list[str] = []
    masked: list[int] = []
    for index, part in enumerate(_MASKED.split(text)):  # every second part is a masked word
        found = split(part)
        if index % 2:
            masked += range(len(words), len(words) + len(found))
        words += found
    if not words:
        raise RequestError("Type a sentence: there is no word.")
    return TypedSentence(Sentence(id="typed", words=tuple(words), text=" ".join(text.split())), tuple(masked))


def _of_rows(text: str) -> Iterator[TypedSentence]:
    """Yield the first sentences of CoNLL-U, with their trees; a third one is only there to be refused."""
    lines = ((number, 0, line) for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1))
    for sentence, _ in islice(placed_sentences(Path("text"), located=lines), 3):
        yield TypedSentence(replace(without_heads_of_blank_words(sentence), file=None, line=None, document=None))
