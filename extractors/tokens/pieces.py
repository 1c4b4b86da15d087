"""Words ↔ word pieces: what the model reads for a sentence, and which pieces belong to which word."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any
from unicodedata import normalize

from ...corpora_loaders import Sentence
from ...corpora_loaders.describing import amount, quote_shortened
from .tokenizer import needs_space, reserved_ids

_SPACE = "▁"
"""The piece of a space, with which tokenizers such as that of XLM-RoBERTa begin words that they spell."""


@dataclass(frozen=True, slots=True, repr=False)
class Pieces:
    """A sentence as the model reads it.

    A *position* is a special token (``[CLS]``, ``[SEP]``) or a word; every piece belongs to one position.
    """

    ids: list[int]  # of the pieces in the vocabulary, special tokens included
    tokens: list[str]  # the pieces as strings
    positions: list[int]  # the 0-based position that each piece belongs to, never decreasing
    special: list[bool]  # whether each position is a special token
    # How many words the tokenizer gives no piece for, such as a lone control or zero-width character. The model reads
    # its unknown token in their place, so that every word keeps its row.
    substituted: int
    unknown: int  # how many words have a piece that is the unknown token, those substituted included
    segment_ids: list[int] | None = None  # which of two texts each piece belongs to; None: all zero
    unknown_pieces: int = 0  # how many pieces of words are the unknown token
    lost: int = 0  # how many characters of words are in no piece, or in one that is the unknown token

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def extent(self) -> str:
        """How much the model reads, in words."""
        return amount(len(self), "pieces")

    @property
    def words(self) -> int:
        """How many words the model reads."""
        return self.special.count(False)

    @property
    def word_lengths(self) -> list[int]:
        """How many pieces each word has."""
        lengths = Counter(self.positions)
        return [lengths[position] for position, special in enumerate(self.special) if not special]

    @property
    def word_of(self) -> list[int]:
        """The 0-based word of each piece, −1 at special tokens."""
        words = list(accumulate(map(operator.not_, self.special)))
        return [-1 if self.special[position] else words[position] - 1 for position in self.positions]

    def labels(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return what people read at each position: the word, or the special token."""
        special_tokens = (token for token, word in zip(self.tokens, self.word_of, strict=True) if word < 0)
        each_word = iter(words)
        return tuple(next(special_tokens if special else each_word) for special in self.special)

    def unmerged(self) -> Pieces:
        """Return the same pieces, each as a position of its own, which is special if the piece is of no word."""
        return replace(self, positions=list(range(len(self))), special=[word < 0 for word in self.word_of])

    def __repr__(self) -> str:
        positions = amount(len(self.special), "positions")
        return f"Pieces({quote_shortened(' '.join(self.tokens))}, {amount(len(self), 'pieces')}, {positions})"


@dataclass(frozen=True, slots=True)
class PairPieces:
    """A sentence pair as a model reads it that reads its sides apart.

    Attributes:
        source: what the encoder reads. Special tokens are positions of their own.
        target: what the decoder reads, from its start token on.

    Example:
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> from attentionology.extractors.translation import load_sample_translator
        >>> translator = load_sample_translator()
        >>> pair = SentencePair(id="1", words=("mä",), source=("bad",))
        >>> [pieces] = translator.align([pair])
        >>> pieces.source.special, pieces.target.special
        ([False, True], [True, False])
    """

    source: Pieces
    target: Pieces

    def __len__(self) -> int:
        return max(len(self.source), len(self.target))

    @property
    def extent(self) -> str:
        """How much the model reads, in words."""
        return f"{len(self.source)} source and {len(self.target)} target pieces"

    @property
    def words(self) -> int:
        """How many words both sides have; the other counts are those of both sides, too."""
        return self.source.words + self.target.words

    @property
    def unknown(self) -> int:
        """See `Pieces`."""
        return self.source.unknown + self.target.unknown

    @property
    def substituted(self) -> int:
        """See `Pieces`."""
        return self.source.substituted + self.target.substituted


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Segment(Sentence):
    """A stretch of text that was cut by pieces, so that its words are pieces.

    Attributes:
        pieces: what the model reads.

    Example:
        >>> from attentionology import load_encoder, load_text
        >>> from attentionology.extractors import make_segments
        >>> from pathlib import Path
        >>> _ = Path("text.txt").write_text("Cats sleep all day. Dogs do not.")
        >>> segment = make_segments(load_encoder("demo"), load_text("text.txt")).sentences[0]
        >>> segment.pieces.tokens
        ['[CLS]', 'cats', 'sleep', 'all', 'day', '[SEP]', '.', 'dogs', 'do', 'not', '.', '[SEP]']
    """

    pieces: Pieces


