"""Opening and closing brackets → the spans of mentions, whatever the file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from attentionology.corpora_loaders.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Marked:
    """A mention as it is marked: half-open spans of document words, entity, other fields, line of its opening."""

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
    """Matches the brackets of one document.

    A closing bracket belongs to the last one of the same entity that is still open, so mentions of different entities
    may cross and those of one entity may be nested. A mention may go beyond a sentence, not beyond the document.

    Args:
        path: for messages.
        lenient: count malformed brackets in `faults` and ignore them instead of raising.
    """

    def __init__(self, path: str | Path, *, lenient: bool = False) -> None:
        self.path, self.lenient = path, lenient
        self.faults = 0
        self.marked: list[Marked] = []
        self._open: dict[tuple[str, int, int], list[_Open]] = {}
        self._parts: dict[tuple[str, int], list[Marked]] = {}  # mentions of which not all parts have come

    def fault(self, message: str, line: int) -> None:
        """Something is malformed.

        Raises:
            CorpusError: unless lenient.
        """
        if not self.lenient:
            raise CorpusError(message, file=self.path, line=line)
        self.faults += 1

    def open(
        self, entity: str, at: int, line: int, fields: Mapping[str, str] | None = None, part: tuple[int, int] = (1, 1)
    ) -> None:
        """A mention, or the ``part[0]``-th of its ``part[1]`` parts, starts at word ``at``."""
        self._open.setdefault((entity, *part), []).append(_Open(at, line, fields or {}))

    def close(self, entity: str, before: int, line: int, part: tuple[int, int] = (1, 1)) -> None:
        """The last mention of that entity that is open ends before word ``before``."""
        waiting = self._open.get((entity, *part))
        if not waiting:
            self.fault(f"mention of entity {entity!r} is closed but was not opened", line)
            return
        opened = waiting.pop()
        span = (opened.start, before)
        number, parts = part
        if number == 1:
            mention = Marked((span,), entity, opened.line, opened.fields)
        else:
            earlier = self._parts.get((entity, parts), [])
            match = next((i for i in reversed(range(len(earlier))) if len(earlier[i].spans) == number - 1), None)
            if match is None:
                self.fault(f"part {number} of a mention of entity {entity!r} without part {number - 1}", line)
                return
            first = earlier.pop(match)
            mention = Marked((*first.spans, span), entity, first.line, first.fields)
        if number == parts:
            self.marked.append(mention)
        else:
            self._parts.setdefault((entity, parts), []).append(mention)

    def finish(self) -> list[Marked]:
        """All mentions; nothing may be open any more."""
        for (entity, *_), waiting in self._open.items():
            for opened in waiting:
                self.fault(f"mention of entity {entity!r} is opened but not closed", opened.line)
        for (entity, parts), begun in self._parts.items():
            for mention in begun:
                found = f"{len(mention.spans)} of the {parts} parts"
                self.fault(f"only {found} of a mention of entity {entity!r}", mention.line or 0)
        return self.marked
