"""CoNLL-U (Universal Dependencies v2) and CoNLL-X files → sentences.

Lines are cut into columns here, because an error must name its line and because the form, the gloss or the
feature values of real treebanks contain double spaces and equals signs; the grammar of ids, heads and
comments is the `conllu` package's.

Rules for what is more than a plain tree:

* multiword tokens (``3-4 du``): the model reads the syntactic words ``de le``; the range and its form are
  kept in `Sentence.multiword` (see `attentionology.corpora_loaders.surface` for the alternative);
* empty nodes (``8.1``): not among the words, their ids and MISC are kept;
* enhanced dependencies: kept as text in `Sentence.deps`, not used;
* ``_`` as head: kept as None; such a word is read by the model but never scored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from sys import intern

from conllu.exceptions import ParseException
from conllu.parser import parse_comment_line, parse_id_value, parse_int_value

from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import numbered_lines
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.tree import depths

_COLUMNS = 10
_OF_THE_FILE = re.compile(r"#\s*(global\.|newdoc)")
_DOCUMENT = re.compile(r"#\s*newdoc(?:\s+id\s*=\s*(?P<id>.*?))?\s*$")


def read_conllu(path: str | Path) -> Iterator[Sentence]:
    """Yield the sentences of one CoNLL-U or CoNLL-X file, ``.gz`` included.

    A sentence without ``sent_id`` is called ``NAME:K``, the K-th of the file NAME. A ``newdoc`` without an id
    is called ``PATH:docK``.

    Raises:
        CorpusError: with file, line and sentence, for a wrong number of columns, ids (also those of empty nodes) out of
            order, heads that are not numbers, point outside the sentence or form a cycle, empty forms, or
            overlapping multiword tokens or entities that are marked there.
    """
    path = Path(path)
    block: list[tuple[int, str]] = []
    of_the_file: list[str] = []  # comments of a block of their own that hold for what follows
    document: str | None = None
    documents = sentences = 0
    for number, line in _with_final_blank(path):
        if line.strip() or line.count("\t") == _COLUMNS - 1:  # a row of empty columns is no blank line
            block.append((number, line))
            continue
        if not block:
            continue
        for _, comment in block:
            match = _DOCUMENT.match(comment)
            if match:
                documents += 1
                document = match["id"] or f"{path}:doc{documents}"
        if any(not text.startswith("#") for _, text in block):
            sentences += 1
            yield _sentence(path, block, f"{path.name}:{sentences}", document, of_the_file)
            of_the_file = []
        else:
            _check_comments(path, block)
            of_the_file += [text for _, text in block if _OF_THE_FILE.match(text)]
        block = []


def _with_final_blank(path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    for number, line in numbered_lines(path):
        yield number, line
    yield number + 1, ""


def _check_comments(path: Path, block: list[tuple[int, str]]) -> None:
    """Comments between sentences are fine; the comments of a sentence that is not there are not."""
    for number, text in block:
        for key, value in parse_comment_line(text):
            if key in ("sent_id", "text"):
                message = "a sentence of which only the comments are left; is the file complete?"
                raise CorpusError(message, file=path, line=number, sentence=value if key == "sent_id" else None)


def _sentence(
    path: Path, block: list[tuple[int, str]], default_id: str, document: str | None, of_the_file: list[str]
) -> Sentence:
    comments: dict[str, str | None] = dict(pair for line in of_the_file for pair in parse_comment_line(line))
    rows: list[list[str]] = []
    lines: list[int] = []
    range_line = 0
    multiword: list[tuple[int, int, str]] = []
    empty_nodes: list[str] = []
    empty_misc: list[str] = []
    sentence_id = default_id

    def fail(message: str, line: int) -> CorpusError:
        return CorpusError(message, file=path, line=line, sentence=sentence_id)

    for number, line in block:
        if line.startswith("#"):
            comments.update(parse_comment_line(line))
            sentence_id = comments.get("sent_id") or default_id
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            hint = "; are the columns separated by spaces?" if len(columns) == 1 else ""
            hint = "; line ends must be LF or CR LF, not CR alone" if "\r" in line else hint
            raise fail(f"expected {_COLUMNS} tab-separated columns, found {len(columns)}{hint}", number)
        if not columns[1]:
            raise fail("the form (column 2) is empty", number)
        try:
            word_id = parse_id_value(columns[0])
        except (ParseException, ValueError) as error:
            raise fail(f"the id (column 1) {columns[0][:40]!r} is no number, range or decimal", number) from error
        if isinstance(word_id, tuple):
            first, kind, last = word_id
            if kind == ".":
                # Its id says after which word it stands; brackets on one that is elsewhere would be lost or misplaced.
                if first != len(rows) or columns[0] in empty_nodes:
                    raise fail(f"empty node {columns[0]} is out of order, after word {len(rows)}", number)
                empty_nodes.append(columns[0])
                empty_misc.append(columns[9])
            elif first != len(rows) + 1 or (multiword and first <= multiword[-1][1]):
                raise fail(f"multiword token {columns[0][:40]} overlaps another or is out of order", number)
            else:
                if columns[9].startswith("Entity=") or "|Entity=" in columns[9]:
                    raise fail(f"Entity= at multiword token {columns[0]}; brackets belong to its words", number)
                multiword.append((first, last, columns[1]))
                range_line = number
        elif word_id != len(rows) + 1:
            raise fail(f"expected word id {len(rows) + 1}, found {columns[0][:40]!r}", number)
        else:
            rows.append(columns)
            lines.append(number)

    start = block[0][0]
    if not rows:
        raise fail("the sentence has no words", start)
    if multiword and multiword[-1][1] > len(rows):
        raise fail(f"multiword token {multiword[-1][0]}-{multiword[-1][1]} goes past the last word", range_line)

    heads: list[int | None] = []
    for index, (columns, number) in enumerate(zip(rows, lines, strict=True), start=1):
        try:
            head = parse_int_value(columns[6])
        except (ParseException, ValueError) as error:
            raise fail(f"the head (column 7) of word {index} is {columns[6][:40]!r}, not a number", number) from error
        if head is not None and not 0 <= head <= len(rows):
            raise fail(f"the head of word {index} is {columns[6][:40]}, outside 0 … {len(rows)}", number)
        if not columns[7] or any(character.isspace() for character in columns[7]):
            raise fail(
                f"the relation (column 8) of word {index} is {columns[7][:40]!r}; a name or _ is expected", number
            )
        heads.append(head)
    try:
        depths(heads)
    except ValueError as error:
        raise fail(str(error), start) from error

    def column(index: int) -> tuple[str, ...]:
        return tuple(intern(row[index]) for row in rows)

    return Sentence(
        id=sentence_id,
        words=column(1),
        lemmas=column(2),
        tags=column(3),
        xpos=column(4),
        feats=column(5),
        heads=tuple(heads),
        relations=column(7),
        deps=column(8),
        misc=column(9),
        multiword=tuple(multiword),
        empty_nodes=tuple(empty_nodes),
        empty_misc=tuple(empty_misc),
        comments=comments,
        text=comments.get("text"),
        document=document,
        file=str(path),
        line=start,
        lines=tuple(lines),
    )
