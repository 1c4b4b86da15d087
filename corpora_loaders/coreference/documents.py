"""Coreference corpora: documents, and what is known about all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from ..corpus import Corpus
from ..describing import amount
from .document import TYPES, ZERO, Account, Document
from .facts import DocumentFacts, DocumentTally


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
        tally = DocumentTally()
        for document in self.documents:
            tally.add(document)
        return tally.facts()

    def _amounts(self) -> list[str]:
        """The amounts that `repr` shows: documents, sentences, words and mentions."""
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
            "singletons": facts.singletons,
            **{f"mentions_{kind}": facts.types.get(kind, 0) for kind in (*TYPES, ZERO)},
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
            *(f"Heads of mentions: {rule}." for rule in facts.head_rules),
            *(f"Types of mentions: {rule}." for rule in facts.type_rules),
        ]
        if facts.winobias:
            remarks.append(
                f"Of {facts.winobias:,} documents of WinoBias only the right occupation is marked; the other was found "
                "by the paper's list of forty."
            )
            remarks.append(
                f"Sentences of WinoBias that differ in the pronoun alone are sampled and held out together: "
                f"{facts.families - facts.families_of_one:,} pairs; {facts.families_of_one:,} sentences have no "
                "counterpart."
            )
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
