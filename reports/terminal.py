"""The layout of tables for a terminal, and text that is safe to print there."""

from __future__ import annotations

import re

WIDE = 130
"""The least number of columns of a terminal that shows tables with intervals."""

_CONTROL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f"  # C0 but the line feed, DEL, C1
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of direction
    r"\u2028\u2029\ud800-\udfff]"  # line separators; lone surrogates, as in file names that are not UTF-8
)


def visible(text: str) -> str:
    r"""The text with control characters written as ``\u001b``, which within JSON strings is the same character."""
    # Line feeds stay. So do joiners (U+200C, U+200D), which some scripts are not written without.
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
