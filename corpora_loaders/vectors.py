"""Numbers of words: vectors in the text format of GloVe, word2vec and fastText, and frequency lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .describing import amount, named_files
from .errors import CorpusError
from .lines import WHOLE_NUMBER, file_sha256, located_lines

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A decimal number. `float` would also accept underscores, white space, digits of other scripts, nan and inf."""

# Matching all values of a line at once is much faster than matching each of them against `_NUMBER`. What numpy can
# convert among strings of these characters is a decimal number.
_SIGNS = re.compile(r"[0-9eE.+-]*")

_COUNT = re.compile(r"[0-9]{1,18}")
"""A count. `int` would also accept signs, underscores and digits of other scripts."""

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, repr=False)
class WordVectors:
    """A vector for each of some words.

    A word is looked up as it is written, and if it has no vector, in lower case. With vectors of lower-cased words
    (GloVe 6B) this is the lookup of Clark et al. (2019); with cased vectors *Apple* and *apple* stay different.

    Attributes:
        array: the vectors, float32, shape (words, dimensions).
        index: the row of each word.
        path, sha256: the file and its SHA-256; for a file in a zip file, the SHA-256 of the zip file.
        in_file: the number of vectors in the file.
        repeated: the number of lines that repeat a word which has a vector already. The first line counts.
        announced: the number of vectors that the header of the file announces; None without a header.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import WordVectors
        >>> vectors = WordVectors(np.eye(2, dtype=np.float32), {"garden": 0, "train": 1})
        >>> vectors(["Train", "harbor"])  # a word without a vector gets zeros
        array([[0., 1.],
               [0., 0.]], dtype=float32)
    """

    array: Vectors
    index: Mapping[str, int]
    path: str = ""
    sha256: str = ""
    in_file: int = 0
    repeated: int = 0
    announced: int | None = None
    _padded: Vectors = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        padded = np.concatenate([self.array, np.zeros((1, self.dimensions), dtype=np.float32)])
        object.__setattr__(self, "_padded", padded)  # whose last row, −1, is that of words without a vector

    def __repr__(self) -> str:
        facts = [amount(len(self.array), "words"), amount(self.dimensions, "dimensions")]
        if self.path:
            facts.append(named_files([self.path]))
        return f"WordVectors({', '.join(facts)})"

    @property
    def dimensions(self) -> int:
        """The number of dimensions of each vector."""
        return int(self.array.shape[1])

    def rows(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the row of each word in `array`, −1 for a word without a vector."""
        index = self.index
        return np.array([index.get(word, index.get(word.lower(), -1)) for word in words], dtype=np.int64)

    def __call__(self, words: Sequence[str]) -> Vectors:
        """The vectors of the words, shape (words, dimensions), with zeros for a word without a vector."""
        return self._padded[self.rows(words)]

    def remarks(self) -> list[str]:
        """What a reader should know about the file, one sentence for each remark."""
        remarks = []
        if self.repeated:
            remarks.append(
                f"{amount(self.repeated, 'lines of the vectors repeat', 'line of the vectors repeats')} a word of the "
                "corpora; only the first of them is used."
            )
        if self.announced not in (None, self.in_file):
            remarks.append(
                f"The header of the vectors announces {self.announced:,} lines, but there are {self.in_file:,}."
            )
        return remarks


def load_vectors(path: str | Path, words: Iterable[str] | None = None) -> WordVectors:
    """Read a file of word vectors, with or without a header ``count dimensions``.

    The file may be compressed with gzip, bzip2, xz or zip. Fields are separated by spaces or tabs. A word may contain
    spaces, as some words of GloVe 840B do. The number of fields is checked in every line. The numbers themselves are
    checked in the first line and wherever a vector is kept.

    Args:
        path: the file. Name one of several files in a zip file as if the zip file were a folder.
        words: keep only the vectors that a lookup of these words needs. Default: all.

    Raises:
        CorpusError: the file cannot be read or has no vector, a line differs from the first one in its number of
            dimensions, or a field is not a finite number.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology import load_vectors
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "vectors.txt")
        ...     _ = path.write_text("garden 0.5 1\\ntrain -1 0.25\\n")
        ...     vectors = load_vectors(path, words=["Garden"])
        >>> vectors
        WordVectors(1 word, 2 dimensions, 'vectors.txt')
        >>> vectors(["Garden"])
        array([[0.5, 1. ]], dtype=float32)
    """
    wanted = None if words is None else {form for word in words for form in (word, word.lower())}
    index: dict[str, int] = {}  # of the words whose vectors are kept
    kept: list[Vectors] = []
    announced = dimensions = None
    source = ""  # which line says how many dimensions there are, for messages
    in_file = repeated = 0  # numbers of vectors
    for number, _, text in located_lines(path):
        line = text.replace("\t", " ").rstrip(" ")
        if not line:
            continue
        fields = line.split(" ")
        if number == 1 and len(fields) == 2 and all(map(WHOLE_NUMBER.fullmatch, fields)):
            announced, dimensions = int(fields[0]), int(fields[1])
            source = f"the header announces {dimensions}"
            continue
        try:
            if dimensions is None:
                dimensions = _dimensions_of(fields)
                source = f"that of line {number} has {dimensions}"
            word, values = _split_fields(fields, dimensions, source)
            in_file += 1
            if word in index:
                repeated += 1
            elif wanted is None or word in wanted:
                index[word] = len(kept)
                kept.append(_numbers(values))
            elif in_file == 1:  # the first line is checked whether it is kept or not
                _numbers(values)
        except ValueError as error:
            raise CorpusError(str(error), file=path, line=number) from None
    if not in_file or not dimensions:
        raise CorpusError("the file contains no vector; expected a word and its numbers in each line", file=path)
    array = np.stack(kept) if kept else np.zeros((0, dimensions), dtype=np.float32)
    return WordVectors(array, index, str(path), file_sha256(path), in_file, repeated, announced)


def _dimensions_of(fields: list[str]) -> int:
    """Return the number of values in the first line."""
    dimensions = len(_after_word(fields))
    if not dimensions:
        raise ValueError(f"expected a word and its numbers, found {' '.join(fields)[:60]!r}")
    # If a part of a word with spaces looks like another kind of number, it is unclear where the numbers begin.
    for part in list(filter(None, fields))[1:-dimensions]:
        try:
            float.fromhex(part) if part.lower().startswith("0x") else float(part.replace(",", "."))
        except (ValueError, OverflowError):
            continue
        raise ValueError(f"{part[:40]!r} is not a number")
    return dimensions


def _split_fields(fields: list[str], dimensions: int, source: str) -> tuple[str, list[str]]:
    """Return the word of a line and its values; ``source`` says in an error where the number of dimensions is from."""
    if len(fields) == dimensions + 1 and dimensions:
        return fields[0], fields[1:]
    values = _after_word(fields)
    if len(values) != dimensions or not dimensions:
        raise ValueError(f"the vector of {fields[0][:40]!r} has {len(values)} numbers, but {source}")
    return " ".join(list(filter(None, fields))[:-dimensions]), values


def _after_word(fields: list[str]) -> list[str]:
    """Return the values of a line whose word may have spaces: all from the first number after the first field on."""
    return list(dropwhile(lambda value: not _NUMBER.fullmatch(value), filter(None, fields[1:])))


def _numbers(values: list[str]) -> Vectors:
    """Return the values of a line as float32, shape (dimensions,). They must be finite."""
    try:
        if not _SIGNS.fullmatch("".join(values)):
            raise ValueError  # as numpy does, for the message below
        with np.errstate(over="ignore"):  # infinite values are reported below
            vector = np.array(values, dtype=np.float32)
    except ValueError:
        wrong = next(value for value in values if not _NUMBER.fullmatch(value))
        raise ValueError(f"{wrong[:40]!r} is not a number") from None
    if not np.isfinite(vector).all():
        wrong = values[int(np.flatnonzero(~np.isfinite(vector))[0])]
        raise ValueError(f"{wrong[:40]!r} is not a finite number")
    return vector


def read_frequencies(path: str | Path) -> dict[str, int]:
    """Read the count of each form from lines that consist of a form, a tab or space, and a count.

    Blank lines are skipped.

    Raises:
        CorpusError: the file cannot be read or has no counts, a line is not a form and a whole number, or a form occurs
            twice.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders import read_frequencies
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "counts.txt")
        ...     _ = path.write_text("the\\t1204\\nlighthouse\\t3\\n")
        ...     read_frequencies(path)
        {'the': 1204, 'lighthouse': 3}
    """
    counts: dict[str, int] = {}
    for number, _, line in located_lines(path):
        if not line.strip():
            continue
        form, count = [*line.rsplit(None, 1), ""][:2]  # a line may have a form alone
        form = form.strip()
        if not form or not _COUNT.fullmatch(count):
            raise CorpusError(f"expected a form and its count, found {line[:60]!r}", file=path, line=number)
        if form in counts:
            raise CorpusError(f"{form!r} is listed twice", file=path, line=number)
        counts[form] = int(count)
    if not counts:
        raise CorpusError("the file is empty; expected a form and its count in each line", file=path)
    return counts
