"""Entities in the MISC column of CoNLL-U (CorefUD, GUM): ``Entity=(e5-person-1-`` … ``Entity=e5)``.

The fields of an opening bracket are named by the comment ``# global.Entity = eid-etype-head-…`` (in GUM
``GRP-etype-…``), which holds until the next one. A closing bracket repeats the entity alone. ``e5[1/2]`` is the first
of two parts. Brackets on empty nodes count: a mention may start or end there, or stand there altogether and then have
no words. ``SplitAnte`` and ``Bridge`` are counted and not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attentionology.corpora_loaders.coreference.brackets import Brackets
from attentionology.corpora_loaders.coreference.building import build_document
from attentionology.corpora_loaders.coreference.document import Account, Document
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.sentence import Sentence

_HEADER = "global.Entity"
_PIECE = re.compile(r"\([^()]*\)?|[^()]+\)")
_PART = re.compile(r"(?P<entity>.*)\[(?P<number>[0-9]{1,4})/(?P<parts>[0-9]{1,4})\]")


def read_entities(
    sentences: Iterable[Sentence], path: str | Path, account: Account, *, lenient: bool = False
) -> Iterator[Document]:
    """Yield the documents of the sentences of one file; what stands before the first ``newdoc`` is one too.

    Raises:
        CorpusError: with the line of the word: brackets without a header that names their fields; or, unless
            ``lenient``, malformed ones.
    """
    fields: list[str] = []
    for own in _by_document(sentences):
        name = own[0].document
        brackets = Brackets(path, lenient=lenient)
        at = 0
        for sentence in own:
            fields = (sentence.comments.get(_HEADER) or "").split("-") if _HEADER in sentence.comments else fields
            for place, misc, line in _places(sentence, at):
                for attribute in misc.split("|"):
                    key, _, value = attribute.partition("=")
                    if key == "Entity":
                        _read(brackets, value, place, line, fields)
                    elif key == "SplitAnte":
                        account.split_antecedents += len({pair.partition("<")[2] for pair in value.split(",")})
                    elif key == "Bridge":
                        account.bridges += value.count("<")
            at += len(sentence)
        marked = brackets.finish()
        account.faults += brackets.faults
        yield build_document(name or Path(path).name, own, marked, account)


def _by_document(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Two documents of one name that follow each other are two."""
    own: list[Sentence] = []
    for sentence in sentences:
        starts = any(key.startswith("newdoc") for key in sentence.comments)
        if own and (starts or sentence.document != own[-1].document):
            yield own
            own = []
        own.append(sentence)
    if own:
        yield own


_Place = tuple[int, int]  # the next word, and the first word that is not before this place any more


def _places(sentence: Sentence, at: int) -> Iterator[tuple[_Place, str, int]]:
    """Words and empty nodes in text order: where each stands, its MISC, its line."""
    empty: dict[int, list[str]] = {}
    for node, misc in zip(sentence.empty_nodes, sentence.empty_misc, strict=True):
        empty.setdefault(int(node.split(".")[0]), []).append(misc)
    for number in range(len(sentence) + 1):
        line = sentence.line or 0
        if sentence.lines:  # nodes before the first word stand right above it
            line = sentence.lines[number - 1] if number else sentence.lines[0] - len(empty.get(0, ())) - 1
        if number and sentence.misc:
            yield (at + number - 1, at + number), sentence.misc[number - 1], line
        for below, misc in enumerate(empty.get(number, ()), start=1):
            yield (at + number, at + number), misc, line + below


def _read(brackets: Brackets, value: str, place: _Place, line: int, fields: Sequence[str]) -> None:
    if not fields:
        message = f"an entity without a comment '# {_HEADER} = …' before it that names its fields"
        raise CorpusError(message, file=brackets.path, line=line)
    pieces = _PIECE.findall(value)
    if not pieces or "".join(pieces) != value:
        brackets.fault(f"Entity={value} is malformed; (ID-…, ID) or (ID-…) are expected", line)
        return
    identity = next((i for i, name in enumerate(fields) if name in ("eid", "GRP")), 0)
    for piece in pieces:
        opens, closes = piece.startswith("("), piece.endswith(")")
        parts = piece.strip("()").split("-", len(fields) - 1)
        name = parts[min(identity, len(parts) - 1)]
        part = (1, 1)
        if match := _PART.fullmatch(name):
            name, part = match["entity"], (int(match["number"]), int(match["parts"]))
        if not name or not 1 <= part[0] <= part[1]:
            brackets.fault(f"Entity={value} is malformed: {piece!r} names no entity", line)
            continue
        if opens:
            brackets.open(name, place[0], line, dict(zip(fields, parts, strict=False)), part)
        if closes:
            brackets.close(name, place[1], line, part)
