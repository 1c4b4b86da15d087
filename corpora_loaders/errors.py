"""The exceptions a user is meant to read."""

from __future__ import annotations

import errno
import re
from pathlib import Path

from attentionology.storage.errors import AttentionologyError

__all__ = ["AttentionologyError", "CorpusError", "out_of_memory"]


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


_NO_MEMORY = re.compile(
    r"(can't|cannot|could not|unable to) allocate|(out of|not enough) memory|bad_alloc|STATUS_ALLOC_FAILED"
    r"|multiplication overflow|size calculation overflow",
    re.IGNORECASE,
)


def out_of_memory(error: BaseException) -> BaseException | None:
    """The exception behind this one that says that memory ran out; None if none does.

    Memory runs out under many names: Python and numpy raise `MemoryError`, the system an `OSError`, and torch a
    `RuntimeError` of which only the text is particular. Another exception may have been raised in its place.
    """
    seen: set[int] = set()
    reason: BaseException | None = error
    while reason is not None and id(reason) not in seen:
        seen.add(id(reason))
        if isinstance(reason, MemoryError) or getattr(reason, "errno", None) == errno.ENOMEM:
            return reason
        # Our own messages quote corpora, in which anything may be written.
        if not isinstance(reason, AttentionologyError) and (
            type(reason).__name__ == "OutOfMemoryError"
            or (isinstance(reason, RuntimeError | ImportError | OSError) and _NO_MEMORY.search(str(reason)))
        ):
            return reason
        reason = reason.__cause__ or (None if reason.__suppress_context__ else reason.__context__)
    return None
