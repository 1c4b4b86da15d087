"""What a Hub refuses, and what a cache does, as one line that says what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import huggingface_hub
from huggingface_hub import constants
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HTTPError,  # pyright: ignore[reportPrivateImportUsage]  # its origin, httpx or httpx2, depends on the version
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from attentionology.extractors.errors import ModelError

_BUSY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class NoAnswerError(Exception):
    """The Hub does not answer, or as no Hub does; says how."""


@contextmanager
def asking(name: str, revision: str | None) -> Iterator[None]:
    """Tell a Hub that refuses from one that does not answer.

    Raises:
        ModelError: it refuses.
        NoAnswerError: it does not answer, or not as a Hub.
    """
    try:
        with refusals(name, revision):
            yield
    except HfHubHTTPError as error:
        raise NoAnswerError(_status(error)) from error
    except (HTTPError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise NoAnswerError(first_line(error)) from error


@contextmanager
def refusals(name: str, revision: str | None) -> Iterator[None]:
    """Say what to do about what a Hub refuses.

    Raises:
        ModelError: it does. Answers that say that the Hub is down or busy are passed on.
    """
    endpoint = constants.ENDPOINT
    try:
        yield
    except GatedRepoError as error:
        terms = f"{name!r} asks its readers to accept terms: do so at {endpoint}/{name}, then run 'hf auth login'"
        raise ModelError(terms) from error
    except RepositoryNotFoundError as error:
        private = f"there is no model {name!r} on {endpoint}, or it is private: run 'hf auth login' or set HF_TOKEN"
        raise ModelError(private) from error
    except RevisionNotFoundError as error:
        raise ModelError(f"{name!r} has no branch, tag or commit {revision or constants.DEFAULT_REVISION!r}") from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _BUSY:
            raise
        what = "does not accept your token: run 'hf auth login' or set another HF_TOKEN"
        if status != HTTPStatus.UNAUTHORIZED:
            what = f"refuses {name!r} ({_status(error)})"
        raise ModelError(f"{endpoint} {what}") from error


@contextmanager
def using_cache() -> Iterator[None]:
    """Name the cache where it cannot be read or written.

    Raises:
        ModelError: it cannot be. Other errors are passed on.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, HTTPError | ConnectionError | TimeoutError) or error.errno is None:
            raise
        file = f": {error.filename}" if error.filename else ""
        cache = f"cannot use the cache {constants.HF_HUB_CACHE} ({error.strerror}{file})"
        raise ModelError(f"{cache}; set HF_HOME to another folder") from error


def _status(error: Any) -> str:
    return f"{error.response.status_code} {error.response.reason_phrase}".strip()


def first_line(error: Exception) -> str:
    """The first line of an error's message, or the error's kind if it has none."""
    return str(error).strip().split("\n", 1)[0] or type(error).__name__


@contextmanager
def without_remarks() -> Iterator[None]:
    """Keep what huggingface_hub logs off the terminal: the errors raised here say it."""
    verbosity = huggingface_hub.logging.get_verbosity()
    huggingface_hub.logging.set_verbosity_error()
    try:
        yield
    finally:
        huggingface_hub.logging.set_verbosity(verbosity)
