"""Finds habits of prose that a reader stumbles over, and says what to write in their place.

It reads docstrings, comments and messages in Python files, Markdown pages, and the text of page templates. Code, option
values and everything in backticks are left alone. In the files below ``tests``, only docstrings and comments are read,
because other strings are data there. Without arguments it reads the whole repository::

    python -m tests.prose
    python -m tests.prose README.md engine/analyze.py

Each finding is one line, ``file:line: phrase → suggestion``. The exit status is 1 if there is any.
"""

from __future__ import annotations

import io
import itertools
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDERS = (
    *("storage", "corpora_loaders", "reports", "extractors", "probes", "analyses", "engine", "scripts"),
    *("src/attentionology", "benchmarks", "tests", "docs"),
)
THEMSELVES = ("tests/prose.py", "tests/unit/test_prose.py")
"""The files that hold the phrases because they look for them."""

CODE = "\0"
"""Stands for every character that is not prose, so that no phrase reaches across code, and positions do not move."""

BEGINNINGS: tuple[tuple[str, str], ...] = (
    (r"Of (?:the|a|an|all|every|each)\b", "begin with the noun: 'Options of the coreference analysis.'"),
    (r"[01]-based\.", "name what is counted: 'The selected heads, 0-based.'"),
    (r"Do it\b", "say what is done: 'Run the command and return its exit status.'"),
    (r"Refuse what\b", "say what is checked: 'Validate the options.'"),
    (r"What there is\b", "name it: 'The available formats.'"),
    (r"The same,? but\b", "name it: 'A copy with the given fields replaced.'"),
)
"""What no text should begin with, and what to write instead."""

PHRASES: tuple[tuple[str, str], ...] = (
    (r"\bso (?:it|they) (?:is|are|was|were|does|do|did|has|have)\.", "repeat the verb, or leave the sentence out"),
    (r"\b(?:careful|beware):", "'Warning:'"),
    (r"(?<!not\s)\bso many\b(?! (?:that|as))", "name the number: 'at most N texts'"),
    (r"\btold\b(?! apart)", "'recognized', 'distinguished', 'reported' or 'given'"),
    (r"\b(?:say|says|said) nothing (?:to|of)\b", "'has no effect on'"),
    (r"\bbut for\b", "'except for'"),
    (r"\bdrawn by (?:a|the) hash\b", "'sampled deterministically by a hash of their words'"),
    (r"\bnobody (?:says|said|asks|asked)\b", "'by default' or 'if it is not given'"),
    (r"\b(?:accepted|dropped|ignored|lost|removed) without a word\b", "'silently'"),
    (r"\bin the place of\b", "'in place of' or 'instead of'"),
    # British spelling. Not of "labelled", as in `load_labelled`, nor of the value of an option, "renormalise".
    (r"\b\w*(?:behavi|\bcol|fav|flav|harb|hon|hum|\blab|neighb|rum|\bvig)our\w*", "American spelling, -or"),
    (
        r"(?!renormalise\b)\b(?:re|de|un|pre|non)?(?:binar|capital|categor|character|discret|emphas|equal|factor|final|general|initial|"
        r"item|linear|local|maxim|memor|minim|normal|optim|organ|parallel|penal|priorit|quant|random|real|recogn|"
        r"regular|serial|special|standard|summar|symbol|synchron|token|util|vector|visual)is"
        r"(?:e|ed|es|er|ers|ing|able|ation|ations)\b",
        "American spelling, -ize",
    ),
    (r"\b(?:re)?analys(?:e|ed|er|ers|ing)\b", "American spelling, -yze"),
    (r"\b(?:cent|fib|met|theat)re[sd]?\b", "American spelling, -er"),
    (
        r"\b(?:un)?(?:cancel|channel|level|model|signal|total|travel)l(?:ed|ing|er|ers)\b",
        "American spelling, one l",
    ),
    (
        r"\b(?:amongst|artefacts?|catalogues?|defence|fulfil|grey\w*|judgements?|learnt|licence|offence|programmes?|"
        r"sceptic\w*|spelt|whilst)\b",
        "American spelling",
    ),
)
"""What should stand nowhere, in upper or lower case, and what to write instead."""

EXCEPTIONS = (
    rf"``[^{CODE}]*?``",
    rf"`[^`{CODE}]*`",
    r"--[a-z][a-z-]*(?:[ =][a-z][\w-]*)?",
    r"'[\w./-]+'",
    r'"[\w./-]+"',
    r"https?://\S+",
)
"""What is not prose within prose: code, options with their values, quoted values, addresses."""


def _spaced(pattern: str) -> str:
    """The pattern with blanks that also match line ends."""
    return pattern.replace(" ", r"\s+")


