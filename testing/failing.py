"""How checks say what is wrong: the errors that extensions may raise, and the message for all others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from ..storage.characters import one_line
from ..storage.errors import AttentionologyError

_LONGEST = 300


def fail(what: str, advice: str) -> NoReturn:
    """Raise the error of a check, given what is wrong and what to do."""
    raise AssertionError(f"{what}. {advice}")


def quote(value: object) -> str:
    """Return a value for a message, which may be cut."""
    text = one_line(str(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@contextmanager
def allow_own_errors(where: str, *, refuses: bool = True) -> Iterator[None]:
    """Let a block raise nothing but an error of the toolkit, or, unless it ``refuses``, nothing at all.

    Errors of the toolkit are shown to users in one line. ``where`` says what is tried, as in *on a corpus of one word*.
    """
    try:
        yield
    except AssertionError:
        raise
    except AttentionologyError as error:
        if refuses:
            raise
        said = f"{type(error).__name__}: {quote(error)}"
        raise AssertionError(f"It refuses to work {where}: {said}. Nothing of this is wrong; let it work") from error
    except Exception as error:
        said = f"{type(error).__name__}: {quote(error)}"
        advice = "Let it work, or let it raise CorpusError, ModelError or OptionError with a message for users"
        raise AssertionError(f"It fails {where} with {said}. {advice}") from error
