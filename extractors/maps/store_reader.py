"""Reading word maps from disk, whose files `attentionology.extractors.maps.store_writer` has checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, overload

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ...corpora_loaders import Sentence
from ...corpora_loaders.describing import amount
from ...storage.sealed import DamagedError, digest_in
from ..errors import ExtractionError
from ..kinds import get_kind
from .batching import ExtractionLog
from .map_batch import MapBatch


class MapLocation(NamedTuple):
    """Where the map of a sentence is stored."""

    shard: str  # the name of the file, which begins with the number of the part
    number: int  # of the sentence in the corpus, by which the file names the map
    special: tuple[int, ...]  # the positions of special tokens


@dataclass(frozen=True, repr=False)
class StoredMaps(Sequence[MapBatch]):
    """Word maps of a corpus, one sentence per batch, in the order of the corpus, without the sentences that have no
    map.

    Reading in order, or shuffled within stretches, opens the files of one part of the store (1,024 sentences) at a
    time.

    Attributes:
        folder: the folder of the store.
        sentences: the sentences that have maps.
        kind: the name of the map kind.
        shape: the numbers of layers and heads of the maps.
        bytes: the size of the whole store on disk.
        made: how many sentences the model had to read this time; the maps of the others were in the store already.
        log: what was read and what was skipped, for the whole store.

    Example:
        >>> from attentionology import Sentence, load_encoder, store_maps
        >>> sentences = [Sentence.from_text("Cats sleep."), Sentence.from_text("The old dog barks.")]
        >>> stored = store_maps(load_encoder("demo"), sentences, "cache")
        >>> stored[1]
        MapBatch('weight', word level, 1 sentence, shape (1, 6, 12, 7, 7))
        >>> [batch.sentences[0].words[0] for batch in stored[:1]]
        ['Cats']
    """

    folder: Path
    sentences: tuple[Sentence, ...]
    kind: str
    shape: tuple[int, int]
    bytes: int
    made: int
    log: ExtractionLog
    _locations: tuple[MapLocation, ...]
    _exact: Callable[[Sentence], Tensor] | None
    _digests: dict[str, str]  # of the shards
    _open: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        layers, heads = self.shape
        sentences = amount(len(self), "sentences")
        shape = f"{amount(layers, 'layers')} × {amount(heads, 'heads')}"
        return f"StoredMaps({self.kind!r}, {sentences}, {shape}, {str(self.folder)!r})"

    @overload
    def __getitem__(self, index: int) -> MapBatch: ...
    @overload
    def __getitem__(self, index: slice) -> StoredMaps: ...
    def __getitem__(self, index: Any) -> MapBatch | StoredMaps:
        if isinstance(index, slice):
            return self.subset(range(len(self))[index])
        if isinstance(index, tuple):  # scikit-learn would take shape[0], the number of layers, for that of sentences
            raise TypeError("stored maps are no array: give scikit-learn list(maps), which holds them in memory")
        shard, number, special = self._locations[index]
        maps = self._open_shard(shard).get_tensor(str(number)).float()
        n = maps.shape[-1]
        is_special = torch.zeros(1, n, dtype=torch.bool)
        is_special[0, list(special)] = True
        sentence = self.sentences[index]
        exact = self._exact
        return MapBatch(
            maps=maps[None],
            lengths=torch.tensor([n]),
            special=is_special,
            sentences=(sentence,),
            kind=self.kind,
            noise=get_kind(self.kind).noise,
            recompute=None if exact is None else lambda indices, _: [exact(sentence) for _ in indices],
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the model and the open files. A copy in another process opens the files itself."""
        return {**self.__dict__, "_exact": None, "_open": {}}

    def subset(self, indices: Sequence[int]) -> StoredMaps:
        """The maps of some of the sentences, given by their 0-based indices."""
        sentences = tuple(self.sentences[i] for i in indices)
        return replace(self, sentences=sentences, _locations=tuple(self._locations[i] for i in indices))

    def relabeled(self, sentences: Sequence[Sentence]) -> StoredMaps:
        """The same maps with other annotation.

        Args:
            sentences: sentences with the same words, in the same order.

        Raises:
            ValueError: their words differ.
        """
        if [s.words for s in sentences] != [s.words for s in self.sentences]:
            raise ValueError("these are not the sentences whose maps are stored")
        return replace(self, sentences=tuple(sentences))

    def _open_shard(self, shard: str) -> Any:
        """Open a shard, and leave open those of the same part."""
        if shard not in self._open:
            if not all(other.split("-")[0] == shard.split("-")[0] for other in self._open):
                self._open.clear()
            path = self.folder / shard
            try:
                if digest_in(path) != self._digests[shard]:
                    raise DamagedError("it is another file")
                self._open[shard] = safe_open(path, "pt")
            except (OSError, SafetensorError, DamagedError) as error:
                raise ExtractionError(
                    f"{path}: the stored maps have changed since they were checked ({error}); the same command makes "
                    "them again"
                ) from error
        return self._open[shard]
