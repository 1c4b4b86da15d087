"""Sentences and marked spans → a document, whose mentions have heads and types and are in order."""

from __future__ import annotations

from collections.abc import Sequence

from ..lines import WHOLE_NUMBER
from ..sentence import Sentence
from .brackets import Marked
from .constituents import Constituent
from .document import ZERO, Account, Document, Mention, sentence_starts
from .heads import HeadFinder, by_chunk, by_constituents, by_tree
from .types import mention_type, tagging


def build_document(
    name: str,
    sentences: Sequence[Sentence],
    marked: Sequence[Marked],
    account: Account | None = None,
    *,
    trees: Sequence[Constituent | None] = (),
) -> Document:
    """Build a document: find the heads and types of its mentions, and put the mentions in order.

    Mentions that are marked twice with the same words and the same entity count once.

    Args:
        name: the id of the document.
        sentences: the sentences in order, at least one.
        marked: the mentions, in any order.
        account: receives the number of mentions that are marked twice.
        trees: the constituents of each sentence, if there are any.
    """
    starts = sentence_starts(tuple(sentences))
    words = [word for sentence in sentences for word in sentence.words]
    tagged = tagging(sentences)
    find: HeadFinder = by_chunk(words, tagged)
    reason = "" if tagged.kind else ", recognized by English words because there are no known tags"
    rule = f"the last word of the first simple noun phrase{reason}"
    if all(sentence.heads and None not in sentence.heads for sentence in sentences):
        find, rule = by_tree(sentences, starts), "the word whose syntactic head is outside the mention"
    elif any(tree is not None for tree in trees):
        find = by_constituents(sentences, starts, trees, find)
        rule = "head rules on the constituents" + (f"; where there are none, {rule}" if None in trees else "")
    # Two mentions of one entity that have the same words but start in different lines are not repetitions: they differ
    # in the empty nodes that they include.
    distinct = {(_joined(mark.spans), mark.entity, mark.line): mark for mark in reversed(marked)}

    def build_mention(spans: tuple[tuple[int, int], ...], mark: Marked) -> Mention:
        numbers = [word for start, stop in spans for word in range(start, stop)]
        if not numbers:
            return Mention(spans, mark.entity, None, ZERO, line=mark.line)
        head = find(numbers)
        kind = mention_type(words, head, numbers, tagged)
        return Mention(spans, mark.entity, head, kind, _minspan(mark, numbers), mark.line)

    mentions = [build_mention(spans, mark) for (spans, *_), mark in distinct.items()]
    mentions.sort(key=lambda mention: (mention.start, mention.stop, mention.entity, mention.line or 0))

    if account:
        account.repeated += len(marked) - len(distinct)
    return Document(
        id=name,
        sentences=tuple(sentences),
        mentions=tuple(mentions),
        head_rule=rule,
        type_rule=tagged.rule,
        file=sentences[0].file,
        line=sentences[0].line,
    )


def _joined(spans: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Drop spans without words and join adjacent ones. If all spans are empty, the first one remains."""
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], stop
        elif start < stop:
            joined.append((start, stop))
    return tuple(joined) or spans[:1]


def _minspan(mark: Marked, words: Sequence[int]) -> tuple[int, ...]:
    """The words of the smallest form of a mention, which the file numbers within the mention, from 1.

    Numbers outside the mention are ignored.
    """
    numbers = [int(number) for number in mark.fields.get("minspan", "").split(",") if WHOLE_NUMBER.fullmatch(number)]
    return tuple(words[number - 1] for number in numbers if 0 < number <= len(words))
