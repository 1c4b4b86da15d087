"""Sentence pairs → what an encoder–decoder reads: pieces of the source, and decoder inputs for the target.

Each word is tokenized by itself, on either side in the tokenizer's own mode for that side (``text`` and
``text_target``), and the pieces are put one after the other. So it is always known which piece belongs to which word,
and slow tokenizers, which do not record it, can be used. What comes before and after the words (language codes, the
end of the sentence) is what the tokenizer puts around a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..tokens.pieces import Pieces, Unalignable, needs_space, reserved_ids

ShiftLabels = Callable[[list[int]], list[int]]
"""Makes the decoder inputs of labels, as the model does in training."""


@dataclass(frozen=True, slots=True)
class PairPieces:
    """A sentence pair as the model reads it.

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
        """How many words both sides have."""
        return self.source.words + self.target.words

    @property
    def unknown(self) -> int:
        """How many words of both sides have a piece that is the unknown token."""
        return self.source.unknown + self.target.unknown

    @property
    def substituted(self) -> int:
        """How many words of both sides are read as the unknown token because the tokenizer has no piece for them."""
        return self.source.substituted + self.target.substituted


class TokenizerSide:
    """The tokenizer on one side of a translation model.

    Args:
        tokenizer: the tokenizer of the model.
        is_target: whether it is the target side.
        lead: text that is put before the words, such as the task of a T5 model. Its pieces are special positions.

    Raises:
        ModelError: the tokenizer puts special tokens into a text, not around it.
    """

    def __init__(self, tokenizer: Any, *, is_target: bool, lead: str = "") -> None:
        self._tokenizer, self._is_target = tokenizer, is_target
        self._space = " " if getattr(tokenizer, "is_fast", False) and needs_space(tokenizer) else ""
        self._reserved = reserved_ids(tokenizer)
        self._ids: dict[str, list[int]] = {}
        self.unk: int | None = tokenizer.unk_token_id
        self._vocabulary = _target_vocabulary(tokenizer) if is_target else None
        (bare,), (framed,) = self._tokenize(["a"], framed=False), self._tokenize(["a"], framed=True)
        starts = [k for k in range(len(framed) - len(bare) + 1) if framed[k : k + len(bare)] == bare]
        if not bare or not starts:
            raise ModelError(f"{type(tokenizer).__name__} does not put its special tokens around the pieces of a text")
        self.prefix, self.suffix = framed[: starts[0]], framed[starts[0] + len(bare) :]
        if lead:
            self.prefix = [*self.prefix, *self._tokenize([lead.strip()], framed=False)[0]]

    def pieces_of(self, words: Sequence[str]) -> list[list[int]]:
        """Return the pieces of each word; an empty list for a word that the tokenizer has no piece for.

        Special tokens in the text are text. If the tokenizer insists on the special token, the unknown token takes its
        place.
        """
        new = list(dict.fromkeys(word for word in words if word not in self._ids))
        if new:
            for word, ids in zip(new, self._tokenize([self._space + word for word in new], framed=False), strict=True):
                if self.unk is None and any(piece in self._reserved for piece in ids):
                    raise Unalignable(f"the word {word!r} is read as a special token")
                self._ids[word] = [self.unk if piece in self._reserved else piece for piece in ids]  # type: ignore[misc]
        return [self._ids[word] for word in words]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return pieces as the tokenizer writes them."""
        if self._vocabulary is not None:
            return [self._tokenizer.decoder.get(piece, str(self._tokenizer.unk_token)) for piece in ids]
        return [str(token) for token in self._tokenizer.convert_ids_to_tokens(list(ids))]

    def _tokenize(self, texts: list[str], *, framed: bool) -> list[list[int]]:
        options = {"add_special_tokens": framed, "split_special_tokens": True, "verbose": False}
        if self._vocabulary is not None:
            unk = self._vocabulary.get(str(self._tokenizer.unk_token), 0)
            pieces = [[self._vocabulary.get(t, unk) for t in self._tokenizer.tokenize(text)] for text in texts]
            build = self._tokenizer.build_inputs_with_special_tokens
            return [list(build(ids)) for ids in pieces] if framed else pieces
        sides = {"text_target": texts} if self._is_target else {"text": texts}
        return [list(ids) for ids in self._tokenizer(**sides, **options)["input_ids"]]


def set_languages(tokenizer: Any, name: str, *, source: str | None, target: str | None) -> None:
    """Let a tokenizer write the codes of the languages, for models of several languages."""
    if source is not None:
        with _languages_of(tokenizer, "src_lang", name, source):
            tokenizer.src_lang = source
            _check_codes(tokenizer(text="a"))
    if target is not None:
        with _languages_of(tokenizer, "tgt_lang", name, target):
            tokenizer.tgt_lang = target
            _check_codes(tokenizer(text_target="a"))


@contextmanager
def _languages_of(tokenizer: Any, attribute: str, name: str, language: str) -> Iterator[None]:
    """Turn the errors of a tokenizer that does not know a language into one that says so."""
    if not hasattr(tokenizer, attribute):
        raise ModelError(f"{name}: the tokenizer knows no languages, so none can be chosen")
    try:
        yield
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise ModelError(f"{name}: the tokenizer has no language {language!r}") from error


def _check_codes(written: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a tokenizer has written a code that is not in its vocabulary."""
    if any(piece is None for piece in written["input_ids"]):
        raise ValueError("the code of the language is not in the vocabulary")


