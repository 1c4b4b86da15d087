"""A head on a sentence as text: each word with the words that it attends to most."""

from __future__ import annotations

import unicodedata

import numpy as np

from .view import HeadView

_BAR = 10
"""The length of the longest bar, in characters."""

_MIN_SHARE = 0.05
"""Further words are named if they get at least this share of the largest value of the row."""


def as_text(view: HeadView, *, width: int = 80, most: int = 3) -> str:
    """Write a head on a sentence as lines of text.

    Args:
        view: the head and the sentence.
        width: the number of columns of the terminal.
        most: how many words to name in each line, at most.

    Returns:
        a heading and one line for each word: the word, a bar for its largest value, and the words that it attends to
        most with their values. If the sentence has a tree, ``+`` marks a word whose guess is its syntactic head, and
        ``-`` a word whose guess is not, with both at the end of the line. A word whose syntactic head is out of reach
        has no mark.

    Example:
        >>> import numpy as np
        >>> values = np.array([[0.2, 0.8], [0.5, 0.5]])
        >>> view = HeadView("s1", ("Cats", "sleep"), (False, False), values, 3, 9, "weight", None, (1, 0), (1, -1))
        >>> print(as_text(view))
        Head 3-9: s1
        + Cats   ████████    sleep 80%, Cats 20%
          sleep  █████       Cats 50%, sleep 50%
    """
    word_width = min(max(map(_width, view.words)), max(8, width // 4))
    lines = [_cut(f"{view.heading}: {view.sentence}", width)]
    for row, word in enumerate(view.words):
        guess, head = view.guesses[row], view.head_of(row)
        mark = {None: " ", True: "+", False: "-"}[view.is_right(row)]
        bar = "█" * max(1, round(_BAR * view.opacity(row, int(view.values[row].argmax()))))
        targets = ", ".join(f"{view.words[index]} {view.number(row, index)}" for index in _targets(view, row, most))
        missed = ""
        if head is not None and view.is_out_of_reach(row):
            missed = f"  (head: {view.words[head]}, out of reach)"
        elif guess is not None and head is not None and guess != head:
            missed = f"  (guess: {view.words[guess]}, head: {view.words[head]})"
        cut_word = _cut(word, word_width)
        blanks = " " * (word_width - _width(cut_word))
        lines.append(_cut(f"{mark} {cut_word}{blanks}  {bar:<{_BAR}}  {targets}{missed}", width))
    return "\n".join(line.rstrip() for line in lines)


def _targets(view: HeadView, row: int, max_words: int) -> list[int]:
    """The words to name: those with the largest values, the first of equal ones first."""
    values = view.values[row]
    order = np.argsort(-values, kind="stable")[:max_words]
    return [int(index) for index in order if values[index] > 0 and values[index] >= _MIN_SHARE * values[order[0]]]


def _width(text: str) -> int:
    """The number of columns that a text takes; wide characters take two, and combining ones none."""
    separate = [character for character in text if not unicodedata.combining(character)]
    return len(separate) + sum(unicodedata.east_asian_width(character) in "WF" for character in separate)


def _cut(text: str, width: int) -> str:
    """The text, cut to a number of columns, the last of which then has an ellipsis."""
    if _width(text) <= width:
        return text
    kept = ""
    for character in text:
        if _width(kept + character) > width - 1:
            break
        kept += character
    return kept + "…"
