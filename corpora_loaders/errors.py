"""The errors of corpora, and how to tell that memory ran out."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from pathlib import Path

from ..storage.errors import AttentionologyError

__all__ = ["AttentionologyError", "CorpusError", "out_of_memory"]


class CorpusError(AttentionologyError, ValueError):
    """The corpus cannot be read in its format, or lacks something that is needed.

    The message starts with the location, ``file:line: sentence 'id':``, as far as it is known, and says what
    was expected there.

    Args:
        message: what is wrong.
        file: path of the file.
        line: number of the line, from 1.
        sentence: id of the sentence.

    Attributes:
        reason: the message without the location.
        mistakes: the lines of the message: one, unless several mistakes of a file are reported together.

    Example:
        >>> from attentionology import CorpusError
        >>> print(CorpusError("the form (column 2) is empty", file="dev.conllu", line=7, sentence="s1"))
        dev.conllu:7: sentence 's1': the form (column 2) is empty
    """

    def __init__(
        self, message: str, *, file: str | Path | None = None, line: int | None = None, sentence: str | None = None
    ) -> None:
        location = ""
        if file is not None:
            location = f"{file}:{line}: " if line is not None else f"{file}: "
        if sentence is not None:
            location += f"sentence {sentence!r:.100}: "
        super().__init__(location + message)
        self.file, self.line, self.sentence, self.reason = file, line, sentence, message
        self.mistakes: tuple[str, ...] = (str(self),)


def join_errors(errors: Sequence[CorpusError], *, at_most: int | None = None) -> CorpusError:
    """Return one error that lists the mistakes of several, at most ``at_most``; its location is that of the first."""
    mistakes = [mistake for error in errors for mistake in error.mistakes]
    if at_most and len(mistakes) > at_most:
        mistakes[at_most:] = [f"… only the first {at_most} mistakes are listed"]
    joined = CorpusError("\n".join(mistakes))
    joined.file, joined.line, joined.sentence = errors[0].file, errors[0].line, errors[0].sentence
    joined.mistakes = tuple(mistakes)
    return joined


def unreadable(path: str | Path, error: OSError) -> CorpusError:
    """Return the error for a file that the operating system does not read."""
    if isinstance(error, FileNotFoundError):
        return CorpusError("there is no such file", file=path)
    return CorpusError(f"cannot read the file: {error.strerror or error}", file=path)


_NO_MEMORY = re.compile(
    r"(can't|cannot|could not|unable to) allocate|(out of|not enough) memory|bad_alloc|STATUS_ALLOC_FAILED"
    r"|multiplication overflow|size calculation overflow",
    re.IGNORECASE,
)


def out_of_memory(error: BaseException) -> BaseException | None:
    """Return the exception, of this one and those that caused it, that reports a lack of memory; None if none does.

    Libraries report it in different ways. Python and numpy raise `MemoryError`, the operating system causes an
    `OSError`, and torch raises a `RuntimeError` that can be recognized by its text only. Other code may have caught
    that exception and raised another one, so the chain of causes is searched as well.
    """
    seen: set[int] = set()  # the chain of causes may be circular
    reason: BaseException | None = error
    while reason is not None and id(reason) not in seen:
        seen.add(id(reason))
        if isinstance(reason, MemoryError) or getattr(reason, "errno", None) == errno.ENOMEM:
            return reason
        # The toolkit's own messages quote corpora, which may contain any of these phrases.
        if not isinstance(reason, AttentionologyError) and (
            type(reason).__name__ == "OutOfMemoryError"
            or (isinstance(reason, RuntimeError | ImportError | OSError) and _NO_MEMORY.search(str(reason)))
        ):
            return reason
        reason = reason.__cause__ or (None if reason.__suppress_context__ else reason.__context__)
    return None