def _target_vocabulary(tokenizer: Any) -> dict[str, int] | None:
    """Return the vocabulary of the target side if the tokenizer does not use it by itself (FSMT in transformers 5)."""
    if type(tokenizer).__name__ != "FSMTTokenizer":
        return None
    return {token: number for number, token in tokenizer.decoder.items()}


def side_pieces(side: TokenizerSide, words: Sequence[str]) -> Pieces:
    """Return the pieces of a sentence between the special tokens of its side."""
    ids, positions = list(side.prefix), list(range(len(side.prefix)))
    special = [True] * len(side.prefix)
    substituted = unknown = 0
    for number, pieces in enumerate(side.pieces_of(words), start=1):
        if not pieces and side.unk is None:
            raise Unalignable(f"the tokenizer has no piece for word {number} and no unknown token")
        substituted += not pieces
        pieces = pieces or [side.unk or 0]
        unknown += side.unk in pieces
        positions += [len(special)] * len(pieces)
        special.append(False)
        ids += pieces
    positions += range(len(special), len(special) + len(side.suffix))
    special += [True] * len(side.suffix)
    ids += side.suffix
    return Pieces(ids, side.tokens(ids), positions, special, substituted, unknown)


def decoder_pieces(side: TokenizerSide, words: Sequence[str], shift: ShiftLabels, end: int) -> Pieces:
    """Return what the decoder reads for a translation, so that the last piece of the last word is read, too."""
    labels = side_pieces(side, words)
    whole = labels.ids if side.suffix else [*labels.ids, end]
    inputs = shift(whole)
    first = len(side.prefix)
    pieces = labels.ids[first : len(labels.ids) - len(side.suffix)]
    before = first + 1
    if len(inputs) != len(whole) or inputs[before : before + len(pieces)] != pieces:
        raise ModelError("the decoder inputs that the model makes of labels do not hold the pieces of the labels")
    n_after = len(inputs) - before - len(pieces)
    of_words = [position - first + before for position in labels.positions[first : first + len(pieces)]]
    n_words = len(words)
    after = range(before + n_words, before + n_words + n_after)
    return Pieces(
        inputs,
        side.tokens(inputs),
        [*range(before), *of_words, *after],
        [True] * before + [False] * n_words + [True] * n_after,
        labels.substituted,
        labels.unknown,
    )
