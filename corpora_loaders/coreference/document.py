"""A document with its mentions: what every coreference corpus is made into."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from attentionology.corpora_loaders.corpus import Corpus
from attentionology.corpora_loaders.describing import amount, shortened
from attentionology.corpora_loaders.sentence import Sentence

TYPES = ("pronoun", "proper", "nominal")
"""Types of mentions that have words; see `attentionology.corpora_loaders.coreference.types`."""

ZERO = "zero"
"""Type of a mention that has no words: it stands on an empty node only."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of a document that refers to an entity. Words are counted from 0 through the whole document.

    Attributes:
        spans: half-open ranges of words, one unless the mention is discontinuous; an empty range says where a
            mention without words stands.
        entity: name of the entity, unique within the document.
        head: its head word, None if it has no words.
        type: one of `TYPES`, or `ZERO`.
        minspan: the words of its smallest form, where the file tells them.
        line: of its opening bracket, or of its row.
    """

    spans: tuple[tuple[int, int], ...]
    entity: str
    head: int | None
    type: str
    minspan: tuple[int, ...] = ()
    line: int | None = None

    @property
    def start(self) -> int:
        """Its first word."""
        return self.spans[0][0]

    @property
    def stop(self) -> int:
        """One past its last word."""
        return self.spans[-1][1]

    @property
    def words(self) -> tuple[int, ...]:
        """All its words."""
        return tuple(word for start, stop in self.spans for word in range(start, stop))


@dataclass(frozen=True, slots=True)
class Question:
    """A mention to be resolved to one of given candidates, whichever side of it they stand on (GAP, WinoBias).

    Those of the same entity are right; if there are none, it has no answer.
    """

    anaphor: Mention
    candidates: tuple[Mention, ...]

    @property
    def has_answer(self) -> bool:
        """Whether any candidate is right."""
        return any(candidate.entity == self.anaphor.entity for candidate in self.candidates)


@dataclass(frozen=True, repr=False)
class Document:
    """Sentences and mentions.

    Attributes:
        id: unique within a corpus.
        sentences: in order.
        mentions: in text order: by first word, then by last word, so that of two that start together the shorter
            comes first.
        head_rule, type_rule: how heads and types of mentions were found, in words.
        questions: what a ready-made evaluation asks. None: every mention is to be resolved among those that precede it.
        labels: groups of documents to which it belongs, by what its evaluation compares.
        family: documents of one family are near copies of each other, to be drawn and held out together; empty: it has
            none.
        file, line: where it starts.
    """

    id: str
    sentences: tuple[Sentence, ...]
    mentions: tuple[Mention, ...]
    head_rule: str = ""
    type_rule: str = ""
    questions: tuple[Question, ...] | None = None
    labels: tuple[str, ...] = ()
    family: str = ""
    file: str | None = None
    line: int | None = None

    def __repr__(self) -> str:
        sentences, mentions = amount(len(self.sentences), "sentences"), amount(len(self.mentions), "mentions")
        return f"Document({shortened(self.id)}, {sentences}, {amount(len(self.words), 'words')}, {mentions})"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words of all sentences."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first word of each sentence."""
        return sentence_starts(self.sentences)

    @cached_property
    def chains(self) -> dict[str, tuple[int, ...]]:
        """Indices of the mentions of each entity."""
        found: dict[str, list[int]] = {}
        for index, mention in enumerate(self.mentions):
            found.setdefault(mention.entity, []).append(index)
        return {entity: tuple(indices) for entity, indices in found.items()}

    @cached_property
    def anaphors(self) -> frozenset[int]:
        """Indices of the mentions that another mention of their entity precedes."""
        return frozenset(index for chain in self.chains.values() for index in chain[1:])

    def starting(self, start: int, stop: int) -> range:
        """Indices of the mentions that start in this stretch of words."""
        first = bisect_left(self.mentions, start, key=lambda mention: mention.start)
        return range(first, bisect_left(self.mentions, stop, key=lambda mention: mention.start))

    def sentence_of(self, word: int) -> int:
        """Index of the sentence in which a word stands."""
        return bisect_right(self.starts, word) - 1

    def mention_at(self, spans: tuple[tuple[int, int], ...]) -> Mention:
        """The first mention that has these words.

        Raises:
            StopIteration: there is none.
        """
        return next(mention for mention in self.mentions if mention.spans == spans)

    def is_singleton(self, mention: Mention) -> bool:
        """Whether its entity has no other mention in the document."""
        return len(self.chains[mention.entity]) == 1

    def text(self, mention: Mention) -> str:
        """The words of a mention, with … where it is interrupted."""
        return " … ".join(" ".join(self.words[start:stop]) for start, stop in mention.spans)


