"""The standard streams of a command.

Text of corpora, file names and models is printed with its control characters escaped, so that it can neither color nor
overwrite nor reorder the text around it. A command whose output cannot be written ends without a traceback.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

from ..storage.characters import one_line, visible
from ..storage.messages import MESSAGES

READER_GONE = 141
"""The exit status when the reader of the output has closed it: that of a program which SIGPIPE ends."""


class OutputError(Exception):
    """The standard output does not take what is written to it."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(f"cannot write to the standard output: {reason.strerror or reason}")
        self.reason = reason


@contextmanager
def deliver() -> Iterator[None]:
    """Make sure that what a block writes to the standard output has arrived when the block ends."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        raise OutputError(error) from error


def say(*lines: str) -> None:
    """Print lines, with all control characters in them escaped; raise `OutputError` if nobody takes them."""
    with deliver():
        print("\n".join(map(one_line, lines)))


def say_json(text: str) -> None:
    """Print JSON in the encoding of the standard output, with control characters escaped."""
    text = visible(text)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2) + "\n"
    with deliver():
        print(text, end="")


def complain(message: object, status: int) -> int:
    """Print one line to the standard error, if it takes it; returns the exit status."""
    try:
        print(one_line(str(message)), file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)
    return status


def guard(command: Callable[[], int]) -> int:
    """Run a command although its standard streams may be closed, full, or closed before its end."""
    # Returns the status of the command; `READER_GONE` if the reader of the output went away, 1 if the output cannot be
    # written for another reason.
    _open_closed_streams()
    try:
        with deliver():
            status = command()
    except OutputError as error:
        _discard(sys.stdout)
        gone = isinstance(error.reason, BrokenPipeError)
        status = READER_GONE if gone else complain(f"attentionology: {error}", 1)
    try:
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)
    return status


def _open_closed_streams() -> None:
    """Put something in place of closed streams, lest files of the results get their numbers and what is printed."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 for as long as the process runs
    if sys.stdout is None:  # writing to what is open for reading fails as writing to what is closed does
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 for as long as the process runs
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:
        reconfigure(errors="backslashreplace")


def _discard(stream: TextIO) -> None:
    """Send what is still to be written to nowhere, or the interpreter would fail on it when it ends."""
    with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


class _Terminal(logging.Handler):
    """Prints what is logged, as the messages of commands are printed."""

    _BEFORE = MappingProxyType({logging.WARNING: "Warning: ", logging.ERROR: "attentionology: "})

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, of which the level decides how it begins."""
        complain(self._BEFORE.get(record.levelno, "") + record.getMessage(), 0)


@contextmanager
def messages_printed() -> Iterator[None]:
    """Print what is logged during a block, but not what a run logs, which progress bars and results show."""
    handler, level = _Terminal(), MESSAGES.level
    handler.addFilter(lambda record: record.name == MESSAGES.name)
    MESSAGES.addHandler(handler)
    MESSAGES.setLevel(logging.INFO)
    try:
        yield
    finally:
        MESSAGES.setLevel(level)
        MESSAGES.removeHandler(handler)


WIDE = 130
"""The least number of columns of a terminal that shows tables with intervals."""


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Let what Python warns of have no place in the source, of which the reader of a terminal has no use."""
    with_place = warnings.formatwarning

    def format_warning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        in_source = with_place(message, category, filename, lineno, line)
        return f"Warning: {message}\n" if category is UserWarning else in_source

    warnings.formatwarning = format_warning
    try:
        yield
    finally:
        warnings.formatwarning = with_place
