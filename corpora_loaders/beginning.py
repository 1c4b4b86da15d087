"""The beginning of a file, and the formats of annotated corpora that are told from each other by it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from .coreference.benchmarks import HEADER
from .coreference.layouts import BEGIN
from .lines import WHOLE_NUMBER, located_lines

_FIRST_ID = re.compile(r"1|1-\d+|[01]\.\d+")
_LAST_CELL = re.compile(r"[-_*]|\(.*|.*\)")
_STANDARD_COLUMNS = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()
_COLUMNS = re.compile(r"#\s*global\.columns\s*=\s*(?P<names>.*)")
_COLUMNS_2008, _COLUMNS_2009, _COLUMNS_2010 = 10, 14, 14  # the least numbers of columns
_HEADS_2009 = slice(8, 10)  # the columns HEAD and PHEAD
_HEAD_AND_RELATION = re.compile(r"[0-9]+-\S+")
_MOST_LINES = 1000  # the number of lines in which the first row is searched


@dataclass(frozen=True)
class Beginning:
    """The beginning of a file, by which its format is recognized."""

    comments: tuple[str, ...] = ()  # the lines before the first row that start with ``#``
    row: str = ""  # the first line that is neither blank nor a comment
    line: int = 0  # the number of that line, from 1

    @property
    def cells(self) -> list[str]:
        """The cells of the row, which white space separates. Line ends may be CR alone."""
        return self.row.partition("\r")[0].split()

    @property
    def begins_document(self) -> bool:
        """Whether a comment begins a document, as in CoNLL-2012 and SemEval-2010."""
        return any(map(BEGIN.match, self.comments))


def beginning_of_file(path: str | Path) -> Beginning:
    """Read the beginning of a file."""
    comments: list[str] = []
    for line, _, text in islice(located_lines(path), _MOST_LINES):
        if text.startswith("#"):
            comments.append(text)
        elif text.strip():
            return Beginning(tuple(comments), text, line)
    return Beginning(tuple(comments))


def is_json(beginning: Beginning) -> bool:
    """Whether a file begins with an object of JSON."""
    return re.match(r'\{\s*"', beginning.row) is not None


def is_xml(beginning: Beginning) -> bool:
    """Whether a file begins like XML."""
    return beginning.row.startswith(("<?xml", "<!DOCTYPE"))


def global_columns(comments: Iterable[str]) -> list[str]:
    """Return the columns that a comment names; none if there is no such comment."""
    return next((match["names"].split() for match in map(_COLUMNS.match, comments) if match), [])


def named_columns(beginning: Beginning) -> list[str]:
    """Return the columns of CoNLL-U Plus, unless they are those of CoNLL-U."""
    names = global_columns(beginning.comments)
    return [] if names == _STANDARD_COLUMNS else names


def is_conllu_plus(beginning: Beginning) -> bool:
    """Whether a comment names other columns than those of CoNLL-U."""
    return bool(named_columns(beginning)) and not is_json(beginning) and not is_xml(beginning)


def _has_forms(beginning: Beginning) -> bool:
    """Whether the first row is that of a word with the number 1 and a form; rows of CoNLL-2012 have further numbers."""
    cells = beginning.cells
    return cells[:1] == ["1"] and not any(map(WHOLE_NUMBER.fullmatch, cells[1:3])) and not named_columns(beginning)


def is_semeval2010(beginning: Beginning) -> bool:
    """Whether a file begins with a document in the columns of SemEval-2010."""
    return _has_forms(beginning) and beginning.begins_document and len(beginning.cells) >= _COLUMNS_2010


def is_conll2009(beginning: Beginning) -> bool:
    """Whether the first row has the columns of CoNLL-2009, with a number or ``_`` as each of the two heads."""
    if not _has_forms(beginning) or beginning.begins_document or len(beginning.cells) < _COLUMNS_2009:
        return False
    return all(head == "_" or WHOLE_NUMBER.fullmatch(head) for head in beginning.cells[_HEADS_2009])


def is_conll2008(beginning: Beginning) -> bool:
    """Whether the first row has a head in column 9 and a relation in column 10, and no head where CoNLL-X has one."""
    cells = beginning.row.split("\t")
    if not _has_forms(beginning) or beginning.begins_document or len(cells) < _COLUMNS_2008:
        return False
    is_head = [WHOLE_NUMBER.fullmatch(cell) is not None for cell in cells[6:10]]
    has_relation = is_head[2] and not is_head[3] and cells[9] != "_"
    return has_relation and (len(cells) > _COLUMNS_2008 or not is_head[0]) and not is_conll2009(beginning)


def is_conllx8(beginning: Beginning) -> bool:
    """Whether the first row has the first eight columns of CoNLL-X, separated by tabs."""
    cells = beginning.row.split("\t")
    if len(cells) != 8 or cells[0] != "1" or beginning.begins_document or named_columns(beginning):
        return False
    return WHOLE_NUMBER.fullmatch(cells[6]) is not None and not _LAST_CELL.fullmatch(cells[7])


def is_unnumbered(beginning: Beginning) -> bool:
    """Whether a file may have rows that begin with words: no comment and no last cell says that it has mentions."""
    cells = beginning.cells
    is_other = beginning.begins_document or is_json(beginning) or is_xml(beginning) or is_gap(beginning)
    return bool(cells) and not is_other and not named_columns(beginning) and not _LAST_CELL.fullmatch(cells[-1])


def is_malt_tab(beginning: Beginning) -> bool:
    """Whether the first row has four columns, of which only the third is a number."""
    cells = beginning.row.split("\t") if "\t" in beginning.row else beginning.row.split()
    numbers = [WHOLE_NUMBER.fullmatch(cell) is not None for cell in cells]
    return is_unnumbered(beginning) and numbers[1:] == [False, True, False] and "\r" not in beginning.row


def is_clark(beginning: Beginning) -> bool:
    """Whether the first row is a word and HEAD-RELATION, as in the lines of Clark et al. (2019)."""
    cells = beginning.row.split()
    return is_unnumbered(beginning) and len(cells) == 2 and _HEAD_AND_RELATION.fullmatch(cells[1]) is not None


def is_documents(beginning: Beginning) -> bool:
    """Whether a file begins with an object of JSON that has sentences and clusters."""
    return is_json(beginning) and '"clusters"' in beginning.row and '"sentences"' in beginning.row


def is_other_json(beginning: Beginning) -> bool:
    """Whether a file begins with another object of JSON."""
    return is_json(beginning) and not is_documents(beginning)


def _has_other_name(beginning: Beginning) -> bool:
    """Whether a file has a format with a mark of its own, although its rows may look like those of another format."""
    recognizers = (
        *(is_json, is_xml, is_conllu_plus, is_semeval2010, is_gap),
        *(is_conll2009, is_conll2008, is_conllx8, is_malt_tab, is_clark),
    )
    return any(recognize(beginning) for recognize in recognizers)


def is_conll2012(beginning: Beginning) -> bool:
    """Whether a file begins like CoNLL-2012, with a document or with a row whose last cell may have brackets."""
    if _has_other_name(beginning):
        return False
    if beginning.begins_document:
        return True
    if _is_tree_row(beginning.row):
        return False
    cells = beginning.row.split()
    return len(cells) > 1 and _LAST_CELL.fullmatch(cells[-1]) is not None


def is_conllu(beginning: Beginning) -> bool:
    """Whether a file begins like CoNLL-U or CoNLL-X."""
    return _is_tree_row(beginning.row) and not beginning.begins_document and not _has_other_name(beginning)


def is_gap(beginning: Beginning) -> bool:
    """Whether the first line is the header of GAP."""
    return beginning.line == 1 and beginning.row.startswith(HEADER)


def _is_tree_row(row: str) -> bool:
    """Whether a first row is in CoNLL-U, judging by its id or, if that is damaged, by its ten columns and its head."""
    words = row.split()
    if len(words) >= 8 and _FIRST_ID.fullmatch(words[0]):
        return True
    columns = row.split("\t")
    if len(columns) != 10 or WHOLE_NUMBER.fullmatch(columns[2]):  # CoNLL-2012 has word numbers here
        return False
    head = columns[6]
    return head == "_" or WHOLE_NUMBER.fullmatch(head) is not None
