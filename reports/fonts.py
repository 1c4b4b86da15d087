"""Fonts of the system for characters that the font of all figures lacks, such as those of Chinese.

An SVG leaves the choice of fonts to its reader. A PNG and a PDF have the shapes of their letters in them, so they need
fonts that are installed here.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

from ..storage.writing import is_right_to_left

USUAL = "DejaVu Sans"
"""The font of all figures, which is part of matplotlib."""

_NOT_MEANT = ("lastresort", "last resort", "blank", "emoji", "symbol")  # boxes for all characters, or pictures
_PACKAGES = (
    (("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH"), "fonts-noto-cjk"),
    ((), "fonts-noto-core"),
)
"""Packages of Debian and Ubuntu that have fonts for the scripts of characters, by the beginnings of their names."""


def use_fallbacks(figure: Figure) -> str:
    """Let texts of a figure have fonts of the system for what the usual font lacks; return what all of them lack."""
    families, without = fallbacks(frozenset(find_missing("".join(texts_of(figure)))))
    if families:
        for text in figure.findobj(Text):
            text.set_fontfamily([USUAL, *families])
    return without


def texts_of(figure: Figure) -> list[str]:
    """Return all that is written in a figure."""
    return [text.get_text() for text in figure.findobj(Text)]


def find_missing(characters: Iterable[str]) -> set[str]:
    """Return those of some characters that the usual font lacks. Control characters have no shape in any font."""
    usual = _font(font_manager.findfont(USUAL))
    shown = {character for character in characters if unicodedata.category(character)[0] not in "CZ"}
    return set() if usual is None else {character for character in shown if not usual.get_char_index(ord(character))}


@functools.cache
def fallbacks(characters: frozenset[str]) -> tuple[tuple[str, ...], str]:
    """Return the families of fonts that have some characters, as few as there need to be, and what none of them has."""
    if not characters:
        return (), ""
    missing, families = set(characters), list[str]()
    found = {path: characters_of for path in _system_fonts() if (characters_of := _find_covered(path, characters))}
    while missing:
        # Of equal fonts, a plain one without serifs, as the usual one is; by its path, so that the choice is the same.
        best = max(found, key=lambda path: (len(found[path] & missing), _plainness(path), path), default=None)
        if best is None or not found[best] & missing:
            break
        font = _font(best)
        missing -= found.pop(best)
        if font is not None:
            font_manager.fontManager.addfont(best)
            families.append(font.family_name)
    return tuple(families), "".join(sorted(missing))


def advice(without: str, kind: str) -> str:
    """Say in one line what a PNG or PDF cannot show, and which package helps."""
    shown = "".join(without[:8]) + ("…" if len(without) > 8 else "")
    return (
        f"no font of this system has {shown}, which a {kind} shows as boxes; install a font that has them, such as "
        f"those of the package {' or '.join(_packages(without))}, or use the SVG, which has the fonts of its reader"
    )


def advice_of_direction(texts: Iterable[str], kind: str) -> str:
    """Say in one line that matplotlib writes words in the wrong direction; empty if it does not."""
    # Version 3.11 connects and orders letters. Titles and legends beside the words are in another script.
    if mpl.__version_info__ >= (3, 11) or not any(is_right_to_left([text]) for text in texts):
        return ""
    return (
        f"Matplotlib {mpl.__version__} writes the letters of right-to-left words from the left in a {kind}; install "
        "Matplotlib 3.11, or use the SVG"
    )


def _packages(characters: str) -> list[str]:
    """Return the packages that have fonts for some characters."""
    named = [unicodedata.name(character, "") for character in characters]
    of_characters = [
        next(package for beginnings, package in _PACKAGES if not beginnings or name.startswith(beginnings))
        for name in named
    ]
    return [*dict.fromkeys(of_characters)]


def _system_fonts() -> list[str]:
    """Return the files of all fonts of the system, also of those that were installed after matplotlib looked last."""
    known = {font.fname for font in font_manager.fontManager.ttflist}
    return sorted({*known, *font_manager.findSystemFonts()})


def _find_covered(path: str, characters: frozenset[str]) -> frozenset[str]:
    """Return those of some characters that the font of a file has."""
    font = None if any(word in Path(path).stem.lower() for word in _NOT_MEANT) else _font(path)
    if font is None or any(word in font.family_name.lower() for word in _NOT_MEANT):
        return frozenset()
    return frozenset(character for character in characters if font.get_char_index(ord(character)))


def _plainness(path: str) -> tuple[bool, bool]:
    """Return whether the font of a file is upright and of usual weight, and whether it has no serifs."""
    font = _font(path)
    if font is None:
        return False, False
    style, family = font.style_name.lower(), font.family_name.lower()
    is_plain = style in ("regular", "book", "normal", "medium", "roman")
    return is_plain, not any(word in family for word in ("serif", "mono", "ming", "song"))


@functools.cache
def _font(path: str) -> FT2Font | None:
    """Return the font of a file; None if it cannot be read, as fonts of bitmaps cannot."""
    try:
        return font_manager.get_font(path)
    except (OSError, RuntimeError):
        return None
