"""Sentences and marked stretches → a document: heads, types, order."""

from __future__ import annotations

from collections.abc import Sequence

from corpora_loaders.coreference.brackets import Marked
from corpora_loaders.coreference.constituents import Constituent
from corpora_loaders.coreference.document import ZERO, Account, Document, Mention, sentence_starts
from corpora_loaders.coreference.heads import HeadFinder, by_chunk, by_constituents, by_tree
from corpora_loaders.coreference.types import mention_type, tagging
from corpora_loaders.sentence import Sentence


def build_document(
    name: str,
    sentences: Sequence[Sentence],
    marked: Sequence[Marked],
    account: Account | None = None,
    *,
    trees: Sequence[Constituent | None] = (),
) -> Document:
    """Find heads and types, and put mentions in order. Those marked twice in one place for one entity count once.

    Args:
        name: its id.
        sentences: in order, at least one.
        marked: its mentions, in any order.
        account: told how many were marked twice.
        trees: constituents of each sentence, if there are any.
    """
    starts = sentence_starts(tuple(sentences))
    words = [word for sentence in sentences for word in sentence.words]
    tagged = tagging(sentences)
    find: HeadFinder
    if all(sentence.heads and None not in sentence.heads for sentence in sentences):
        find, rule = by_tree(sentences, starts), "the word whose syntactic head lies outside the mention"
    elif trees and (known := [tree for tree in trees if tree is not None]) and len(known) == len(trees):
        find, rule = by_constituents(sentences, starts, known), "head rules on the constituents"
    else:
        how = "" if tagged.kind else ", told by English words because there are no tags known here"
        find, rule = by_chunk(words, tagged), f"the last word of the first simple noun phrase{how}"
    once = {(mark.spans, mark.entity): mark for mark in reversed(marked)}
    ordered = sorted(once.values(), key=lambda mark: (mark.spans[0][0], mark.spans[-1][1], mark.entity))

    def mention(mark: Marked) -> Mention:
        own = [word for start, stop in mark.spans for word in range(start, stop)]
        if not own:
            return Mention(mark.spans, mark.entity, None, ZERO, line=mark.line)
        head = find(own)
        minspan = _minspan(mark, own)
        return Mention(mark.spans, mark.entity, head, mention_type(words, head, own, tagged), minspan, mark.line)

    if account:
        account.repeated += len(marked) - len(once)
    return Document(
        id=name,
        sentences=tuple(sentences),
        mentions=tuple(map(mention, ordered)),
        head_rule=rule,
        type_rule=tagged.rule,
        file=sentences[0].file,
        line=sentences[0].line,
    )


def _minspan(mark: Marked, own: Sequence[int]) -> tuple[int, ...]:
    """Words numbered within the mention, from 1; what is not there is left out."""
    numbers = [int(number) for number in mark.fields.get("minspan", "").split(",") if number.isdigit()]
    return tuple(own[number - 1] for number in numbers if 0 < number <= len(own))
