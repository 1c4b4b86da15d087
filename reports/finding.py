"""Sentences about what was found, each with the view that shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"[-+\u2212]?\d[\d.,]*(?! ?-)(?: of [\d,]+)?(?: %| points)?(?: \[[^\]]*\])?(?= )")
"""The number that begins a sentence, as the script of the page knows it (`link.tsx`)."""


@dataclass(frozen=True)
class Finding:
    """A sentence about what was found, or was not.

    Attributes:
        text: the sentence. It begins with its number, and the condition follows: a page and a terminal show it whole,
            but few of them. A share that heads find stands beside the strongest baseline that was counted. It names the
            kind of map if the run may have several: equal sentences are shown once.
        address: the address of the view that shows it, such as ``#head=3-9&relation=obj&direction=dep->head``.
        more: further sentences, which a page shows when they are asked for.

    Example:
        >>> from attentionology.reports import Finding
        >>> Finding("3 relations are found better than by any offset.", "#head=3-9&relation=obj").address
        '#head=3-9&relation=obj'
    """

    text: str
    address: str
    more: str = ""

    @property
    def number(self) -> str:
        """What the sentence begins with, which is shown in bold: a number with its total, unit and interval, if any.

        Example:
            >>> [Finding(text, "").number for text in ("2 of 8 heads", "1.3 % [0.8, 1.9] is", "3-9 is a head")]
            ['2 of 8', '1.3 % [0.8, 1.9]', '']
        """
        match = _NUMBER.match(self.text)
        return match[0] if match else ""

    @property
    def rest(self) -> str:
        """What follows `number`."""
        return self.text[len(self.number) :]

    @property
    def whole(self) -> str:
        """The sentence, and those that follow it."""
        return f"{self.text} {self.more}".rstrip()
