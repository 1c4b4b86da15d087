"""Opening and closing brackets → the spans of mentions, whatever the file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import CorpusError


@dataclass(frozen=True, slots=True)
class Marked:
    """A mention as the brackets of a file mark it.

    Attributes:
        spans: half-open ranges of words, counted through the document.
        entity: the entity that it refers to.
        line: the line of its opening bracket.
        fields: further fields of its opening bracket, by name.
    """

    spans: tuple[tuple[int, int], ...]
    entity: str
    line: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Open:
    start: int
    line: int
    fields: Mapping[str, str]


class Brackets:
    """Matches the opening and closing brackets of one document.

    Unlike parentheses, the brackets of mentions need not be nested: mentions of different entities may cross. So each
    entity has a stack of its own, and a closing bracket ends the mention of its entity that was opened last. Mentions
    of one entity can therefore be nested but not cross each other. A mention may extend beyond its sentence, but not
    beyond the document.

    Args:
        path: the file, for messages.
        lenient: whether malformed brackets are counted in `faults` and ignored, instead of raising an error.

    Attributes:
        faults: the number of malformed brackets.
        marked: the mentions that are complete, in the order in which they were closed.
    """

    def __init__(self, path: str | Path, *, lenient: bool = False) -> None:
        self.path, self.lenient = path, lenient
        self.faults = 0
        self.marked: list[Marked] = []
        self._open: dict[tuple[str, int, int], list[_Open]] = {}
        self._parts: dict[tuple[str, int], list[Marked]] = {}  # mentions that lack some of their parts

    def fault(self, message: str, line: int) -> None:
        """Count a malformed bracket, or raise an error.

        Raises:
            CorpusError: the reader is not lenient.
        """
        if not self.lenient:
            raise CorpusError(message, file=self.path, line=line)
        self.faults += 1

    def open(
        self,
        entity: str,
        start: int,
        line: int,
        fields: Mapping[str, str] | None = None,
        part: tuple[int, int] = (1, 1),
    ) -> None:
        """Start a mention, or the ``part[0]``-th of its ``part[1]`` parts, at the word ``start``."""
        self._open.setdefault((entity, *part), []).append(_Open(start, line, fields or {}))

    def close(self, entity: str, stop: int, line: int, part: tuple[int, int] = (1, 1)) -> None:
        """End the mention of the entity that was opened last; ``stop`` is the word after its last word."""
        stack = self._open.get((entity, *part))
        if not stack:
            self.fault(f"a mention of entity {entity!r} is closed but was not opened", line)
            return
        opened = stack.pop()
        span = (opened.start, stop)
        number, parts = part
        if number == 1:
            mention = Marked((span,), entity, opened.line, opened.fields)
        else:
            earlier = self._parts.get((entity, parts), [])
            index = next((i for i in reversed(range(len(earlier))) if len(earlier[i].spans) == number - 1), None)
            if index is None:
                self.fault(f"a mention of entity {entity!r} has part {number} without part {number - 1}", line)
                return
            begun = earlier.pop(index)
            mention = Marked((*begun.spans, span), entity, begun.line, begun.fields)
        if number == parts:
            self.marked.append(mention)
        else:
            self._parts.setdefault((entity, parts), []).append(mention)

    def finish(self) -> list[Marked]:
        """All mentions of the document, once its last bracket has been read.

        Raises:
            CorpusError: a mention is still open, or lacks a part, and the reader is not lenient.
        """
        for (entity, *_), stack in self._open.items():
            for opened in stack:
                self.fault(f"a mention of entity {entity!r} is opened but not closed", opened.line)
        for (entity, parts), incomplete in self._parts.items():
            for mention in incomplete:
                message = f"a mention of entity {entity!r} has only {len(mention.spans)} of its {parts} parts"
                self.fault(message, mention.line or 0)
        return self.marked
