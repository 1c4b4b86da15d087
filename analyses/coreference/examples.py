"""Where is the best head right, and where is it wrong? A few of its decisions, as texts and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...corpora_loaders.coreference import Document
from ...extractors import MapBatch
from ...reports.columns import Schema, TableColumn
from ...storage.writing import running_text
from .decisions import DIRECTIONS, Choice, antecedent_hits, choices_of
from .rows import FIRST_WINDOWS, CoreferenceQuestion, CoreferenceResults, Head, LookupContext, Mentions

EXAMPLES = 5
"""The number of right decisions, and of wrong decisions, that are kept."""

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


DECISIONS = Schema(
    "coreference_examples",
    "Decisions of the best head. One row per mention and candidate.",
    (
        TableColumn("right", "`True` or `False`", "whether the head finds an antecedent of the mention"),
        TableColumn("document", "text", "the document"),
        TableColumn("before mention after", "text", "the mention, and the words around it"),
        TableColumn("type", "text", "the type of mention"),
        TableColumn("of", "count", "candidates of this mention"),
        TableColumn("rank", "number from 1", "the rank of the candidate by its weight"),
        TableColumn("candidate", "text", "the words of the candidate"),
        TableColumn("head", "text", "its head word"),
        TableColumn("weight", "share", "the attention weight between the mention and the candidate"),
        TableColumn("antecedent", "`True` or `False`", "whether the candidate is an antecedent"),
    ),
)


class Decision(NamedTuple):
    """The decision of one attention head about one mention."""

    document: Document
    choice: Choice
    weights: dict[int, float]  # of each candidate by its head word, which is counted from 0 through the document
    right: bool


class Examples(CoreferenceQuestion):
    """Where is the best head right, and where is it wrong?"""

    name = "examples"
    tables = (DECISIONS,)

    def look(self, lookup_context: LookupContext) -> dict[str, Any]:
        """Look for right and wrong decisions of the best head, in as many documents as possible."""
        mentions, head = lookup_context.mentions, lookup_context.mentions.best_head
        if head is None:
            return {"head": None, "examples": []}
        decisions: list[Decision] = []
        right: list[Decision] = []
        wrong: list[Decision] = []
        for part in lookup_context.parts(FIRST_WINDOWS):
            for batch in part:
                decisions += decisions_of(batch, head, mentions.candidates, singletons=mentions.singletons)
            right, wrong = spread(decisions, right=True), spread(decisions, right=False)
            documents_of_both = [{decision.document.id for decision in examples} for examples in (right, wrong)]
            if all(len(documents) == EXAMPLES for documents in documents_of_both):
                break
        shown = (asdict(shown_example(decision, mentions.candidates)) for decision in (*right, *wrong))
        return {"head": list(head), "examples": list(shown)}

    def join(self, lookups: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        """Put the examples of several runs together, if they are of the same head."""
        if not lookups:
            return None
        first, *others = (each["head"] for each in lookups)
        of_all = first if all(other == first for other in others) else None
        return {"head": of_all, "examples": [example for each in lookups for example in each["examples"]]}

    def find(self, counts: Mentions, lookups: Any, earlier: Mapping[str, Any]) -> tuple[ShownExample, ...] | None:
        """Return the examples; none if another head is the best of the merged runs."""
        if lookups is None:
            return None
        head = None if lookups["head"] is None else tuple(lookups["head"])
        if head != counts.best_head:
            return ()
        examples = [_read_example(example) for example in lookups["examples"]]
        right, wrong = ([example for example in examples if example.right == side] for side in (True, False))
        return (*right[:EXAMPLES], *wrong[:EXAMPLES])

    def frames(self, answer: tuple[ShownExample, ...], results: CoreferenceResults) -> Mapping[str, pd.DataFrame]:
        """Return one row per example and candidate."""
        candidates = [
            {**example, "candidate": candidate["text"], **candidate}
            for example in map(asdict, answer)
            for candidate in example["candidates"]
        ]
        return {DECISIONS.name: pd.DataFrame(candidates, columns=DECISIONS.names)}


def _read_example(example: Mapping[str, Any]) -> ShownExample:
    """Return an example that was stored as plain data."""
    return ShownExample(
        **{**example, "candidates": tuple(ShownCandidate(**candidate) for candidate in example["candidates"])}
    )


def decisions_of(batch: MapBatch, attention_head: Head, policy: str, *, singletons: bool = False) -> Iterator[Decision]:
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
        ShownCandidate(rank, _shorten(text_of_head.get(word, words[word])), words[word], weight, word in choice.gold)
        for rank, (word, weight) in enumerate(ranked, start=1)
        if rank <= _SHOWN_CANDIDATES or word in choice.gold
    ]
    return ShownExample(
        right=right,
        document=document.id,
        before=_shorten_context(words[sentence_start : mention.start], last=True),
        mention=document.text(mention),
        after=_shorten_context(words[mention.stop : next_start]),
        type=mention.type,
        candidates=tuple(candidates),
        of=len(ranked),
    )


def _shorten(text: str) -> str:
    """Shorten a text to its first words."""
    words = text.split()
    return text if len(words) <= _SHOWN_WORDS else " ".join(words[:_SHOWN_WORDS]) + " …"


def _shorten_context(words: Sequence[str], *, last: bool = False) -> str:
    """Return the first, or last, `_SHOWN_WORDS` words as running text."""
    if len(words) <= _SHOWN_WORDS:
        return running_text(words)
    return f"… {running_text(words[-_SHOWN_WORDS:])}" if last else f"{running_text(words[:_SHOWN_WORDS])} …"
