"""The file of a trained classifier: safetensors, with the vocabulary, the classes and the options in its header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor

from ...storage.sealed import ANYWHERE, digest_in
from ...storage.tensors import read_tensors, write_tensors


@dataclass(frozen=True, eq=False)
class StoredClassifier:
    """The content of the file of a classifier.

    Attributes:
        config: the arguments of `AttentionClassifier`.
        classes: the names of the classes.
        words: the words of the vocabulary.
        tensors: the parameters by their names.
    """

    config: Mapping[str, Any]
    classes: tuple[str, ...]
    words: tuple[str, ...]
    tensors: Mapping[str, Tensor]

    def write(self, path: Path) -> None:
        """Write the file, which is absent or whole at any time."""
        facts = {"config": dict(self.config), "classes": self.classes, "words": self.words}
        write_tensors(path, dict(self.tensors), facts, ANYWHERE)

    @classmethod
    def read(cls, path: Path) -> StoredClassifier:
        """Read a file that `write` or an earlier version has written."""
        if digest_in(path):
            tensors, facts = read_tensors(path, ANYWHERE)
        else:  # the first versions wrote no digest
            with safe_open(path, "pt") as file:
                facts = json.loads(file.metadata()["classifier"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 no mapping
        return cls(facts["config"], tuple(facts["classes"]), tuple(facts["words"]), tensors)
