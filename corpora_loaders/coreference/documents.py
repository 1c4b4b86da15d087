"""Coreference corpora: documents, and what is known about all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from ..corpus import Corpus
from ..describing import amount
from .document import TYPES, ZERO, Account, Document


@dataclass
class DocumentFacts:
    """What is known about all documents together. It is counted document by document, and holds none of them."""

    mentions: int = 0
    types: Counter[str] = field(default_factory=Counter)  # the number of mentions of each type
    entities: int = 0
    entities_mentioned_again: int = 0
    discontinuous: int = 0  # mentions with gaps
    across_sentences: int = 0  # mentions that extend beyond a sentence
    head_rules: set[str] = field(default_factory=set)
    type_rules: set[str] = field(default_factory=set)
    winobias: int = 0  # documents of WinoBias
    families: Counter[str] = field(default_factory=Counter)  # the number of documents of each family of near copies
    groups: set[tuple[str, ...]] = field(default_factory=set)  # the distinct labels of documents
    # Mentions to resolve that have words, by the labels of their documents and their types. Some may not be scored.
    asked: Counter[tuple[tuple[str, ...], str]] = field(default_factory=Counter)
    with_questions: int = 0  # documents that come with questions
    with_features: int = 0  # documents that have morphological features
    anaphors: int = 0  # mentions to resolve; those of a question count if a candidate is right
    anaphors_without_words: int = 0
    unanswered: int = 0  # questions without a right candidate

    def add(self, document: Document) -> None:
        """Count a document."""
        mentions = document.mentions
        self.mentions += len(mentions)
        self.types.update(mention.type for mention in mentions)
        self.entities += len(document.chains)
        self.entities_mentioned_again += sum(len(chain) > 1 for chain in document.chains.values())
        self.discontinuous += sum(len(mention.spans) > 1 for mention in mentions)
        self.across_sentences += sum(
            document.sentence_of(mention.start) != document.sentence_of(mention.stop - 1)
            for mention in mentions
            if mention.type != ZERO
        )
        self.head_rules.add(document.head_rule)
        self.type_rules.add(document.type_rule)
        self.groups.add(document.labels)
        self.with_features += document.has_features
        self.winobias += document.family.startswith("WinoBias")
        if document.family:
            self.families[document.family] += 1
        if document.questions is None:
            asked = [mentions[index] for index in document.anaphors]
            self.anaphors_without_words += sum(mention.head is None for mention in asked)
        else:
            asked = [question.anaphor for question in document.questions if question.has_answer]
            self.with_questions += 1
            self.unanswered += len(document.questions) - len(asked)
        self.anaphors += len(asked)
        self.asked.update((document.labels, mention.type) for mention in asked if mention.head is not None)


@dataclass(frozen=True, repr=False)
class Documents(Corpus):
    """A coreference corpus: documents, and the sentences of all documents in order.

    Attributes:
        documents: the documents, in file order.
        account: counts of what was not used.
        renamed: the number of documents whose id had occurred before, so that ``#2``, ``#3``, … was appended to it.

    Example:
        >>> from attentionology import load_documents
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> load_documents(SAMPLE_TREEBANK)
        Documents(10 documents, 157 sentences, 2,809 words, 584 mentions, 'en_sample.conllu')
    """

    limit_unit: ClassVar[str] = "documents"
    tokens: ClassVar[str] = "syntactic"
    divisible: ClassVar[bool] = False

    documents: Sequence[Document] = ()
    account: Account = field(default_factory=Account)
    renamed: int = 0

    @cached_property
    def facts(self) -> DocumentFacts:
        """What is known about all documents together."""
        facts = DocumentFacts()
        for document in self.documents:
            facts.add(document)
        return facts

    def _amounts(self) -> list[str]:
        return [
            amount(len(self.documents), "documents"),
            amount(len(self), self.unit),
            amount(super().counts()["words"], "words"),
            amount(self.facts.mentions, "mentions"),
        ]

    def counts(self) -> dict[str, int]:
        """Numbers of documents, entities, mentions of each type, and mentions with unusual properties."""
        facts = self.facts
        return {
            **super().counts(),
            "documents": len(self.documents),
            "mentions": facts.mentions,
            "entities": facts.entities,
            "entities_mentioned_again": facts.entities_mentioned_again,
            "singletons": facts.entities - facts.entities_mentioned_again,
            **{f"mentions_{kind}": facts.types[kind] for kind in (*TYPES, ZERO)},
            "mentions_discontinuous": facts.discontinuous,
            "mentions_across_sentences": facts.across_sentences,
            "mentions_repeated": self.account.repeated,
            "malformed_brackets": self.account.faults,
            "split_antecedents": self.account.split_antecedents,
            "bridges": self.account.bridges,
            "renamed_documents": self.renamed,
        }

    def remarks(self) -> list[str]:
        """Remarks on how mentions were read, and on what was ignored."""
        counts, facts = self.counts(), self.facts
        remarks = [
            f"{counts['mentions']:,} mentions of {counts['entities']:,} entities in {counts['documents']:,} documents; "
            f"{counts['entities_mentioned_again']:,} entities are mentioned more than once.",
            *(f"Heads of mentions: {rule}." for rule in sorted(facts.head_rules)),
            *(f"Types of mentions: {rule}." for rule in sorted(facts.type_rules)),
        ]
        if facts.winobias:
            alone = sum(size == 1 for size in facts.families.values())
            remarks += [
                f"Of {facts.winobias:,} documents of WinoBias only the right occupation is marked; the other was found "
                "by the paper's list of forty.",
                f"Sentences of WinoBias that differ in the pronoun alone are sampled and held out together: "
                f"{len(facts.families) - alone:,} pairs; {alone:,} sentences have no counterpart.",
            ]
        remark_of = {
            "mentions_zero": "Mentions on empty nodes, without words: {}.",
            "mentions_discontinuous": "Mentions with gaps: {}.",
            "mentions_across_sentences": "Mentions that go beyond a sentence: {}.",
            "mentions_repeated": "Mentions marked twice, counted once: {}.",
            "malformed_brackets": "Malformed brackets, ignored: {}.",
            "split_antecedents": "Mentions with split antecedents, a link that is not used: {}.",
            "bridges": "Bridging links, not used: {}.",
            "renamed_documents": "Document ids that occurred before, to which a number was appended: {}.",
        }
        return remarks + [text.format(f"{counts[name]:,}") for name, text in remark_of.items() if counts[name]]
