"""Examples of decisions as a report shows them: texts and numbers, without the documents they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .examples import CoreferenceExample

_SHOWN_CANDIDATES = 6
_SHOWN_WORDS = 12


@dataclass(frozen=True)
class ShownCandidate:
    """A candidate of a decision.

    Attributes:
        rank: its rank by weight, from 1.
        text: the text of the mention, or the word.
        head: its head word.
        weight: its weight.
        antecedent: whether it is right.
    """

    rank: int
    text: str
    head: str
    weight: float
    antecedent: bool


@dataclass(frozen=True)
class ShownExample:
    """A decision of an attention head about a mention.

    Attributes:
        right: whether the candidate with the most weight is an antecedent.
        document: the id of the document.
        before, mention, after: the sentence around the mention, and the mention.
        type: the type of the mention.
        candidates: the candidates with the most weight, and all antecedents.
        of: the number of all candidates.
    """

    right: bool
    document: str
    before: str
    mention: str
    after: str
    type: str
    candidates: tuple[ShownCandidate, ...]
    of: int


def shown_example(example: CoreferenceExample, policy: str) -> ShownExample:
    """Describe a decision to a reader: the sentence around the mention, and the candidates with the most weight."""
    document, choice = example.document, example.choice
    mention, words = choice.mention, document.words
    start = document.starts[document.sentence_of(mention.start)]
    stop = next((start for start in document.starts if start >= mention.stop), len(words))
    mentions = {"preceding": choice.before, "mentions": document.mentions, "words": ()}[policy]
    antecedent_heads = {other.head for other in mentions if other.entity == mention.entity}
    # If several mentions have the same head word, the first is shown, or the antecedent among them.
    shown = [other for other in mentions if other.entity == mention.entity or other.head not in antecedent_heads]
    names = {other.head: document.text(other) for other in reversed(shown) if other.head is not None}
    ranked = sorted(example.weights.items(), key=lambda item: (-item[1], item[0]))
    candidates = [
        ShownCandidate(rank, _short(names.get(word, words[word])), words[word], weight, word in choice.gold)
        for rank, (word, weight) in enumerate(ranked, start=1)
        if rank <= _SHOWN_CANDIDATES or word in choice.gold
    ]
    return ShownExample(
        right=example.right,
        document=document.id,
        before=_short(" ".join(words[start : mention.start]), last=True),
        mention=document.text(mention),
        after=_short(" ".join(words[mention.stop : stop])),
        type=mention.type,
        candidates=tuple(candidates),
        of=len(ranked),
    )


def _short(text: str, *, last: bool = False) -> str:
    """Shorten a text to its first, or last, words."""
    words = text.split()
    if len(words) <= _SHOWN_WORDS:
        return text
    return "… " + " ".join(words[-_SHOWN_WORDS:]) if last else " ".join(words[:_SHOWN_WORDS]) + " …"
