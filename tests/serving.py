"""What a page, or somebody else, sends to a server of pages."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import attentionology
from attentionology import CorpusOptions
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from tests import tiny

T = TypeVar("T")

TEXT = "The keys to the cabinet are on the table."
SECRET = "Zyzzyva"
DRAW: dict[str, Any] = {"slot": "A", "model": 0, "text": TEXT, "kinds": ["weight"], "off": []}
USES: dict[str, Any] = {
    "slot": "A",
    "run": 0,
    "head": "2-1",
    "kind": "weight",
    "relation": "nsubj",
    "direction": "dep->head",
}


def save_run(folder: Path) -> None:
    """Write the run of a tiny model into a folder, with a copy of the corpus that it has read."""
    (folder / "corpus.conllu").write_bytes(SAMPLE_TREEBANK.read_bytes())
    options = [CorpusOptions(limit=8), CountOptions(replicates=0)]
    corpus = str(folder / "corpus.conllu")
    attentionology.analyze(tiny.encoder("bert"), corpus, analyses="dependency", options=options, out=folder / "run")


def in_a_loop(scene: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run something in an event loop of its own, in a thread: that of a test may have the loop of a browser."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(scene())).result()


class Page:
    """What a page, or somebody else, sends to a server."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None
        self.host, self.port, self.token = parts.hostname, parts.port, parts.path.strip("/")

    def raw(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body of an answer; a header that is empty is not sent."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
            chunked = headers.get("Transfer-Encoding") == "chunked"
            if body is not None and not chunked and "Content_Length" not in headers:
                connection.putheader("Content-Length", str(len(body)))
            for name, value in headers.items():
                if value:
                    connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            try:
                for start in range(0, len(body or b""), 2**16):
                    part = body[start : start + 2**16]
                    connection.send(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
                if chunked:
                    connection.send(b"0\r\n\r\n")
            except OSError:
                pass  # it has been refused before all of it was sent
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def ask(self, name: str, value: Any, method: str = "POST") -> tuple[int, Any]:
        """The status and the JSON of the answer to a request."""
        status, _, body = self.raw(method, f"/{self.token}/{name}", json.dumps(value).encode())
        lines = [json.loads(line) for line in body.splitlines()]
        return status, lines if name == "concordance" and status == 200 else lines[0]
