"""Word vectors in the text format of GloVe, word2vec and fastText: a word and its numbers per line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from attentionology.corpora_loaders.describing import amount, named_files
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import WHOLE_NUMBER, file_sha256, numbered_lines

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A decimal number. `float` would also take underscores, blanks, digits of other scripts, nan and inf."""

_SIGNS = re.compile(r"[0-9eE.+-]*")
"""What numbers are made of: checked at once for a whole vector, in which nothing but decimal numbers is then left."""

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, repr=False)
class WordVectors:
    """Vectors of some words.

    A word is looked up as it is written, then in lower case. With vectors of lower-cased words (GloVe 6B) that is the
    lower-cased lookup of Clark et al. (2019); with others *Apple* and *apple* stay two.

    Attributes:
        array: one row per word, float32; shape (words, dimensions).
        index: row of each word.
        path, sha256: where they come from; of a zip file the SHA-256 of the archive.
        in_file: how many vectors the file has.
        repeated: how many lines repeat a word that is kept; the first counts.
        announced: how many vectors the file's header announces, None without a header.
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
        object.__setattr__(self, "_padded", padded)

    def __repr__(self) -> str:
        facts = [amount(len(self.array), "words"), amount(self.dimensions, "dimensions")]
        return f"WordVectors({', '.join([*facts, *([named_files([self.path])] if self.path else [])])})"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.array.shape[1])

    def rows(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Row of each word in `array`, −1 of a word without a vector."""
        index = self.index
        return np.array([index.get(w, index.get(w.lower(), -1)) for w in words], dtype=np.int64)

    def __call__(self, words: Sequence[str]) -> Vectors:
        """The vectors of words, zeros where there is none; shape (words, dimensions)."""
        return self._padded[self.rows(words)]

    def remarks(self) -> list[str]:
        """What a reader should know about the file, a sentence each."""
        remarks = []
        if self.repeated:
            remarks.append(
                f"{self.repeated:,} lines of the vectors repeat a word of the corpora; the first of them counts."
            )
        if self.announced not in (None, self.in_file):
            remarks.append(f"The header of the vectors announces {self.announced:,} lines, there are {self.in_file:,}.")
        return remarks


def load_vectors(path: str | Path, words: Iterable[str] | None = None) -> WordVectors:
    """Read a file of word vectors, plain or in a gzip or zip file, with or without a header ``count dimensions``.

    Fields are separated by blanks or tabs. A word may contain blanks, as some of GloVe 840B do. The number of fields is
    checked in every line, the numbers themselves in the first and where a word is kept.

    Args:
        path: the file; one of several in a zip file is named like a file in a folder.
        words: keep only what looks up these; default all.

    Raises:
        CorpusError: a line has another number of dimensions than the first, a field that is no finite number, or there
            is no vector in the file at all.
    """
    wanted = None if words is None else {form for word in words for form in (word, word.lower())}
    index: dict[str, int] = {}
    kept: list[Vectors] = []
    announced = dimensions = None
    first = in_file = repeated = 0
    for number, text in numbered_lines(path):
        line = text.replace("\t", " ").rstrip(" ")
        if not line:
            continue
        fields = line.split(" ")
        if number == 1 and len(fields) == 2 and all(map(WHOLE_NUMBER.fullmatch, fields)):
            announced, dimensions = int(fields[0]), int(fields[1])
            continue
        if dimensions is None:
            dimensions, first = len(_after_word(fields)), number
            _check_word([part for part in fields if part][1:-dimensions] if dimensions else [], path, number)
        word, values = _parted(fields, dimensions, first, path, number)
        in_file += 1
        if word in index:
            repeated += 1
        elif wanted is None or word in wanted:
            index[word] = len(kept)
            kept.append(_numbers(values, path, number))
        elif in_file == 1:
            _numbers(values, path, number)
    if not in_file or not dimensions:
        raise CorpusError("there is no vector in it; expected lines of a word and its numbers", file=path)
    array = np.stack(kept) if kept else np.zeros((0, dimensions), dtype=np.float32)
    return WordVectors(array, index, str(path), file_sha256(path), in_file, repeated, announced)


def _parted(fields: list[str], dimensions: int, first: int, path: str | Path, number: int) -> tuple[str, list[str]]:
    """The word and its values; ``first`` is the line that told how many they are, 0 for the header."""
    if len(fields) == dimensions + 1 and dimensions:
        return fields[0], fields[1:]
    values = _after_word(fields)
    if len(values) != dimensions or not dimensions:
        expected = f"that of line {first} {dimensions}" if first else f"the header announces {dimensions}"
        raise CorpusError(
            f"the vector of {fields[0][:40]!r} has {len(values)} numbers, {expected}"
            if number != first
            else f"expected a word and its numbers, found {' '.join(fields)[:60]!r}",
            file=path,
            line=number,
        )
    return " ".join([value for value in fields if value][:-dimensions]), values


def _after_word(fields: list[str]) -> list[str]:
    """The values of a line whose word may have blanks in it: all from the first number after its beginning on."""
    return list(dropwhile(lambda value: not _is_number(value), filter(None, fields[1:])))


def _check_word(parts: list[str], path: str | Path, line: int) -> None:
    """Refuse parts of the first word that look like numbers: then it is not known where the numbers begin."""
    for part in parts:
        try:
            float.fromhex(part) if part.lower().startswith("0x") else float(part.replace(",", "."))
        except (ValueError, OverflowError):
            continue
        raise CorpusError(f"{part[:40]!r} is not a number", file=path, line=line)


def _is_number(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None


def _numbers(values: list[str], path: str | Path, line: int) -> Vectors:
    try:
        if not _SIGNS.fullmatch("".join(values)):
            raise ValueError
        with np.errstate(over="ignore"):  # infinite is said below
            vector = np.array(values, dtype=np.float32)
    except ValueError:
        wrong = next(value for value in values if not _is_number(value))
        raise CorpusError(f"{wrong[:40]!r} is not a number", file=path, line=line) from None
    if not np.isfinite(vector).all():
        wrong = values[int(np.flatnonzero(~np.isfinite(vector))[0])]
        raise CorpusError(f"{wrong[:40]!r} is not a finite number", file=path, line=line)
    return vector
