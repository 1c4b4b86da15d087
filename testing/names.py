"""Names that mean something elsewhere, and the characters that no reader gets as they are."""

from __future__ import annotations

import re

HOSTILE = (
    *("{x}", "{", "}", "{0}", "{{x}}", "{%", "%s", "%(x)s", "${x}", "$x$", "a|b", "x,y", "=1+1", "a:{b}"),
    *("\\input{x}", "\\", "_^~#", "_x", "-->", "*", "<script>", "<b>", "&", "&lt;", '"', "'", "]]>"),
    *("[red]", "[/]", "\\[", "\x1b[31m", "\x01", "\x7f", "\x9b1m", "\u202e", "\u2066a", "\ufffe", "\uffff"),
    *("שלום\u200f", "👩\u200d🚀", "x" * 300),
)
"""Names without white space, which relations of CoNLL-U may not have."""

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""The characters that no document, terminal or message has."""