class Unalignable(ValueError):  # noqa: N818
    """A sentence whose words and pieces cannot be matched; the message says why."""


def align(
    tokenizer: Any, sentences: Sequence[Sentence], queries: Sequence[Sequence[str]] = ()
) -> list[Pieces | Unalignable]:
    """Tokenize sentences word by word and record which pieces belong to which word, or why there are none.

    Each word is tokenized by itself, so punctuation or a space within it does not start a new word. Byte-level
    tokenizers distinguish a word at the start of the text from the same word after a space, so each word gets a space.
    A literal ``[SEP]`` in the text is text; if the tokenizer insists on the special token, the unknown token takes its
    place. Nothing is truncated. The pieces of a query, read as the second of a pair, belong to no word. A sentence that
    is a pair of texts itself is read as one, and has the words of both.
    """
    if not queries and any(isinstance(sentence, Segment) or sentence.second for sentence in sentences):
        return [_one(tokenizer, sentence) for sentence in sentences]
    return _align_texts(tokenizer, sentences, [sentence.words for sentence in sentences], queries)


def _one(tokenizer: Any, sentence: Sentence) -> Pieces | Unalignable:
    """Return the pieces of one sentence, which may have been cut by pieces, or be a pair of texts."""
    if isinstance(sentence, Segment):
        return sentence.pieces
    words, second = sentence.words, sentence.second
    return _align_texts(tokenizer, [sentence], [words[:second]], [words[second:]] if second else [])[0]


def _align_texts(
    tokenizer: Any, sentences: Sequence[Sentence], firsts: Sequence[Sequence[str]], seconds: Sequence[Sequence[str]]
) -> list[Pieces | Unalignable]:
    """Return the pieces of sentences, given the words of the text that is read for each, and of a second one."""
    reserved = reserved_ids(tokenizer)
    space = " " if needs_space(tokenizer) else ""
    sides = [[[space + word for word in words] for words in side] for side in (firsts, seconds) if side]
    encodings = tokenizer(*sides, is_split_into_words=True, split_special_tokens=True, verbose=False).encodings
    aligned: list[Pieces | Unalignable] = []
    for sentence, encoding in zip(sentences, encodings, strict=True):
        try:
            aligned.append(_align(tokenizer, reserved, sentence, len(space), encoding))
        except Unalignable as reason:
            aligned.append(reason)
    return aligned


