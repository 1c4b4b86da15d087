"""Commands that read models from a small Hub on 127.0.0.1, and the files of these models."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import torch
import transformers

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
    """The mirror, and a process that runs commands with it."""

    def __init__(self, home: Path) -> None:
        self.mirror = Mirror()
        self.endpoint = self.mirror.endpoint
        self.cache = home / "hub"
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS"))
        }
        self.environment = {
            **environment,
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_ETAG_TIMEOUT": "1",
            "HF_HUB_DOWNLOAD_TIMEOUT": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.hub_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def add(self, content: dict[str, bytes], *refs: str) -> tuple[str, Repository, str]:
        """A new repository; returns its name, the repository and the commit."""
        repository = Repository()
        name = f"someone/model-{next(NUMBERS)}"
        self.mirror.repositories[name] = repository
        # Its own README, so that no two repositories have a commit in common.
        return name, repository, repository.commit({**content, "README.md": name.encode()}, *refs)

    def tell(self, **task: Any) -> dict[str, Any]:
        """Run one task of the process; the requests it takes are in ``log``."""
        self.mirror.log.clear()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["hosts"] == [], "a host other than 127.0.0.1 was looked up"
        return answer

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

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.mirror.shutdown()
