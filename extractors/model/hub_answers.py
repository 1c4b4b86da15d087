"""Messages about a Hub that refuses a request and a cache that cannot be used: one line each, with the way out."""

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

from ..errors import ModelError

_BUSY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class NoAnswerError(Exception):
    """The Hub does not answer, or its answer is not that of a Hub. The message says which."""


@contextmanager
def asking(name: str, revision: str | None) -> Iterator[None]:
    """Distinguish a Hub that refuses a request from one that does not answer.

    Raises:
        ModelError: the Hub refuses the request.
        NoAnswerError: the Hub does not answer, or its answer is not that of a Hub.
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
    """Turn the refusals of a Hub into errors that say what to do.

    Raises:
        ModelError: the Hub refuses the request. Errors of a Hub that is down or busy are passed on as they are.
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
    """Turn errors of reading or writing the cache into errors that name it.

    Raises:
        ModelError: the cache cannot be read or written. Other errors are passed on as they are.
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
    """Return the first line of an error's message, or the name of its class if it has no message."""
    return str(error).strip().split("\n", 1)[0] or type(error).__name__


@contextmanager
def without_remarks() -> Iterator[None]:
    """Keep the log of huggingface_hub off the terminal, because the errors that are raised here say the same."""
    verbosity = huggingface_hub.logging.get_verbosity()
    huggingface_hub.logging.set_verbosity_error()
    try:
        yield
    finally:
        huggingface_hub.logging.set_verbosity(verbosity)
