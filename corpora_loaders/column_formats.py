"""Formats of trees with a word in each row, apart from CoNLL-U: which columns are read, and how a file is read.

They are all read by `attentionology.corpora_loaders.conllu_file.placed_sentences`, so that they have the same checks
and messages. Columns that predict what another column annotates are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .beginning import beginning_of_file, global_columns
from .conllu_file import Place, placed_sentences
from .errors import CorpusError
from .sentence import Sentence
from .sentence_lines import Columns

_OF_CLARK = re.compile(r"\s*(\S+)\s+(\d+)-(\S+)\s*")
_NAMES = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()


def _words_and_heads(line: str) -> list[str]:
    """Divide a line of Clark et al.: the word, and its head and relation, which the first hyphen separates."""
    match = _OF_CLARK.fullmatch(line)
    return list(match.groups()) if match else [line]


def _tabs_or_spaces(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else line.split()


CONLL2008 = Columns((0, (5, 1), (6, 2), (3, 7), (3, 7), None, 8, 9, None, None), number=10, more=True, words_only=True)
"""CoNLL-2008: ID FORM LEMMA GPOS PPOS SPLIT_FORM SPLIT_LEMMA PPOSS HEAD DEPREL PRED, and columns of arguments. Its
trees are those of split forms. Where a form is not split, or a part of one has no part of speech of its own, the other
column is read."""

CONLLX8 = Columns((0, 1, 2, 3, 4, 5, 6, 7, None, None), number=8, words_only=True)
"""The first eight columns of CoNLL-X, without PHEAD and PDEPREL."""

MALT_TAB = Columns(
    (None, 0, None, 1, 1, None, 2, 3, None, None),
    number=4,
    words_only=True,
    divide=_tabs_or_spaces,
    layout="expected a form, a part of speech, a head and a relation",
)
"""Malt-TAB: FORM POSTAG HEAD DEPREL."""

CLARK = Columns(
    (None, 0, None, None, None, None, 1, 2, None, None),
    number=3,
    words_only=True,
    divide=_words_and_heads,
    layout="expected a word, and HEAD-RELATION such as 2-nsubj",
)
"""The lines of Clark et al. (2019): a word, its head and its relation."""

SEMEVAL2010 = Columns((0, 1, 2, 4, 4, 6, 8, 10, None, None), number=13, more=True, words_only=True)
"""SemEval-2010: ID FORM LEMMA PLEMMA POS PPOS FEAT PFEAT HEAD PHEAD DEPREL PDEPREL, others, and brackets."""

placed_conll2008 = partial(placed_sentences, columns=CONLL2008)
placed_conllx8 = partial(placed_sentences, columns=CONLLX8)
placed_malt_tab = partial(placed_sentences, columns=MALT_TAB)
placed_clark = partial(placed_sentences, columns=CLARK)
placed_semeval2010 = partial(placed_sentences, columns=SEMEVAL2010)


def placed_conllu_plus(
    path: str | Path, start: Place | None = None, left_out: list[CorpusError] | None = None
) -> Iterator[tuple[Sentence, Place]]:
    """Yield the sentences of a CoNLL-U Plus file, whose comment ``global.columns`` names its columns.

    The columns of CoNLL-U may be there in any order. Other columns are added to MISC, as ``NAME=value``, unless they
    are ``*`` or ``_``. Without the column ID, words are numbered in their order.

    Raises:
        CorpusError: the columns have no FORM, or one occurs twice; otherwise as `read_conllu`.
    """
    comments = beginning_of_file(path).comments
    names = global_columns(comments)
    line = 1 + next((n for n, comment in enumerate(comments) if global_columns((comment,))), 0)
    if "FORM" not in names:
        raise CorpusError("the columns of CoNLL-U Plus need FORM, the words", file=path, line=line)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise CorpusError(f"the column {twice!r:.40} is named twice", file=path, line=line)
    columns = Columns(
        tuple(names.index(name) if name in names else None for name in _NAMES),
        number=len(names),
        words_only="ID" not in names,
        extra=tuple((name, index) for index, name in enumerate(names) if name not in _NAMES),
    )
    yield from placed_sentences(path, start, left_out, columns=columns)
