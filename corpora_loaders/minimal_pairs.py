"""Minimal pairs: an acceptable sentence and one that differs from it in what makes it unacceptable.

Files are those of BLiMP (Warstadt et al. 2020), with a JSON object on each line, or have two columns with a tab between
them, the acceptable sentence first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from .corpus import Corpus
from .errors import CorpusError
from .lines import text_lines
from .sentence import Sentence
from .stream import read_files
from .tally import Tally

GOOD, BAD = "good", "bad"
"""The ends of the ids of the two sentences of a pair."""


@dataclass(frozen=True, repr=False)
class Pairs(Corpus):
    """Minimal pairs: the acceptable and the unacceptable sentence of each in turn.

    The id of a sentence is that of its pair, such as ``agreement.jsonl:12``, and ``good`` or ``bad``. Its document is
    the name of the group, and its words are separated by white space.

    Example:
        >>> from attentionology import load_pairs
        >>> pairs = load_pairs("sample")
        >>> pairs
        Pairs(400 sentences, 2,322 words, 'minimal_pairs.jsonl')
        >>> pairs[0].text, pairs[1].text
        ('The gardener waters the roses.', 'The gardener water the roses.')
    """

    unit: ClassVar[str] = "sentences"
    limit_unit: ClassVar[str] = "pairs"
    has_heads: ClassVar[bool] = False
    divisible: ClassVar[bool] = False

    def counts(self) -> dict[str, int]:
        """Count the sentences and words, and the pairs in place of documents."""
        counts = {name: count for name, count in super().counts().items() if name != "documents"}
        return {**counts, "pairs": len(self) // 2}


def load_pairs(paths: str | Path | Iterable[str | Path], *, limit: int | None = None) -> Pairs:
    """Read files of minimal pairs.

    The group of a pair is its ``UID``, as in BLiMP, or the name of its file without the ending. Fields other than
    ``sentence_good``, ``sentence_bad`` and ``UID`` are not read.

    Args:
        paths: one file or several, or ``"sample"``: 200 pairs in ten groups, which come with the toolkit.
        limit: read at most this many pairs.

    Raises:
        CorpusError: a file cannot be read or has no pairs; or a line is no pair, or has the same sentence twice.
        ValueError: no file is given, or the limit is less than 1.

    Example:
        >>> from attentionology import load_pairs
        >>> good, bad = load_pairs("sample", limit=1)
        >>> good.id, bad.document
        ('minimal_pairs.jsonl:1 good', 'subject_verb_number')
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    given = [_SAMPLE if str(path) == "sample" else path for path in given]
    names = Counter(Path(path).name for path in given)
    ambiguous = frozenset(name for name, files in names.items() if files > 1)
    tally = Tally()
    whole = None if limit is None else 2 * limit
    _, records, held = read_files(
        given, read_pairs, tally.add, tally, contents="pairs", options=(ambiguous,), limit=whole, hold=2**31
    )
    return Pairs(held, records).knowing(counted=tally.summarize())


def read_pairs(path: str, place: Any, ambiguous: frozenset[str]) -> Iterator[tuple[Sentence, Any]]:
    """Yield both sentences of each pair of a file; ids call it by its path if its name is ambiguous."""
    name = path if Path(path).name in ambiguous else Path(path).name
    offset, lines = place or (0, 0)
    for number, following, line in text_lines(path, offset=offset, lines=lines):
        if not line.strip():
            continue
        good, bad, group = _pair_of(line, path, number)
        for end, text in ((GOOD, good), (BAD, bad)):
            words = tuple(text.split())
            yield (
                Sentence(f"{name}:{number} {end}", words, document=group, file=path, line=number, text=text),
                (following, number),
            )


def _pair_of(line: str, path: str, number: int) -> tuple[str, str, str]:
    """Return the two sentences of a line, and the name of the group."""
    group = Path(path).name.partition(".")[0]
    if line.lstrip().startswith("{"):
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise CorpusError(f"this is no JSON object: {error}", file=path, line=number) from None
        good, bad = fields.get("sentence_good"), fields.get("sentence_bad")
        group = str(fields.get("UID", group))
    else:
        cells = line.split("\t")
        if len(cells) != 2:
            message = f"expected two sentences with a tab between them, found {len(cells)} cells"
            raise CorpusError(message, file=path, line=number)
        good, bad = cells
    for field, text in (("sentence_good", good), ("sentence_bad", bad)):
        if not isinstance(text, str) or not text.strip():
            raise CorpusError(f"expected a sentence as {field}, found {text!r:.60}", file=path, line=number)
    if good.strip() == bad.strip():
        raise CorpusError(f"the two sentences are the same: {good.strip()!r:.80}", file=path, line=number)
    return good.strip(), bad.strip(), group


_SAMPLE = Path(__file__).parent / "sample" / "minimal_pairs.jsonl"
