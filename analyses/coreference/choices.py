"""The decisions in a stretch of a document: a mention, the words among which to choose, and those that are right.

Decisions are about words: the head word of a mention and the head words of its candidates. A candidate that has the
same head word as the mention itself (nested mentions like *[[the mayor] of Rome]*) is left out, because no word can
point to itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...corpora_loaders.coreference import Mention
from ...corpora_loaders.documents import Documents
from ...extractors import MapBatch, Window

POLICIES = ("preceding", "mentions", "words")
"""The choices of candidates: head words of preceding mentions, head words of all other mentions, all other words."""

REASONS = {
    "outside": "not completely in any window that was read",
    "no words": "without words",
    "no antecedent": "no antecedent with words in the window that was read",
    "same head": "all antecedents have the head word of the mention itself",
    "no answer": "given with candidates of which none is right",
}
"""The reasons why a mention is not scored. All mentions but those of the last reason have an antecedent in the
corpus."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A mention to resolve. Words are counted from 0 through the document."""

    window: Window
    mention: Mention
    before: tuple[Mention, ...]  # the candidates in text order: mentions that precede it, or those of a question
    heads: frozenset[int]  # the head words of ``before``
    others: frozenset[int]  # the head words of all other mentions; in a question the same as ``heads``
    gold: frozenset[int]  # the head words of its antecedents

    @property
    def head(self) -> int:
        """The head word of the mention."""
        assert self.mention.head is not None  # noqa: S101  # a mention that is asked for has words
        return self.mention.head

    def candidates(self, policy: str) -> frozenset[int]:
        """Return the words to choose from under one of `POLICIES`."""
        if policy == "words":
            return frozenset(range(self.window.start, self.window.stop)) - {self.head}
        return self.heads if policy == "preceding" else self.others


def choices(window: Window, *, singletons: bool = False, lost: Counter[str] | None = None) -> Iterator[Choice]:
    """Yield a choice for each mention of a window that has an antecedent in it and was not in the window before."""
    # lost: a counter to which every mention that gets no choice for lack of candidates adds the reason.
    document = window.source
    lost = Counter() if lost is None else lost

    if document.questions is not None:
        for question in document.questions:
            if _is_inside(question.anaphor, window) and question.anaphor.stop > window.seen and question.has_answer:
                inside = tuple(candidate for candidate in question.candidates if _is_inside(candidate, window))
                yield from _choice(window, question.anaphor, inside, inside, lost)
        return
    candidates: list[Mention] = []
    asked: list[tuple[Mention, int]] = []  # mentions with the number of candidates that precede them
    for index in document.starting(window.start, window.stop):
        mention = document.mentions[index]
        if _is_inside(mention, window):
            if mention.stop > window.seen and index in document.anaphors:
                asked.append((mention, len(candidates)))
            if singletons or not document.is_singleton(mention):
                candidates.append(mention)
    for mention, preceding in asked:
        yield from _choice(window, mention, tuple(candidates[:preceding]), candidates, lost)


def _is_inside(mention: Mention, window: Window) -> bool:
    return mention.head is not None and window.start <= mention.start and mention.stop <= window.stop


def choices_of(batch: MapBatch, *, singletons: bool = False) -> list[tuple[int, Choice]]:
    """Return the choices in a batch of windows, each with the index of its window in the batch."""
    return [
        (index, choice)
        for index, window in enumerate(batch.sentences)
        if isinstance(window, Window)
        for choice in choices(window, singletons=singletons)
    ]


def _other_heads(candidates: Iterable[Mention], mention: Mention) -> frozenset[int]:
    """Return the head words of candidates that are not the head word of the mention."""
    words = (candidate.head for candidate in candidates)
    return frozenset(word for word in words if word is not None and word != mention.head)


def _choice(
    window: Window, mention: Mention, before: tuple[Mention, ...], others: Iterable[Mention], lost: Counter[str]
) -> Iterator[Choice]:
    """Yield the choice of a mention if it has an antecedent with another head word, else count why it has none."""
    antecedents = [candidate for candidate in before if candidate.entity == mention.entity]
    if gold := _other_heads(antecedents, mention):
        with_other_head = tuple(candidate for candidate in before if candidate.head != mention.head)
        heads, all_heads = _other_heads(before, mention), _other_heads(others, mention)
        yield Choice(window, mention, with_other_head, heads, all_heads, gold)
    else:
        lost["same head" if antecedents else "no antecedent"] += 1


def account(corpus: Documents, windows: Iterable[Window], *, singletons: bool = False) -> dict[str, int]:
    """Count the mentions that have an antecedent, those that are scored, and the others by reason."""
    # `forced` are scored mentions without a wrong candidate before them. The other names are those of `REASONS`.
    lost: Counter[str] = Counter()
    scored = forced = documents = 0
    last_document = None
    for window in windows:
        for choice in choices(window, singletons=singletons, lost=lost):
            scored += 1
            forced += choice.heads == choice.gold
            documents += window.source.id != last_document  # the windows of a document follow each other
            last_document = window.source.id
    anaphors = corpus.facts.anaphors
    lost["no words"] += corpus.facts.anaphors_without_words
    lost["no answer"] += corpus.facts.unanswered
    lost["outside"] = anaphors - scored - (lost.total() - lost["no answer"])
    totals = {"anaphors": anaphors, "scored": scored, "documents": documents, "forced": forced}
    return {**totals, **{reason: lost[reason] for reason in REASONS}}
