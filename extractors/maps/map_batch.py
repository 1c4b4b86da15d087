"""The map type: attention-like maps of a batch of sentences, which every analysis and probe takes.

Many results are counts of decisions, such as which word a head attends to most. Two values that nearly agree in float32
may swap in another batch or on another machine, so decisions closer than the ``noise`` of a kind are made again in
float64 (`MapBatch.exact`). This takes a second pass for 1 to 3 in 100 sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...corpora_loaders import Sentence
from ...corpora_loaders.describing import amount
from ..kinds.registry import FLOAT32_NOISE

if TYPE_CHECKING:
    import pandas as pd

_AXES = ("layer", "head", "from", "to")

Level = Literal["word", "token"]
"""Whether the rows and columns of a map are words or tokens (pieces)."""

DIRECTIONS = ("dep->head", "head->dep")
"""How attention may point from a word to its syntactic head. ``dep->head``: the dependent attends to it (row of the
map). ``head->dep``: it attends to the dependent (column; the code of Clark et al. 2019 calls it ``head<-dep``)."""

Recompute = Callable[[Sequence[int], int | None], list[Float[Tensor, "layers heads n m"]]]
"""Computes maps of some sentences again in float64, see `MapBatch.exact`. There may be more layers than are needed."""


@dataclass(frozen=True)
class Columns:
    """What the columns of maps stand for, where that is not what the rows stand for: the source side of a translation.

    Attributes:
        lengths: the number of columns of each sentence, special tokens included; shape (batch,).
        special: True at special tokens; shape (batch, m).
        labels: for each sentence the tokens or words at its columns.

    Example:
        >>> import torch
        >>> from attentionology.extractors import Columns
        >>> columns = Columns(torch.tensor([2]), torch.tensor([[False, True, False]]))  # one word, one token, padding
        >>> columns.words.tolist()
        [[True, False, False]]
    """

    lengths: Int[Tensor, " batch"]
    special: Bool[Tensor, "batch m"]
    labels: tuple[tuple[str, ...], ...] = ()

    @property
    def words(self) -> Bool[Tensor, "batch m"]:
        """True at words (at token level: at their pieces), False at special tokens and padding."""
        return (torch.arange(self.special.shape[1]) < self.lengths[:, None]) & ~self.special


@dataclass(frozen=True, repr=False)
class MapBatch:
    """Maps of a batch of sentences, padded to the longest.

    Rows are where attention comes *from* (query), columns where it goes *to* (key). A position is a special
    token or, at word level, a word; at token level, a piece. Arrays are 0-based; what people read is 1-based. In maps
    of cross-attention, rows are target words and ``columns`` says what the columns are; otherwise both are the same.

    Attributes:
        maps: shape (batch, layers, heads, n, m), float32, 0 outside the sentence.
        lengths: the number of positions of each sentence, special tokens included; shape (batch,).
        special: True at special tokens; shape (batch, n).
        sentences: the sentences, in batch order.
        labels: for each sentence the tokens or words at its positions, pieces as the tokenizer writes them.
        forms: the same without the tokenizer's marks.
        kind: the name of the map kind, see `attentionology.extractors.kinds`.
        level: ``"word"`` or ``"token"``.
        noise: the relative difference below which two values must not be compared, see `exact`.
        recompute: computes the maps of `exact`; None if there is no model behind the batch.
        columns: what the columns are, if they are not what the rows are.
        word_lengths: how many pieces each word of each sentence has; empty if they are not known.
        indices: the position of each sentence among all that were given, from 0, because batches have the longest
            sentences first; empty if it is not known.

    Example:
        >>> import torch
        >>> from attentionology import Sentence
        >>> from attentionology.extractors import MapBatch
        >>> batch = MapBatch(
        ...     maps=torch.tensor([[0.9, 0.1], [0.3, 0.7]]).view(1, 1, 1, 2, 2),  # one sentence, layer and head
        ...     lengths=torch.tensor([2]),
        ...     special=torch.tensor([[False, False]]),
        ...     sentences=(Sentence("s1", ("Cats", "sleep")),),
        ... )
        >>> batch
        MapBatch('weight', word level, 1 sentence, shape (1, 1, 1, 2, 2))
        >>> [(sentence, array)] = batch.unpadded()
        >>> float(array[0, 0, 1, 0])  # from "sleep" to "Cats"
        0.3...
    """

    maps: Float[Tensor, "batch layers heads n m"]
    lengths: Int[Tensor, " batch"]
    special: Bool[Tensor, "batch n"]
    sentences: tuple[Sentence, ...]
    labels: tuple[tuple[str, ...], ...] = ()
    forms: tuple[tuple[str, ...], ...] = ()
    kind: str = "weight"
    level: Level = "word"
    noise: float = FLOAT32_NOISE
    recompute: Recompute | None = None
    columns: Columns | None = None
    word_lengths: tuple[tuple[int, ...], ...] = ()
    indices: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        return batch_line(self, [repr(self.kind), f"{self.level} level"], self.sentences, self.maps)

    @property
    def words(self) -> Bool[Tensor, "batch n"]:
        """True at words (at token level: at their pieces), False at special tokens and padding."""
        return (torch.arange(self.maps.shape[-2]) < self.lengths[:, None]) & ~self.special

    def unpadded(self) -> Iterator[tuple[Sentence, npt.NDArray[np.float32]]]:
        """Yield ``(sentence, array)`` with the array cut to the sentence: shape (layers, heads, n, m)."""
        on_host = replace(self, maps=self.maps.cpu())  # all at once, because each copy waits for the device
        for index, sentence in enumerate(self.sentences):
            yield sentence, on_host._cut(index).numpy()

    def to_dataframe(self) -> pd.DataFrame:
        """Return all values as a table with a row for each layer, head and pair of positions.

        Layers, heads and positions are counted from 1; ``sentence`` is the id.

        Example:
            >>> from attentionology import extract
            >>> [batch] = extract("demo", "Cats sleep.")
            >>> of_head = batch.to_dataframe().query("layer == 3 and head == 9 and from_label == 'sleep'")
            >>> of_head["to_label"].tolist(), [round(float(value), 2) for value in of_head["value"]]
            (['[CLS]', 'Cats', 'sleep', '.', '[SEP]'], [0.78, 0.02, 0.03, 0.13, 0.05])
        """
        import pandas as pd

        return pd.concat(self._tables(), ignore_index=True)

    def _tables(self) -> Iterator[pd.DataFrame]:
        """Yield the table of each sentence."""
        import pandas as pd

        for index, (sentence, array) in enumerate(self.unpadded()):
            places = np.indices(array.shape).reshape(4, -1) + 1
            table = pd.DataFrame({"sentence": sentence.id, **dict(zip(_AXES, places, strict=True))})
            from_labels, to_labels = self._labels(index, array.shape)
            table["from_label"] = np.array(from_labels, dtype=object)[table["from"] - 1]
            table["to_label"] = np.array(to_labels, dtype=object)[table["to"] - 1]
            yield table.assign(value=array.ravel())

    def to_xarray(self) -> Any:
        """Return a list of ``xarray.DataArray``, one for each sentence, with the coordinates layer, head, from and to.

        Layers and heads are counted from 1; the coordinates ``from_label`` and ``to_label`` are words or tokens.

        Raises:
            ImportError: xarray is not installed.
        """
        try:
            xarray: Any = import_module("xarray")
        except ImportError as error:
            raise ImportError("to_xarray needs the library xarray: pip install xarray") from error
        arrays = []
        for index, (sentence, array) in enumerate(self.unpadded()):
            numbers = {name: np.arange(1, size + 1) for name, size in zip(_AXES, array.shape, strict=True)}
            from_labels, to_labels = self._labels(index, array.shape)
            labels = {"from_label": ("from", list(from_labels)), "to_label": ("to", list(to_labels))}
            attributes = {"sentence": sentence.id, "kind": self.kind, "level": self.level}
            arrays.append(xarray.DataArray(array, dims=_AXES, coords={**numbers, **labels}, attrs=attributes))
        return arrays

    def _labels(self, index: int, shape: Sequence[int]) -> tuple[Sequence[str], Sequence[str]]:
        """Return the labels of the rows and of the columns of a sentence; numbers from 1 where there are none."""
        rows = self.labels[index] if self.labels else tuple(map(str, range(1, shape[-2] + 1)))
        columns = rows if self.columns is None else self.columns.labels[index] if self.columns.labels else ()
        return rows, columns or tuple(map(str, range(1, shape[-1] + 1)))

    def exact(self, indices: Sequence[int], first_layers: int | None = None) -> list[Float[Tensor, "layers heads n m"]]:
        """Recompute the maps of some sentences in double precision, each cut to its sentence.

        They are for decisions that float32 cannot make: rounding differs with batch size, padding and threads, so two
        values that agree up to ``noise`` must not be compared in float32. Without a model behind the batch,
        the maps are returned as they are.

        Args:
            indices: the sentences, as 0-based indices into the batch.
            first_layers: the number of layers that are needed, from the first one on; None for all. Fewer layers take
                less time.
        """
        recomputed = self.recompute(indices, first_layers) if self.recompute else map(self._cut, indices)
        return [maps[:first_layers] for maps in recomputed]

    def _cut(self, index: int) -> Float[Tensor, "layers heads n m"]:
        columns = self.lengths if self.columns is None else self.columns.lengths
        return self.maps[index, ..., : int(self.lengths[index]), : int(columns[index])]


def batch_line(batch: object, facts: Sequence[str], sentences: Sequence[Sentence], array: Tensor) -> str:
    """Name the class of a batch, some facts, its number of sentences, and the shape of its main array."""
    parts = [*facts, amount(len(sentences), "sentences"), f"shape {tuple(array.shape)}"]
    return f"{type(batch).__name__}({', '.join(parts)})"
