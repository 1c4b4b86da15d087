"""Reading hidden states from disk, whose files `attentionology.extractors.states.store` has checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

Change = Callable[[Tensor], Tensor]
"""What changes the states of a sentence of one layer, shape (words, dim), and leaves their shape as it is."""


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
    _changes: tuple[Change, ...] = ()

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        layers = f"layers {', '.join(map(str, self.layers))}"
        changed = f", changed {amount(len(self._changes), 'times')}" if self._changes else ""
        return f"StoredStates({layers}, {amount(len(self), 'sentences')}, {amount(self.dim, 'dimensions')}{changed})"

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

    def changed(self, change: Change) -> StoredStates:
        """Return the same sentences with other states, which are computed whenever a sentence is read.

        What is on disk stays as it is. Changes follow one another: the second one gets what the first one gives.

        Args:
            change: maps the states of a sentence of one layer, shape (words, dim), to new states of the same shape. It
                must give the same for the same states.

        Raises:
            ValueError: when a sentence is read, if the new states have another shape or are not all finite numbers.

        Example:
            Without the direction in which plural and singular nouns differ on the mean:

            >>> import torch
            >>> from attentionology import load_encoder, load_treebank, store_states
            >>> from attentionology.probes import labels
            >>> sentences = load_treebank("sample").sentences[:10]
            >>> states = store_states(load_encoder("demo"), sentences, "cache", layers=[3]).layer(3)
            >>> rows = torch.cat([batch.states[0, 0] for batch in states])
            >>> numbers = [number for sentence in sentences for number in labels(sentence, "feats:Number")]
            >>> means = [rows[[number == value for number in numbers]].mean(0) for value in ("Sing", "Plur")]
            >>> direction = torch.nn.functional.normalize(means[0] - means[1], dim=0)
            >>> without = states.changed(lambda rows: rows - (rows @ direction)[:, None] * direction)
            >>> bool((without[0].states @ direction).abs().max() < 1e-5)
            True
        """
        return replace(self, _changes=(*self._changes, change))

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
        states = rows.float()
        for change in self._changes:
            given = change(states)
            if given.shape != states.shape or not given.isfinite().all():
                raise ValueError(
                    f"a change of states of shape {tuple(states.shape)} gave {tuple(given.shape)}; it must give finite "
                    "numbers of the same shape"
                )
            states = given
        return states


def file_of_part(part: int) -> str:
    """Name the file of a part."""
    return f"{part:04d}.safetensors"
