"""The exceptions a user is meant to read."""

from __future__ import annotations

from pathlib import Path


class AttentionologyError(Exception):
    """Base of everything that is wrong with the input and not with the program."""


class CorpusError(AttentionologyError, ValueError):
    """A corpus that cannot be read as what it claims to be.

    The message starts with the place, ``file:line: sentence 'id':``, as far as it is known, and says what
    was expected there.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        sentence: str | None = None,
    ) -> None:
        place = ""
        if file is not None:
            place = f"{file}:{line}: " if line is not None else f"{file}: "
        if sentence is not None:
            place += f"sentence {sentence!r}: "
        super().__init__(place + message)
        self.file, self.line, self.sentence = file, line, sentence
