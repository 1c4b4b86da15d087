"""Sentences about what was found, each with the view that shows it."""

from __future__ import annotations

from dataclasses import dataclass


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
    def whole(self) -> str:
        """The sentence, and those that follow it."""
        return f"{self.text} {self.more}".rstrip()
