"""Sentences and corpora from what is at hand in Python: strings, lists of words, and the text of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from .adapters import foreign_sentences, is_foreign
from .corpus import Corpus
from .errors import CorpusError
from .sentence import Sentence
from .stream import Stream
from .unique_names import UniqueNames

Loaded = TypeVar("Loaded", bound=Corpus)

Texts = str | Sentence | Mapping[str, Any] | Iterable[Any]
"""One input or several, see `as_sentences`."""


def as_sentences(texts: Texts) -> Iterable[Sentence]:
    """Return inputs as sentences, in their order. Lists and tuples are checked at once, other iterables while read.

    One input is a `Sentence`; a string, which is split into words by the rule of
    `attentionology.corpora_loaders.words`; or an object of another library, which is not imported: a ``Doc`` or
    ``Span`` of spaCy, a ``Document`` or ``Sentence`` of Stanza, a ``TokenList`` of conllu, a tree of udapi, or a row of
    a data set with the column ``tokens`` or ``text``. A document has several sentences. A tuple of two strings of which
    one has a space is a pair of texts, see `Sentence.pair`.

    Several inputs are a corpus, such as a slice of a treebank, or an iterable of inputs. In an iterable, any other list
    or tuple of strings is one sentence, given by its words. The id of an input is its own, or the text; ``#2``, ``#3``,
    … are appended to those that occurred before, except for the ids of a `Sentence`.

    Raises:
        CorpusError: a text has no word in it, or the annotation of an object cannot be used.
        TypeError: something is none of these.

    Example:
        >>> from attentionology.corpora_loaders import as_sentences
        >>> [sentence.words for sentence in as_sentences(["Cats sleep.", ["Dogs", "don't"]])]
        [('Cats', 'sleep', '.'), ('Dogs', "don't")]
        >>> row = {"tokens": ["She", "sings"], "head": ["2", "0"], "deprel": ["nsubj", "root"]}
        >>> [sentence.heads for sentence in as_sentences(row)]
        [(2, 0)]
    """
    if isinstance(texts, Corpus | Stream):  # streams are those of sentences
        return texts
    unique, documents = UniqueNames(), _Documents()

    def of_one(thing: object) -> Iterable[Sentence]:
        if isinstance(thing, Sentence | Corpus):
            return [thing] if isinstance(thing, Sentence) else thing
        found: Iterable[Sentence] | None = foreign_sentences(thing)
        if found is None:
            found = [_own_sentence(thing)]
        return (replace(documents.place_next(sentence), id=unique(sentence.id)) for sentence in found)

    if isinstance(texts, str | Sentence) or is_pair(texts) or is_foreign(texts):
        return list(of_one(texts))
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"expected {_INPUTS}, not {texts!r:.80}")
    sentences = chain.from_iterable(map(of_one, texts))
    return list(sentences) if isinstance(texts, list | tuple) else sentences


def sentence_list(texts: Texts) -> Sequence[Sentence]:
    """Return inputs as sentences that can be counted and asked for by their number, see `as_sentences`."""
    sentences = as_sentences(texts)
    return sentences if isinstance(sentences, Sequence) else list(sentences)


class _Documents:
    """Puts sentences into documents, as their comments say: one begins with ``newdoc`` and goes on until the next."""

    def __init__(self) -> None:
        self._number = 0
        self._name: str | None = None

    def place_next(self, sentence: Sentence) -> Sentence:
        """Return the next sentence with its document."""
        if "newdoc" in sentence.comments or "newdoc id" in sentence.comments:
            self._number += 1
            self._name = sentence.comments.get("newdoc id") or f"doc{self._number}"
        return replace(sentence, document=self._name) if self._name else sentence


def is_pair(thing: object) -> bool:
    """Whether something is a pair of texts: a tuple of two strings of which one has white space between words."""
    if not isinstance(thing, tuple) or len(thing) != 2 or not all(isinstance(text, str) for text in thing):
        return False
    return any(len(text.split()) > 1 for text in thing)


_INPUTS = "sentences, strings, lists of words, pairs of texts, or objects of spaCy, Stanza, conllu, udapi or datasets"


def _own_sentence(thing: object) -> Sentence:
    """Return a string, a pair of strings or a list of words as a sentence."""
    if isinstance(thing, str):
        return Sentence.from_text(thing)
    if isinstance(thing, tuple) and is_pair(thing):
        return Sentence.pair(*thing)
    if isinstance(thing, list | tuple) and all(isinstance(word, str) for word in thing):
        if not thing:
            raise CorpusError("expected a list of words, found an empty one")
        return Sentence(" ".join(thing), tuple(thing))
    raise TypeError(f"expected {_INPUTS}, not {thing!r:.80}")


def load_string(load: Callable[[Path], Loaded], text: str, paths: object = ()) -> Loaded:
    """Load the text of a file called ``text``, which neither ids nor errors name by a path."""
    if paths != ():
        raise ValueError("give files or a string, not both")
    if not isinstance(text, str):
        raise TypeError(f"expected the text as a string, not as {type(text).__name__}")
    with TemporaryDirectory() as folder:
        prefix, path = folder + os.sep, Path(folder, "text")
        path.write_bytes(text.encode())
        try:
            corpus = load(path)
            sentences = tuple(
                replace(sentence, file=None, document=sentence.document and sentence.document.removeprefix(prefix))
                for sentence in corpus
            )
        except CorpusError as error:
            mistakes = [mistake.replace(prefix, "") for mistake in error.mistakes]
            without_path = CorpusError("\n".join(mistakes))
            without_path.line, without_path.sentence = error.line, error.sentence
            without_path.mistakes = tuple(mistakes)
            raise without_path from None
    return replace(corpus, sentences=sentences, files=())
