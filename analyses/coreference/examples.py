"""Examples of the decisions of one attention head, as a report shows them: texts and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...corpora_loaders.coreference import Document
from ...extractors import MapBatch
from ...storage.writing import running_text
from .decisions import DIRECTIONS, Choice, antecedent_hits, choices_of

EXAMPLES = 5
"""The number of right decisions, and of wrong decisions, that the report shows."""

_SHOWN_CANDIDATES = 6
_SHOWN_WORDS = 12


@dataclass(frozen=True)
class ShownCandidate:
    """A candidate of a decision."""

    rank: int  # by weight, from 1
    text: str  # the text of the mention, or the word
    head: str  # its head word
    weight: float
    antecedent: bool  # whether it is right


@dataclass(frozen=True)
class ShownExample:
    """A decision of an attention head about a mention."""

    right: bool  # whether the candidate with the most weight is an antecedent
    document: str
    before: str  # the sentence before the mention
    mention: str
    after: str
    type: str  # the type of the mention
    candidates: tuple[ShownCandidate, ...]  # those with the most weight, and all antecedents
    of: int  # the number of all candidates


class Decision(NamedTuple):
    """The decision of one attention head about one mention."""

    document: Document
    choice: Choice
    weights: dict[int, float]  # of each candidate by its head word, which is counted from 0 through the document
    right: bool


def decisions_of(
    batch: MapBatch, attention_head: tuple[str, int, int], policy: str, *, singletons: bool = False
) -> Iterator[Decision]:
    """Yield the decisions of one attention head in a batch that could have been wrong, in its order."""
    direction, layer, head = attention_head
    choices = choices_of(batch, singletons=singletons)
    hits = antecedent_hits(batch, choices, (policy,))[:, 0, DIRECTIONS.index(direction), layer - 1, head - 1]
    maps = [array[layer - 1, head - 1] for _, array in batch.unpadded()]
    for (index, choice), right in zip(choices, hits.tolist(), strict=True):
        window = choice.window
        candidates = choice.candidates(policy)
        if candidates <= choice.gold:
            continue
        position = np.flatnonzero(batch.words[index].numpy())
        values = maps[index] if direction == DIRECTIONS[0] else maps[index].T
        by_position = values[position[choice.head - window.start]]  # the weights of the mention
        weights = {word: float(by_position[position[word - window.start]]) for word in sorted(candidates)}
        yield Decision(window.source, choice, weights, right)


def spread(decisions: Sequence[Decision], *, right: bool) -> list[Decision]:
    """Return the first right, or wrong, decision of each document, then the second of each, up to `EXAMPLES`."""
    n_before: Counter[str] = Counter()  # such decisions of each document, by its id
    ranked = []
    for decision in decisions:
        if decision.right == right:
            ranked.append((n_before[decision.document.id], decision))
            n_before[decision.document.id] += 1
    return [decision for _, decision in sorted(ranked, key=lambda rank_and_decision: rank_and_decision[0])[:EXAMPLES]]


def shown_example(decision: Decision, policy: str) -> ShownExample:
    """Describe a decision to a reader: the sentence around the mention, and the candidates with the most weight."""
    document, choice, weights, right = decision
    mention = choice.mention
    words = document.words
    sentence_start = document.starts[document.sentence_of(mention.start)]
    next_start = next((start for start in document.starts if start >= mention.stop), len(words))
    mentions = {"preceding": choice.before, "mentions": document.mentions, "words": ()}[policy]
    antecedent_heads = {other.head for other in mentions if other.entity == mention.entity}
    # If several mentions have the same head word, the first is shown, or the antecedent among them.
    shown = [other for other in mentions if other.entity == mention.entity or other.head not in antecedent_heads]
    text_of_head = {other.head: document.text(other) for other in reversed(shown) if other.head is not None}
    ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))  # the heaviest word first
    candidates = [
        ShownCandidate(rank, _short(text_of_head.get(word, words[word])), words[word], weight, word in choice.gold)
        for rank, (word, weight) in enumerate(ranked, start=1)
        if rank <= _SHOWN_CANDIDATES or word in choice.gold
    ]
    return ShownExample(
        right=right,
        document=document.id,
        before=_shortened_context(words[sentence_start : mention.start], last=True),
        mention=document.text(mention),
        after=_shortened_context(words[mention.stop : next_start]),
        type=mention.type,
        candidates=tuple(candidates),
        of=len(ranked),
    )


def _short(text: str) -> str:
    """Shorten a text to its first words."""
    words = text.split()
    return text if len(words) <= _SHOWN_WORDS else " ".join(words[:_SHOWN_WORDS]) + " …"


def _shortened_context(words: Sequence[str], *, last: bool = False) -> str:
    """Return the first, or last, `_SHOWN_WORDS` words as running text."""
    if len(words) <= _SHOWN_WORDS:
        return running_text(words)
    return f"… {running_text(words[-_SHOWN_WORDS:])}" if last else f"{running_text(words[:_SHOWN_WORDS])} …"