def sentence_starts(sentences: tuple[Sentence, ...]) -> tuple[int, ...]:
    """The first word of each sentence, counted through the document."""
    starts, at = [], 0
    for sentence in sentences:
        starts.append(at)
        at += len(sentence)
    return tuple(starts)


@dataclass
class Account:
    """What was met while reading and is not among the mentions.

    Attributes:
        faults: malformed brackets that were ignored, see `load_documents`.
        repeated: mentions that were marked twice in the same place for the same entity; they count once.
        split_antecedents: mentions said to refer to several entities together; those links are not used.
        bridges: bridging links, not used.
    """

    faults: int = 0
    repeated: int = 0
    split_antecedents: int = 0
    bridges: int = 0


@dataclass(frozen=True, repr=False)
class Documents(Corpus):
    """A coreference corpus: documents, and their sentences one after the other.

    Attributes:
        documents: in file order.
        account: what was met on the way and not used.
        renamed: documents whose id had occurred before; they got ``#2``, ``#3``, … appended.
    """

    limit_unit: ClassVar[str] = "documents"
    tokens: ClassVar[str] = "syntactic"

    documents: tuple[Document, ...] = ()
    account: Account = field(default_factory=Account)
    renamed: int = 0

    def _amounts(self) -> list[str]:
        """Documents, sentences, words and mentions."""
        mentions = sum(len(document.mentions) for document in self.documents)
        return [amount(len(self.documents), "documents"), *super()._amounts(), amount(mentions, "mentions")]

    def counts(self) -> dict[str, int]:
        """Documents, mentions by type, entities, and what is unusual about them."""
        mentions = [mention for document in self.documents for mention in document.mentions]
        types = Counter(mention.type for mention in mentions)
        sizes = [len(chain) for document in self.documents for chain in document.chains.values()]
        return {
            **super().counts(),
            "documents": len(self.documents),
            "mentions": len(mentions),
            "entities": len(sizes),
            "entities_mentioned_again": sum(size > 1 for size in sizes),
            "singletons": sizes.count(1),
            **{f"mentions_{kind}": types[kind] for kind in (*TYPES, ZERO)},
            "mentions_discontinuous": sum(len(mention.spans) > 1 for mention in mentions),
            "mentions_across_sentences": sum(
                document.sentence_of(mention.start) != document.sentence_of(mention.stop - 1)
                for document in self.documents
                for mention in document.mentions
                if mention.type != ZERO
            ),
            "mentions_repeated": self.account.repeated,
            "malformed_brackets": self.account.faults,
            "split_antecedents": self.account.split_antecedents,
            "bridges": self.account.bridges,
            "renamed_documents": self.renamed,
        }

    def remarks(self) -> list[str]:
        """How mentions were read, and what was ignored."""
        counts = self.counts()
        remarks = [
            f"{counts['mentions']:,} mentions of {counts['entities']:,} entities in {counts['documents']:,} documents; "
            f"{counts['entities_mentioned_again']:,} entities are mentioned more than once.",
            *(f"Heads of mentions: {rule}." for rule in sorted({document.head_rule for document in self.documents})),
            *(f"Types of mentions: {rule}." for rule in sorted({document.type_rule for document in self.documents})),
        ]
        found = sum(document.family.startswith("WinoBias") for document in self.documents)
        if found:
            remarks.append(
                f"Of {found:,} documents of WinoBias only the right occupation is marked; the other was found by the "
                "paper's list of forty."
            )
            families = Counter(document.family for document in self.documents if document.family)
            alone = sum(size == 1 for size in families.values())
            remarks.append(
                f"Sentences of WinoBias that differ in the pronoun alone are drawn and held out together: "
                f"{len(families) - alone:,} pairs; {alone:,} sentences have no such partner."
            )
        told = {
            "mentions_zero": "Mentions on empty nodes, without words: {}.",
            "mentions_discontinuous": "Mentions with gaps: {}.",
            "mentions_across_sentences": "Mentions that go beyond a sentence: {}.",
            "mentions_repeated": "Mentions marked twice, counted once: {}.",
            "malformed_brackets": "Malformed brackets, ignored: {}.",
            "split_antecedents": "Mentions with split antecedents, a link that is not used: {}.",
            "bridges": "Bridging links, not used: {}.",
            "renamed_documents": "Document ids that had occurred before and got a number appended: {}.",
        }
        return remarks + [text.format(f"{counts[name]:,}") for name, text in told.items() if counts[name]]
