"""What is known about all documents of a coreference corpus together, counted document by document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from .document import ZERO, Document

Labels = tuple[str, ...]
"""The groups to which a document belongs."""


@dataclass(frozen=True)
class DocumentFacts:
    """What is known about all documents together.

    Attributes:
        mentions: the number of mentions.
        types: the number of mentions of each type.
        entities: the number of entities.
        entities_mentioned_again: the number of entities with more than one mention.
        discontinuous: the number of mentions with gaps.
        across_sentences: the number of mentions that extend beyond a sentence.
        head_rules, type_rules: the descriptions of how heads and types of mentions were found, sorted.
        winobias: the number of documents of WinoBias.
        families: the number of families of near copies.
        families_of_one: the number of families with one document.
        groups: the distinct groups of documents, sorted.
        asked: the number of mentions to resolve that have words, by the groups of their documents and their types. Some
            may not be scored.
        with_questions: how many documents come with questions.
        with_features: how many documents have morphological features.
        anaphors: the number of mentions to resolve. Those of a question count if a candidate is right.
        anaphors_without_words: how many of these have no words.
        unanswered: the number of questions without a right candidate.
    """

    mentions: int
    types: Mapping[str, int]
    entities: int
    entities_mentioned_again: int
    discontinuous: int
    across_sentences: int
    head_rules: tuple[str, ...]
    type_rules: tuple[str, ...]
    winobias: int
    families: int
    families_of_one: int
    groups: tuple[Labels, ...]
    asked: Mapping[tuple[Labels, str], int]
    with_questions: int
    with_features: int
    anaphors: int
    anaphors_without_words: int
    unanswered: int

    @property
    def singletons(self) -> int:
        """The number of entities with one mention."""
        return self.entities - self.entities_mentioned_again


class DocumentTally:
    """Counts what is known about all documents together. It holds none of them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._types: Counter[str] = Counter()
        self._asked: Counter[tuple[Labels, str]] = Counter()
        self._head_rules: set[str] = set()
        self._type_rules: set[str] = set()
        self._groups: set[Labels] = set()
        self._families: Counter[str] = Counter()

    def add(self, document: Document) -> None:
        """Count a document."""
        counts, sizes = self._counts, [len(chain) for chain in document.chains.values()]
        counts["mentions"] += len(document.mentions)
        self._types.update(mention.type for mention in document.mentions)
        counts["entities"] += len(sizes)
        counts["entities_mentioned_again"] += sum(size > 1 for size in sizes)
        counts["discontinuous"] += sum(len(mention.spans) > 1 for mention in document.mentions)
        counts["across_sentences"] += sum(
            document.sentence_of(mention.start) != document.sentence_of(mention.stop - 1)
            for mention in document.mentions
            if mention.type != ZERO
        )
        self._head_rules.add(document.head_rule)
        self._type_rules.add(document.type_rule)
        self._groups.add(document.labels)
        counts["with_features"] += document.has_features
        counts["winobias"] += document.family.startswith("WinoBias")
        if document.family:
            self._families[document.family] += 1
            size = self._families[document.family]
            counts["families_of_one"] += {1: 1, 2: -1}.get(size, 0)
        self._add_asked(document)

    def _add_asked(self, document: Document) -> None:
        """Count the mentions to resolve."""
        counts = self._counts
        if document.questions is None:
            asked = [document.mentions[index] for index in document.anaphors]
            counts["anaphors_without_words"] += sum(mention.head is None for mention in asked)
        else:
            asked = [question.anaphor for question in document.questions if question.has_answer]
            counts["with_questions"] += 1
            counts["unanswered"] += len(document.questions) - len(asked)
        counts["anaphors"] += len(asked)
        self._asked.update((document.labels, mention.type) for mention in asked if mention.head is not None)

    def facts(self) -> DocumentFacts:
        """What was counted."""
        counts = self._counts
        return DocumentFacts(
            mentions=counts["mentions"],
            types=dict(self._types),
            entities=counts["entities"],
            entities_mentioned_again=counts["entities_mentioned_again"],
            discontinuous=counts["discontinuous"],
            across_sentences=counts["across_sentences"],
            head_rules=tuple(sorted(self._head_rules)),
            type_rules=tuple(sorted(self._type_rules)),
            winobias=counts["winobias"],
            families=len(self._families),
            families_of_one=counts["families_of_one"],
            groups=tuple(sorted(self._groups)),
            asked=dict(self._asked),
            with_questions=counts["with_questions"],
            with_features=counts["with_features"],
            anaphors=counts["anaphors"],
            anaphors_without_words=counts["anaphors_without_words"],
            unanswered=counts["unanswered"],
        )
