"""The outline of a page: headings that can be linked to, and headers of tables that name what they head."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

# Scripts, drawings and comments stay as they are; they may contain what looks like a heading.
_OPAQUE = re.compile(
    r"(<script\b.*?</script>|<style\b.*?</style>|<svg\b.*?</svg>|<!--.*?-->)", re.DOTALL | re.IGNORECASE
)
_HEADING = re.compile(r"<h([1-5])((?:\s[^>]*)?)>(.*?)</h\1>", re.DOTALL)
_HEADER = re.compile(r"<th(?![^>]*\bscope=)(?=[\s>])")
_HEAD = re.compile(r"(<thead\b.*?</thead>)", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Heading:
    """A heading of a page."""

    id: str  # the id of the element, which a link names
    text: str  # the words of the heading, without markup
    level: int  # 1 for the largest headings


def slug(text: str) -> str:
    """The words of a text in a form that suits an address."""
    return re.sub(r"\W+", "-", text.lower()).strip("-")[:60]


def outlined(body: str, *, prefix: str, lower: int = 0) -> tuple[str, list[Heading]]:
    """Give every heading an id and every header of a table a scope, and return the headings.

    Ids begin with ``prefix``, and ``lower`` is added to the levels of headings.
    """
    headings: list[Heading] = []
    taken: set[str] = set()

    def with_id(match: re.Match[str]) -> str:
        level, attributes, content = int(match[1]) + lower, match[2], match[3]
        text = html.unescape(_TAG.sub("", content)).strip()
        own_id = re.search(r'\bid="([^"]*)"', attributes)
        name = html.unescape(own_id[1]) if own_id else f"{prefix}-{slug(text)}"
        number = 2
        while name in taken:
            name, number = f"{prefix}-{slug(text)}-{number}", number + 1
        taken.add(name)
        headings.append(Heading(name, text, level))
        if not own_id:
            attributes += f' id="{html.escape(name)}"'
        return f"<h{level}{attributes}>{content}</h{level}>"

    pieces = _OPAQUE.split(body)
    for index in range(0, len(pieces), 2):  # every second piece is opaque
        parts = _HEAD.split(_HEADING.sub(with_id, pieces[index]))  # every second part is the head of a table
        scoped = [_HEADER.sub(f'<th scope="{"col" if i % 2 else "row"}"', part) for i, part in enumerate(parts)]
        pieces[index] = "".join(scoped)
    return "".join(pieces), headings
