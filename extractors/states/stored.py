"""Reading hidden states from disk, whose files `attentionology.extractors.states.store` has checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, overload

import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ...corpora_loaders import Sentence
from ...corpora_loaders.describing import amount
from ...storage.sealed import DamagedError, digest_in
from ..errors import ExtractionError
from ..maps.batching import ExtractionLog
from .state_batch import Pooling, StateBatch


class StatePlace(NamedTuple):
    """Where the states of a sentence are stored: the number of its part, and the range of rows in the part's files."""

    part: int
    start: int
    stop: int


@dataclass(frozen=True, repr=False)
class StoredStates(Sequence[StateBatch]):
    """The hidden states of a corpus, one sentence per batch, in the order of the corpus, without skipped sentences.

    Attributes:
        folders: the folder of each layer.
        sentences: the sentences that have states.
        layers: the layers of the batches.
        dim: the number of dimensions of a state.
        pooling: how the pieces of words were merged.
        made: how many sentences the model had to read this time.
        log: what was read and what was skipped, for the whole store.

    Example:
        >>> from attentionology import Sentence, load_encoder, store_states
        >>> sentences = [Sentence.from_text("Cats sleep."), Sentence.from_text("The old dog barks.")]
        >>> stored = store_states(load_encoder("demo"), sentences, "cache", layers=[0, 3])
        >>> stored.layer(3)[1]
        StateBatch('mean' of pieces, 1 sentence, shape (1, 1, 5, 384))
    """

    folders: Mapping[int, Path]
    sentences: tuple[Sentence, ...]
    layers: tuple[int, ...]
    dim: int
    pooling: Pooling
    made: int
    log: ExtractionLog
    _places: tuple[StatePlace, ...]
    _digests: Mapping[Path, str]
    _open: dict[Path, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        layers = f"layers {', '.join(map(str, self.layers))}"
        return f"StoredStates({layers}, {amount(len(self), 'sentences')}, {amount(self.dim, 'dimensions')})"

    @overload
    def __getitem__(self, index: int) -> StateBatch: ...
    @overload
    def __getitem__(self, index: slice) -> StoredStates: ...
    def __getitem__(self, index: int | slice) -> StateBatch | StoredStates:
        if isinstance(index, slice):
            return self.subset(range(len(self))[index])
        place = self._places[index]
        states = torch.stack([self._rows(layer, place) for layer in self.layers])[None]
        lengths = torch.tensor([place.stop - place.start])
        return StateBatch(states, lengths, self.layers, (self.sentences[index],), self.pooling)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the open files. A copy in another process maps the same files, which memory then holds once."""
        return {**self.__dict__, "_open": {}}

    def layer(self, layer: int) -> StoredStates:
        """Return the same sentences with the states of one layer, which must be one of `layers`."""
        if layer not in self.layers:
            raise ValueError(f"the stored layers are {', '.join(map(str, self.layers))}, not {layer}")
        return replace(self, layers=(layer,))

    def subset(self, indices: Sequence[int]) -> StoredStates:
        """Return the states of some of the sentences, given by their 0-based indices."""
        sentences = tuple(self.sentences[i] for i in indices)
        return replace(self, sentences=sentences, _places=tuple(self._places[i] for i in indices))

    def relabeled(self, sentences: Sequence[Sentence]) -> StoredStates:
        """Return the same states with other annotation.

        Args:
            sentences: sentences with the same words, in the same order.

        Raises:
            ValueError: their words differ.
        """
        if [s.words for s in sentences] != [s.words for s in self.sentences]:
            raise ValueError("these are not the sentences whose states are stored")
        return replace(self, sentences=tuple(sentences))

    def _rows(self, layer: int, place: StatePlace) -> Float[Tensor, "words dim"]:
        """Read the rows of a sentence from the file of its part."""
        path = self.folders[layer] / file_of_part(place.part)
        try:
            if path not in self._open:
                if digest_in(path) != self._digests[path]:
                    raise DamagedError("it is another file")
                self._open[path] = safe_open(path, "pt")
            rows: Tensor = self._open[path].get_slice("states")[place.start : place.stop]
        except (OSError, SafetensorError, DamagedError) as error:
            raise ExtractionError(
                f"{path}: the stored states have changed since they were checked ({error}); the same command makes "
                "them again"
            ) from error
        return rows.float()


def file_of_part(part: int) -> str:
    """Name the file of a part."""
    return f"{part:04d}.safetensors"
