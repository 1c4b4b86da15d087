"""Plain text: one paragraph per line, blank lines between documents, and pairs of paragraphs that fill a segment."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, ClassVar

from .beginning import (
    beginning_of_file,
    is_conll2008,
    is_conll2009,
    is_conllu,
    is_conllu_plus,
    is_conllx8,
    is_malt_tab,
)
from .corpus import DivisibleCorpus
from .errors import CorpusError
from .lines import text_lines
from .sentence import Sentence
from .stream import Files, Stream, read_files
from .strings import load_string
from .tally import Tally


@dataclass(frozen=True, repr=False)
class PlainText(DivisibleCorpus):
    """Paragraphs of plain text. Each is a `Sentence` without a tree, whose words are separated by white space.

    The words are only meant for the tokenizer, which splits them further. Punctuation is still attached to them, so
    analyze plain text at token level.

    Example:
        >>> from attentionology.corpora_loaders import PlainText, Sentence
        >>> hello, bye = Sentence("p1", ("Hello", "there."), document="d"), Sentence("p2", ("Bye.",), document="d")
        >>> text = PlainText((hello, bye))
        >>> text
        PlainText(2 paragraphs, 3 words)
        >>> [len(paragraphs) for paragraphs in text.documents()]
        [2]
    """

    unit: ClassVar[str] = "paragraphs"
    limit_unit: ClassVar[str] = "paragraphs"
    has_heads: ClassVar[bool] = False

    def documents(self) -> list[tuple[Sentence, ...]]:
        """Return the paragraphs of each document, in file order."""
        by_document: dict[str | None, list[Sentence]] = {}
        for paragraph in self:
            by_document.setdefault(paragraph.document, []).append(paragraph)
        return [tuple(paragraphs) for paragraphs in by_document.values()]

    def each_document(self) -> Iterator[tuple[Sentence, ...]]:
        """Yield the paragraphs of each document, in file order."""
        if not isinstance(self.sentences, Stream):  # made by hand: the paragraphs of a document may be apart
            yield from self.documents()
            return
        for _, paragraphs in groupby(self.sentences, lambda paragraph: paragraph.document):
            yield tuple(paragraphs)


def load_text(
    paths: str | Path | Iterable[str | Path] = (), *, from_string: str | None = None, limit: int | None = None
) -> PlainText:
    """Read text files with one paragraph per line and blank lines between documents.

    The files are in UTF-8 and may be compressed with gzip, bzip2, xz or zip. A document also ends at the end of its
    file. The id of a paragraph is ``file:line``, and the id of a document is that of its first paragraph. All errors of
    the files are found at once. The paragraphs of small texts are held in memory; those of others are read again
    whenever they are asked for, see `attentionology.corpora_loaders.stream`.

    Args:
        paths: one file or several.
        from_string: the text itself, in place of files.
        limit: read at most this many paragraphs.

    Raises:
        ValueError: no file is given, or files and a string are, or the limit is less than 1.
        CorpusError: a file cannot be read, is a treebank or contains only white space, or two files are the same.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology import load_text
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "notes.txt")
        ...     _ = path.write_text("The first paragraph.\\nThe second one.\\n\\nAnother document.\\n")
        ...     text = load_text(path)
        >>> text
        PlainText(3 paragraphs, 8 words, 'notes.txt')
        >>> [paragraph.document for paragraph in text]
        ['notes.txt:1', 'notes.txt:1', 'notes.txt:4']
        >>> load_text(from_string="The first paragraph.\\n\\nAnother document.\\n")
        PlainText(2 paragraphs, 5 words)
    """
    if from_string is not None:
        return load_string(lambda path: load_text(path, limit=limit), from_string, paths)
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    for path in paths:
        _check_prose(path)
    names = Counter(Path(path).name for path in paths)
    ambiguous = frozenset(name for name, files in names.items() if files > 1)
    tally = Tally()
    files, records, held = read_files(
        paths, read_paragraphs, tally.add, tally, contents="text", options=(ambiguous,), limit=limit
    )
    return PlainText(Stream(Files(files), held=held), records).knowing(counted=tally.summarize())


def _check_prose(path: str | Path) -> None:
    """Raise `CorpusError` if a file has rows of columns, which would be read as text."""
    beginning = beginning_of_file(path)
    recognizers = {"CoNLL-U": is_conllu, "CoNLL-U Plus": is_conllu_plus, "CoNLL-2008": is_conll2008}
    recognizers |= {"CoNLL-2009": is_conll2009, "CoNLL-X": is_conllx8, "Malt-TAB": is_malt_tab}
    for name, recognize in recognizers.items():
        if "\t" in beginning.row and recognize(beginning):
            message = f"this is a treebank in {name}, not running text; read it with load_treebank, or --corpus"
            raise CorpusError(message, file=path, line=beginning.line)


def read_paragraphs(path: str, place: Any, ambiguous: frozenset[str]) -> Iterator[tuple[Sentence, Any]]:
    """Yield the paragraphs of a file; ids call it by its path if its name is ambiguous. See `ReadFile`."""
    name = path if Path(path).name in ambiguous else Path(path).name
    # Bytes and lines before the place, and the line on which the document began that may go on there, 0 for none.
    offset, lines, first_line = place or (0, 0, 0)
    for number, following, line in text_lines(path, offset=offset, lines=lines):
        words = tuple(line.split())
        if not words:
            first_line = 0
            continue
        first_line = first_line or number
        document = f"{name}:{first_line}"
        paragraph = Sentence(f"{name}:{number}", words, document=document, file=path, line=number, text=line)
        yield paragraph, (following, number, first_line)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighboring stretches of a document, ``[CLS] a [SEP] b [SEP]``.

    Attributes:
        start, cut, stop: the stretches as half-open ranges of pieces, counted through the document: ``start … cut`` is
            a, and ``cut … stop`` is b.
        halved: whether the cut is in the middle of a paragraph, because none ends between start and stop.

    Example:
        >>> from attentionology.corpora_loaders import Pair
        >>> pair = Pair(start=0, cut=40, stop=125, halved=False)
        >>> pair.cut - pair.start, pair.stop - pair.cut
        (40, 85)
    """

    start: int
    cut: int
    stop: int
    halved: bool


