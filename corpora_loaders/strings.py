"""Sentences and corpora from what is at hand in Python: strings, lists of words, and the text of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from .corpus import Corpus
from .errors import CorpusError
from .sentence import Sentence
from .unique_names import UniqueNames

Loaded = TypeVar("Loaded", bound=Corpus)

Texts = str | Sentence | Iterable[str | Sentence | Sequence[str]]
"""One text or several, each as a `Sentence`, as a string, or as a list of words."""


def as_sentences(texts: Texts) -> Iterable[Sentence]:
    """Return texts as sentences. Lists and tuples are checked at once, other iterables while they are read.

    A string is split into words by the rule of `attentionology.corpora_loaders.words`, and a list of strings holds one
    text in each. The id is the text; ``#2``, ``#3``, … are appended to those that occurred before.

    Raises:
        CorpusError: a text has no word in it.
        TypeError: something is neither a sentence, nor a string, nor a list of words.

    Example:
        >>> from attentionology.corpora_loaders import as_sentences
        >>> [sentence.words for sentence in as_sentences(["Cats sleep.", ["Dogs", "don't"]])]
        [('Cats', 'sleep', '.'), ('Dogs', "don't")]
    """
    if isinstance(texts, Corpus):
        return texts
    unique = UniqueNames()

    def as_sentence(text: object) -> Sentence:
        if isinstance(text, Sentence):
            return text
        if isinstance(text, str):
            sentence = Sentence.from_text(text)
        elif isinstance(text, list | tuple) and all(isinstance(word, str) for word in text):
            if not text:
                raise CorpusError("expected a list of words, found an empty one")
            sentence = Sentence(" ".join(text), tuple(text))
        else:
            raise TypeError(f"expected a Sentence, a string or a list of words, not {text!r:.80}")
        return replace(sentence, id=unique(sentence.id))

    if isinstance(texts, str | Sentence):
        return [as_sentence(texts)]
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"expected sentences, strings or lists of words, not {texts!r:.80}")
    return list(map(as_sentence, texts)) if isinstance(texts, list | tuple) else map(as_sentence, texts)


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
