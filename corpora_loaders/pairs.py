"""Pairs of words from a file, as gold in place of a tree: contacts, multiword expressions, roles, bridging, and others.

A file has one pair per line, in columns that tabs separate: the id of a sentence, the number of a word from 1, the
number of the word that is to be found for it, and a label. A word may have several partners. A .cupt file of PARSEME is
such a file, too: each two words of an expression are a pair in both directions, with the category as its label.
Sentences get the pairs as enhanced dependencies, in which a word may have several heads, so that they are counted in
the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from pathlib import Path
from typing import NamedTuple

from ..storage.nearest import did_you_mean
from .beginning import beginning_of_file, named_columns
from .column_formats import placed_conllu_plus
from .enhanced import relations_of
from .errors import CorpusError
from .lines import WHOLE_NUMBER, text_lines
from .sentence import Sentence
from .stream import HELD, Stream
from .treebank import Treebank

EXPRESSIONS = "PARSEME:MWE"
"""The column of multiword expressions in a .cupt file."""

PairsOfSentence = Mapping[int, Mapping[tuple[int, str], int]]
"""For each word the numbers and labels of its partners, each with the line of the file."""


class _Row(NamedTuple):
    line: int
    sentence: str
    word: int
    partner: int
    label: str


def read_pairs(path: str | Path) -> dict[str, dict[int, dict[tuple[int, str], int]]]:
    """Read a file of pairs: by the id of a sentence, its words with their partners; see `PairsOfSentence`.

    The first line may name the columns. Lines that are blank are left out.

    Raises:
        CorpusError: a line does not have four columns; a number is none; a word is its own partner; or a label is
            empty, or has white space or ``|``. The message has the line.

    Example:
        >>> import tempfile
        >>> from attentionology.corpora_loaders.pairs import read_pairs
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "contacts.tsv")
        ...     _ = path.write_text("s1\\t1\\t7\\tcontact\\ns1\\t1\\t9\\tcontact\\n")
        ...     read_pairs(path)
        {'s1': {1: {(7, 'contact'): 1, (9, 'contact'): 2}}}
    """
    pairs: dict[str, dict[int, dict[tuple[int, str], int]]] = {}
    rows = _of_expressions(path) if EXPRESSIONS in named_columns(beginning_of_file(path)) else _rows(path)
    for row in rows:
        pairs.setdefault(row.sentence, {}).setdefault(row.word, {}).setdefault((row.partner, row.label), row.line)
    if not pairs:
        raise CorpusError("the file has no pairs", file=path)
    return pairs


def _of_expressions(path: str | Path) -> Iterator[_Row]:
    """Yield the pairs of words that belong to one expression: its words have one number, the first one a category."""
    for sentence, _ in placed_conllu_plus(path):
        words: dict[str, list[int]] = {}  # of each expression, by its number in the sentence
        categories: dict[str, str] = {}
        for word, misc in enumerate(sentence.misc, start=1):
            for code in misc.partition(f"{EXPRESSIONS}=")[2].partition("|")[0].split(";"):
                number, _, category = code.partition(":")
                if number:
                    words.setdefault(number, []).append(word)
                    categories.setdefault(number, category)
        for number, of_expression in words.items():
            for word, partner in permutations(of_expression, 2):
                yield _Row(sentence.lines[word - 1], sentence.id, word, partner, categories[number] or "_")


def _rows(path: str | Path) -> Iterator[_Row]:
    """Yield the pairs of a file."""
    for line, _, text in text_lines(path):
        cells = text.split("\t")
        if not text.strip() or (line == 1 and len(cells) == 4 and not any(map(WHOLE_NUMBER.fullmatch, cells[1:3]))):
            continue
        if len(cells) != 4:
            expected = "expected four columns that tabs separate: a sentence, a word, its partner and a label"
            raise CorpusError(f"{expected}; found {len(cells)}", file=path, line=line)
        sentence, *numbers, label = (cell.strip() for cell in cells)
        for name, cell in zip(("word", "partner"), numbers, strict=True):
            if not WHOLE_NUMBER.fullmatch(cell) or not int(cell):
                raise CorpusError(f"the {name} is {cell[:40]!r}, not a number from 1", file=path, line=line)
        word, partner = map(int, numbers)
        if word == partner:
            raise CorpusError(f"word {word} is its own partner", file=path, line=line, sentence=sentence)
        if not label or "|" in label or any(map(str.isspace, label)):
            message = f"the label is {label[:40]!r}; it needs characters other than spaces and |"
            raise CorpusError(message, file=path, line=line)
        yield _Row(line, sentence, word, partner, label)


def with_pairs(corpus: Treebank, path: str | Path) -> Treebank:
    """Return a treebank whose sentences have the pairs of a file in place of enhanced dependencies.

    Raises:
        CorpusError: see `read_pairs`; or a sentence of the file is not in the treebank, or has no word of a number.
    """
    pairs = read_pairs(path)
    unknown = dict(pairs)
    for sentence in corpus:
        for word, partners in unknown.pop(sentence.id, {}).items():
            for (partner, _), line in partners.items():
                if (number := max(word, partner)) > len(sentence):
                    message = f"there is no word {number}; the sentence has {len(sentence)}"
                    raise CorpusError(message, file=path, line=line, sentence=sentence.id)
    for name, words in unknown.items():
        line = min(line for partners in words.values() for line in partners.values())
        near = did_you_mean(name, (sentence.id for sentence in islice(corpus, 10_000)))
        raise CorpusError(f"the corpus has no sentence with this id{near}", file=path, line=line, sentence=name)
    source = _WithPairs(corpus.sentences, pairs)
    held = tuple(source(0, len(corpus))) if len(corpus) <= HELD else ()
    paired = replace(corpus, sentences=Stream(source, held=held))
    return paired.knowing(counted=corpus.counted, enhanced_relations=relations_of(paired))


@dataclass(frozen=True)
class _WithPairs:
    """The source of the sentences of a treebank, with pairs as their enhanced dependencies."""

    sentences: Sequence[Sentence]
    pairs: Mapping[str, PairsOfSentence]

    def __len__(self) -> int:
        return len(self.sentences)

    def __call__(self, start: int, stop: int) -> Iterator[Sentence]:
        """Read the sentences from one position up to another."""
        for sentence in self.sentences[start:stop]:
            of_words = self.pairs.get(sentence.id, {})
            cells = ("|".join(f"{n}:{label}" for n, label in of_words.get(word, ())) for word in _numbers(sentence))
            yield replace(sentence, deps=tuple(cell or "_" for cell in cells))


def _numbers(sentence: Sentence) -> range:
    return range(1, len(sentence) + 1)
