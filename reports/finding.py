"""Sentences about what was found, each with the view that shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A sentence about what was found, or was not.

    Attributes:
        text: the sentence. It names the kind of map if the run may have several: equal sentences are shown once.
        address: the address of the view that shows it, such as ``#head=3-9&relation=obj&direction=dep->head``.

    Example:
        >>> from attentionology.reports import Finding
        >>> Finding("Head 3-9 finds more objects than the best offset.", "#head=3-9&relation=obj").address
        '#head=3-9&relation=obj'
    """

    text: str
    address: str
