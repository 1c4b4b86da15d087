"""Sentences and marked stretches → a document: heads, types, order."""

from __future__ import annotations

from collections.abc import Sequence

from attentionology.corpora_loaders.coreference.brackets import Marked
from attentionology.corpora_loaders.coreference.constituents import Constituent
from attentionology.corpora_loaders.coreference.document import ZERO, Account, Document, Mention, sentence_starts
from attentionology.corpora_loaders.coreference.heads import HeadFinder, by_chunk, by_constituents, by_tree
from attentionology.corpora_loaders.coreference.types import mention_type, tagging
from attentionology.corpora_loaders.lines import WHOLE_NUMBER
from attentionology.corpora_loaders.sentence import Sentence


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
    find: HeadFinder = by_chunk(words, tagged)
    how = "" if tagged.kind else ", told by English words because there are no tags known here"
    rule = f"the last word of the first simple noun phrase{how}"
    if all(sentence.heads and None not in sentence.heads for sentence in sentences):
        find, rule = by_tree(sentences, starts), "the word whose syntactic head lies outside the mention"
    elif any(tree is not None for tree in trees):
        find = by_constituents(sentences, starts, trees, find)
        rule = "head rules on the constituents" + (f"; where there are none, {rule}" if None in trees else "")
    # Mentions of the same words that are marked in different lines differ in the empty nodes that belong to them.
    once = {(_joined(mark.spans), mark.entity, mark.line): mark for mark in reversed(marked)}

    def mention(spans: tuple[tuple[int, int], ...], mark: Marked) -> Mention:
        own = [word for start, stop in spans for word in range(start, stop)]
        if not own:
            return Mention(spans, mark.entity, None, ZERO, line=mark.line)
        head = find(own)
        return Mention(spans, mark.entity, head, mention_type(words, head, own, tagged), _minspan(mark, own), mark.line)

    mentions = [mention(spans, mark) for (spans, *_), mark in once.items()]
    mentions.sort(key=lambda one: (one.start, one.stop, one.entity, one.line or 0))

    if account:
        account.repeated += len(marked) - len(once)
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
    """Without parts that have no words, and with parts joined between which there is none; if all are empty, the
    first."""
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], stop
        elif start < stop:
            joined.append((start, stop))
    return tuple(joined) or spans[:1]


def _minspan(mark: Marked, own: Sequence[int]) -> tuple[int, ...]:
    """Words numbered within the mention, from 1; what is not there is left out."""
    numbers = [int(number) for number in mark.fields.get("minspan", "").split(",") if WHOLE_NUMBER.fullmatch(number)]
    return tuple(own[number - 1] for number in numbers if 0 < number <= len(own))
