"""Treebanks of sentences that are at hand in Python."""

from __future__ import annotations

from .strings import Texts, as_sentences
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
        >>> from attentionology import treebank_of
        >>> row = {"idx": "s1", "tokens": ["She", "sings"], "head": ["2", "0"], "deprel": ["nsubj", "root"]}
        >>> treebank_of([row])
        Treebank(1 sentence, 2 words)
    """
    return Treebank(with_unique_ids(as_sentences(sentences)))