def _align(tokenizer: Any, reserved: set[int], sentence: Sentence, shift: int, encoding: Any) -> Pieces:
    """Match pieces with the words of a sentence, encoded after ``shift`` spaces."""
    texts, second = sentence.words, sentence.second
    unk, unk_token = tokenizer.unk_token_id, tokenizer.unk_token or ""
    first_word = [0, second]  # of each side, None for a query, whose pieces are like special tokens: they have no word
    starts = [None if side is None else first_word[side] for side in encoding.sequence_ids]
    word_of_piece = [
        None if start is None or word is None else start + word
        for start, word in zip(starts, encoding.word_ids, strict=True)
    ]
    type_ids = list(encoding.type_ids)
    missing_words = sorted(set(range(len(texts))).difference(word_of_piece))
    if missing_words and unk is None:
        raise Unalignable(f"the tokenizer has no piece for word {missing_words[0] + 1} and no unknown token")
    ids, tokens = list(encoding.ids), list(encoding.tokens)  # reserved ones are replaced below
    covered: list[tuple[int, int, int]] = []  # the word of each known piece, and its first character and the one after
    last_word = 0
    encoded = zip(word_of_piece, encoding.ids, encoding.tokens, encoding.offsets, strict=True)
    for index, (word, piece_id, token, (start, end)) in enumerate(encoded):
        if word is None:
            continue
        if word < last_word:
            raise Unalignable(f"piece {index + 1} ({token!r}) goes back to word {word + 1}")
        last_word = word
        if piece_id in reserved and unk is None:
            raise Unalignable(f"word {word + 1} is read as the special token {token!r}")
        if piece_id in reserved:
            ids[index], tokens[index] = unk, unk_token
        elif piece_id != unk and token != _SPACE:  # which stands for the space before the character that it claims
            covered.append((word, start - shift, end - shift))
    for word in missing_words:  # they are read as the unknown token
        index = _insertion_index(word, word_of_piece, second)
        word_of_piece.insert(index, word)
        type_ids.insert(index, max(type_ids) if second and word >= second else 0)
        ids.insert(index, unk)
        tokens.insert(index, unk_token)
    positions, special = positions_of(word_of_piece)
    words_of_unknown = [
        word for word, piece_id in zip(word_of_piece, ids, strict=True) if word is not None and piece_id == unk
    ]
    return Pieces(
        ids,
        tokens,
        positions,
        special,
        substituted=len(missing_words),
        unknown=len(set(words_of_unknown)),
        segment_ids=type_ids if any(type_ids) else None,  # only a pair has two segments
        unknown_pieces=len(words_of_unknown),
        lost=_count_lost(texts, covered),
    )


def _count_lost(texts: Sequence[str], covered: Iterable[tuple[int, int, int]]) -> int:
    """Count the characters of words that no known piece covers, given the stretches that they cover, in their order."""
    covered_until = [0] * len(texts)  # up to which character each word is covered
    lost = 0
    for word, start, end in covered:
        # A character may have several pieces, and what normalization drops has none.
        lost += _visible_between(texts[word], covered_until[word], start)
        covered_until[word] = max(covered_until[word], end)
    return lost + sum(_visible_between(text, end, len(text)) for text, end in zip(texts, covered_until, strict=True))


def count_visible(text: str) -> int:
    """Count the characters that are not white space; letters with combining marks count as when composed (NFC)."""
    composed = normalize("NFC", text)
    return len(composed) - sum(map(str.isspace, composed))


def _visible_between(text: str, start: int, end: int) -> int:
    """Count the visible characters that begin in a part of a text."""
    # Two beginnings are counted, because a combining mark at the start of the part belongs to the letter before it.
    return count_visible(text[:end]) - count_visible(text[:start]) if end > start else 0


def positions_of(words: Iterable[Any]) -> tuple[list[int], list[bool]]:
    """Return the position of each piece, and which positions are special, given the word of each piece.

    Of a special token, which is a position of its own, the word is None.
    """
    positions: list[int] = []
    special: list[bool] = []
    previous = None
    for word in words:
        if word is None or word != previous:
            special.append(word is None)
        positions.append(len(special) - 1)
        previous = word
    return positions, special


def _insertion_index(word: int, words: Sequence[int | None], second: int | None) -> int:
    """Find where a word without a piece belongs among the words of all pieces, in which None is a special token.

    It stays among the words of its text if there are two, of which the second begins with the word ``second``.
    """
    known = [(index, other) for index, other in enumerate(words) if other is not None]
    if second is not None:
        known = [(index, other) for index, other in known if (other < second) == (word < second)]
        if not known:
            raise Unalignable(f"the tokenizer has no piece for the {'first' if word < second else 'second'} text")
    for index, other in known:
        if other > word:
            return index
    if known:
        return known[-1][0] + 1
    return len(words) - 1 if len(words) > 1 else len(words)  # no word has a piece: before the last special token
