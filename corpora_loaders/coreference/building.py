"""Opening and closing brackets → the spans of mentions → a document, whose mentions have heads and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import CorpusError
from ..gate import blank_words, without_heads_of_blank_words
from ..lines import WHOLE_NUMBER
from ..sentence import Sentence
from .document import ZERO, Account, Document, Mention, sentence_starts
from .heads import Constituent, HeadFinder, by_chunk, by_constituents, by_tree
from .types import mention_type, tagging


@dataclass(frozen=True, slots=True)
class Marked:
    """A mention as the brackets of a file mark it."""

    spans: tuple[tuple[int, int], ...]  # half-open ranges of words, counted through the document
    entity: str
    line: int | None = None  # the line of its opening bracket
    fields: Mapping[str, str] = field(default_factory=dict)  # further fields of its opening bracket, by name


class Brackets:
    """Matches the opening and closing brackets of one document.

    Unlike parentheses, the brackets of mentions need not be nested: mentions of different entities may cross. So each
    entity has a stack of its own, and a closing bracket ends the mention of its entity that was opened last. Mentions
    of one entity can therefore be nested but not cross each other. A mention may extend beyond its sentence, but not
    beyond the document. If the reader is lenient, malformed brackets are counted instead of raising an error.
    """

    def __init__(self, path: str | Path, account: Account, *, lenient: bool) -> None:
        self.path, self.account, self.lenient = path, account, lenient
        self._marked: list[Marked] = []  # the mentions that are complete, in the order in which they were closed
        # By entity, part and number of parts. An open mention has one span so far, which ends where it starts.
        self._open: dict[tuple[str, int, int], list[Marked]] = {}
        self._incomplete: dict[tuple[str, int], list[Marked]] = {}  # by entity and number of parts

    def fault(self, message: str, line: int | None) -> None:
        """Raise an error for a malformed bracket, or count it."""
        if not self.lenient:
            raise CorpusError(message, file=self.path, line=line)
        self.account.faults += 1

    def read(
        self,
        piece: str,
        entity: str,
        position: tuple[int, int],
        line: int,
        fields: Mapping[str, str] | None = None,
        part: tuple[int, int] = (1, 1),
    ) -> None:
        """Read a piece, ``(…``, ``…)`` or ``(…)``, at a half-open range of words.

        The part is that of a discontinuous mention: its number, from 1, and how many parts the mention has.
        """
        start, stop = position
        if piece.startswith("("):
            self._open.setdefault((entity, *part), []).append(Marked(((start, start),), entity, line, fields or {}))
        if piece.endswith(")"):
            self._close(entity, stop, line, part)

    def _close(self, entity: str, stop: int, line: int, part: tuple[int, int]) -> None:
        """End the mention of the entity that was opened last; ``stop`` is the word after its last word."""
        stack = self._open.get((entity, *part))
        if not stack:
            self.fault(f"a mention of entity {entity!r} is closed but was not opened", line)
            return
        mention = stack.pop()
        [(start, _)] = mention.spans
        mention = replace(mention, spans=((start, stop),))
        number, parts = part
        if number > 1:
            incomplete = self._incomplete.get((entity, parts), [])
            lacking_this = [index for index, other in enumerate(incomplete) if len(other.spans) == number - 1]
            if not lacking_this:
                self.fault(f"a mention of entity {entity!r} has part {number} without part {number - 1}", line)
                return
            earlier = incomplete.pop(lacking_this[-1])
            mention = replace(earlier, spans=(*earlier.spans, *mention.spans))
        if number == parts:
            self._marked.append(mention)
        else:
            self._incomplete.setdefault((entity, parts), []).append(mention)

    def finish(self) -> list[Marked]:
        """Return all mentions of the document, once its last bracket has been read."""
        for stack in self._open.values():
            for mention in stack:
                self.fault(f"a mention of entity {mention.entity!r} is opened but not closed", mention.line)
        for (entity, parts), incomplete in self._incomplete.items():
            for mention in incomplete:
                message = f"a mention of entity {entity!r} has only {len(mention.spans)} of its {parts} parts"
                self.fault(message, mention.line)
        return self._marked


def build_document(
    name: str,
    sentences: Sequence[Sentence],
    marked: Sequence[Marked],
    account: Account | None = None,
    *,
    trees: Sequence[Constituent | None] = (),
) -> Document:
    """Build a document: find heads and types of its mentions, and put them in order; ``trees`` are constituents.

    Raises:
        CorpusError: there are no sentences, or a mention goes beyond their words.
    """
    if not sentences:
        raise CorpusError(f"the document {name!r:.100} has no sentences")
    starts = sentence_starts(tuple(sentences))
    words = [word for sentence in sentences for word in sentence.words]
    for mark in marked:
        if wrong := next((span for span in mark.spans if not 0 <= span[0] <= span[1] <= len(words)), None):
            message = f"a mention of entity {mark.entity!r} has the words {wrong[0] + 1} to {wrong[1]} of {len(words)}"
            raise CorpusError(message, file=sentences[0].file, line=mark.line)
    tagged = tagging(sentences)
    # Chunks are the last resort, which constituents use where there are none; dependency trees need no other rule.
    find_head: HeadFinder = by_chunk(words, tagged)
    without_tags = "" if tagged.kind else ", recognized by English words because there are no known tags"
    rule = f"the last word of the first simple noun phrase{without_tags}"
    has_trees = all(sentence.heads and None not in sentence.heads for sentence in sentences)
    if has_trees and any(any(sentence.heads) for sentence in sentences):  # in an export without a parse, all are 0
        find_head, rule = by_tree(sentences, starts), "the word whose syntactic head is outside the mention"
    elif any(tree is not None for tree in trees):
        find_head = by_constituents(sentences, starts, trees, find_head)
        rule = "head rules on the constituents" + (f"; where there are none, {rule}" if None in trees else "")
    # Two mentions of one entity that have the same words but start in different lines are not repetitions: they differ
    # in the empty nodes that they include.
    distinct = {(_join_adjacent(mark.spans), mark.entity, mark.line): mark for mark in reversed(marked)}
    blank = {
        start + index for sentence, start in zip(sentences, starts, strict=True) for index in blank_words(sentence)
    }
    mentions = []
    for (spans, entity, line), mark in distinct.items():
        indices = [word for start, stop in spans for word in range(start, stop)]  # of words in the document
        if not indices:
            mentions.append(Mention(spans, entity, head=None, type=ZERO, line=line))
            continue
        head = find_head(indices)
        kind = mention_type(words, head, indices, tagged)
        # The file numbers the words of the smallest form of a mention from 1; other numbers are ignored.
        numbers = map(int, filter(WHOLE_NUMBER.fullmatch, mark.fields.get("minspan", "").split(",")))
        minspan = tuple(indices[number - 1] for number in numbers if 0 < number <= len(indices))
        # A head can show nothing about a word that is blank, so such a mention is not scored.
        mentions.append(Mention(spans, entity, None if head in blank else head, kind, minspan, line))
    mentions.sort(key=lambda mention: (mention.start, mention.stop, mention.entity, mention.line or 0))

    if account:
        account.repeated += len(marked) - len(distinct)
    return Document(
        id=name,
        sentences=tuple(map(without_heads_of_blank_words, sentences)),
        mentions=tuple(mentions),
        head_rule=rule,
        type_rule=tagged.rule,
        file=sentences[0].file,
        line=sentences[0].line,
    )


def _join_adjacent(spans: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return the spans without empty ones and with adjacent ones joined. If all are empty, the first one remains."""
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], stop
        elif start < stop:
            joined.append((start, stop))
    return tuple(joined) or spans[:1]
