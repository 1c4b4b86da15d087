"""Pronoun, proper name or other noun: the type of a mention by the part of speech of its head word.

Which rule applies is decided for a document as a whole, by the tags it has:

* UPOS: PRON, and DET as a head (the *son* of French *son livre*), are pronouns; PROPN is proper; all else nominal.
* Penn Treebank: PRP, PRP$, WP, WP$, EX, and DT, WDT as heads, are pronouns; NNP, NNPS are proper; all else nominal.
* no tags known here: by form. A mention of one word that is an English pronoun is one; a head word that starts with a
  capital letter (not I) is proper; all else nominal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attentionology.corpora_loaders.coreference.english import PRONOUNS
from attentionology.corpora_loaders.sentence import Sentence

UPOS = frozenset("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
PTB = frozenset(
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG "
    "VBN VBP VBZ WDT WP WP$ WRB . , : `` '' -LRB- -RRB- HYPH NFP ADD AFX GW XX $ #".split()
)

_BY_TAG = {
    "UPOS": {"PRON": "pronoun", "DET": "pronoun", "PROPN": "proper"},
    "PTB": {
        **dict.fromkeys(("PRP", "PRP$", "WP", "WP$", "EX", "DT", "WDT"), "pronoun"),
        **dict.fromkeys(("NNP", "NNPS"), "proper"),
    },
}


class Tagging(NamedTuple):
    """The tags of a document's words.

    Attributes:
        tags: one per word; empty if there are none that are known here.
        kind: ``"UPOS"``, ``"PTB"`` or ``""``.
    """

    tags: tuple[str, ...]
    kind: str

    @property
    def rule(self) -> str:
        """How types are told, in words."""
        return {
            "UPOS": "by UPOS of the head word",
            "PTB": "by Penn Treebank tag of the head word",
            "": "by form, because there are no tags known here (English pronouns; capital letters)",
        }[self.kind]


def tagging(sentences: Sequence[Sentence]) -> Tagging:
    """The best tags that all sentences have: UPOS, else those of the Penn Treebank, told by what they are."""
    for column in ("tags", "xpos"):
        tags = tuple(tag for sentence in sentences for tag in getattr(sentence, column))
        if len(tags) != sum(map(len, sentences)):
            continue
        used = set(tags) - {"_"}
        for kind, known in (("UPOS", UPOS), ("PTB", PTB)):
            # A few unusual tags do not make another tag set.
            if used and sum(tag in known for tag in tags) > 0.9 * sum(tag != "_" for tag in tags):
                return Tagging(tags, kind)
    return Tagging((), "")


def mention_type(words: Sequence[str], head: int, own: Sequence[int], tagged: Tagging) -> str:
    """Type of the mention that has the document's words ``own`` and the head word ``head``."""
    if tagged.kind:
        return _BY_TAG[tagged.kind].get(tagged.tags[head], "nominal")
    if len(own) == 1 and words[head].casefold() in PRONOUNS:
        return "pronoun"
    return "proper" if words[head][:1].isupper() else "nominal"
