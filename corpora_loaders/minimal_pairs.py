"""Minimal pairs: an acceptable sentence and one that differs from it in what makes it unacceptable.

Files are those of BLiMP (Warstadt et al. 2020), with a JSON object on each line, or have two columns with a tab between
them, the acceptable sentence first. A field of ours, ``words``, names two words of a pair: the head noun, with which
a verb or a pronoun agrees, and an attractor, with which it does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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

WORDS = ("head", "attractor")
"""The names of the words that the field ``words`` of a pair names."""

_NAMED = 'a number from 1 or a form for each of "head" and "attractor"'


@dataclass(frozen=True, repr=False)
class Pairs(Corpus):
    """Minimal pairs: the acceptable and the unacceptable sentence of each in turn.

    The id of a sentence is that of its pair, such as ``agreement.jsonl:12``, and ``good`` or ``bad``. Its document is
    the name of the group, and its words are separated by white space. The comments ``head`` and ``attractor`` have the
    numbers of these words, if the file names them.

    Example:
        >>> from attentionology import load_pairs
        >>> pairs = load_pairs("sample")
        >>> pairs
        Pairs(400 sentences, 2,322 words, 'minimal_pairs.jsonl')
        >>> pairs[0].text, pairs[1].text
        ('The gardener waters the roses.', 'The gardener water the roses.')
        >>> pairs[40].text, pairs[40].comments
        ('The key near the cabinets is old.', {'head': '2', 'attractor': '5'})
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

    The group of a pair is its ``UID``, as in BLiMP, or the name of its file without the ending. The field ``words``, if
    a pair has it, is an object that names the head noun and an attractor, such as ``{"head": "key", "attractor":
    "cabinets"}``, each by its form or by its number from 1. Both sentences must have these words. Other fields are not
    read.

    Args:
        paths: one file or several, or ``"sample"``: 200 pairs in ten groups, which come with the toolkit.
        limit: read at most this many pairs.

    Raises:
        CorpusError: a file cannot be read or has no pairs; a line is no pair, or has the same sentence twice;
            or a sentence does not have a word that ``words`` names.
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
        good, bad, group, words = _pair_of(line, path, number)
        for end, text in ((GOOD, good), (BAD, bad)):
            comments = {name: str(place) for name, place in words.get(end, {}).items()}
            yield (
                Sentence(
                    f"{name}:{number} {end}",
                    tuple(text.split()),
                    comments=comments,
                    document=group,
                    file=path,
                    line=number,
                    text=text,
                ),
                (following, number),
            )


def _pair_of(line: str, path: str, number: int) -> tuple[str, str, str, dict[str, dict[str, int]]]:
    """Return the two sentences of a line, the name of the group, and the numbers of the words it names in each."""
    group, named = Path(path).name.partition(".")[0], None
    if line.lstrip().startswith("{"):
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise CorpusError(f"this is no JSON object: {error}", file=path, line=number) from None
        good, bad, named = fields.get("sentence_good"), fields.get("sentence_bad"), fields.get("words")
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
    try:
        words = {} if named is None else _words_of(named, good.split(), bad.split())
    except ValueError as error:
        raise CorpusError(f"the field words: {error}", file=path, line=number) from None
    return good.strip(), bad.strip(), group, words


def _words_of(named: Any, good: Sequence[str], bad: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the numbers of the words that the field ``words`` names, by sentence and name.

    Raises:
        ValueError: the field does not name them; the message says why.
    """
    if not isinstance(named, dict) or sorted(named) != sorted(WORDS):
        raise ValueError(f"expected {_NAMED}, found {named!r:.80}")
    found = {
        end: {name: _number_of(named[name], words, end) for name in WORDS} for end, words in ((GOOD, good), (BAD, bad))
    }
    for name in WORDS:
        one, other = good[found[GOOD][name] - 1], bad[found[BAD][name] - 1]
        if one != other:  # it is one of those that differ, and not one to which they attend
            raise ValueError(f"the {name} is {one!r:.60} in one sentence, but {other!r:.60} in the other")
    if found[GOOD]["head"] == found[GOOD]["attractor"]:
        raise ValueError("the head and the attractor are the same word")
    return found


def _number_of(named: Any, words: Sequence[str], end: str) -> int:
    """Return the number of a word, given by its number or by its form, with or without punctuation at its ends."""
    sentence = f"the sentence sentence_{end}"
    if isinstance(named, int) and not isinstance(named, bool):
        if not 1 <= named <= len(words):
            raise ValueError(f"{sentence} has no word {named}, it has {len(words)}")
        return named
    if not isinstance(named, str):
        raise ValueError(f"expected {_NAMED}, found {named!r:.60}")
    places = [place for place, word in enumerate(words, start=1) if named in (word, word.strip(_PUNCTUATION))]
    if not places:
        raise ValueError(f"{sentence} has no word {named!r:.60}")
    if len(places) > 1:
        raise ValueError(f"{sentence} has the word {named!r:.60} more than once; give its number, such as {places[0]}")
    return places[0]


_PUNCTUATION = ".,;:!?\"'()[]“”‘’«»…"
_SAMPLE = Path(__file__).parent / "sample" / "minimal_pairs.jsonl"
