"""Who may ask the server for anything, and how much: what every request has to pass before it is looked at.

The server listens on this machine, where other programs and the pages of other sites run. So each request has to name
the token that was printed; the host that it names has to be this machine, as a page of another site could have a name
that leads here (DNS rebinding); and a page that sends a request has to be a page of this server. No header lets pages
of other sites read an answer.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import secrets
import traceback
from collections.abc import Collection
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...storage.messages import MESSAGES
from .errors import RequestError

MOST_BYTES = 1_000_000
"""The largest body of a request."""

TO_SEND, TO_ANSWER, TO_STREAM = 15.0, 120.0, 3600.0
"""The seconds in which the body of a request has to arrive, an answer has to begin, and an answer has to end."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine that lead to no other."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""What every answer says to the browser: it runs nothing that is written in the page, and tells no other site of it."""

_LOCAL_PAGES = " ".join(f"{scheme}://{name}:*" for scheme in ("http", "https") for name in ("localhost", "127.0.0.1"))


def headers_of(*, framed: bool) -> dict[str, str]:
    """Return the headers of every answer. If the page may be ``framed``, then by pages of this machine alone."""
    if not framed:
        return dict(HEADERS)
    name = "content-security-policy"
    policy = HEADERS[name].replace("frame-ancestors 'none'", f"frame-ancestors {_LOCAL_PAGES}")
    # The older header has no such middle way: it would forbid all frames.
    return {key: value for key, value in HEADERS.items() if key != "x-frame-options"} | {name: policy}


class Guard:
    """The outer part of the application, which answers what may not pass and hands on the rest.

    Args:
        inner: the application behind it, whose paths have no token.
        token: the first part of all paths.
        hosts: the names that a request may give this machine.
        any_address: whether it may also be called by any number, as machines of the network do.
        framed: whether pages of this machine may show the page in a frame.
    """

    def __init__(
        self,
        inner: ASGIApp,
        token: str,
        hosts: Collection[str] = LOOPBACK,
        any_address: bool = False,
        framed: bool = False,
    ) -> None:
        self._inner, self._token = inner, token
        self._hosts, self._any_address = frozenset(hosts), any_address
        self._headers = [(name.encode(), value.encode()) for name, value in headers_of(framed=framed).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":  # nothing is done at the start, and there are no sockets
            return
        begun = asyncio.Event()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.set()
                message = {**message, "headers": [*message.get("headers", ()), *self._headers]}
            await send(message)

        try:
            async with asyncio.timeout(None) as limit:
                rest = self._check(scope)
                if rest:
                    body = await _body(scope, receive)
                    limit.reschedule(asyncio.get_running_loop().time() + _seconds(scope["method"], rest))
                    inner_scope = {**scope, "path": rest, "raw_path": rest.encode(), "root_path": ""}
                    await self._inner(inner_scope, _replay(body, receive), send_with_headers)
                else:  # links on the page are relative to what stands before the last slash
                    await _redirect(send_with_headers, f"/{self._token}/")
        except RequestError as error:
            refusal = error
        except TimeoutError:
            refusal = RequestError("The answer took too long and was given up; try a shorter sentence.", 503)
        except Exception as error:
            if not begun.is_set():  # otherwise it has been told
                tell(error)
            refusal = RequestError("The server has failed at this request; its terminal says where.", 500)
        else:
            return
        if not begun.is_set():
            await answer_error(send_with_headers, refusal)

    def _check(self, scope: Scope) -> str:
        """Return the path behind the token, empty if nothing is there, or raise `RequestError` if it may not pass."""
        headers: list[tuple[str, str]] = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        ]
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1 or not self._is_here(hosts[0]):
            raise RequestError("This server answers only to the address that it has printed.", 421)
        origins = [value for name, value in headers if name == "origin"]
        if any(origin != f"{scope.get('scheme', 'http')}://{hosts[0]}" for origin in origins):
            raise RequestError("Pages of other sites may not ask this server.", 403)
        token, slash, rest = str(scope["path"]).removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode("utf-8", "surrogatepass"), self._token.encode()):
            raise RequestError(
                "The address is not complete. Open the one that “attentionology serve” has printed.", 403
            )
        return slash + rest

    def _is_here(self, host: str) -> bool:
        """Whether the header ``Host`` names this machine. Its port may be that of a tunnel."""
        name, _, port = host.rpartition(":") if not host.endswith("]") and ":" in host else (host, "", "")
        name = name.removeprefix("[").removesuffix("]").lower()
        if port and not port.isdecimal():
            return False
        if name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._any_address  # a name could be one that was made to lead here, but a number is none


async def answer_error(send: Send, error: RequestError) -> None:
    """Answer with a sentence that says what to do."""
    content = json.dumps({"error": str(error)}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _redirect(send: Send, path: str) -> None:
    """Answer that the page is at another path."""
    headers = [(b"location", path.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 307, "headers": headers})
    await send({"type": "http.response.body"})


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Return the body of a request, or raise `RequestError` if it is too large or does not come."""
    too_large = RequestError(f"A request has at most {MOST_BYTES:,} bytes; shorten the text.", 413)
    for name, value in scope["headers"]:
        if name == b"content-length" and not (value.isdigit() and len(value) < 10 and int(value) <= MOST_BYTES):
            raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(TO_SEND):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RequestError("The request was given up.")
                body += message.get("body", b"")
                if len(body) > MOST_BYTES:  # also where no length was announced
                    raise too_large
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise RequestError("The request did not arrive in time.", 408) from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that has been read, and then whatever follows, such as the end of the connection."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again


def _seconds(method: str, path: str) -> float:
    """Return how long an answer may take. A concordance is a stream, of which every part comes in time."""
    return TO_STREAM if (method, path) == ("POST", "/concordance") else TO_ANSWER


def tell(error: BaseException) -> None:
    """Log where something has failed, without its message, which may have words of a sentence."""
    places: list[Any] = traceback.extract_tb(error.__traceback__)[-3:]
    where = ", ".join(f"{place.name} ({place.filename.rsplit('/', 1)[-1]}:{place.lineno})" for place in places)
    MESSAGES.error("a request has failed: %s in %s", type(error).__name__, where)