_EXCEPTION = re.compile("|".join(f"(?:{pattern})" for pattern in EXCEPTIONS), re.DOTALL)
_RULES = [
    *((re.compile(rf"{CODE}\s*{_spaced(pattern)}"), suggestion) for pattern, suggestion in BEGINNINGS),
    *((re.compile(_spaced(pattern), re.IGNORECASE), suggestion) for pattern, suggestion in PHRASES),
]


@dataclass(frozen=True)
class Finding:
    """A phrase that should be written otherwise.

    Attributes:
        line: where it begins, from 1.
        phrase: the words, on one line.
        suggestion: what to write.
    """

    line: int
    phrase: str
    suggestion: str


def findings(name: str, source: str) -> list[Finding]:
    """The phrases of a file, in its order.

    Args:
        name: the path, which says of what kind the file is; below ``tests`` the strings of Python are data.
        source: what the file holds.
    """
    path = Path(name)
    if path.suffix == ".py":
        text = python_prose(source, messages=path.parts[:1] != ("tests",))
    elif path.suffix == ".j2":
        text = blanked(r"\{\{.*?\}\}|\{%.*?%\}|<(?:style|script|code)\b.*?</(?:style|script|code)>|<[^>]*>", source)
    else:
        text = blanked(r"^```.*?^```$|`[^`]*`|\]\([^)]*\)|<[^>\n]*>", source)
    text = CODE + blank(_EXCEPTION, text)
    matches = [(match, suggestion) for rule, suggestion in _RULES for match in rule.finditer(text)]
    result = []
    for match, suggestion in sorted(matches, key=lambda pair: pair[0].start()):
        phrase = match.group().lstrip(CODE + " \n")
        start = match.end() - len(phrase)
        result.append(Finding(text.count("\n", 0, start) + 1, " ".join(phrase.split()), suggestion))
    return result


def python_prose(source: str, *, messages: bool) -> str:
    """Python source in which everything except prose is `CODE`; line ends stay.

    Args:
        source: of a module.
        messages: whether strings that are no docstrings are prose, unless they are a single word.
    """
    lines = source.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    parts: list[str] = []
    done, beginning = 0, True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        text = source[start:end]
        if kind == "COMMENT":
            prose = " " + text[1:]
        elif kind == "STRING" and (beginning or (messages and " " in text)):  # a docstring begins a statement
            prose = string_prose(text)
        elif kind == "FSTRING_MIDDLE" and messages and " " in text:  # from Python 3.12 on
            prose = text
        else:
            prose = ""
        if prose:
            parts += [blanked(r"\S+", source[done:start]), prose]
            done = end
        if kind not in ("COMMENT", "NL"):
            beginning = kind in ("NEWLINE", "INDENT", "DEDENT")
    return "".join([*parts, blanked(r"\S+", source[done:])])


def string_prose(literal: str) -> str:
    """A string literal without its prefix, quotes, escapes and, where it is formatted, the values in it."""
    prefix, quotes = re.match(r"(\w*)(\"\"\"|'''|\"|')", literal).groups()  # type: ignore[union-attr]
    text = literal[len(prefix) + len(quotes) : -len(quotes)]
    text = re.sub(r"\\[nt]", "  ", text)
    if "f" in prefix.lower():
        text = blanked(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", text)
    return CODE * (len(prefix) + len(quotes)) + text + CODE * len(quotes)


def blanked(pattern: str, text: str) -> str:
    """The text with every match of a pattern replaced by `CODE`."""
    return blank(re.compile(pattern, re.MULTILINE | re.DOTALL), text)


def blank(pattern: re.Pattern[str], text: str) -> str:
    """The text with every match of a pattern replaced by `CODE`; line ends stay, so that lines can be counted."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", CODE, match.group()), text)


def files_of(arguments: Sequence[str]) -> Iterator[Path]:
    """The files to read: those given, or all of the repository that hold prose."""
    if arguments:
        chosen = [Path(name) for name in arguments]
    else:
        chosen = [*REPOSITORY.glob("*.md"), *(REPOSITORY / folder for folder in FOLDERS)]
    for path in chosen:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside:
            absolute = file.resolve()
            own = absolute.is_relative_to(REPOSITORY) and str(absolute.relative_to(REPOSITORY)) in THEMSELVES
            if file.suffix in (".py", ".md", ".j2") and not own and "__pycache__" not in file.parts:
                yield file


def main(arguments: Sequence[str]) -> int:
    """Print all findings and return the exit status."""
    status = 0
    for path in files_of(arguments):
        absolute = path.resolve()
        name = str(absolute.relative_to(REPOSITORY)) if absolute.is_relative_to(REPOSITORY) else str(path)
        for finding in findings(name, path.read_text(encoding="utf-8")):
            print(f"{name}:{finding.line}: {finding.phrase} → {finding.suggestion}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
