"""The state of a training, and the file that training continues from after an interruption."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from ..storage.cache_log import CacheLog
from ..storage.sealed import DamagedError
from ..storage.tensors import read_tensors, write_tensors


@dataclass
class TrainingState:
    """How far training has come; a checkpoint holds it beside the weights.

    Attributes:
        epoch: the current epoch, 0-based.
        sentences: the number of sentences of this epoch that are done.
        words, loss: the number of words in these sentences that have a head, and their summed loss.
        counted, correct: the number of words that an attachment score counts, and how many of them the probe got right
            before the step on their sentence.
        dev_uas: the last score on the dev sentences.
        best: the best score on the dev sentences.
        waited: the number of epochs since the best one.
        history: one row per epoch: ``epoch``, ``loss`` (per word, in nats), ``train_uas``, ``dev_uas``.
        done: whether training has ended.

    Example:
        >>> from attentionology.probes import TrainingState
        >>> TrainingState(epoch=1, sentences=20, words=300, loss=450.0).done
        False
    """

    epoch: int = 0
    sentences: int = 0
    words: int = 0
    loss: float = 0.0
    correct: int = 0
    counted: int = 0
    dev_uas: float | None = None
    best: float | None = None
    waited: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    done: bool = False


@dataclass
class Checkpoint:
    """A file from which training continues after an interruption, with the same weights to the last bit.

    Attributes:
        path: the file.
        every: seconds between two times that the file is written.
        cache_log: records a checkpoint that was damaged and discarded, and one that may not be written.
        resumed: whether training continued from the file.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import torch
        >>> from attentionology.probes import Checkpoint, TrainingState
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = Checkpoint(Path(folder) / "training.safetensors")
        ...     checkpoint.save(TrainingState(epoch=3), {"weight": torch.ones(2)})
        ...     state, tensors = checkpoint.load()
        >>> state.epoch, tensors["weight"].tolist()
        (3, [1.0, 1.0])
    """

    path: Path
    every: float = 10.0
    cache_log: CacheLog = field(default_factory=CacheLog)
    resumed: bool = False
    _last: float = field(default_factory=time.monotonic)

    def load(self) -> tuple[TrainingState, dict[str, Tensor]] | None:
        """Return the state and the tensors that were saved; None if there is no file, or it was damaged and discarded.

        Raises:
            StorageError: the file cannot be read, or is damaged and cannot be deleted.
        """
        saved = self.cache_log.read(self.path, self._read)
        self.resumed = saved is not None
        return saved

    @staticmethod
    def _read(path: Path) -> tuple[TrainingState, dict[str, Tensor]]:
        """Read the state and the tensors from a file."""
        tensors, facts = read_tensors(path)
        try:
            return TrainingState(**facts), tensors
        except TypeError as error:
            raise DamagedError(f"another version wrote it ({error})") from error

    def due(self) -> bool:
        """Whether it is time to write the file again."""
        # Unlike the time of day, this clock is never set back.
        return time.monotonic() - self._last >= self.every

    def save(self, state: TrainingState, tensors: dict[str, Tensor]) -> None:
        """Write the file, unless the cache is read-only.

        Raises:
            StorageError: the file cannot be written, for another reason.
        """
        self.cache_log.keep(self.path, lambda: write_tensors(self.path, tensors, vars(state)))
        self._last = time.monotonic()
