"""Treebanks of sentences that are at hand in Python."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .adapters import is_foreign
from .corpus import Corpus
from .errors import CorpusError
from .sentence import Sentence
from .strings import Texts, as_sentences, is_pair
from .treebank import Treebank, with_unique_ids


def treebank_of(sentences: Texts) -> Treebank:
    """Make a treebank of sentences from Python, or of objects of other libraries.

    Trees that spaCy or Stanza made are marked as predicted, in the run record and in the report. The labels of spaCy
    are those of its model, which are not those of Universal Dependencies for all languages.

    Args:
        sentences: one input or several, see `attentionology.corpora_loaders.as_sentences`: for example documents of
            spaCy or Stanza, a ``SentenceList`` of conllu, a ``Document`` of udapi, or a data set of Hugging Face with
            the columns of Universal Dependencies, of which all sentences are held in memory.

    Returns:
        the treebank; ``#2``, ``#3``, … are appended to ids that occurred before.

    Raises:
        CorpusError: the annotation of a sentence cannot be used; the message names the sentence.
        TypeError: something is no sentence.

    Example:
        >>> from attentionology.corpora_loaders import treebank_of
        >>> row = {"idx": "s1", "tokens": ["She", "sings"], "head": ["2", "0"], "deprel": ["nsubj", "root"]}
        >>> treebank_of([row])
        Treebank(1 sentence, 2 words)
    """
    return Treebank(with_unique_ids(as_sentences(sentences)))


def files_or_corpus(given: Any) -> tuple[str | Path, ...] | Corpus:
    """Return what was given in place of a corpus: the files, or the sentences as a treebank.

    Strings are names of files here, except for a pair of texts of which neither is one.

    Raises:
        CorpusError, TypeError: see `treebank_of`.
    """
    if isinstance(given, Corpus):
        return given
    if isinstance(given, Sentence) or is_foreign(given) or not isinstance(given, str | Path | Iterable):
        return treebank_of(given)
    items = (given,) if isinstance(given, str | Path) else tuple(given)
    if not all(isinstance(item, str | Path) for item in items):
        return treebank_of(items)
    missing = [item for item in items if isinstance(item, str) and not Path(item).exists()]
    if is_pair(given) and len(missing) == len(items):
        return treebank_of(items)
    for name in missing:
        if len(name.split()) > 2:
            raise CorpusError("there is no such file; a text is given as Sentence.from_text(…)", file=name)
    return items
