"""Sentence pairs → what an encoder–decoder reads: pieces of the source, and decoder inputs for the target.

The tokenizer reads the words one at a time, as words of the source or as words of the target. So it is known which
pieces belong to which word, even if the tokenizer is a slow one. What comes before and after the words is what the
tokenizer puts around a text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from ..errors import ModelError
from ..tokens.pieces import Pieces, Unalignable, positions_of
from ..tokens.tokenizer import needs_space, reserved_ids


class TokenizerSide:
    """The tokenizer on one side of a translation model; ``lead`` is text before the words, such as a task for T5."""

    def __init__(self, tokenizer: Any, *, is_target: bool, lead: str = "") -> None:
        self._tokenizer, self._is_target = tokenizer, is_target
        self._space = " " if getattr(tokenizer, "is_fast", False) and needs_space(tokenizer) else ""
        self._reserved = reserved_ids(tokenizer)
        self._unk: int | None = tokenizer.unk_token_id
        self._ids: dict[str, list[int]] = {}  # the pieces of each word that has been read
        self._vocabulary: dict[str, int] | None = None
        # In transformers 5, this tokenizer does not use its vocabulary of the target language by itself.
        if is_target and type(tokenizer).__name__ == "FSMTTokenizer":
            self._vocabulary = {token: piece for piece, token in tokenizer.decoder.items()}
        (bare,), (framed,) = self._tokenize(["a"], framed=False), self._tokenize(["a"], framed=True)
        starts = [index for index in range(len(framed)) if framed[index : index + len(bare)] == bare]
        if not bare or not starts:
            raise ModelError(f"{type(tokenizer).__name__} does not put its special tokens around the pieces of a text")
        self.prefix, self.suffix = framed[: starts[0]], framed[starts[0] + len(bare) :]
        if lead:
            self.prefix = [*self.prefix, *self._tokenize([lead.strip()], framed=False)[0]]

    def frame(self, words: Sequence[str], before: Sequence[int], after: Sequence[int]) -> Pieces:
        """Return the pieces of words between special tokens; what has no piece of a text is read as unknown."""
        new = list(dict.fromkeys(word for word in words if word not in self._ids))
        for word, ids in zip(new, self._tokenize([self._space + word for word in new], framed=False), strict=True):
            if self._unk is None and any(piece in self._reserved for piece in ids):
                raise Unalignable(f"the word {word!r} is read as a special token")
            self._ids[word] = [self._unk if piece in self._reserved else piece for piece in ids]  # type: ignore[misc]
        by_word = [self._ids[word] for word in words]  # the pieces of each word
        substituted = by_word.count([])
        if substituted:
            if self._unk is None:
                raise Unalignable(f"the tokenizer has no piece for word {by_word.index([]) + 1} and no unknown token")
            by_word = [pieces or [self._unk] for pieces in by_word]
        ids = [*before, *chain.from_iterable(by_word), *after]
        word_of_piece = (index for index, pieces in enumerate(by_word) for _ in pieces)
        positions, special = positions_of([*[None] * len(before), *word_of_piece, *[None] * len(after)])
        unknown = sum(self._unk in pieces for pieces in by_word)
        return Pieces(ids, self._tokens(ids), positions, special, substituted, unknown)

    def _tokens(self, ids: Sequence[int]) -> list[str]:
        """Return pieces as the tokenizer writes them."""
        if self._vocabulary is not None:
            return [self._tokenizer.decoder.get(piece, str(self._tokenizer.unk_token)) for piece in ids]
        return [str(token) for token in self._tokenizer.convert_ids_to_tokens(list(ids))]

    def _tokenize(self, texts: list[str], *, framed: bool) -> list[list[int]]:
        """Return the ids of the pieces of each text, between special tokens if they are to be ``framed``."""
        if not texts:
            return []
        options = {"add_special_tokens": framed, "split_special_tokens": True, "verbose": False}
        if self._vocabulary is not None:
            unk = self._vocabulary.get(str(self._tokenizer.unk_token), 0)
            pieces = [[self._vocabulary.get(t, unk) for t in self._tokenizer.tokenize(text)] for text in texts]
            build = self._tokenizer.build_inputs_with_special_tokens
            return [list(build(ids)) for ids in pieces] if framed else pieces
        sides = {"text_target": texts} if self._is_target else {"text": texts}
        return [list(ids) for ids in self._tokenizer(**sides, **options)["input_ids"]]


def decoder_pieces(
    side: TokenizerSide, words: Sequence[str], shift: Callable[[list[int]], list[int]], end: int
) -> Pieces:
    """Return what the decoder reads for a translation, so that the last piece of the last word is read, too.

    ``shift`` makes the decoder inputs of labels, and ``end`` ends labels for which the tokenizer puts nothing there.
    """
    labels = side.frame(words, side.prefix, side.suffix or [end])
    inputs = shift(labels.ids)
    # The model puts one token in front and drops the last one, or, like mBART, moves the last one to the front. Either
    # way, what was at position k of the labels is read at k + 1.
    first, stop = len(side.prefix), len(labels) - len(side.suffix or [end])
    if len(inputs) != len(labels) or inputs[first + 1 : stop + 1] != labels.ids[first:stop]:
        raise ModelError("the decoder inputs that the model makes of labels do not hold the pieces of the labels")
    return side.frame(words, inputs[: first + 1], inputs[stop + 1 :])


def set_languages(tokenizer: Any, name: str, *, source: str | None, target: str | None) -> None:
    """Let a tokenizer write the codes of the languages, for models of several languages."""
    for attribute, language in (("src_lang", source), ("tgt_lang", target)):
        if language is None:
            continue
        if not hasattr(tokenizer, attribute):
            raise ModelError(f"{name}: the tokenizer knows no languages, so none can be chosen")
        try:
            if attribute == "src_lang":
                tokenizer.src_lang = language
                written = tokenizer(text="a")
            else:
                tokenizer.tgt_lang = language
                written = tokenizer(text_target="a")
            if None in written["input_ids"]:
                raise ValueError("the code of the language is not in the vocabulary")
        except (KeyError, ValueError, AttributeError, TypeError) as error:
            raise ModelError(f"{name}: the tokenizer has no language {language!r}") from error
