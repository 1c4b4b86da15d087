"""Classifiers that were saved, each in one safetensors file with its vocabulary and classes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from safetensors import safe_open
from torch import Tensor

from ...storage.sealed import ANYWHERE, digest_in
from ...storage.tensors import read_tensors
from .vocabulary import Vocabulary

Reads = Literal["words", "queries", "sentences"]
"""What a kind of classifier reads. Without it in the file, the classifier reads words."""


class SavedClassifier(Protocol):
    """What a kind of classifier must have so that it can be read from a file."""

    reads: ClassVar[Reads]

    def __init__(self, **config: Any) -> None: ...

    def build(self, vocabulary: Vocabulary, classes: Sequence[str]) -> object:
        """Make the parameters."""

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> object:
        """Set the parameters."""


AnyClassifier = TypeVar("AnyClassifier", bound=SavedClassifier)


def read_classifier(path: Path, kinds: Sequence[type[AnyClassifier]]) -> AnyClassifier:
    """Read a classifier, of that of the kinds which reads what the file says.

    Raises:
        OSError, SafetensorError, KeyError, ValueError: there is no such file, or it holds no classifier of these kinds.
        DamagedError: the file has changed since it was written.
    """
    try:
        if digest_in(path):
            tensors, facts = read_tensors(path, ANYWHERE)
        else:  # the first versions wrote no digest
            with safe_open(path, "pt") as file:
                facts = json.loads(file.metadata()["classifier"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 no mapping
        kind = {kind.reads: kind for kind in kinds}[facts.get("reads", "words")]
        model = kind(**facts["config"])
        model.build(Vocabulary(tuple(facts["words"])), facts["classes"])
        model.load_state_dict(tensors)
    except (TypeError, RuntimeError) as error:
        raise ValueError(f"{path} holds no classifier: {error}") from error
    return model
