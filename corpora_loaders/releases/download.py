"""One file from the network, complete or not at all."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

from ..errors import CorpusError

_SECONDS = 30.0
"""How long to wait for a server that does not answer."""


class AbsentError(CorpusError):
    """The server has no such file."""


def fetch(url: str) -> bytes:
    """Fetch a file.

    Raises:
        AbsentError: the server has no such file.
        CorpusError: the address is not one of a web server, the server cannot be reached or refuses to answer, or not
            all bytes arrived.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise CorpusError(f"{url} is not an address of a web server; UD_MIRROR must begin with https://")
    request = urllib.request.Request(url, headers={"User-Agent": f"attentionology/{_version()}"})  # noqa: S310  # checked
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310  # checked
            content: bytes = response.read()
            expected = response.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        if error.code in (404, 410):
            raise AbsentError(f"{url}: {error.code}") from None
        raise CorpusError(f"{url}: the server answered {error.code} ({error.reason}); try again later") from None
    except http.client.IncompleteRead as error:
        total = len(error.partial) + (error.expected or 0)
        raise CorpusError(_incomplete(url, len(error.partial), total)) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise CorpusError(
            f"{url} cannot be reached ({reason}); set UD_HOME to an unpacked release, or give a file"
        ) from None
    if expected is not None and len(content) != int(expected):
        raise CorpusError(_incomplete(url, len(content), int(expected)))
    return content


def _incomplete(url: str, arrived: int, total: int) -> str:
    return f"{url}: {arrived:,} of {total:,} bytes arrived; the same command tries again"


def _version() -> str:
    try:
        return version("attentionology")
    except PackageNotFoundError:
        return "0"