def pair_paragraphs(lengths: Sequence[int], room: int, rng: random.Random) -> Iterator[Pair]:
    """Cut a document into stretches of ``room`` pieces, and each stretch in two where a paragraph ends.

    This follows the published code, which fills a segment with whole lines and cuts it at one of their ends, chosen at
    random. That code, however, drops the excess on either side, and a line that fills the segment alone ends the
    document. Here the rest of a paragraph starts the next segment, and a stretch within one paragraph is cut in the
    middle. So every piece of the text is in exactly one segment, except for a single piece that may be left at the end.

    Args:
        lengths: the number of pieces of each paragraph.
        room: the number of pieces of a and b together, at least 2.
        rng: the random generator that chooses between paragraph ends.

    Raises:
        ValueError: the room is less than 2.

    Example:
        >>> import random
        >>> from attentionology.corpora_loaders import pair_paragraphs
        >>> for pair in pair_paragraphs([3, 4, 7], room=5, rng=random.Random(0)):
        ...     print(pair.start, pair.cut, pair.stop, pair.halved)
        0 3 5 False
        5 7 10 False
        10 12 14 True
    """
    if room < 2:
        raise ValueError(f"room must be at least 2, not {room}")
    ends = list(accumulate(lengths))  # where paragraphs end, counted in pieces
    size = ends[-1] if ends else 0
    for start in range(0, size, room):
        stop = min(start + room, size)
        if stop - start < 2:
            return
        ends_inside = ends[bisect_right(ends, start) : bisect_left(ends, stop)]
        choices = sorted({*ends_inside})  # an empty paragraph ends where the one before it ends
        yield Pair(start, rng.choice(choices) if choices else (start + stop) // 2, stop, halved=not choices)
