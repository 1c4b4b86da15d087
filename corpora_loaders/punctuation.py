"""Which words of a treebank are punctuation, whatever its relations are called.

Scores of trees leave out punctuation. Universal Dependencies and Stanford Dependencies have a relation for it. Other
treebanks do not: in those of Prague, it has the relations AuxX, AuxG and AuxK, and elsewhere the relation of any word.
The first of these rules that finds a word in the corpus decides for all of it:

1. The words whose relation or part of speech has been named.
2. The relation ``punct``, with any subtype. A root that is a mark, such as a sentence that consists of “?”, is a root.
3. The universal part of speech PUNCT.
4. The words whose characters are all punctuation in Unicode (category P), as in the evaluation of CoNLL-X, where
   symbols such as ``$`` and ``+`` are words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .errors import CorpusError
from .sentence import Sentence
from .tree import coarse_relation, counted_relation, is_punct, is_root
from .words import is_punctuation

Rule = Literal["names", "relation", "tag", "form", "marks", "none"]
"""The names of the rules in run records; ``"marks"`` if sentences from Python say what is punctuation (or their corpus
was a part of another), and ``"none"`` if no rule finds a word."""

MARKING = ("names", "tag", "form")
"""The rules by which sentences are marked, because their relations do not say what is punctuation."""

_TAG = "PUNCT"
_FOUND = {
    "names": "Punctuation is known by the names that were given",
    "marks": "Punctuation is known by the marks of sentences",
    "tag": f"Punctuation is known by the part of speech {_TAG}, because no relation is punct",
    "form": f"Punctuation is known by its characters, because no relation is punct and no part of speech is {_TAG}",
}
_UNKNOWN = (
    f"No word is known to be punctuation: no relation is punct, no part of speech is {_TAG}, and no word consists of "
    "punctuation characters. So there is no row all-nopunct; --punctuation names relations or parts of speech of "
    "punctuation."
)


@dataclass(frozen=True)
class Punctuation:
    """How punctuation is known in a corpus.

    Attributes:
        rule: the rule that decides.
        names: the relations and parts of speech that have been named.
        words: how many words with a head are punctuation.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> sentence = Sentence("s", ("Ann", "spí", "."), heads=(2, 0, 0), relations=("Sb", "Pred", "AuxK"))
        >>> Punctuation("form").mark(sentence).punctuation
        (False, False, True)
    """

    rule: Rule = "relation"
    names: tuple[str, ...] = ()
    words: int = 0

    def mark(self, sentence: Sentence) -> Sentence:
        """Return the sentence with its punctuation, unless its relations say what is."""
        if not sentence.heads or self.rule not in MARKING:
            return sentence
        if self.rule == "tag":
            marks = tuple(tag == _TAG for tag in sentence.tags) or (False,) * len(sentence)
        elif self.rule == "form":
            marks = tuple(map(is_punctuation, sentence.words))
        else:
            columns = [sentence.relations, list(map(coarse_relation, sentence.relations)), sentence.tags, sentence.xpos]
            cells = zip(*filter(None, columns), strict=True)
            marks = tuple(any(cell in self.names for cell in of_word) for of_word in cells)
        return replace(sentence, punctuation=marks)

    def remarks(self) -> list[str]:
        """Return a remark, unless the relations say which words are punctuation."""
        if self.rule == "none":
            return [_UNKNOWN]
        if self.rule == "relation":
            return []
        names = f" ({', '.join(self.names)})" if self.names else ""
        return [f"{_FOUND[self.rule]}{names}: {self.words:,} words."]


class PunctuationTally:
    """Counts the words with a head by what decides whether they are punctuation.

    Args:
        names: the relations and parts of speech that have been named as punctuation.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        # By relation, part of speech, whether the word is a root, the mark of the sentence, and whether its form is a
        # sign. A word without a mark is in a sentence without marks.
        self._words: Counter[tuple[str, str, bool, bool | None, bool]] = Counter()

    def add(self, sentence: Sentence) -> None:
        """Count the words of a sentence that have a head."""
        heads = sentence.heads
        tags = sentence.tags[: len(heads)] or ("",) * len(heads)  # a text without trees may have tags
        marks = sentence.punctuation or (None,) * len(heads)
        relations = sentence.relations or ("_",) * len(heads)
        words = zip(heads, relations, tags, marks, sentence.words[: len(heads)], strict=True)
        self._words.update(
            (relation, tag, head == 0, mark, is_punctuation(form))
            for head, relation, tag, mark, form in words
            if head is not None
        )

    def rule(self) -> Rule:
        """Return the rule that decides."""
        if self.names:
            return "names"
        unmarked = [(relation, tag, is_sign) for relation, tag, _, mark, is_sign in self._words if mark is None]
        if any(is_punct(relation) for relation, _, _ in unmarked):
            return "relation"
        if any(tag == _TAG for _, tag, _ in unmarked):
            return "tag"
        if any(is_sign for _, _, is_sign in unmarked):
            return "form"
        if len(unmarked) < len(self._words):
            return "marks"
        # A treebank with the relation root has that of punctuation, too, if there is any.
        return "relation" if not unmarked or any(is_root(relation) for relation, _, _ in unmarked) else "none"

    def summarize(self) -> tuple[Punctuation, Counter[tuple[str, str]]]:
        """Return how punctuation is known, and the words by relation, as it is counted, and part of speech.

        Raises:
            CorpusError: no word has any of the names.
        """
        rule, n_signs = self.rule(), 0
        tagged: Counter[tuple[str, str]] = Counter()
        for (relation, tag, has_no_head, mark, is_sign), n_words in self._words.items():
            by_rule = {"tag": tag == _TAG, "form": is_sign, "none": False}.get(rule, is_punct(relation))
            is_mark = by_rule if mark is None else mark
            n_signs += n_words * is_mark
            name = counted_relation(relation, "punctuation" if is_mark else "root" if has_no_head else "word")
            tagged[name, tag] += n_words
        if self.names and not n_signs:
            known = sorted({relation for relation, *_ in self._words} | {tag for _, tag, *_ in self._words})
            message = f"no word has the relation or part of speech {' or '.join(self.names)} (--punctuation)"
            raise CorpusError(f"{message}; there are {', '.join(known)[:500]}")
        return Punctuation(rule, self.names, n_signs), tagged
