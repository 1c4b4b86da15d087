"""What a corpus must have so that it can be analyzed. Every loader asks this, and so does every command.

Some corpora are released without their words, because their text may not be distributed: each form is ``_``, or
``[WORD]`` in those of CoNLL-2012. Any model reads such text without an error, and gives numbers that say nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .errors import CorpusError
from .sentence import Sentence

MOST_BLANK = 0.1
"""The largest share of blank words in a corpus that can be analyzed. Treebanks with text have a few in a million."""

_UNDERSCORE, _SKELETON = "_", "[WORD]"
_BLANK = frozenset({_UNDERSCORE, _SKELETON})
_SIGNS = frozenset({"PUNCT", "SYM"})
_CODE = re.compile(r"(?P<code>[a-z]{2,3}_[a-z0-9]+)[-.]")
_NO_TEXT = re.compile(r"^Includes text:\s*no\b", re.MULTILINE)

_TEXTS = {
    "UD_Arabic-NYUAD": "the Penn Arabic Treebank of the LDC (LDC2010T13, LDC2011T09, LDC2010T08), merged by merge.jar",
    "UD_English-ESL": "the FCE dataset of the Cambridge Learner Corpus, merged by merge.py",
    "UD_English-GUMReddit": "the texts that its script get_text.py fetches",
    "UD_French-FTB": "the French Treebank, from its license holders (LLF, CNRS and Université Paris Cité)",
    "UD_Japanese-BCCWJ": "the Balanced Corpus of Contemporary Written Japanese, from NINJAL",
    "UD_Japanese-BCCWJLUW": "the Balanced Corpus of Contemporary Written Japanese, from NINJAL",
}
"""Where the text of treebanks can be had that are released without it, after their READMEs."""

_FOLDERS = {
    "ar_nyuad": "UD_Arabic-NYUAD",
    "en_esl": "UD_English-ESL",
    "en_gumreddit": "UD_English-GUMReddit",
    "fr_ftb": "UD_French-FTB",
    "ja_bccwj": "UD_Japanese-BCCWJ",
    "ja_bccwjluw": "UD_Japanese-BCCWJLUW",
}
"""The names of these treebanks, by the codes with which their files begin."""


def blank_words(sentence: Sentence) -> tuple[int, ...]:
    """Return the indices of the words of a sentence that are blank: ``_``, ``[WORD]``, or white space.

    An underscore that is tagged as punctuation or as a symbol is a word. The text of a word without a form can be that
    of its multiword token.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> blank_words(Sentence("s", ("Nous", "_", "_", "."), tags=("PRON", "VERB", "PUNCT", "PUNCT")))
        (1,)
    """
    blank = _find_blank(sentence.words)
    if not blank:
        return ()
    in_tokens = {
        index for first, last, form in sentence.multiword if form not in _BLANK for index in range(first - 1, last)
    }
    return tuple(
        index for index in blank if index not in in_tokens and not (sentence.tags and sentence.tags[index] in _SIGNS)
    )


def _find_blank(words: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the words whose forms are those of blank words."""
    return tuple(index for index, word in enumerate(words) if word in _BLANK or not word or word.isspace())


def without_heads_of_blank_words(sentence: Sentence) -> Sentence:
    """Return the sentence with an unknown head for each blank word, so that the word is read but not scored."""
    blank = blank_words(sentence) if sentence.heads else ()
    if not blank:
        return sentence
    return replace(sentence, heads=tuple(None if i in blank else head for i, head in enumerate(sentence.heads)))


class BlankWords:
    """Counts the blank words of a file, or of a corpus from Python, whose sentences are added one by one."""

    def __init__(self) -> None:
        self.words = 0  # of all sentences, blank or not
        self.forms: Counter[str] = Counter()  # of the blank words
        self._among_words = False  # the only word of a sentence may really be an underscore

    def add(self, sentence: Sentence) -> int:
        """Count the words of a sentence, and return how many of them are blank."""
        return self._add(sentence.words, blank_words(sentence))

    def add_words(self, words: Sequence[str]) -> int:
        """Count words of which nothing else is known, and return how many of them are blank."""
        return self._add(words, _find_blank(words))

    def _add(self, words: Sequence[str], blank: Sequence[int]) -> int:
        self.words += len(words)
        if blank:
            self.forms.update(words[index] for index in blank)
            self._among_words = self._among_words or len(words) > 1
        return len(blank)

    @property
    def share(self) -> float:
        """The share of blank words among all words."""
        return self.forms.total() / max(self.words, 1)

    @property
    def are_too_many(self) -> bool:
        """Whether there are more than `MOST_BLANK`."""
        return self.share > MOST_BLANK and self._among_words

    def check(self, file: str | Path | None = None) -> None:
        """Raise a `CorpusError` that has the share of blank words, and where the text can be had, if they are too many.

        The file is that of the corpus.
        """
        if not self.are_too_many:
            return
        [(form, _)] = self.forms.most_common(1)
        found = f"every form is {form!r}: this corpus was released without its words"
        if self.share < 1:
            found = (
                f"{100 * self.share:.1f} % of the words are blank ({self.forms.total():,} of {self.words:,}, most of "
                f"them {form!r}): this corpus was released without its words, or without most of them"
            )
        raise CorpusError(f"{found}; {_where_text_is(form, file)}", file=file)


def _where_text_is(form: str, file: str | Path | None) -> str:
    """Return where the text of a corpus can be had."""
    if form == _SKELETON:
        return "the words of OntoNotes (LDC2013T19) are put into its skeletons by skeleton2conll.sh of CoNLL-2012"
    path, advice = Path(file or ""), "the README of the treebank says where it can be had and how it is merged"
    match = _CODE.match(path.name)
    name = (
        path.parent.name if path.parent.name.startswith("UD_") else _FOLDERS.get(match["code"] if match else "", "it")
    )
    for readme in filter(Path.is_file, map(path.with_name, ("README.md", "README.txt")) if path.name else ()):
        if _NO_TEXT.search(readme.read_text("utf-8", errors="replace")):
            advice = f"{readme} says how it is merged"
    return f"{name} needs the text of the original corpus{f': {_TEXTS[name]}' if name in _TEXTS else ''}; {advice}"
