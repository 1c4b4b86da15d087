"""Entities in the MISC column of CoNLL-U (CorefUD, GUM): ``Entity=(e5-person-1-`` … ``Entity=e5)``.

The comment ``# global.Entity = eid-etype-head-…`` names the fields of opening brackets until the next such comment; a
closing bracket has the entity only. ``e5[1/2]`` is the first of the two parts of a discontinuous mention. ``SplitAnte``
and ``Bridge`` mark relations other than identity, which are counted but not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..conllu_file import Place, placed_sentences
from ..errors import CorpusError
from ..sentence import Sentence
from .building import Brackets, build_document
from .document import Account, Document

_HEADER = "global.Entity"
_PIECE = re.compile(r"\([^()]*\)?|[^()]+\)")
_PART = re.compile(r"(?P<entity>.*)\[(?P<number>[0-9]{1,4})/(?P<parts>[0-9]{1,4})\]")


EntityPlace = tuple[Place, tuple[str, ...]]
"""A place between two documents, and the fields of entities, which an earlier comment names."""


def read_entities(
    path: str | Path, account: Account, *, lenient: bool = False, place: EntityPlace | None = None
) -> Iterator[tuple[Document, EntityPlace]]:
    """Yield the documents of a file from a place on, each with the place after it.

    Sentences before the first ``newdoc`` are a document, too.
    """
    sentence_place, fields = place or (Place(), ())
    for sentences, place_after in _by_document(placed_sentences(path, sentence_place)):
        brackets = Brackets(path, account, lenient=lenient)
        first_word = 0  # of the sentence, counted through the document
        for sentence in sentences:
            if _HEADER in sentence.comments:
                fields = tuple((sentence.comments[_HEADER] or "").split("-"))
            _read_attributes(brackets, sentence, first_word, fields)
            first_word += len(sentence)
        name = sentences[0].document or Path(path).name
        yield build_document(name, sentences, brackets.finish(), account), (place_after, fields)


def _by_document(sentences: Iterable[tuple[Sentence, Place]]) -> Iterator[tuple[list[Sentence], Place]]:
    """Yield the sentences of each document, and the place after it; documents of the same name stay separate."""
    document: list[Sentence] = []
    document_end = Place()  # the place after the last of these sentences
    for sentence, place_after in sentences:
        starts_document = any(key.startswith("newdoc") for key in sentence.comments)
        if document and (starts_document or sentence.document != document[-1].document):
            yield document, document_end
            document = []
        document.append(sentence)
        document_end = place_after
    if document:
        yield document, document_end


def _read_attributes(brackets: Brackets, sentence: Sentence, first_word: int, fields: Sequence[str]) -> None:
    """Read the brackets of a sentence, and count its links that are not used."""
    account = brackets.account
    for position, misc, line in _positions(sentence, first_word):
        for attribute in misc.split("|"):
            key, _, value = attribute.partition("=")
            if key == "Entity":
                _read_brackets(brackets, value, position, line, fields)
            elif key == "SplitAnte":  # as in e1<e9,e2<e9: e9 has a split antecedent
                account.split_antecedents += len({pair.partition("<")[2] for pair in value.split(",")})
            elif key == "Bridge":
                account.bridges += value.count("<")


def _positions(sentence: Sentence, start: int) -> Iterator[tuple[tuple[int, int], str, int]]:
    """Yield the position, the MISC column and the line of each word and empty node of a sentence, in text order.

    A position is a half-open range of words: one word, or nothing before the word that follows an empty node.
    """
    misc_of_empty: dict[int, list[str]] = {}  # by the number of the word before the empty nodes, from 1; 0 for none
    for node, misc in zip(sentence.empty_nodes, sentence.empty_misc, strict=True):
        misc_of_empty.setdefault(int(node.split(".")[0]), []).append(misc)
    for number in range(len(sentence) + 1):  # of the word, 0 for what is before the first one
        line = sentence.line or 0
        if sentence.lines:  # empty nodes before the first word are in the lines just above it
            line = sentence.lines[number - 1] if number else sentence.lines[0] - len(misc_of_empty.get(0, ())) - 1
        if number and sentence.misc:
            yield (start + number - 1, start + number), sentence.misc[number - 1], line
        for lines_below, misc in enumerate(misc_of_empty.get(number, ()), start=1):
            yield (start + number, start + number), misc, line + lines_below


def _read_brackets(brackets: Brackets, value: str, position: tuple[int, int], line: int, fields: Sequence[str]) -> None:
    """Read the brackets of one attribute ``Entity`` at a position; the fields are those of opening brackets."""
    if not fields:
        message = f"an entity has no comment '# {_HEADER} = …' before it that names its fields"
        raise CorpusError(message, file=brackets.path, line=line)
    pieces = _PIECE.findall(value)
    if not pieces or "".join(pieces) != value:
        brackets.fault(f"Entity={value} is malformed; expected (ID-…, ID) or (ID-…)", line)
        return
    index_of_entity = next((index for index, name in enumerate(fields) if name in ("eid", "GRP")), 0)
    for piece in pieces:
        values = piece.strip("()").split("-", len(fields) - 1)
        entity = values[min(index_of_entity, len(values) - 1)]  # a closing bracket has the entity only
        number = parts = 1
        if match := _PART.fullmatch(entity):
            entity, number, parts = match["entity"], int(match["number"]), int(match["parts"])
        if not entity or not 1 <= number <= parts:
            brackets.fault(f"Entity={value} is malformed: {piece!r} names no entity", line)
            continue
        brackets.read(piece, entity, position, line, dict(zip(fields, values, strict=False)), (number, parts))
