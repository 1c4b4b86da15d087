"""What passes over a corpus count, within which limits they read it, and the record of what they read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..analyses.shared.metric import Metric
from ..analyses.shared.metric_states import MetricStates
from ..corpora_loaders import Sentence
from ..extractors import DEFAULT_BATCH_CELLS, ExtractionLog
from ..extractors.maps.batching import TooLong
from .plain_data import to_plain


@dataclass(frozen=True)
class Limits:
    """Which inputs are read, and how many at once. The fields are arguments of `attentionology.extractors.extract`."""

    batch_cells: int = DEFAULT_BATCH_CELLS
    too_long: TooLong = "skip"
    max_length: int | None = None

    def arguments(self) -> dict[str, Any]:
        """The limits as keyword arguments."""
        return {"batch_cells": self.batch_cells, "too_long": self.too_long, "max_length": self.max_length}


class PassLog(ExtractionLog):
    """A record of what was read that keeps no words of skipped inputs, because there may be very many of them."""

    def skip(self, sentence: Sentence, reason: str) -> None:
        """Add an input that gave no map, with its id, its file and its line alone."""
        super().skip(Sentence(sentence.id, (), file=sentence.file, line=sentence.line), reason)


@dataclass
class PassCounts:
    """What all passes counted.

    Attributes:
        metrics: the metrics, by the names of their requests.
        arguments: the arguments that the metrics were made with.
        logs: the records of what was read, by the names of the requests.
        failures: the errors of optional requests that failed, by their names.
        warnings: what a reader should know about how they were counted.
        map_bytes: the bytes of the largest batch of maps, as estimated from the first batch.
    """

    metrics: dict[str, Metric] = field(default_factory=dict)
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)
    logs: dict[str, ExtractionLog] = field(default_factory=dict)
    failures: dict[str, Exception] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    map_bytes: int = 0

    def states(self) -> dict[str, MetricStates]:
        """The states of the metrics, with their arguments as plain data."""
        return {
            name: MetricStates.of(metric, to_plain(self.arguments[name], f"the arguments of {name}"))
            for name, metric in self.metrics.items()
        }
