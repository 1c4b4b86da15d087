"""What is drawn: the map of one head on one sentence, with the words and their gold heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...storage.writing import is_right_to_left

_READ = {"dep->head": "", "head->dep": ", head→dep", "both": ", both directions"}


@dataclass(frozen=True, eq=False)
class HeadView:
    """The map of one head on one sentence.

    Attributes:
        sentence: the id of the sentence.
        words: the words and special tokens, in their order.
        special: whether each of them is a special token.
        values: how much each word (row) attends to each other (column), shape (words, words).
        layer: the layer, counted from 1.
        head: the head, counted from 1; None for a kind of map that has one map for all heads of a layer.
        kind: the kind of the map.
        scale: the value that is drawn with full opacity; None if the values are shares of 1.
        guesses: for each word the index in ``words`` of the word that the head picks as its syntactic head: that of the
            largest value among the other words, as the tables count it. None for special tokens, and where no other
            word has a value.
        gold: for each word the index in ``words`` of its syntactic head; −1 for the root, None for words without a head
            and for special tokens. It is empty if the sentence has no tree.
        relations: the relation of each word to its syntactic head; empty if there is none.
        direction: how the values are read for guesses: ``dep->head``, those of the word's row; ``head->dep``, those of
            its column; ``both``, the sums of the two.

    Example:
        >>> import numpy as np
        >>> values = np.array([[0.2, 0.8], [0.5, 0.5]])
        >>> view = HeadView("s1", ("Cats", "sleep"), (False, False), values, 3, 9, "weight", None, (1, 0), (1, -1))
        >>> view.title, view.is_right(0), view.is_right(1)
        ('3-9', True, None)
    """

    sentence: str
    words: tuple[str, ...]
    special: tuple[bool, ...]
    values: npt.NDArray[np.float64]
    layer: int
    head: int | None
    kind: str
    scale: float | None
    guesses: tuple[int | None, ...]
    gold: tuple[int | None, ...] = ()
    relations: tuple[str | None, ...] = ()
    direction: str = "dep->head"

    @property
    def title(self) -> str:
        """The head as ``LAYER-HEAD``, with the kind of the map unless it is attention weights."""
        name = f"layer {self.layer}" if self.head is None else f"{self.layer}-{self.head}"
        return name if self.kind == "weight" else f"{name} ({self.kind})"

    @property
    def heading(self) -> str:
        """The title as a heading, with the direction of guesses unless words are read by what they attend to."""
        name = f"Head {self.title}" if self.head else self.title.capitalize()
        return f"{name}{_READ[self.direction]}"

    @property
    def is_right_to_left(self) -> bool:
        """Whether the words are read from right to left, so that the first one stands on the right."""
        return is_right_to_left([word for word, special in zip(self.words, self.special, strict=True) if not special])

    def head_of(self, row: int) -> int | None:
        """The index of a word's syntactic head; None if no word is known to be its head."""
        head = self.gold[row] if self.gold else None
        return None if head is None or head < 0 else head

    def read(self, row: int, other: int) -> float:
        """The value by which another word is compared with all others as the syntactic head of a word."""
        forth, back = float(self.values[row, other]), float(self.values[other, row])
        return {"dep->head": forth, "head->dep": back}.get(self.direction, forth + back)

    def is_out_of_reach(self, row: int) -> bool:
        """Whether the head cannot find the syntactic head of a word: its value is 0, as causal models give later words.

        Example:
            >>> import numpy as np
            >>> causal = np.array([[1.0, 0.0], [0.5, 0.5]])
            >>> words, special = ("Cats", "sleep"), (False, False)
            >>> view = HeadView("s1", words, special, causal, 3, 9, "weight", None, (None, 0), (1, -1))
            >>> view.is_out_of_reach(0), view.is_right(0)
            (True, None)
        """
        head = self.head_of(row)
        return head is not None and self.read(row, head) == 0

    def is_right(self, row: int) -> bool | None:
        """Whether the guess for a word is its syntactic head; None if none is known, or if it is out of reach."""
        head = self.head_of(row)
        return None if head is None or self.is_out_of_reach(row) else self.guesses[row] == head

    def is_gold(self, start: int, end: int) -> bool:
        """Whether attention from a word to another one joins a word and its syntactic head, as guesses are read."""
        if not self.gold:
            return False
        forth, back = self.gold[start] == end, self.gold[end] == start
        return {"dep->head": forth, "head->dep": back}.get(self.direction, forth or back)

    def opacity(self, row: int, column: int) -> float:
        """The opacity of the line from a word to another one, from 0 to 1."""
        return self._share(self.values[row, column])

    def opacity_of_guess(self, row: int, guess: int) -> float:
        """The opacity of the arrow to a word from its guess, from 0 to 1."""
        return self._share(self.read(row, guess))

    def _share(self, value: float) -> float:
        """Return a value as a share of what is drawn with full opacity, at most 1."""
        scale = 1.0 if self.scale is None else self.scale
        return float(min(1.0, value / scale)) if scale > 0 else 0.0

    def number(self, row: int, column: int) -> str:
        """A value as it is written: shares in percent, others with three digits."""
        value = self.values[row, column]
        return f"{100 * value:.0f}%" if self.scale is None else f"{value:.3g}"

    def without_special(self) -> HeadView:
        """The same map without the rows and columns of special tokens. The values stay as they are."""
        return self.restricted([index for index, is_special in enumerate(self.special) if not is_special])

    def restricted(self, kept: Sequence[int]) -> HeadView:
        """The same map with some words only."""
        new_index: dict[int | None, int] = {-1: -1, **{old: new for new, old in enumerate(kept)}}  # −1 is the root
        return replace(
            self,
            words=tuple(self.words[index] for index in kept),
            special=tuple(self.special[index] for index in kept),
            values=self.values[np.ix_(kept, kept)],
            guesses=tuple(new_index.get(self.guesses[index]) for index in kept),
            gold=tuple(new_index.get(self.gold[index]) for index in kept if self.gold),
            relations=tuple(self.relations[index] for index in kept if self.relations),
        )


def on_one_scale(views: Sequence[HeadView]) -> tuple[HeadView, ...]:
    """Let all views of a kind of map on a sentence be drawn on one scale, unless all of them have shares of 1."""
    largest: dict[str, float] = {}
    for view in views:
        largest[view.kind] = max(largest.get(view.kind, 0.0), float(view.values.max()))
    scaled = {view.kind for view in views if view.scale is not None}
    return tuple(replace(view, scale=largest[view.kind]) if view.kind in scaled else view for view in views)
