"""The annotated sentence, which all corpora consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral

from ..storage.writing import running_text
from .describing import amount, quote_shortened
from .errors import CorpusError
from .words import split_words

_COLUMNS = ("heads", "relations", "tags", "lemmas", "xpos", "feats", "deps", "misc", "lines", "punctuation")


@dataclass(frozen=True, slots=True, repr=False)
class Sentence:
    """One sentence with its words, its dependency tree, and the other annotation that the file has.

    Word numbers are 1-based as in CoNLL-U, so ``heads[0]`` is the head of word 1. Every annotation column has one value
    per word, or is empty if the corpus does not have that annotation.

    Attributes:
        id: the id of the sentence, unique within a corpus (see `load_treebank`).
        words: the words that the model reads.
        heads: the number of each word's head, 0 for the root, None where the file gives no head.
        relations: the dependency relation of each word to its head, including subtypes (``nsubj:pass``).
        tags: the universal part of speech of each word (UPOS; in CoNLL-X files the coarse tag).
        lemmas, xpos, feats, deps, misc: the other columns, unchanged (``_`` where a cell is empty).
        multiword: ``(first, last, form)`` of each multiword token; both word numbers are inclusive.
        empty_nodes: the ids of empty nodes, such as ``8.1``. These nodes have no text and are not among the words.
        empty_misc: the column ``misc`` of each empty node.
        comments: the ``# key = value`` lines.
        text: the running text, if the file has it.
        document: the id of the document that contains the sentence, if the file has it.
        file, line: the file, and the line where the sentence starts, from 1.
        lines: the line of each word.
        punctuation: whether each word is punctuation, if that is known otherwise than by the relation ``punct``; see
            `attentionology.corpora_loaders.punctuation`.
        second: the number of words before the second of two texts, if the sentence is a pair, see `Sentence.pair`.
        predicted_by: the program that predicted the annotation, if no person has made it.

    Raises:
        CorpusError: a column has neither one value per word nor none, a head is neither 0 nor the number of another
            word, a relation, a tag or the id of the document has a NUL character, or the text has half of a surrogate
            pair, or a text of a pair has no word. The message names the word of a head.
        TypeError: a word is not a string, a head is neither a whole number nor None, or a string is given where a
            sequence of them is expected.

    Example:
        >>> from attentionology import Sentence
        >>> sentence = Sentence("s1", ("She", "sings"), heads=(2, 0), relations=("nsubj", "root"))
        >>> sentence
        Sentence('s1', 'She sings', 2 words)
        >>> sentence.words[sentence.heads[0] - 1]
        'sings'
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
    punctuation: tuple[bool, ...] = ()
    second: int | None = None
    predicted_by: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.words, str):
            raise TypeError(f"expected words, not the string {self.words!r:.80}; Sentence.from_text splits a text")
        for number, word in enumerate(self.words, start=1):
            if not isinstance(word, str):
                raise TypeError(f"word {number} of sentence {self.id!r} is {word!r:.80}, not a string")
        for column in _COLUMNS:
            values = getattr(self, column)
            if isinstance(values, str):
                raise TypeError(f"expected one value per word as {column}, not the string {values!r:.80}")
            if len(values) not in (0, len(self.words)):
                raise self._fault(f"there are {len(self.words)} words but {len(values)} {column}")
        if self.second is not None and not 0 < self.second < len(self.words):
            raise self._fault(f"the second text cannot begin after word {self.second} of {len(self.words)}")
        names = "".join(map(str, (self.document, *self.relations, *self.tags)))
        if "\0" in names:  # arrays of numpy would drop it at the end of a name
            raise self._fault("a relation, a tag or the document has a NUL character, which is not text")
        try:
            "".join(map(str, (names, self.id, self.text, *self.words))).encode()
        except UnicodeEncodeError:  # no file could hold it
            raise self._fault("the text contains half of a surrogate pair, which is not a character") from None
        # Each head is checked by itself; longer cycles are found where a tree is read or climbed.
        for number, head in enumerate(self.heads, start=1):
            if head is None:
                continue
            if type(head) is not int and (isinstance(head, bool) or not isinstance(head, Integral)):
                raise TypeError(f"the head of {self._name_of_word(number)} is {head!r:.80}, not a whole number or None")
            if not 0 <= head <= len(self.words):
                raise self._fault(f"the head of {self._name_of_word(number)} is {head}, outside 0 … {len(self.words)}")
            if head == number:
                raise self._fault(f"{self._name_of_word(number)} is its own head")

    def _name_of_word(self, number: int) -> str:
        """Return what messages call a word."""
        return f"word {number} {self.words[number - 1]!r:.80}"

    def _fault(self, message: str) -> CorpusError:
        return CorpusError(message, file=self.file, line=self.line, sentence=self.id)

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        words = quote_shortened(running_text(self.words))
        return f"{type(self).__name__}({quote_shortened(self.id)}, {words}, {amount(len(self), 'words')})"

    @staticmethod
    def from_text(text: str, *, id: str | None = None) -> Sentence:  # noqa: A002  # the name of the field
        """A sentence without annotation, made from running text.

        The text is split into words by the rule of `attentionology.corpora_loaders.words`. If you know the words, or if
        the language does not write spaces between them, pass the words to `Sentence` instead. The text is not split
        into sentences: the model reads all of it at once.

        Args:
            text: the text.
            id: the id of the sentence; sentences that are analyzed together need different ids. Default: the text, with
                single spaces.

        Raises:
            CorpusError: the text has no word, or has half of a surrogate pair, which is not a character.
            TypeError: the text is not a string.

        Example:
            >>> from attentionology import Sentence
            >>> Sentence.from_text("The keys aren't on the table.").words
            ('The', 'keys', "aren't", 'on', 'the', 'table', '.')
        """
        if not isinstance(text, str):
            raise TypeError(f"expected the text as a string, not as {type(text).__name__}")
        words = split_words(text)
        if not words:
            raise CorpusError("expected a text with a word in it, found only white space", sentence=id)
        return Sentence(" ".join(text.split()) if id is None else id, words, text=text)

    @staticmethod
    def pair(first: str | Sequence[str], second: str | Sequence[str]) -> Sentence:
        """A pair of texts without annotation, which the model reads as its tokenizer joins two texts.

        A model such as BERT reads ``[CLS] first [SEP] second [SEP]``, with the segment ids of a pair.

        Args:
            first, second: each a string, which is split into words as by `from_text`, or a list of words.

        Raises:
            CorpusError: a text has no word.

        Example:
            >>> from attentionology import Sentence
            >>> pair = Sentence.pair("Who sleeps?", "The cat sleeps.")
            >>> pair.words, pair.second
            (('Who', 'sleeps', '?', 'The', 'cat', 'sleeps', '.'), 3)
        """
        texts = [Sentence.from_text(text).words if isinstance(text, str) else tuple(text) for text in (first, second)]
        names = [" ".join(text.split() if isinstance(text, str) else text) for text in (first, second)]
        return Sentence(" | ".join(names), texts[0] + texts[1], second=len(texts[0]))
