"""Commands that read models from a small Hub on 127.0.0.1, and the files of these models."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import json
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from huggingface_hub import constants

from attentionology.extractors import ModelError
from attentionology.extractors.model.loading import find_model
from attentionology.scripts.cli import main
from tests import tiny
from tests.hub import Mirror, Repository

NEVER_FETCHED = dict.fromkeys(
    "pytorch_model.bin tf_model.h5 flax_model.msgpack modeling_x.py model.onnx rust_model.ot onnx/model.onnx "
    "other.safetensors vocab.txt.bak".split(),
    b"not to be fetched",
)


@functools.cache
def files(scale: float = 1.0, kind: str = "bare", shards: str | None = None) -> dict[str, bytes]:
    """Files of a tiny BERT; the scale of its embeddings tells commits apart."""
    model: Any = tiny.classifier() if kind == "classifier" else tiny.model("bert")
    if kind == "masked":
        head = transformers.BertForMaskedLM(model.config)
        head.bert.load_state_dict(model.state_dict(), strict=False)
        model = head
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(scale)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, **({"max_shard_size": shards} if shards else {}))
        tokenizer = tiny.fresh_tokenizer("wordpiece")
        tokenizer.mask_token = "[MASK]"
        tokenizer.save_pretrained(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
NUMBERS = count()


class Hub:
    """The mirror, and commands of this process that reach no other host."""

    def __init__(self, home: Path) -> None:
        self.mirror = Mirror()
        self.endpoint = self.mirror.endpoint
        self.home, self.cache = home, home / "hub"

    def add(self, content: dict[str, bytes], *refs: str) -> tuple[str, Repository, str]:
        """A new repository; returns its name, the repository and the commit."""
        repository = Repository()
        name = f"someone/model-{next(NUMBERS)}"
        self.mirror.repositories[name] = repository
        # Its own README, so that no two repositories have a commit in common.
        return name, repository, repository.commit({**content, "README.md": name.encode()}, *refs)

    def tell(self, **task: Any) -> dict[str, Any]:
        """Run a command line, or find a model; the requests it takes are in ``log``.

        Args:
            task: the words ``argv``, or a ``model`` and a ``revision``; and, as HF_HUB_OFFLINE, HF_HUB_CACHE,
                HF_ENDPOINT and HF_HUB_DISABLE_SYMLINKS, ``offline``, ``cache``, ``endpoint`` and ``links``.

        Returns:
            The attributes of the model, ``status``, ``out`` and ``err``.
        """
        self.mirror.log.clear()
        answer: dict[str, Any] = {"status": 0}
        out, err = io.StringIO(), io.StringIO()
        with self._alone(task) as others, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                if "argv" in task:
                    answer["status"] = main(task["argv"])
                else:
                    answer |= dataclasses.asdict(find_model(task["model"], task.get("revision")))
            except ModelError as error:
                answer["status"] = 1
                print(f"attentionology: {error}", file=sys.stderr)
        assert others == [], "a host other than 127.0.0.1 was looked up"
        return {**answer, "out": out.getvalue(), "err": err.getvalue()}

    @contextlib.contextmanager
    def _alone(self, task: dict[str, Any]) -> Iterator[list[str]]:
        """Let huggingface_hub see nothing but the mirror; yields the other hosts that are looked up."""
        others: list[str] = []
        look_up = socket.getaddrinfo

        def loopback_only(host: Any, *arguments: Any, **options: Any) -> Any:
            if host != "127.0.0.1":
                others.append(str(host))
                raise socket.gaierror(f"{host} is not 127.0.0.1")
            return look_up(host, *arguments, **options)

        constants_here = {
            "HF_HUB_OFFLINE": task.get("offline", False),
            "HF_HUB_CACHE": task.get("cache", str(self.cache)),
            "ENDPOINT": task.get("endpoint", self.endpoint),
            "HUGGINGFACE_CO_URL_TEMPLATE": f"{self.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
            "HF_HUB_DISABLE_SYMLINKS": not task.get("links", True),
            "HF_HUB_DISABLE_TELEMETRY": True,
            "HF_HUB_ETAG_TIMEOUT": 1,
            "HF_HUB_DOWNLOAD_TIMEOUT": 1,
            "HF_TOKEN_PATH": str(self.home / "token"),
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, value in constants_here.items():
                patch.setattr(constants, name, value)
            patch.setattr(socket, "getaddrinfo", loopback_only)
            patch.setattr(time, "sleep", lambda _: None)  # huggingface_hub waits before it tries again
            yield others

    def find(self, name: str, revision: str | None = None, **settings: Any) -> dict[str, Any]:
        answer = self.tell(model=name, revision=revision, **settings)
        assert answer["status"] == 0, answer["err"]
        return answer

    def error(self, name: str, revision: str | None = None, **settings: Any) -> str:
        answer = self.tell(model=name, revision=revision, **settings)
        assert answer["status"] == 1
        return str(answer["err"]).removeprefix("attentionology: ").removesuffix("\n")

    def analyze(self, out: Path, name: str, *options: str, **settings: Any) -> dict[str, Any]:
        """The run record of ``analyze``, with what was printed as ``printed``."""
        argv = ["analyze", "--model", name, "--limit", "12", "--out", str(out), *options]
        answer = self.tell(argv=argv if "--analyses" in options else [*argv, "--analyses", "dependency"], **settings)
        assert answer["status"] == 0, answer["err"]
        return {**json.loads((out / "run.json").read_text()), "printed": answer["out"]}

    @property
    def log(self) -> list[str]:
        return self.mirror.log

    def blob(self, name: str, commit: str, file: str = WEIGHTS) -> Path:
        """The file in the cache that a name in a commit stands for."""
        return (self.cache / f"models--{name.replace('/', '--')}" / "snapshots" / commit / file).resolve()
