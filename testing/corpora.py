"""Small corpora in CoNLL-U with dependency trees and mentions: ordinary ones, and those that surprise an analysis."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from ..corpora_loaders import SAMPLE_TREEBANK, Corpus, Sentence, load_treebank
from ..corpora_loaders.documents import load_documents
from ..corpora_loaders.minimal_pairs import WORDS, Pairs
from .names import HOSTILE

_DOCUMENTS, _SENTENCES = 4, 5
_TOO_LONG = 600
"""More words than the small models read."""

Row = tuple[str, str, str, str, str]
"""The form, the part of speech, the head, the relation and the column MISC of a word."""


@functools.cache
def documents() -> tuple[str, ...]:
    """Return the beginnings of a few documents of the sample treebank."""
    blocks = SAMPLE_TREEBANK.read_text(encoding="utf-8").strip().split("\n\n")
    starts = [index for index, block in enumerate(blocks) if block.startswith("# newdoc")]
    return tuple("\n\n".join(blocks[start : start + _SENTENCES]) for start in starts[:_DOCUMENTS])


def unusual() -> dict[str, str]:
    """Return the texts of corpora that an analysis may refuse, but that must not make it fail, by what they are."""
    word = ("Go", "VERB", "0", "root", "Entity=(e1-person-1-)")
    roots = [(form, "NOUN", "0", "root", "Entity=(e1-person-1-)") for form in ("Cats", "dogs", "birds")]
    headless = [(form, "NOUN", "_", "_", "_") for form in ("Cats", "dogs", "birds")]
    long = [("word", "NOUN", str(index), "dep" if index else "root", "_") for index in range(_TOO_LONG)]
    ordinary = documents()[0]
    sentences = {"roots": [roots], "headless": [headless, headless], "long": [long]}
    mixed = [*(document(name, words) for name, words in sentences.items()), ordinary]
    return {
        "of one sentence": ordinary.split("\n\n")[0],
        "of one word": document("one", [[word]]),
        "in which all words are roots": document("roots", [roots]),
        "with sentences of roots alone, words without heads, and a sentence that is too long": "\n\n".join(mixed),
    }


def hostile_treebank(relations: Sequence[str]) -> str:
    """Return a treebank in which every hostile name is a word, and a part of the id of a sentence or of a document.

    The relations are those given, one for each of the names.
    """
    parts = []
    person = "Entity=(e1-person-1-)"
    first, verb, last = (
        ("Ann", "PROPN", "2", "det", person),
        ("runs", "VERB", "0", "root", "_"),
        ("she", "PRON", "2", "obj", person),
    )
    for start in range(0, len(HOSTILE), 6):
        names = HOSTILE[start : start + 6]
        inner = [(name, "NOUN", "2", relation, "_") for name, relation in zip(names, relations[start:], strict=False)]
        parts.append(document(f"{names[0]} {start}", [[first, verb, *inner, last], [first, verb, last]], names[1]))
    return "\n\n".join(parts)


def document(name: str, sentences: Sequence[Sequence[Row]], prefix: str = "s") -> str:
    """Return the text of a document."""
    blocks = []
    for number, words in enumerate(sentences, start=1):
        lines = [f"# sent_id = {prefix} {name} {number}"]
        if number == 1:
            lines = [f"# newdoc id = {name}", "# global.Entity = eid-etype-head-other", *lines]
        for index, (form, tag, head, relation, misc) in enumerate(words, start=1):
            lines.append("\t".join([str(index), form, form, tag, tag, "_", head, relation, "_", misc]))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def write(path: Path, parts: str | Sequence[str]) -> None:
    """Write the documents or sentences of a corpus to a file."""
    text = parts if isinstance(parts, str) else "\n\n".join(parts)
    path.write_text(f"{text}\n\n", encoding="utf-8")


def load_corpora(paths: Sequence[Path], *, mentions: bool, pairs: bool = False) -> Corpus:
    """Read corpora, with their mentions, as a treebank, or as pairs of each sentence and its reverse."""
    if pairs:
        return Pairs(tuple(each for sentence in load_treebank(paths) for each in _pair(sentence)))
    return load_documents(paths) if mentions else load_treebank(paths)


def _pair(sentence: Sentence) -> tuple[Sentence, Sentence]:
    """Return a sentence and its reverse, or the word twice if there is only one."""
    words, n = sentence.words, len(sentence)
    ends = {"good": words, "bad": words[::-1] if words[::-1] != words else words * 2}
    # The first two words are named, as the same ones in both sentences.
    named = {"good": (1, 2), "bad": (n, n - 1)} if n > 2 else {}
    good, bad = (
        Sentence(
            f"{sentence.id} {end}",
            of_end,
            document=sentence.id[:9],
            text=" ".join(of_end),
            comments={name: str(number) for name, number in zip(WORDS, named.get(end, ()), strict=False)},
        )
        for end, of_end in ends.items()
    )
    return good, bad
