r"""The characters of names and words in what people read: one function for each target.

Words, relations, ids, labels and names of files are data. They may have any character, also one that would color a
terminal, end a line of LaTeX, or make a figure a file that no program reads. Such a character is written as ``\u001b``,
and the text around it stays. Every room has names, so this is in the lowest one.
"""

from __future__ import annotations

import html
import re

_CONTROLS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but the tab and the line feed, DEL, C1
    r"\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates of direction, which reorder what follows
    r"\u2028\u2029\ud800-\udfff\ufffe\uffff"  # line separators; lone surrogates; what is no character in XML
)
_MARKS = (
    r"\t\u061c\u200e\u200f"  # the tab, and marks of direction, which words of right-to-left scripts are written with
)
_IN_DOCUMENTS, _IN_TERMINALS = re.compile(f"[{_CONTROLS}]"), re.compile(f"[{_CONTROLS}{_MARKS}]")

_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "–": "--",
    "…": r"\dots{}",
    "“": "``",
    "”": "''",
    "’": "'",
    "°": r"$^\circ$",
    "½": r"$\frac{1}{2}$",
    # pdflatex knows the letters of Latin scripts, but no symbol. Check marks would need another package.
    **{symbol: f"$\\{name}$" for symbol, name in zip("→←↔‖×·±∂∩≈∞⊕≤≠∝√ΣΔαγελρστ✓✗", (
        "rightarrow leftarrow leftrightarrow | times cdot pm partial cap approx infty oplus leq neq propto surd "
        "Sigma Delta alpha gamma varepsilon lambda rho sigma tau surd times"
    ).split(), strict=True)},
    **{power: f"$^{{{digit}}}$" for power, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True)},
}  # fmt: skip
_LIGATURE = re.compile(r"([-'`])(?=\1)")


def visible(text: str) -> str:
    r"""Return a text for a terminal, with control characters as ``\u001b``, the same character in a string of JSON."""
    # Line feeds stay. So do joiners (U+200C, U+200D), which some scripts are not written without.
    return _IN_TERMINALS.sub(_code, text)


def one_line(text: str) -> str:
    """Return a text for a message or a comment, which ends with its line."""
    return visible(text).replace("\n", "\\u000a")


def in_document(text: str) -> str:
    """Return a text for HTML, SVG or a figure, whose markup, if it has any, stays."""
    return _IN_DOCUMENTS.sub(_code, text)


def in_html(text: str) -> str:
    """Return a text as HTML in which all characters stand for themselves."""
    return html.escape(in_document(text))


def in_latex(text: str) -> str:
    """Return a text as LaTeX in which all characters stand for themselves."""
    # Two hyphens or quotes in a row would be a dash or another quote.
    separated = _LIGATURE.sub("\\1\0", one_line(text))
    return "".join("{}" if character == "\0" else _LATEX.get(character, character) for character in separated)


def file_name(text: str, longest: int = 150) -> str:
    """Return a text as a name that a file or folder can have on any system, of at most ``longest`` bytes."""
    return re.sub(r"[^\w.-]+", "_", text).encode()[:longest].decode("utf-8", "ignore")


def _code(match: re.Match[str]) -> str:
    """Return the number of a character as in a string of JSON."""
    return f"\\u{ord(match[0]):04x}"
