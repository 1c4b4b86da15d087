"""A made-up pair of languages whose word alignment is known, for the sample of the alignment analysis.

The source language has 300 words, and a sentence is a random sequence of them. The translation follows four rules:

* Each source word is replaced by its entry in a lexicon, which is one target word or two.
* In 5 % of the places, a source word is left out.
* One word in five opens a block: it and the word after it, or the two words after it, are translated in reverse order.
  Whether a word opens a block, and how long that block is, is fixed in the lexicon.
* Some words, like names, have the same form in both languages.

Words are spelled with one to three syllables. In a vocabulary of syllables, each syllable is a piece.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

SEED = 7
"""The seed of everything in the sample: the languages, the training sentences, and the weights of the model."""

N_WORDS = 300
NAMES = 15
SHORTEST, LONGEST = 3, 9
DROPPED = 0.05

_FIRST_SYLLABLES, _FURTHER_SYLLABLES = 220, 55
_SOURCE_LETTERS = ("bdgklmnprst", "aeiou")
_TARGET_LETTERS = ("cfhjqvwxzlm", "äöüiy")


class LexiconEntry(NamedTuple):
    """What happens to a source word."""

    translation: tuple[str, ...]  # one target word or two
    block: int  # the number of words of the block that the word opens; 1 if it opens none


class Translation(NamedTuple):
    """A source sentence with its translation, and a link to its source word for each target word, both 0-based."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class MadeUpPair:
    """Two made-up languages: the entry of each source word, and the syllables of both that begin and continue words."""

    lexicon: dict[str, LexiconEntry]
    first: tuple[str, ...]
    further: tuple[str, ...]

    def translate(self, source: Sequence[str], generator: random.Random) -> Translation:
        """Translate a source sentence; the generator decides which words are left out."""
        order: list[int] = []
        while len(order) < len(source):
            start = len(order)
            block = range(start, min(start + self.lexicon[source[start]].block, len(source)))
            order += reversed(block)
        target: list[str] = []
        links: list[tuple[int, int]] = []
        for position in order:
            if generator.random() < DROPPED:
                continue
            for word in self.lexicon[source[position]].translation:
                links.append((position, len(target)))
                target.append(word)
        return Translation(tuple(source), tuple(target), tuple(links))

    def sentence(self, generator: random.Random) -> Translation:
        """Make a random sentence and its translation, which has at least one word."""
        words = list(self.lexicon)
        while True:
            source = generator.choices(words, k=generator.randint(SHORTEST, LONGEST))
            translation = self.translate(source, generator)
            if translation.target:
                return translation


def make_pair(seed: int) -> MadeUpPair:
    """Make two languages; the same seed makes the same languages."""
    generator = random.Random(seed)  # noqa: S311
    syllables = [_syllables(generator, *letters) for letters in (_SOURCE_LETTERS, _TARGET_LETTERS)]
    source, target = (_words(generator, *of_language, N_WORDS) for of_language in syllables)
    lexicon: dict[str, LexiconEntry] = {}
    for number, (word, translated) in enumerate(zip(source, target, strict=True)):
        translation: tuple[str, ...] = (word,) if number < NAMES else (translated,)
        if generator.random() < 0.2:
            translation = (*translation, generator.choice(target))
        lexicon[word] = LexiconEntry(translation, generator.choices([1, 2, 3], [80, 10, 10])[0])
    (first, further), (target_first, target_further) = syllables
    return MadeUpPair(lexicon, (*first, *target_first), (*further, *target_further))


def _syllables(generator: random.Random, consonants: str, vowels: str) -> tuple[list[str], list[str]]:
    """Choose the syllables of a language: three letters at the beginning of a word, and two letters within it."""
    # Because of the fixed lengths, every word can be cut into its syllables in one way only.
    closed = [c + v + d for c in consonants for v in vowels for d in consonants]
    opened = [c + v for c in consonants for v in vowels]
    first = generator.sample(closed, _FIRST_SYLLABLES)
    return sorted(first), sorted(generator.sample(opened, min(len(opened), _FURTHER_SYLLABLES)))


def _words(generator: random.Random, first: list[str], further: list[str], number: int) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < number:
        length = generator.choices([1, 2, 3], [65, 25, 10])[0]
        words["".join([generator.choice(first), *generator.choices(further, k=length - 1)])] = None
    return list(words)
