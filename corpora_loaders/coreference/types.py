"""Pronoun, proper name or other noun: the type of a mention by the part of speech of its head word.

The tags of a document as a whole decide which rule applies to all of its mentions, see
docs/reference/definitions/coreference.md. A determiner is a pronoun as a head, as *son* is in French *son livre*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..sentence import Sentence
from ..tags import PTB, UPOS
from .english import PRONOUNS

_BY_TAG = {
    "UPOS": {"PRON": "pronoun", "DET": "pronoun", "PROPN": "proper"},
    "PTB": {
        **dict.fromkeys(("PRP", "PRP$", "WP", "WP$", "EX", "DT", "WDT"), "pronoun"),
        **dict.fromkeys(("NNP", "NNPS"), "proper"),
    },
}


class Tagging(NamedTuple):
    """The tags of a document's words."""

    tags: tuple[str, ...]  # of each word; empty if the tag set is unknown
    kind: str  # the tag set, "UPOS" or "PTB", or "" if it is unknown

    @property
    def rule(self) -> str:
        """A description of the rule for types."""
        return {
            "UPOS": "by UPOS of the head word",
            "PTB": "by Penn Treebank tag of the head word",
            "": "by form, because there are no tags known here (English pronouns; capital letters)",
        }[self.kind]


def tagging(sentences: Sequence[Sentence]) -> Tagging:
    """Return the tags of a document: UPOS if all words have it, otherwise those of the Penn Treebank in any column."""
    for column in ("tags", "xpos"):
        tags = tuple(tag for sentence in sentences for tag in getattr(sentence, column))
        if len(tags) != sum(map(len, sentences)):
            continue
        tagged_words = sum(tag != "_" for tag in tags)
        for kind, tag_set in (("UPOS", UPOS), ("PTB", PTB)):
            # A few unusual tags do not make it another tag set.
            if tagged_words and sum(tag in tag_set for tag in tags) > 0.9 * tagged_words:
                return Tagging(tags, kind)
    return Tagging((), "")


def mention_type(words: Sequence[str], head: int, mention: Sequence[int], tagged: Tagging) -> str:
    """Return the type of a mention, ``"pronoun"``, ``"proper"`` or ``"nominal"``, by its head and its words."""
    if tagged.kind:
        return _BY_TAG[tagged.kind].get(tagged.tags[head], "nominal")
    form = words[head]
    if len(mention) == 1 and form.casefold() in PRONOUNS:
        return "pronoun"
    has_capital = form[:1].isupper() or (form[:1] == "*" and len(form) > 1)  # GAP writes *argo for Žargo
    return "proper" if has_capital else "nominal"
