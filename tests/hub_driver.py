"""Runs command lines, one after the other, in one process that reaches no host but 127.0.0.1.

A line of standard input is a JSON object with ``argv`` (a command line), or ``model`` and ``revision`` to be found. It
may set ``offline``, ``cache``, ``endpoint`` and ``links``, as HF_HUB_OFFLINE, HF_HUB_CACHE, HF_ENDPOINT and
HF_HUB_DISABLE_SYMLINKS do where a process starts. The answer is a line with ``status``, ``out``, ``err``, the other
``hosts`` that were looked up, and the attributes of the model.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import socket
import sys
import time
from typing import Any

_LOOKED_UP: list[str] = []
_look_up = socket.getaddrinfo


def _loopback_only(host: Any, *arguments: Any, **options: Any) -> Any:
    if host != "127.0.0.1":
        _LOOKED_UP.append(str(host))
        raise socket.gaierror(f"{host} is not 127.0.0.1")
    return _look_up(host, *arguments, **options)


def main() -> None:
    socket.getaddrinfo = _loopback_only
    time.sleep = lambda _: None  # huggingface_hub waits before it tries again
    import pytest
    from huggingface_hub import constants

    from attentionology.extractors import ModelError
    from attentionology.extractors.model.loading import find_model
    from attentionology.scripts import cli
    from tests import outlines, shortcuts

    figures = outlines.Figures(draw=False)
    shortcuts.take_shortcuts(pytest.MonkeyPatch())
    usual = {"offline": constants.HF_HUB_OFFLINE, "cache": constants.HF_HUB_CACHE, "endpoint": constants.ENDPOINT}
    for line in sys.stdin:
        task = {**usual, **json.loads(line)}
        constants.HF_HUB_OFFLINE, constants.HF_HUB_CACHE = task["offline"], task["cache"]
        constants.ENDPOINT, constants.HF_HUB_DISABLE_SYMLINKS = task["endpoint"], not task.get("links", True)
        answer: dict[str, Any] = {"status": 0}
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), figures.replaced(".svg", ".png"):
            if "argv" in task:
                answer["status"] = cli.main(task["argv"])
            else:
                try:
                    answer |= dataclasses.asdict(find_model(task["model"], task.get("revision")))
                except ModelError as error:
                    answer["status"] = 1
                    print(f"attentionology: {error}", file=sys.stderr)
        answer |= {"out": out.getvalue(), "err": err.getvalue(), "hosts": _LOOKED_UP}
        print(json.dumps(answer, default=str), flush=True)


if __name__ == "__main__":
    main()
