"""The annotated sentence that every other room reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from attentionology.corpora_loaders.describing import amount, shortened
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.words import split_words


@dataclass(frozen=True, slots=True, repr=False)
class Sentence:
    """One sentence: its words, its dependency tree, and what else the file said about it.

    Word numbers are 1-based as in CoNLL-U, so ``heads[0]`` is the head of word 1. Every annotation column
    holds either one value per word or nothing at all (``()``: the corpus does not have that annotation).

    Attributes:
        id: unique within a treebank (see `load_treebank`).
        words: the words the model is to read.
        heads: 1-based number of each word's head, 0 for the root, None where the file gives no head.
        relations: dependency relation of each word to its head, subtypes as given (``nsubj:pass``).
        tags: universal part of speech (UPOS; the coarse tag in CoNLL-X).
        lemmas, xpos, feats, deps, misc: the other columns, as the file wrote them (``_`` where empty).
        multiword: ``(first, last, form)`` of each multiword token, word numbers inclusive.
        empty_nodes: ids of empty nodes (``8.1``); they carry no text and are not among the words.
        empty_misc: their column ``misc``.
        comments: the ``# key = value`` lines.
        text: the running text, if the file has it.
        document: id of the document the sentence stands in, if the file has it.
        file, line: where the sentence starts.
        lines: the line of each word.
    """

    id: str
    words: tuple[str, ...]
    heads: tuple[int | None, ...] = ()
    relations: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    feats: tuple[str, ...] = ()
    deps: tuple[str, ...] = ()
    misc: tuple[str, ...] = ()
    multiword: tuple[tuple[int, int, str], ...] = ()
    empty_nodes: tuple[str, ...] = ()
    empty_misc: tuple[str, ...] = ()
    comments: Mapping[str, str | None] = field(default_factory=dict)
    text: str | None = None
    document: str | None = None
    file: str | None = None
    line: int | None = None
    lines: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for column in ("heads", "relations", "tags", "lemmas", "xpos", "feats", "deps", "misc", "lines"):
            length = len(getattr(self, column))
            if length not in (0, len(self.words)):
                raise ValueError(f"sentence {self.id!r} has {len(self.words)} words but {length} {column}")

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        words = shortened(" ".join(self.words))
        return f"{type(self).__name__}({shortened(self.id)}, {words}, {amount(len(self), 'words')})"

    @staticmethod
    def from_text(text: str, *, id: str | None = None) -> Sentence:  # noqa: A002  # the name of the field
        """A sentence without annotation, made of running text.

        Words are cut by the rule of `attentionology.corpora_loaders.words`; where they are known, or in a language that
        writes no spaces, give them to `Sentence` itself. The text is not cut into sentences: all of it is read at once.

        Args:
            text: the text.
            id: must differ between sentences that are analyzed together. Default: the text, with single spaces.

        Raises:
            CorpusError: there is no word in it, or it holds half of a surrogate pair, which is no character.
            TypeError: it is no string.

        Example:
            >>> Sentence.from_text("The keys aren't on the table.").words
            ('The', 'keys', "aren't", 'on', 'the', 'table', '.')
        """
        if not isinstance(text, str):
            raise TypeError(f"expected the text as a string, not as {type(text).__name__}")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise CorpusError("the text holds half of a surrogate pair, which is no character", sentence=id)
        words = split_words(text)
        if not words:
            raise CorpusError("expected a text with a word in it, found only white space", sentence=id)
        return Sentence(" ".join(text.split()) if id is None else id, words, text=text)
