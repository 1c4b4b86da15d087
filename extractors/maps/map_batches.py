"""What `extract` returns: batches of maps that are made one by one, which can be put into one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .map_batch import MapBatch

if TYPE_CHECKING:
    import pandas as pd


class MapBatches(Iterator[MapBatch]):
    """An iterator over batches of maps, which are made when they are asked for and are gone after that.

    What it gives is either read in a loop, or put into tables, whose memory grows with the number of sentences.

    Args:
        batches: the batches, which say where their sentences stood (`MapBatch.indices`).

    Example:
        >>> from attentionology import extract
        >>> table = extract("demo", ["Cats sleep.", "The old dog barks."]).to_dataframe()
        >>> table.query("layer == 3 and head == 9 and from_label == 'The'").nlargest(1, "value")["to_label"].item()
        'dog'
    """

    def __init__(self, batches: Iterator[MapBatch]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[MapBatch]:
        return self._batches

    def __next__(self) -> MapBatch:
        return next(self._batches)

    def to_dataframe(self) -> pd.DataFrame:
        """Return the values of all sentences that are left, in the order in which these were given.

        The columns are those of `MapBatch.to_dataframe`. A sentence of 20 words has 35,000 rows in a model of 72
        heads, so read the batches of a corpus one by one instead.
        """
        import pandas as pd

        tables = self._in_order(lambda batch: batch._tables())
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    def to_xarray(self) -> list[Any]:
        """Return an ``xarray.DataArray`` for each sentence that is left, in the order in which these were given.

        The coordinates are those of `MapBatch.to_xarray`.

        Raises:
            ImportError: xarray is not installed.
        """
        return self._in_order(MapBatch.to_xarray)

    def _in_order(self, convert: Callable[[MapBatch], Iterable[Any]]) -> list[Any]:
        """Return what is made of each sentence, in the order of the inputs."""
        placed = [pair for batch in self for pair in zip(batch.indices, convert(batch), strict=True)]
        return [made for _, made in sorted(placed, key=lambda pair: pair[0])]
