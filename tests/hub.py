"""A small Hub on 127.0.0.1 for tests, after the Hub's documented endpoints: it serves, logs and, on request, fails."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE = (".safetensors", ".bin", ".h5", ".msgpack", ".onnx", ".ot")


def checksum(name: str, content: bytes) -> str:
    """What the Hub names a file by: SHA-256 of large files, the hash of git of others."""
    if name.endswith(LARGE):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass
class Repository:
    """Files by commit, commits by branch or tag, and a fault (see `_Handler`) of one file or of all requests."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    faulty_file: str | None = None

    def commit(self, files: Mapping[str, bytes], *refs: str) -> str:
        """Add a commit that these branches and tags name (``main`` if none is given); returns its hash."""
        sha = checksum("", json.dumps({name: checksum(name, files[name]) for name in sorted(files)}).encode())
        self.commits[sha] = dict(files)
        self.refs.update(dict.fromkeys(refs or ("main",), sha))
        return sha

    def resolved(self, path: list[str]) -> tuple[str, dict[str, bytes] | None, str]:
        """The commit, its files if there is such a commit, and the file that ``REVISION/FILE`` names."""
        end = 3 if path[0] == "refs" else 1
        sha = self.refs.get("/".join(path[:end]), path[0])
        return sha, self.commits.get(sha), "/".join(path[end:])


class Mirror(ThreadingHTTPServer):
    """The server. Its ``log`` holds ``METHOD path`` of each request; ``answered`` is called after each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Repository] = {}
        self.log: list[str] = []
        self.answered: Callable[[], object] = lambda: None
        self.endpoint = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: Mirror

    def do_GET(self) -> None:
        self.server.log.append(f"{self.command} {self.path}")
        path = urlsplit(self.path).path
        parts = [unquote(part) for part in path.removeprefix("/api/models").strip("/").split("/")]
        name, rest = "/".join(parts[:2]), parts[2:]
        repository, file = self.server.repositories.get(name), "/".join(rest[2:])
        fault = repository.fault if repository and repository.faulty_file in (None, file) else ""
        with suppress(BrokenPipeError, ConnectionResetError):
            if repository is None or fault == "401":
                self._answer(401, code="RepoNotFound")
            elif fault in ("403", "500") or (fault == "gated" and file):
                self._answer(500 if fault == "500" else 403, code="GatedRepo" if fault == "gated" else "")
            elif fault == "slow":
                threading.Event().wait(30)  # time.sleep does not wait here
            elif fault == "html":
                self._answer(200, b"<html>Please log in to this network.</html>")
            elif path.startswith("/api/models"):
                self._about(repository, name, rest)
            else:
                self._file(*repository.resolved(rest[1:]), fault)
        self.server.answered()

    do_HEAD = do_GET  # noqa: N815

    def _about(self, repository: Repository, name: str, rest: list[str]) -> None:
        if rest and rest[0] in ("discussions", "commits"):
            bot = {"num": 1, "author": {"name": "SFconvertbot"}, "status": "open", "isPullRequest": True}
            return self._answer(200, json.dumps({"discussions": [bot], "count": 1, "start": 0}).encode())
        sha, files, _ = repository.resolved(rest[1:] or ["main"])
        if files is None:
            return self._answer(404, code="RevisionNotFound")
        listed: list[dict[str, Any]] = []
        for file, content in files.items():
            size, sha1, sha256 = len(content), checksum("", content), checksum(file, content)
            listed.append({"rfilename": file, "path": file, "type": "file", "size": size, "blobId": sha1, "oid": sha1})
            if file.endswith(LARGE):
                listed[-1]["lfs"] = {"sha256": sha256, "oid": sha256, "size": size, "pointerSize": 1}
        about = listed if rest[:1] == ["tree"] else {"id": name, "sha": sha, "siblings": listed}
        return self._answer(200, json.dumps(about).encode())

    def _file(self, sha: str, files: dict[str, bytes] | None, name: str, fault: str) -> None:
        if files is None or name not in files:
            return self._answer(404, code="RevisionNotFound" if files is None else "EntryNotFound")
        body, start = files[name], int(self.headers.get("Range", "bytes=0-")[6:].split("-")[0])
        sent = bytes(255 - byte for byte in body) if fault == "corrupt" else body
        sent = sent[start : max(start, len(body) // 2) if fault == "cut" else None]
        known = {"ETag": f'"{checksum(name, body)}"', "X-Linked-Size": str(len(body)), "X-Repo-Commit": sha}
        return self._answer(206 if start else 200, sent, {**known, "Content-Length": str(len(body) - start)})

    def _answer(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None, code: str = "") -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "X-Error-Code": code, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def log_message(self, *_: Any) -> None: ...
