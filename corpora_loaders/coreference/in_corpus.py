"""Documents as they are in a corpus: with their ids there, and with the punctuation of their sentences."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..punctuation import MARKING, Punctuation
from ..sentence import Sentence
from ..unique_names import numbered_name
from .document import Document


@dataclass(frozen=True)
class RenamedDocuments:
    """Gives documents and their sentences the ids that they have in a corpus."""

    ends: array[int]  # for each document the number of sentences of this document and of all documents before it
    numbers: array[int]  # that are appended to the ids, see UniqueNames
    sentence_numbers: array[int]

    def __call__(self, document: Document, position: int) -> Document:
        """Return the document at a position with its id in the corpus."""
        end, sentences = self.ends[position], document.sentences
        numbers = self.sentence_numbers[end - len(sentences) : end]
        ids = [numbered_name(sentence.id, number) for sentence, number in zip(sentences, numbers, strict=True)]
        return rename_document(document, numbered_name(document.id, self.numbers[position]), ids)


@dataclass(frozen=True)
class MarkedDocuments:
    """Gives the sentences of documents the marks of punctuation that they have in a corpus, and both their ids."""

    punctuation: Punctuation
    rename: RenamedDocuments | None

    def __call__(self, document: Document, position: int) -> Document:
        """Return the document at a position as it is in the corpus."""
        return mark_document(self.rename(document, position) if self.rename else document, self.punctuation)


def mark_document(document: Document, punctuation: Punctuation) -> Document:
    """Return the document with the punctuation of its sentences, unless their relations say what is."""
    if punctuation.rule not in MARKING:
        return document
    return replace(document, sentences=tuple(map(punctuation.mark, document.sentences)))


def sentences_of(_: int, document: Document) -> Sequence[Sentence]:
    """Return the sentences of a document, for `Parts`."""
    return document.sentences


def rename_document(document: Document, name: str, ids: Sequence[str]) -> Document:
    """Return the document with this id, and its sentences with these."""
    if name == document.id and ids == [sentence.id for sentence in document.sentences]:
        return document
    sentences = [
        replace(sentence, id=sentence_id, document=name)
        for sentence, sentence_id in zip(document.sentences, ids, strict=True)
    ]
    return replace(document, id=name, sentences=tuple(sentences))
